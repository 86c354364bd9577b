"""Coverage of edges: each step is counted once, by whatever way it was made, and off means off."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, FakeTools, advance, answer, arun_graph, run_graph, stream
from graph_agent.runtime import advance as steps
from graph_agent.runtime import visit
from graph_agent.testing.coverage import GraphCoverage
from graph_agent.testing.exploring import explore
from tests.testing.graphs import GRAPH, OUTCOMES, START, Stage, job_graph

ROOT = Path(__file__).parents[2]
CTX = Context(tools=FakeTools({"hammer": "ok"}))


def counted(seen: GraphCoverage, graph: Any = GRAPH) -> dict[tuple[str, str, str], int]:
    return {(start.value, end.value, kind): count for (start, end, kind), count in seen.of(graph).counts.items()}


def good_graph() -> Any:
    graph = job_graph()
    nodes = {**graph.nodes, Stage.CHECK: replace(graph.nodes[Stage.CHECK], run=lambda state, ctx: {"good": True})}  # type: ignore[type-var]
    return job_graph(nodes=nodes)


@pytest.mark.parametrize(
    "run",
    [
        lambda graph: run_graph(graph, START, CTX),
        lambda graph: asyncio.run(arun_graph(graph, START, CTX)),
        lambda graph: list(stream(graph, START, CTX)),
    ],
    ids=["run_graph", "arun_graph", "stream"],
)
def test_a_run_is_counted_once_whoever_drives_it(run: Any) -> None:
    graph = good_graph()
    with GraphCoverage() as seen:
        run(graph)
    assert counted(seen, graph) == {("work", "check", "route"): 1, ("check", "done", "route"): 1}


def test_a_step_by_hand_an_answer_a_limit_and_an_error_are_counted() -> None:
    with GraphCoverage() as seen:
        waiting = advance(GRAPH, advance(GRAPH, START, {"tries": 2}), {"good": False})
        answer(GRAPH, waiting, {"max_tries": 3})
        answer(GRAPH, waiting, {"give_up": True})
        steps.stop_at_error(GRAPH, START, OSError("x"))
        steps.stop_at_limit(GRAPH, replace(START, max_turns=0), started=False)
    assert counted(seen) == {
        ("work", "check", "route"): 1,
        ("check", "human", "route"): 1,
        ("human", "check", "back"): 1,
        ("human", "failed", "route"): 1,
        ("work", "human", "error"): 1,
        ("work", "human", "limit"): 1,
    }


def test_an_exploration_covers_what_it_walks() -> None:
    with GraphCoverage() as seen:
        report = explore(GRAPH, START, OUTCOMES)
    assert seen.of(GRAPH).counts == report.edges_taken


def test_what_was_never_taken_is_said() -> None:
    with GraphCoverage() as seen:
        run_graph(good_graph(), START, CTX)
    (covered,) = seen
    assert covered.name == "a graph of Job"
    assert str(covered).splitlines()[0] == "a graph of Job: 2 of 10 edges taken (20 %)"
    assert "  never entered: human, failed" in str(covered)
    assert "  never taken: check -> human (out of budget)" not in str(covered), "check can't spend"
    assert "  never taken: work -> human (out of budget)" in str(covered)


def test_the_drawing_has_the_counts() -> None:
    with GraphCoverage() as seen:
        run_graph(good_graph(), START, CTX)
    (covered,) = seen
    assert '    WORK -->|"1"| CHECK\n' in covered.drawing()
    assert '    CHECK -.->|"never"| WORK\n' in covered.drawing()
    assert '    HUMAN -.->|"never back"| WORK\n' in covered.drawing()


def test_a_step_that_is_refused_is_not_taken() -> None:
    with GraphCoverage() as seen:
        with pytest.raises(Exception, match="not work's to write"):
            advance(GRAPH, START, {"good": True})
    assert str(seen) == "no graph took a step"


def test_afterwards_all_is_as_it_was() -> None:
    before = (steps.take, visit.take, steps.stop_at_limit, visit.stop_at_error)
    with GraphCoverage() as seen:
        assert visit.take is steps.take is not before[0]
    assert (steps.take, visit.take, steps.stop_at_limit, visit.stop_at_error) == before
    run_graph(good_graph(), START, CTX)
    assert str(seen) == "no graph took a step"


TESTS = """
from dataclasses import replace
from graph_agent import advance
from tests.testing.graphs import GRAPH, START
def test_one_step():
    assert advance(GRAPH, START, {"tries": 1}).tries == 1
"""


def pytest_run(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "graph_agent.testing.plugin",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
    ]
    place = ["-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path / "test_it.py")]
    return subprocess.run([*command, *options, *place], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_plugin_says_nothing_unless_it_is_asked(tmp_path: Path) -> None:
    done = pytest_run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "graph coverage" not in done.stdout


def test_the_plugin_prints_and_draws(tmp_path: Path) -> None:
    target = tmp_path / "coverage.md"
    done = pytest_run(tmp_path, "--graph-coverage", "--graph-coverage-file", str(target))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests.testing.graphs:GRAPH: 1 of 10 edges taken (10 %)" in done.stdout
    assert "never taken: check -> done" in done.stdout
    assert "## tests.testing.graphs:GRAPH\n\n```mermaid\nflowchart TD\n" in target.read_text(encoding="utf-8")


def test_too_few_edges_fail_the_run(tmp_path: Path) -> None:
    assert pytest_run(tmp_path, "--graph-coverage-fail-under", "10").returncode == 0
    done = pytest_run(tmp_path, "--graph-coverage-fail-under", "11")
    assert done.returncode == 1
    assert "FAIL tests.testing.graphs:GRAPH: 10.0 % of the edges, less than 11 %" in done.stdout
