"""Metrics are counted from records and from the state that they fold to; a run tells what stopped it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import Context, Run, resume
from graph_agent.cli.repair_demo import simulated_repair
from graph_agent.cli.research_demo import simulated_research
from graph_agent.runtime.compat import fitted
from graph_agent.runtime.errors import StepLimitReached
from graph_agent.runtime.fold import Folded
from graph_agent.runtime.forks import compact, fork
from graph_agent.runtime.reading import read_run
from graph_agent.verify.report import TestCounts as Counts
from graph_agent.verify.report import Verdict
from graph_agent.view.ended import FUSES, fuse_of
from graph_agent.view.judged import rounds_of
from graph_agent.view.metrics import RunMetrics, metrics_of
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.repair.state import Check, Verification
from graph_agent.workflows.research.graph import GRAPH as RESEARCH
from graph_agent.workflows.research.routes import route_after_verify
from graph_agent.workflows.research.state import DeadEnd, Item, Plan, ResearchState, Stage, Step
from graph_agent.workflows.research.state import Verdict as Judged


def measured(folder: Path, graph: Any, workflow: str, **more: Any) -> RunMetrics:
    records, folded, _ = read_run(folder)
    return metrics_of(
        folder.name, workflow, records, folded, fitted(graph, folded, folder.name).state if graph else None, **more
    )


def research(folder: Path, *, steps: int = 10_000, **changed: Any) -> Path:
    state, ctx = simulated_research()
    return made(folder / "demo", RESEARCH, (replace(state, **changed), ctx), steps)


def made(folder: Path, graph: Any, of: tuple[Any, Context], steps: int = 10_000) -> Path:
    state, ctx = of
    with Run.create(folder, graph, state) as run, suppress(StepLimitReached):
        resume(run, ctx, max_steps=steps)
    return folder


def test_a_research_tells_its_rounds_by_layer_and_its_plans(tmp_path: Path) -> None:
    found = measured(research(tmp_path), RESEARCH, "research")
    assert (found.outcome, found.fuse, found.replans, found.retries) == ("done", "", 1, 1)
    assert found.rounds.layers == {"structure": 1, "goal": 1, "passed": 2} and found.rounds.failed == 2
    assert found.rounds.kinds == {"FAIL": 2, "PASS": 2}
    assert found.plans["made"] == 2 and found.plan_steps == 3
    assert found.stages["execute"].visits == 4 and found.stages["execute"].tool_calls == 8
    assert found.total("model_calls") == 15
    assert found.total("seconds") > 0


def test_a_repair_tells_its_verifications_and_retries(tmp_path: Path) -> None:
    found = measured(made(tmp_path / "demo", REPAIR, simulated_repair()), REPAIR, "repair")
    assert (found.outcome, found.retries, found.replans, found.plans["made"]) == ("done", 1, 0, 2)
    assert found.rounds.layers == {"tests": 1, "passed": 1}
    assert found.rounds.kinds == {"FAIL": 1, "PASS": 1}
    assert found.stages["verify"].total("turns") == 0 and found.stages["diagnose"].total("turns") > 0


def test_a_graph_that_is_not_ours_has_what_every_run_has(tmp_path: Path) -> None:
    found = measured(research(tmp_path), None, "Essay")
    assert not found.rounds.layers and not found.plans["made"] and found.steps == 12


def test_a_fork_does_not_count_what_its_parent_has_done(tmp_path: Path) -> None:
    parent = measured(research(tmp_path), RESEARCH, "research")
    records, _, _ = read_run(tmp_path / "demo")
    at = next(record["seq"] for record in records if record.get("stage") == "verify")
    assert isinstance(at, int)
    child = measured(fork(tmp_path / "demo", at=at, new_id="child"), RESEARCH, "research")
    assert (child.run, child.steps, child.retries, child.plans["made"]) == ("child", 0, 0, 0)
    assert not child.stages and not child.rounds.kinds and parent.stages


def test_a_compacted_run_keeps_what_its_state_says_and_says_that_it_is_shorter(tmp_path: Path) -> None:
    folder = research(tmp_path)
    whole = measured(folder, RESEARCH, "research")
    compact(folder, keep=1)
    rest = measured(folder, RESEARCH, "research")
    assert rest.shortened and not whole.shortened
    assert rest.rounds == whole.rounds and (rest.steps, rest.retries) == (whole.steps, whole.retries)
    assert rest.total("model_calls") < whole.total("model_calls")


def test_errors_of_tools_bad_arguments_and_failures_are_counted() -> None:
    raw = {"stage": "human", "route_reason": "plan failed: no connection", "steps": 2}
    tools = (
        ["read", "allowed: read tool", ""],
        ["read", "refused: bad arguments", "bad_arguments"],
        ["read", "allowed: read tool", "not_found"],
    )
    called = {
        "turns": 3,
        "model_calls": 1,
        "tokens": [5, 6],
        "tools": tools,
        "attempts": 3,
        "notes": ["invalid plan: x"],
    }
    records: list[dict[str, Any]] = [
        {"type": "header", "time": 86400.0},
        {"type": "finished", "stage": "execute", "seconds": 1.0, "reason": "so", **called},
        {"type": "failed", "stage": "plan", "seconds": 0.5, "reason": "plan failed: no connection"},
        {"type": "asked", "stage": "human"},
    ]
    found = metrics_of("r", "mine", records, folded_to(raw, human="a pause"))
    use = found.stages["execute"]
    assert (use.tool_calls, use.tool_errors, use.retried, use.tokens_in, use.tokens_out) == (3, 2, 2, 5, 6)
    assert (use.bad_arguments, found.plans["invalid"], found.fuse, found.day) == (1, 1, "an error", "1970-01-02")
    assert found.stages["plan"].failed == 1


def folded_to(raw: dict[str, Any], **stages: str) -> Folded:
    return Folded(header={}, raw=raw, seq=1, shape={"stages": stages}, versions={})


@pytest.mark.parametrize(
    ("changed", "outcome", "fuse"),
    [
        ({"max_rounds": 1}, "partial", "rounds"),
        ({"max_replans": 0}, "partial", "replans"),
        ({"max_turns": 9}, "partial", "turns"),
    ],
)
def test_what_stopped_a_run_is_told_by_how_it_really_ended(
    changed: dict[str, int], outcome: str, fuse: str, tmp_path: Path
) -> None:
    found = measured(research(tmp_path, **changed), RESEARCH, "research")
    assert (found.outcome, found.fuse) == (outcome, fuse)


def test_a_run_that_stopped_under_way_was_cut_short_or_met_the_last_fuse(tmp_path: Path) -> None:
    folder = research(tmp_path, steps=3)
    assert measured(folder, RESEARCH, "research").fuse == "cut short"
    assert measured(folder, RESEARCH, "research", most_steps=3).fuse == "the last fuse"
    held = measured(folder, RESEARCH, "research", held=True)
    assert (held.outcome, held.fuse, held.steps) == ("under way", "", 3)


def test_a_turn_too_few_stops_a_graph_that_has_no_way_for_it(tmp_path: Path) -> None:
    raw = {"stage": "plan", "route_reason": "", "steps": 1}
    stopped: dict[str, Any] = {"type": "limit", "stage": "plan", "seconds": 0.0, "reason": "3 of 3", "stopped": True}
    header = {"type": "header", "time": 0.0}
    assert metrics_of("r", "mine", [header, stopped], folded_to(raw, plan="a node")).fuse == "turns"
    failed = {**stopped, "type": "failed"}
    assert metrics_of("r", "mine", [header, failed], folded_to(raw, plan="a node")).fuse == "an error"


def test_the_fuse_is_told_from_what_the_router_says() -> None:
    step = Step(id="s1", kind="work", goal="g", done_when=("c",))
    item = Item(step="s1", attempt=0, criterion="c", status="violated")
    verdict = Judged(round=1, plan=1, cursor=0, layer="goal", items=(item,))
    state = ResearchState(task_id="t", goal="g", stage=Stage.VERIFY, plan=Plan(steps=(step,)), plan_no=1, rounds=1)
    spent = replace(state, verdicts=(verdict,), max_rounds=1)
    assert fuse_of(route_after_verify(spent).reason) == "rounds"
    spent = replace(state, verdicts=(verdict,), max_replans=0)
    assert fuse_of(route_after_verify(spent).reason) == "replans"
    again = replace(state, verdicts=(verdict,))
    assert fuse_of(route_after_verify(again).reason) == ""
    former = DeadEnd(fingerprint="f", tried="t", why="w", failed=("c",))
    assert fuse_of(route_after_verify(replace(again, fingerprints=(former,))).reason) == "not converging"


def test_each_fuse_has_words_that_routes_really_say() -> None:
    import graph_agent

    package = Path(graph_agent.__file__).parent
    places = [path for path in package.rglob("*.py") if path.name not in ("ended.py", "metrics.py")]
    code = "".join(path.read_text(encoding="utf-8") for path in places)
    said = [one for words in FUSES.values() for one in words.split("|")]
    plain = [one.replace(r"\d+ of \d+ ", "").replace("(plan", "").replace("repair): ", "") for one in said]
    assert [words for words in plain if words not in code] == []


@given(st.text(max_size=60), st.sampled_from(["turns are spent", "not converging", "a person gave up"]))
def test_words_that_a_reason_quotes_stop_nothing(before: str, words: str) -> None:
    assert fuse_of(f"a valid plan: {before}{words}") == ""
    assert fuse_of(f"V1 is fail, {before}{words}") == ""


def check(ruling: Verdict, **more: Any) -> Check:
    counts = Counts(passed=1)
    return Check(kind="test", command="c", exit_code=0, ruling=ruling, reason="r", **{"counts": counts, **more})


@pytest.mark.parametrize(
    ("one", "layer", "kind"),
    [
        ({"checks": (check(Verdict.PASS),)}, "passed", "PASS"),
        ({"checks": (check(Verdict.FAIL),)}, "tests", "FAIL"),
        ({"checks": (check(Verdict.PASS),), "findings": ("a test was quieted",)}, "guard", "FAIL"),
        ({"checks": (check(Verdict.PASS),), "holdout": "fail"}, "held-out tests", "FAIL"),
        ({"checks": (check(Verdict.PASS, counts=None),)}, "not told", "UNKNOWN"),
        ({"checks": (check(Verdict.PASS, problem="permission"),)}, "not told", "UNKNOWN"),
        ({"checks": ()}, "not told", "UNKNOWN"),
        ({"checks": (check(Verdict.PASS),), "holdout": "unknown"}, "not told", "UNKNOWN"),
    ],
)
def test_a_verification_fails_where_its_state_says(one: dict[str, Any], layer: str, kind: str) -> None:
    state, _ = simulated_repair()
    made_ = Verification(**{"id": "V1", "attempt": 0, "findings": (), "policy": "p", **one})
    found = rounds_of(replace(state, verifications=(made_,)))
    assert (found.layers, found.kinds) == ({layer: 1}, {kind: 1})


@pytest.mark.parametrize(
    ("layer", "statuses", "more", "told", "kind"),
    [
        ("goal", ("satisfied",), {}, "passed", "PASS"),
        ("goal", ("satisfied", "insufficient_evidence"), {}, "goal", "PARTIAL"),
        ("goal", ("unknown",), {}, "not told", "UNKNOWN"),
        ("goal", ("satisfied",), {"disputed": ("c",)}, "not told", "UNKNOWN"),
        ("goal", ("violated",), {}, "goal", "FAIL"),
        ("structure", ("satisfied",), {}, "structure", "FAIL"),
        ("evidence", ("violated",), {}, "evidence", "FAIL"),
        ("goal", ("satisfied",), {"needs": "a key"}, "not told", "BLOCKED"),
    ],
)
def test_a_round_of_research_comes_out_as_its_state_says(
    layer: Any, statuses: Any, more: dict[str, Any], told: str, kind: str
) -> None:
    state, _ = simulated_research()
    items = tuple(Item(step="s1", attempt=0, criterion=str(at), status=one) for at, one in enumerate(statuses))
    verdict = Judged(round=1, plan=1, cursor=0, layer=layer, items=items, **more)
    found = rounds_of(replace(state, verdicts=(verdict,)))
    assert (found.layers, found.kinds) == ({told: 1}, {kind: 1})
