"""Laws of the routers, over states made at random: no state, however odd, gets past evidence or budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent import BACK, Node, Route
from graph_agent.verify.report import TestCounts, Verdict
from graph_agent.workflows.repair import routes
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Check, Decision, Repair, Review, Stage, TaskState, Verification
from tests.workflows.repairing import POLICY, RIGHT, WRONG, changed, plan_of, repair_of

laws = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
small = st.integers(0, 3)
texts = st.sampled_from(["", "x", "the disk is full"])
plans = st.sampled_from([None, plan_of(RIGHT), plan_of(WRONG)])

checks = st.builds(
    Check,
    kind=st.sampled_from(["test", "check"]),
    command=st.just("pytest"),
    exit_code=st.sampled_from([None, 0, 0, 1, -9]),
    ruling=st.sampled_from(Verdict),
    reason=st.sampled_from(["tests passed", "timed out"]),
    counts=st.one_of(st.none(), st.builds(TestCounts, passed=small, failed=small, skipped=small)),
    problem=st.sampled_from(["", "", "permission: no", "isolation failed: bwrap"]),
)
verifications = st.builds(
    Verification,
    id=st.just("V1"),
    attempt=small,
    checks=st.lists(checks, max_size=2).map(tuple),
    findings=st.sampled_from([(), (), ("a.py: an assert was removed",)]),
    policy=st.just(POLICY.fingerprint),
    holdout=st.sampled_from(["none", "none", "not run", "pass", "fail", "unknown", "spent"]),
)
repairs = st.builds(
    Repair,
    decision=st.sampled_from(["repair", "clarify", "human_review", "merge"]),
    why=texts,
    cites=st.just(("V1",)),
    base=st.sampled_from(["original", "current"]),
    plan=plans,
)
states = st.builds(
    TaskState,
    task_id=st.just("t"),
    stage=st.sampled_from(Stage),
    request=texts,
    workspace=st.just("/runs/t"),
    steps=small,
    spent_turns=small,
    came_from=st.sampled_from([Stage.INTAKE, Stage.DIAGNOSE, Stage.PLAN, Stage.EXECUTE, Stage.VERIFY, Stage.REPAIR]),
    max_retries=small,
    retries=small,
    max_turns=st.one_of(st.none(), small),
    review=st.booleans(),
    approve=st.sampled_from([(), ("plan",), ("finish",), ("plan", "finish")]),
    blocked=texts,
    plan=plans,
    repairs=st.lists(repairs, max_size=2).map(tuple),
    changes=st.sampled_from([(), (changed(RIGHT),)]),
    verifications=st.lists(verifications, max_size=2).map(tuple),
    reviews=st.lists(st.builds(Review, blockers=st.sampled_from([(), ("no",)])), max_size=1).map(tuple),
    risks=st.sampled_from([(), ("a risk",)]),
    decisions=st.lists(
        st.builds(
            Decision,
            pause=st.sampled_from(["t:0", "t:1", "t:2", "t:3"]),
            to=st.sampled_from(["back", "plan", "execute", "verify", "done"]),
        ),
        max_size=1,
    ).map(tuple),
    give_up=st.booleans(),
)
ROUTERS: dict[Stage, Callable[[TaskState], Route]] = {
    stage: entry.to for stage, entry in GRAPH.nodes.items() if callable(entry.to)
}


def test_every_stage_has_a_router_that_the_graph_uses() -> None:
    assert set(ROUTERS) == set(GRAPH.nodes)


@pytest.mark.parametrize("stage", ROUTERS)
@given(state=states)
@laws
def test_every_state_has_one_route_within_the_declared_exits(stage: Stage, state: TaskState) -> None:
    router, entry = ROUTERS[stage], GRAPH.nodes[stage]
    route = router(state)
    assert type(route) is Route
    assert route.stage in (entry.exits or ())
    assert route.reason.strip(), "each reason is a sentence"
    assert router(state) == route, "the same state, the same route"


@given(state=states)
@laws
def test_after_verify_there_is_no_repair_at_or_above_a_limit(state: TaskState) -> None:
    if routes.route_after_verify(state).stage is Stage.REPAIR:
        assert state.retries < state.max_retries
        assert state.max_turns is None or state.spent_turns < state.max_turns
        assert state.verification is not None
        assert state.verification.verdict is Verdict.FAIL
        assert not state.verification.permission_problem


@pytest.mark.parametrize("stage", [Stage.VERIFY, Stage.REVIEW, Stage.HUMAN])
@given(state=states)
@laws
def test_nothing_is_done_without_exit_code_0_a_test_that_ran_and_a_clean_guard(stage: Stage, state: TaskState) -> None:
    if ROUTERS[stage](state).stage is not Stage.DONE:
        return
    latest = state.verification
    assert latest is not None
    assert latest.findings == ()
    assert all(check.exit_code == 0 and not check.problem for check in latest.checks)
    ran = [check.counts for check in latest.checks if check.kind == "test"]
    assert ran
    assert all(counts is not None and counts.passed > 0 for counts in ran)
    assert latest.holdout in ("none", "pass")


def test_only_these_stages_may_end_a_run_as_done() -> None:
    ending = {stage for stage, entry in GRAPH.nodes.items() if Stage.DONE in (entry.exits or ())}
    assert ending == {Stage.VERIFY, Stage.REVIEW, Stage.HUMAN}


@given(state=states)
@laws
def test_what_a_model_claims_or_hopes_changes_no_route(state: TaskState) -> None:
    from dataclasses import replace

    def boasting(plan: Any) -> Any:
        return plan and replace(plan, claim="ALL TESTS PASS", risks=("none",))

    boastful = replace(state, plan=boasting(state.plan))
    assert routes.route_after_verify(boastful).stage is routes.route_after_verify(state).stage


@given(state=states)
@laws
def test_a_review_can_stop_a_run_and_cannot_pass_one(state: TaskState) -> None:
    if routes.route_after_review(state).stage is Stage.DONE:
        assert state.verification is not None
        assert state.verification.verdict is Verdict.PASS
        assert not state.reviews[-1].blockers


@given(state=states)
@laws
def test_a_person_who_gives_up_is_never_overheard(state: TaskState) -> None:
    route = routes.route_after_human(state)
    assert (route.stage is Stage.FAILED) == state.give_up
    assert route.stage is BACK or isinstance(GRAPH.nodes.get(route.stage), Node) or route.stage in GRAPH.ends


@given(first=st.integers(0, 2), later=st.lists(st.booleans(), max_size=4))
def test_attempts_are_numbered_in_the_order_in_which_they_were_planned(first: int, later: list[bool]) -> None:
    """Each is a repair, or (True) a new plan in the place of the former one."""
    from dataclasses import replace

    from graph_agent.workflows.repair.state import FormerPlan
    from tests.workflows.repairing import task

    plans = [plan_of(RIGHT, hypothesis=f"{n}") for n in range(first + len(later) + 1)]
    state = task(plan=plans[0])
    for number, anew in enumerate([False] * first + later, 1):
        if anew:
            former = FormerPlan(plan=state.plan, repairs=len(state.repairs))  # type: ignore[arg-type]
            state = replace(state, plan=plans[number], former_plans=(*state.former_plans, former))
        else:
            state = replace(state, repairs=(*state.repairs, repair_of(plan=plans[number])))
        assert state.attempt == number
        assert state.plan_now == plans[number]
    assert [one.plan for one in state.attempts] == plans
