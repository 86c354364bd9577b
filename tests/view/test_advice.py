"""How to read figures: only what applies is said, with its counts, and a rise is told from a level."""

from __future__ import annotations

from collections import Counter
from typing import Any

from graph_agent.view.advice import SIGNS, reading
from graph_agent.view.ended import FUSES
from graph_agent.view.judged import FAILURES, Rounds
from graph_agent.view.metrics import RunMetrics, StageUse


def ran(at: int = 0, fuse: str = "", seconds: float = 1.0, **more: Any) -> RunMetrics:
    stages = {"plan": StageUse(seconds=[seconds], turns=[1], **more.pop("use", {}))}
    return RunMetrics(run=f"r{at}", workflow="research", outcome="done", began=at, fuse=fuse, stages=stages, **more)


def test_figures_without_a_sign_say_nothing() -> None:
    assert list(reading([ran(at) for at in range(20)])) == []
    assert list(reading([])) == []


def test_a_share_is_told_with_its_counts_and_where_to_look() -> None:
    (line,) = reading([ran(0, "not converging"), *(ran(at) for at in range(1, 5))])
    assert line.startswith("1 of 5 runs were stopped by not converging: ")
    assert line.endswith("look at the planner's prompt")
    assert list(reading([ran(0, "not converging"), *(ran(at) for at in range(1, 6))])) == []


def test_a_rise_is_told_even_of_a_share_that_is_small_and_whatever_the_order() -> None:
    runs = [ran(at, "replans" if at in (7, 8) else "") for at in range(11)]
    (line,) = reading(runs[::-1])
    assert line.startswith("2 of 11 runs were stopped by replans, rising from 0% in the older half of the runs to 33% ")
    assert "the tasks or a tool have changed" in line


def test_what_falls_is_not_said_to_rise_nor_are_few_runs_compared() -> None:
    (falls,) = reading([ran(at, "replans" if at < 4 else "") for at in range(10)])
    assert "rising" not in falls
    (few,) = reading([ran(at, "replans" if at > 2 else "") for at in range(5)])
    assert "rising" not in few


def test_failed_rounds_are_told_by_layer_among_those_that_failed() -> None:
    layers = Counter({"structure": 3, "goal": 1, "passed": 90})
    structure, goal = reading([ran(rounds=Rounds(layers=layers, kinds=Counter({"PASS": 90, "FAIL": 4})))])
    assert structure.startswith("3 of 4 failed rounds of verification failed at structure: ")
    assert "a tool that returns nothing" in structure and "failed at goal" in goal


def test_bad_arguments_are_told_apart_from_other_errors() -> None:
    (bad,) = reading([ran(use={"tool_calls": 10, "tool_errors": 3, "bad_arguments": 2})])
    assert bad.startswith("2 of 10 tool calls had bad arguments")


def test_one_long_run_in_ten_is_told_since_the_mean_hides_it() -> None:
    (line,) = reading([ran(at, seconds=100.0 if at > 8 else 1.0) for at in range(11)])
    assert line.startswith("one run in ten takes 100 times as long")


def test_compacted_runs_are_said() -> None:
    (line,) = reading([ran(shortened=True)])
    assert line.startswith("1 of 1 runs were compacted")


def test_every_fuse_and_every_layer_but_the_tests_has_a_sign() -> None:
    words = " ".join(sign.words for sign in SIGNS)
    assert [fuse for fuse in FUSES if f"stopped by {fuse}" not in words] == []
    assert [layer for layer in FAILURES if f"failed at {layer}" not in words] == ["tests"]
