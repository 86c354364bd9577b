"""Metrics are counted from records and from the state that they fold to; spreads are by the nearest rank."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent import Context, Run, resume
from graph_agent.cli.repair_demo import simulated_repair
from graph_agent.cli.research_demo import simulated_research
from graph_agent.runtime.reading import read_run
from graph_agent.view.metrics import FUSES, RunMetrics, metrics_of
from graph_agent.view.spread import bars, spread
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.research.graph import GRAPH as RESEARCH


def measured(folder: Any, graph: Any, made: tuple[Any, Context], workflow: str) -> RunMetrics:
    state, ctx = made
    with Run.create(folder / "demo", graph, state) as run:
        resume(run, ctx)
    records, folded, _ = read_run(folder / "demo")
    return metrics_of("demo", workflow, records, folded.raw)


def test_a_research_tells_its_rounds_by_layer_and_its_plans(tmp_path: Any) -> None:
    found = measured(tmp_path, RESEARCH, simulated_research(), "research")
    assert (found.outcome, found.fuse, found.replans, found.retries) == ("done", "", 1, 1)
    assert found.layers == {"structure": 1, "goal": 1, "passed": 2}
    assert found.kinds == {"FAIL": 2, "PASS": 2}
    assert found.plans["made"] == 2 and found.plan_steps == 3
    assert found.stages["execute"].visits == 4 and found.stages["execute"].tool_calls == 8
    assert found.total("model_calls") == 15
    assert found.total("seconds") > 0


def test_a_repair_tells_its_verifications_and_retries(tmp_path: Any) -> None:
    found = measured(tmp_path, REPAIR, simulated_repair(), "repair")
    assert (found.outcome, found.retries, found.replans) == ("done", 1, 0)
    assert found.layers == {"tests": 1, "passed": 1}
    assert found.kinds == {"FAIL": 1, "PASS": 1}
    assert found.stages["verify"].turns == 0 and found.stages["diagnose"].turns > 0


def test_a_graph_that_is_not_ours_has_what_every_run_has(tmp_path: Any) -> None:
    found = measured(tmp_path, RESEARCH, simulated_research(), "Essay")
    assert not found.layers and not found.plans["made"] and found.steps == 12


def test_errors_of_tools_bad_arguments_and_failures_are_counted() -> None:
    raw = {"stage": "human", "route_reason": "plan failed: no connection", "steps": 2}
    records: list[dict[str, Any]] = [
        {"type": "header", "time": 86400.0},
        {"type": "finished", "stage": "execute", "seconds": 1.0, "turns": 3, "model_calls": 1, "tokens": [5, 6],
         "tools": [["read", "allowed: read tool", ""], ["read", "refused: bad arguments", "bad_arguments"],
                   ["read", "allowed: read tool", "not_found"]], "attempts": 3, "notes": ["invalid plan: x"]},
        {"type": "failed", "stage": "plan", "seconds": 0.5},
        {"type": "asked", "stage": "human"},
    ]  # fmt: skip
    found = metrics_of("r", "mine", records, raw)
    use = found.stages["execute"]
    assert (use.tool_calls, use.tool_errors, use.retried, use.tokens_in, use.tokens_out) == (3, 2, 2, 5, 6)
    assert (found.bad_arguments, found.plans["invalid"], found.fuse, found.day) == (1, 1, "an error", "1970-01-02")
    assert found.stages["plan"].failed == 1


def test_each_fuse_has_words_that_routes_really_say() -> None:
    from pathlib import Path

    import graph_agent

    package = Path(graph_agent.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.name != "metrics.py")
    assert [words for _, words in FUSES if words.strip(": ") not in code] == []


@pytest.mark.parametrize(
    ("figures", "p50", "p90", "most", "mean"),
    [
        ([], 0, 0, 0, 0),
        ([7], 7, 7, 7, 7),
        ([1, 2], 1, 2, 2, 1.5),
        (range(1, 11), 5, 9, 10, 5.5),
        ([1] * 9 + [100], 1, 1, 100, 10.9),
    ],
)
def test_a_percentile_is_a_figure_that_occurred(figures: Any, p50: float, p90: float, most: float, mean: float) -> None:
    found = spread(figures)
    assert (found.p50, found.p90, found.most, found.mean) == (p50, p90, most, pytest.approx(mean))


def test_bars_are_as_long_as_their_share_of_the_largest_and_never_empty_for_something() -> None:
    lines = bars({"a": 200, "bb": 100, "c": 1, "none": 0}, width=10, plain=True)
    assert lines == [
        "a     ##########  200 (66%)",
        "bb    #####       100 (33%)",
        "c     #           1 (0%)",
        "none              0 (0%)",
    ]
    assert bars({"a": 2, "b": 1}, width=2)[1].split()[1] == "\u2588"
    assert bars({}) == []
