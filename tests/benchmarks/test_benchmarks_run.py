"""The benchmarks run; what they say is for people. No clock decides a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import main
from tests.benchmarks.loops import GRAPH, LOOPS, built
from tests.benchmarks.timing import table

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_each_section_prints_its_table(capsys):
    main(
        [
            "--only",
            "bare",
            "graph_agent",
            "graph_agent-events",
            "import",
            "fan_out",
            "codec",
            "explore",
            "--steps",
            "9",
            "--rounds",
            "1",
        ]
    )
    said = capsys.readouterr().out
    for row in (
        "bare",
        "graph_agent",
        "import graph_agent",
        "ThreadPoolExecutor.map",
        "fan_out",
        "encode",
        "decode",
        "explore",
    ):
        assert f"\n{row}  " in said


def test_what_a_kept_run_costs_is_printed(capsys):
    main(["--only", "durable", "growth", "kills", "--steps", "9", "--rounds", "1", "--kills", "1"])
    said = capsys.readouterr().out
    for row in ('durability="fsync"', 'durability="flush"', "graph_agent, 10000 steps"):
        assert f"\n{row}  " in said
    assert "1 kills (seed 1), 1 runs: all ended as the undisturbed one" in said


def test_the_prompts_of_a_research_are_flat_from_the_tenth_round_on(capsys):
    main(["--only", "research"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-3:]]
    assert [row[0] for row in rows] == ["1", "10", "30"]
    (_, planner, executor, state), (_, *last) = ([int(cell) for cell in row] for row in rows[1:])
    assert last[0] <= 1.05 * planner and last[1] <= 1.05 * executor
    assert last[2] > 2 * state, "what the state holds has grown"


def test_a_peer_that_is_not_installed_is_said_and_stops_nothing(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketflow", None)
    main(["--only", "bare", "pocketflow", "--steps", "3", "--rounds", "1"])
    said = capsys.readouterr().out
    assert "pocketflow: not measured" in said
    assert "\nbare  " in said


def test_the_loop_has_the_size_that_is_spoken_of():
    assert len(GRAPH.checks) == 15
    built("graph_agent", 3)
    built("bare", 3)


@pytest.mark.parametrize("arguments", [["--steps", "0"], ["--rounds", "0"], ["--only", "pokcetflow"]])
def test_a_wrong_argument_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "--only", "bare", "--steps", "1", "--rounds", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "bare" in done.stdout


def test_a_table_aligns_its_columns():
    assert table(("a", "bb"), [("ccc", "d")]) == "a    bb\nccc   d"


def test_every_loop_has_a_row_of_its_own():
    assert len(LOOPS) == len(set(LOOPS.values()))
