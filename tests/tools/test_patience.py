"""Patience: the first run of a command has all the time there is, later ones what it took and a good deal more."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from graph_agent import ToolError
from graph_agent.tools import patience
from graph_agent.tools.command import CommandResult, Commands
from graph_agent.tools.patience import AFTER_A_HANG, FACTOR, LEAST, PatientCommands

FAST, SLOW = ("fast",), ("slow",)


class Timed:
    """Commands that take a while, without taking it: what they were given is kept."""

    def __init__(self, *seconds: float | None) -> None:
        self._seconds, self.given = list(seconds), []  # type: tuple[list[float | None], list[float]]

    def run_command(self, argv: tuple[str, ...], timeout: float) -> CommandResult:
        self.given.append(timeout)
        took = self._seconds.pop(0)
        return CommandResult(
            argv=argv,
            exit_code=None if took is None else 0,
            timed_out=took is None,
            seconds=timeout if took is None else took,
            output="",
            dropped=0,
            isolation="none",
        )


def patient(timed: Timed, timeout: float) -> PatientCommands:
    commands: Any = timed
    return PatientCommands(commands, timeout=timeout)


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
    timed = Timed(first, 0.1, 0.1)
    commands = patient(timed, timeout)
    for _ in range(3):
        commands.run_command(FAST)
    assert timed.given == [timeout, later, later]


def test_a_later_run_changes_nothing() -> None:
    timed = Timed(1.0, None, 5.0, 1.0)
    commands = patient(timed, 60)
    for _ in range(4):
        commands.run_command(FAST)
    assert timed.given == [60, FACTOR, FACTOR, FACTOR]


def test_each_command_has_its_own_time() -> None:
    timed = Timed(0.1, 3.0, 0.1, 3.0)
    commands = patient(timed, 60)
    for argv in (FAST, SLOW, FAST, SLOW):
        commands.run_command(argv)
    assert timed.given == [60, 60, LEAST, 3.0 * FACTOR]


def test_a_command_that_hangs_later_costs_less_than_the_whole_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "LEAST", 1.0)
    monkeypatch.setattr(patience, "FACTOR", 2.0)
    (tmp_path / "run.py").write_text("import os\nwhile os.path.exists('hang'): pass\n", encoding="utf-8")
    argv = (sys.executable, "run.py")
    commands = PatientCommands(Commands(tmp_path, [argv], timeout=60), timeout=60)
    assert commands.run_command(argv).exit_code == 0
    (tmp_path / "hang").touch()
    hung = commands.run_command(argv)
    assert hung.timed_out
    assert hung.seconds < 30


def test_a_command_that_is_not_allowed_is_refused_and_sets_nothing(tmp_path: Path) -> None:
    commands = PatientCommands(Commands(tmp_path, [(sys.executable, "-V")], timeout=60), timeout=60)
    for _ in range(2):
        with pytest.raises(ToolError):
            commands.run_command(("rm", "-r", "."))
    assert commands.run_command((sys.executable, "-V")).exit_code == 0


def test_threads_may_share_it() -> None:
    timed = Timed(*[0.1] * 40)
    commands = patient(timed, 60)
    threads = [Thread(target=commands.run_command, args=(FAST,)) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(timed.given) <= {60, LEAST}
    assert len(timed.given) == 40


def test_the_tool_lets_nobody_choose_the_time(tmp_path: Path) -> None:
    (tool,) = PatientCommands(Commands(tmp_path, [(sys.executable, "-V")], timeout=60), timeout=60).tools()
    assert (tool.name, tool.effect, list(tool.schema["properties"])) == ("run_command", "execute", ["argv"])
