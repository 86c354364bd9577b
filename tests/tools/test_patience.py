"""Patience: the first run of a command has all the time there is, later ones what it took and a good deal more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graph_agent.tools import command
from graph_agent.tools.command import AFTER_A_HANG, FACTOR, LEAST, CommandResult, Commands, patience


@pytest.mark.parametrize(
    ("first", "timeout", "later"),
    [
        (0.1, 60, LEAST),
        (2.0, 60, 2.0 * FACTOR),
        (50.0, 60, 60),
        (None, 60, AFTER_A_HANG),
        (None, 2, 2),
        (0.1, 1, 1),
    ],
)
def test_the_first_run_sets_the_time_of_the_later_ones(first: float | None, timeout: float, later: float) -> None:
    result = CommandResult(argv=("make",), timed_out=first is None, seconds=timeout if first is None else first)
    assert patience(result, timeout) == later


def test_a_command_that_hangs_later_costs_less_than_the_whole_time_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LEAST", 1.0)
    monkeypatch.setattr(command, "FACTOR", 2.0)
    (tmp_path / "run.py").write_text("import os\nwhile os.path.exists('hang'): pass\n", encoding="utf-8")
    argv, other = (sys.executable, "run.py"), (sys.executable, "-c", "import time; time.sleep(1.2)")
    commands = Commands(tmp_path, [argv, other], timeout=60)
    assert commands.run_command(argv).exit_code == 0
    (tmp_path / "hang").touch()
    for _ in range(2):
        hung = commands.run_command(argv)
        assert hung.timed_out
        assert hung.seconds < 30
    assert commands.run_command(other).exit_code == 0  # which has its own time
