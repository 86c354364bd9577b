"""`explore` and `check`: a graph of one's own, named as module:NAME, from the shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = "tests.testing.graphs"

MINE = """
from tests.testing.graphs import GRAPH, OUTCOMES, START, Stage, job_graph
from graph_agent.testing import never
LAWS = [never(Stage.HUMAN)]
SHORT = {Stage.WORK: [{"tries": 1}]}
NO_LAWS = 3
"""
TWISTED = """
from graph_agent import Node, Pause
from tests.testing.graphs import Stage, job_graph, nothing
GRAPH = job_graph(shared="tries", on_error=Stage.DONE, nodes={Stage.WORK: Node(nothing, owns={"trys"}, to=Stage.DONE)})
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "twisted.py").write_text(TWISTED, encoding="utf-8")
    return tmp_path


def command(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(place)!r}]"
    start += "; from graph_agent.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", start, *words], cwd=place, capture_output=True, text=True, encoding="utf-8", check=False
    )


def explored(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command(place, "explore", f"{PLACE}:GRAPH", "--outcomes", f"{PLACE}:OUTCOMES", *words)


def test_a_graph_that_keeps_the_usual_laws(place: Path) -> None:
    done = explored(place)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("15 states, 14 transitions, depth 9, longest run 4 steps\n")
    assert done.stdout.endswith("no law is broken\n")


def test_a_broken_law_is_told_with_its_story_and_its_test(place: Path) -> None:
    done = explored(place, "--laws", "mine:LAWS", "--start", "mine:START")
    assert done.returncode == 1
    assert "BROKEN never(Stage.HUMAN): human is entered\n  1. work -> check" in done.stdout
    assert "def test_never_stage_human():" in done.stdout


def test_as_json(place: Path) -> None:
    done = explored(place, "--laws", "mine:LAWS", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["states"], data["complete"]) == (1, 15, True)
    assert [one["law"] for one in data["violations"]] == ["never(Stage.HUMAN)"]
    assert ["work", "human", "limit"] in data["edges_missed"]


def test_too_few_states_are_a_failure(place: Path) -> None:
    done = explored(place, "--max-states", "3")
    assert done.returncode == 1
    assert "NOT ALL: more than max_states=3" in done.stdout


def test_a_depth_is_a_bound_that_was_asked_for(place: Path) -> None:
    done = explored(place, "--max-depth", "2", "--laws", "mine:LAWS")
    assert done.returncode == 0
    assert "not all: 1 states at max_depth=2 were not explored" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--outcomes", "mine:OUTCOME"), "mine has no 'OUTCOME', did you mean 'OUTCOMES'?"),
        (("--outcomes", "mine"), "--outcomes 'mine': give module:NAME"),
        (("--outcomes", "mine:START"), "give a dict of stage -> outcomes"),
        (("--outcomes", "mine:SHORT"), "outcomes lacks check"),
        (("--laws", "mine:NO_LAWS"), "give a list of laws"),
        (("--outcomes", "nowhere:OUT"), "nowhere can't be imported"),
        (("--start", "mine:NO_LAWS"), "start is 3"),
    ],
)
def test_what_cannot_be_explored_is_a_matter_of_usage(place: Path, words: tuple[str, ...], said: str) -> None:
    done = explored(place, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_state_that_needs_more_than_a_name_is_asked_for(place: Path) -> None:
    repair = "graph_agent.workflows.repair.graph:GRAPH"
    done = command(place, "explore", repair, "--outcomes", f"{PLACE}:OUTCOMES")
    assert done.returncode == 2
    assert "TaskState needs more than a task_id" in done.stderr
    assert "give the state to start from" in done.stderr


def test_a_sound_table_has_no_problem(place: Path) -> None:
    done = command(place, "check", f"{PLACE}:GRAPH")
    assert (done.returncode, done.stdout) == (0, "no problem: 5 stages, 10 edges\n")


def test_all_problems_of_a_table_are_told_at_once(place: Path) -> None:
    done = command(place, "check", "twisted:GRAPH")
    assert done.returncode == 1
    assert "work owns 'trys', which Job does not have, did you mean 'tries'?" in done.stdout
    assert "shared='tries' is a string" in done.stdout
    assert "check has no node and is no end" in done.stdout
    data = json.loads(command(place, "check", "twisted:GRAPH", "--json").stdout)
    assert len(data["problems"]) >= 4
