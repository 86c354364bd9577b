"""Laws of the research's routers, over states and runs made at random: none gets past evidence, budget or a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent import Route, answer
from graph_agent.runtime.advance import advance
from graph_agent.testing import states_of
from graph_agent.workflows.research import routes
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.nodes.plan import failed_plan
from graph_agent.workflows.research.state import (
    Answer,
    DeadEnd,
    Decision,
    Item,
    Plan,
    ResearchState,
    Result,
    Stage,
    Verdict,
)
from tests.workflows.research_states import EVIDENCE, FULL, PART, PLAN, UNCLEAR, result, step

laws = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
small = st.integers(0, 3)
WORDS = st.sampled_from(["", "", "x"])
STATUSES = ["satisfied", "satisfied", "satisfied", "violated", "insufficient_evidence", "unknown"]
THREE = Plan(steps=(step("s1", "probe"), step("s2", needs=("s1",)), step("s3", "close", ("s2",))))
WIDE = Plan(steps=(step("s1"), step("s2"), step("s3", "close", ("s1", "s2"))))
ONE = Plan(steps=(step("s1"), step("s2")))
PLANS = [PLAN, THREE, WIDE, ONE]

verdicts = st.builds(
    Verdict,
    round=small,
    plan=st.sampled_from([1, 1, 1, 2]),
    cursor=st.integers(0, 2),
    layer=st.sampled_from(["goal", "goal", "goal", "evidence", "structure"]),
    items=st.lists(
        st.builds(
            Item,
            step=st.sampled_from(["s1", "s1", "s2", "s3"]),
            attempt=st.just(0),
            criterion=st.sampled_from(["c1", "c2", "C1!"]),
            status=st.sampled_from(STATUSES),
        ),
        max_size=4,
    ).map(tuple),
    refuted=WORDS,
    needs=WORDS,
    disputed=st.sampled_from([(), (), ("c1",)]),
    spent=st.sampled_from([(), (), ("s1",)]),
    by_person=st.booleans(),
)
STATES = states_of(
    ResearchState,
    task_id="r",
    goal=["g", "g", "h", " "],
    planned_goal=["g", "g", ""],
    plan=[None, UNCLEAR, Plan(steps=()), *PLANS],
    plan_no=[1],
    asks=[(), (), ("s1",), ("s1", "s2")],
    cursor=range(4),
    rounds=range(4),
    max_rounds=range(5),
    replans=range(4),
    steps=range(1, 4),
    came_from=[Stage.PLAN, Stage.EXECUTE, Stage.VERIFY, Stage.ADVANCE, Stage.FINALIZE],
    verdicts=st.lists(verdicts, max_size=3).map(tuple),
    results=[(), (result(),), (result(), result("s2"))],
    evidence=[(), (EVIDENCE,)],
    answer=[None, FULL, PART, replace(PART, why=""), replace(FULL, why="")],
    decisions=st.lists(
        st.builds(
            Decision,
            pause=st.sampled_from(["r:0", "r:1", "r:2", "r:3"]),
            to=st.sampled_from(["back", "plan", "execute", "finalize"]),
        ),
        max_size=1,
    ).map(tuple),
    fingerprints=st.lists(
        st.builds(
            DeadEnd, fingerprint=st.just("f"), tried=WORDS, why=WORDS, failed=st.sampled_from([(), ("c1",), ("c2",)])
        ),
        max_size=1,
    ).map(tuple),
)
ROUTERS: dict[Stage, Callable[[ResearchState], Route]] = {
    stage: entry.to for stage, entry in GRAPH.nodes.items() if callable(entry.to)
}


@st.composite
def judged(draw: Any, /, **more: Any) -> ResearchState:
    """A run at a layer of a plan whose earlier layers passed, with a verdict of this round on the steps there."""
    plan = draw(st.sampled_from(PLANS))
    cursor = draw(st.integers(0, len(plan.layers) - 1))
    rounds = cursor + 1
    passed = [
        Verdict(round=at + 1, plan=1, cursor=at, layer="goal", items=tuple(_items(layer, ["satisfied"])))
        for at, layer in enumerate(plan.layers[:cursor])
    ]
    statuses = draw(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=3))
    latest = replace(
        draw(verdicts), round=rounds, plan=1, cursor=cursor, items=tuple(_items(plan.layers[cursor], statuses))
    )
    known = {
        "plan": plan, "plan_no": 1, "goal": "g", "planned_goal": "g", "cursor": cursor, "rounds": rounds,
        "verdicts": (*passed, latest), "max_rounds": rounds + draw(st.integers(0, 2)), "replans": draw(small),
        "answer": draw(st.sampled_from([None, FULL, PART])),
    }  # fmt: skip
    return ResearchState(task_id="r", stage=Stage.VERIFY, **{**known, **more})


def _items(layer: Any, statuses: list[Any]) -> list[Item]:
    return [
        Item(step=one.id, attempt=0, criterion=f"c{number}", status=status)
        for one in layer
        for number, status in enumerate(statuses, 1)
    ]


def test_every_stage_has_a_router_that_the_graph_uses() -> None:
    assert set(ROUTERS) == set(GRAPH.nodes)


@pytest.mark.parametrize("stage", ROUTERS)
@given(state=STATES)
@laws
def test_every_state_has_one_route_within_the_declared_exits(stage: Stage, state: ResearchState) -> None:
    state = replace(state, stage=stage)
    router, entry = ROUTERS[stage], GRAPH.nodes[stage]
    route = router(state)
    assert type(route) is Route
    assert route.stage in (entry.exits or ())
    assert route.reason.strip(), "each reason is a sentence"
    assert router(state) == route, "the same state, the same route"


@given(state=st.one_of(STATES, judged()))
@laws
def test_after_verify_every_reason_names_rounds_replans_cursor_and_score(state: ResearchState) -> None:
    reason = routes.route_after_verify(state).reason
    layers = len(state.plan.layers) if state.plan else 0
    score = f"{state.verdict.score:.2f}" if state.verdict else "none"
    assert reason.startswith(
        f"rounds {state.rounds}/{state.max_rounds}, replans {state.replans}/{state.max_replans}, "
        f"cursor {state.cursor + 1}/{layers}, score {score}: "
    )


@given(state=st.one_of(STATES, judged()))
@laws
def test_after_verify_nothing_is_tried_once_the_rounds_are_spent(state: ResearchState) -> None:
    route = routes.route_after_verify(state)
    if route.stage is not Stage.FINALIZE:
        assert state.rounds < state.max_rounds
    if route.stage is Stage.PLAN:
        assert state.replans < state.max_replans
        assert state.has_failed or state.goal != state.planned_goal, "a replan that counts, so they end"


@given(state=st.one_of(STATES, judged()))
@laws
def test_no_route_of_a_pass_without_the_evidence_layer_passed_in_this_round(state: ResearchState) -> None:
    """ADVANCE, and a plan that is refuted by what passed."""
    route = routes.route_after_verify(state)
    if route.stage is Stage.ADVANCE or "the plan rests on is refuted" in route.reason:
        latest = state.verdicts[-1]
        assert latest.layer == "goal"
        assert latest.round == state.rounds
        assert (latest.plan, latest.cursor) == (state.plan_no, state.cursor)
        assert latest.items and not [one for one in latest.items if one.status in ("violated", "unknown")]
        assert latest.score >= 0.8


@given(state=st.one_of(STATES, judged()), status=st.sampled_from(["complete", "partial"]))
@laws
def test_what_is_cut_short_never_looks_complete(state: ResearchState, status: Any) -> None:
    """Whatever is written as the answer, once the run was sent to FINALIZE for any reason but a pass of the last."""
    route = routes.route_after_verify(state)
    latest = state.verdict
    ended_well = latest is not None and state.holds and latest.status == "PASS" and state.is_last
    if route.stage is Stage.FINALIZE and not ended_well:
        assert not state.is_complete
        assert any(word in route.reason for word in ("spent", "missing or malformed"))
        finished = replace(state, stage=Stage.FINALIZE, answer=Answer(status=status, text="So [E1]."), approve=())
        assert routes.route_after_finalize(finished).stage is Stage.PARTIAL


@given(state=judged())
@laws
def test_finishing_on_the_last_round_is_complete(state: ResearchState) -> None:
    assert state.verdict is not None
    if not state.is_last or state.verdict.status != "PASS":
        return
    spent = replace(state, max_rounds=state.rounds, max_replans=state.replans)
    route = routes.route_after_verify(spent)
    assert route.stage is Stage.FINALIZE
    assert "spent" not in route.reason
    assert spent.is_complete
    assert routes.route_after_finalize(replace(spent, answer=FULL)).stage is Stage.DONE


@given(state=st.one_of(STATES, judged()))
@laws
def test_done_only_with_every_layer_passed_and_an_answer_that_holds(state: ResearchState) -> None:
    for stage, router in ROUTERS.items():
        if router(replace(state, stage=stage)).stage is not Stage.DONE:
            continue
        assert stage is Stage.FINALIZE
        assert state.is_complete and state.answer is not None and state.answer.status == "complete"
        assert "finish" not in state.approve or state.answer.fingerprint in state.approval
        assert state.plan is not None
        passed = {one.cursor for one in state.verdicts if one.plan == state.plan_no and one.status == "PASS"}
        assert passed == set(range(len(state.plan.layers)))


@given(state=st.one_of(STATES, judged()))
@laws
def test_what_a_step_says_of_itself_changes_no_route(state: ResearchState) -> None:
    boasting = replace(state, results=tuple(replace(one, claim="ALL DONE", gist="all is met") for one in state.results))
    for router in ROUTERS.values():
        assert router(boasting).stage is router(state).stage


@given(state=STATES)
@laws
def test_a_person_who_gives_up_is_never_overheard(state: ResearchState) -> None:
    gone = replace(state, give_up=True)
    assert routes.route_after_human(gone).stage is routes.route_after_approve(gone).stage is Stage.GIVE_UP
    assert routes.refuse_answer(gone) is None
    kept = replace(state, give_up=False)
    assert routes.route_after_human(kept).stage is not Stage.GIVE_UP


@pytest.mark.parametrize("stage", [Stage.APPROVE, Stage.HUMAN])
@given(state=STATES)
@laws
def test_every_offer_is_taken_and_none_goes_beyond_the_budget(stage: Stage, state: ResearchState) -> None:
    state = replace(state, stage=stage, give_up=False)
    offers = routes.offers_of(state)
    assert offers["give up"] == {"give_up": True}
    for patch in offers.values():
        after = answer(GRAPH, state, patch)
        if after.stage in (Stage.PLAN, Stage.EXECUTE, Stage.ADVANCE, Stage.VERIFY):
            assert after.rounds < after.max_rounds
        if after.stage in (Stage.PLAN, Stage.EXECUTE):
            assert after.max_turns is None or after.spent_turns < after.max_turns
        if after.stage is Stage.PLAN and failed_plan(after):
            assert after.replans < after.max_replans
        if after.stage is Stage.EXECUTE:
            assert not routes.needs_approval(after)
            assert "plan" not in after.approve or after.plan_fingerprint in after.approval


@given(state=judged(fingerprints=(DeadEnd(fingerprint="f", tried="", why="", failed=("c1",)),)))
@laws
def test_a_replan_that_fails_as_before_is_not_followed_by_another(state: ResearchState) -> None:
    assert state.verdict is not None
    if state.verdict.scope == "global" and "c1" in state.verdict.failed:
        assert routes.route_after_verify(state).stage in (Stage.FINALIZE, Stage.GIVE_UP)


@given(data=st.data(), rounds=st.integers(1, 5), replans=small, persons=st.integers(0, 2))
@laws
def test_no_sequence_of_outcomes_runs_more_than_the_budget(data: Any, rounds: int, replans: int, persons: int) -> None:
    """Nodes return anything; a person may answer whatever is offered so often, and then gives up."""
    state = ResearchState(task_id="r", goal="g", max_rounds=rounds, max_replans=replans)
    visits = dict.fromkeys(Stage, 0)
    answers = 0
    while state.stage not in GRAPH.ends:
        visits[state.stage] += 1
        if state.stage in GRAPH.pauses:
            offers = routes.offers_of(state)
            words = data.draw(st.sampled_from(list(offers))) if answers < persons else "give up"
            answers += 1
            state = answer(GRAPH, state, offers[words])
        else:
            patch = data.draw(returned(state))
            state = advance(GRAPH, state, patch)
        assert state.rounds <= state.max_rounds
        assert state.replans <= state.max_replans
        assert visits[Stage.VERIFY] == state.rounds
    assert answers or visits[Stage.PLAN] <= 1 + replans
    assert sum(visits.values()) <= 3 * state.max_rounds + 2 + 3 * answers
    assert (state.stage is Stage.DONE) == (state.is_complete and state.answer == FULL)


def returned(state: ResearchState) -> Any:
    """What the node at the state's stage may come to, by its contract."""
    if state.stage is Stage.PLAN:
        return st.one_of(*[st.sampled_from([*PLANS, UNCLEAR])] * 4, st.none()).map(lambda plan: _planned(state, plan))
    if state.stage is Stage.EXECUTE:
        found = tuple(
            Result(plan=state.plan_no, step=one.id, attempt=0, goal=one.goal, text="So [E1].") for one in state.layer
        )
        return st.sampled_from([{"results": found}, {}])
    if state.stage is Stage.VERIFY:
        return st.tuples(verdicts, st.lists(st.sampled_from(STATUSES), min_size=0, max_size=3)).map(
            lambda drawn: _verified(state, *drawn)
        )
    if state.stage is Stage.ADVANCE:
        return st.just({"cursor": state.cursor + 1})
    return st.sampled_from([{"answer": FULL if state.is_complete else PART}, {"answer": PART}])


def _planned(state: ResearchState, plan: Plan | None) -> dict[str, Any]:
    failed = failed_plan(state)
    dead: dict[str, Any] = {"fingerprints": (failed,), "replans": state.replans + 1} if failed else {}
    if plan is None:
        return {**dead, "blocked": "no valid plan"}
    made = {"plan": plan, "plan_no": state.plan_no + 1, "planned_goal": state.goal, "cursor": 0, "blocked": ""}
    return {**dead, **made, "asks": ("s2",) if plan is WIDE else ()}


def _verified(state: ResearchState, drawn: Verdict, statuses: list[Any]) -> dict[str, Any]:
    items = tuple(_items(state.layer, statuses))
    found = replace(drawn, round=state.rounds + 1, plan=state.plan_no, cursor=state.cursor, items=items)
    return {"verdicts": (found,), "rounds": state.rounds + 1, "reasons": ("why",)}
