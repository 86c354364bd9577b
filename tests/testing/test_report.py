"""The report: what there is, what was never taken, and a bad run as a story and as a test that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Route
from graph_agent.testing.exploring import explore, follow
from graph_agent.testing.laws import always_before, budget_holds, never, terminates
from graph_agent.testing.outcomes import ExplorationError, Fails, HitsLimit, Took
from graph_agent.testing.report import LawBroken
from tests.testing import graphs
from tests.testing.graphs import GRAPH, OUTCOMES, START, Job, Stage, job_graph

ROOT = Path(__file__).parents[2]


def spent(state: Job) -> bool:
    return state.tries >= state.max_tries


def for_ever(state: Job) -> Route:
    return Route(Stage.DONE, "good") if state.good else Route(Stage.WORK, "again")


ENDLESS = job_graph(for_ever)


def test_a_report_without_violations_says_what_there_is() -> None:
    report = explore(GRAPH, START, OUTCOMES)
    assert report.raise_on_violation() is report
    assert str(report).splitlines()[0] == "15 states, 14 transitions, depth 9, longest run 4 steps"
    assert str(report).splitlines()[-1] == "no law is broken"
    assert "never taken: work -> human (out of budget)" in str(report)


def test_a_story_has_each_step_with_its_patch_and_its_reason() -> None:
    (violation,) = explore(GRAPH, START, OUTCOMES, laws=[never(Stage.HUMAN, when=spent)]).violations
    assert violation.story() == (
        "never(Stage.HUMAN, when=spent): human is entered when spent\n"
        "  1. work -> check: work is followed by check\n"
        "       tries = 1\n"
        "  2. check -> work: not yet\n"
        "       good = False\n"
        "  3. work -> check: work is followed by check\n"
        "       tries = 2\n"
        "  4. check -> human: 2 tries are spent\n"
        "       good = False"
    )


def test_a_story_says_what_stopped_a_node_and_what_a_person_did() -> None:
    outcomes = {**OUTCOMES, Stage.WORK: [Took({"tries": 2}, turns=1)], Stage.CHECK: [Fails("no light")]}
    (violation,) = explore(GRAPH, START, outcomes, laws=[never(Stage.FAILED)]).violations
    assert violation.story().splitlines()[1:] == [
        "  1. work -> check (1 turn): work is followed by check",
        "       tries = 2",
        "  2. check -> human (it failed): check failed: NodeFailed: no light",
        "  3. human -> failed (a person answers): given up",
        "       give_up = True",
    ]


def test_the_error_is_the_report() -> None:
    report = explore(GRAPH, START, OUTCOMES, laws=[never(Stage.HUMAN)])
    with pytest.raises(LawBroken) as error:
        report.raise_on_violation()
    assert error.value.report is report
    assert "BROKEN never(Stage.HUMAN)" in str(error.value)


LAWS: list[tuple[Any, Any, Any]] = [
    (GRAPH, OUTCOMES, never(Stage.HUMAN, when=spent)),
    (GRAPH, OUTCOMES, budget_holds("tries", 1)),
    (GRAPH, {**OUTCOMES, Stage.WORK: [Fails("no hammer", turns=1)]}, always_before(Stage.CHECK, Stage.HUMAN)),
    (GRAPH, {**OUTCOMES, Stage.CHECK: [{"tries": 9}]}, None),
    (ENDLESS, {**OUTCOMES, Stage.WORK: [{"tries": 0}], Stage.CHECK: [{"good": False}]}, terminates()),
]


@pytest.mark.parametrize(("graph", "outcomes", "law"), LAWS, ids=["never", "budget", "before", "contract", "endless"])
def test_the_test_that_a_report_writes_runs_and_fails_as_long_as_the_law_is_broken(
    graph: Any, outcomes: Any, law: Any, tmp_path: Path
) -> None:
    (violation,) = explore(graph, START, outcomes, laws=[law] if law else []).violations
    written = violation.test(explore(graph, START, outcomes).space)
    file = tmp_path / "test_written.py"
    file.write_text(written, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-c", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(file)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LawBroken" in done.stdout
    assert violation.text.splitlines()[0] in done.stdout


def test_the_written_test_passes_when_the_rule_is_mended() -> None:
    """The same run on a graph that stops in time: it ends before it can break the law."""
    assert follow(GRAPH, START, [{"tries": 1}, {"good": True}], laws=[never(Stage.HUMAN)]).stage is Stage.DONE


def test_what_has_no_name_is_marked_and_not_guessed() -> None:
    report = explore(job_graph(), START, OUTCOMES, laws=[never(Stage.HUMAN, when=lambda state: True)])
    written = report.violations[0].test(report.space)
    assert "# GRAPH is your graph: no module holds it under a name" in written
    assert "# <lambda> has no name of its own in a module: write it here" in written


def test_following_a_run_gives_the_state_at_its_end() -> None:
    final = follow(GRAPH, START, [{"tries": 2}, {"good": False}, {"max_tries": 3}, {"good": True}])
    assert (final.stage, final.tries, final.max_tries, final.steps) == (Stage.DONE, 2, 3, 4)


def test_a_run_that_cannot_be_followed_is_refused_with_the_step() -> None:
    with pytest.raises(ExplorationError, match=r"step 3 can't be taken: the run stands at .*DONE"):
        follow(GRAPH, START, [{"tries": 2}, {"good": True}, {"good": True}])
    with pytest.raises(ExplorationError, match="step 1 can't be taken"):
        follow(GRAPH, START, [HitsLimit()])


def test_a_followed_run_is_held_to_the_contract() -> None:
    with pytest.raises(LawBroken, match="tries is not check's to write"):
        follow(GRAPH, START, [{"tries": 1}, {"tries": 2}])


def test_the_graphs_of_these_tests_are_found_by_name() -> None:
    report = explore(graphs.GRAPH, START, OUTCOMES, laws=[never(Stage.HUMAN)])
    assert "from tests.testing.graphs import GRAPH, Job, Stage" in report.violations[0].test(report.space)
