"""All runs of a research that there can be, for small limits: each node answers in each way that its contract allows.

Two states are one place when all that a router may look at is equal; what only grows is left out. A person answers so
often and no oftener, so that the space has an end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from graph_agent import pause_id
from graph_agent.testing import (
    Fails,
    HitsLimit,
    Report,
    Taken,
    always_before,
    budget_holds,
    every_stage_reached,
    explore,
    monotone,
    never,
    pauses_are_left,
    reason_given,
    terminates,
)
from graph_agent.workflows.research import routes
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.nodes.plan import failed_plan
from graph_agent.workflows.research.state import Answer, Decision, Item, Layer, ResearchState, Stage, Verdict
from tests.workflows.research_states import DOUBT, NO, PASSED, PLAN, THIN, UNCLEAR, YES, result

State = ResearchState
Patch = dict[str, Any]
TURNS = 100
START = State(task_id="0", goal="g", max_rounds=4, max_replans=2, max_turns=TURNS)
PARTIAL = Answer(status="partial", text="", why="a citation does not hold")
GIVES_UP: Patch = {"give_up": True}


def planned(state: State) -> Iterator[Any]:
    """A plan, one whose layers ask before they act, a question, or that there is none; a failed plan is a dead end."""
    if not state.goal.strip():
        yield {}
        return
    failed = failed_plan(state)
    dead: Patch = {"fingerprints": (failed,), "replans": state.replans + 1} if failed else {}
    made = {"plan": PLAN, "plan_no": state.plan_no + 1, "planned_goal": state.goal, "cursor": 0, "blocked": ""}
    yield {**dead, **made, "asks": ()}
    yield {**dead, **made, "asks": ("s1", "s2")}
    yield {**dead, **made, "plan": UNCLEAR, "asks": ()}
    yield {**dead, "blocked": "no valid plan"}
    yield Fails("the model is down")
    yield HitsLimit()


def executed(state: State) -> Iterator[Any]:
    """A result for each step of the layer, or nothing, where a judge could not tell."""
    latest = {one.step: one for one in state.latest_results}
    attempts = {step.id: latest[step.id].attempt + 1 if step.id in latest else 0 for step in state.layer}
    yield {"results": tuple(result(name, plan=state.plan_no, attempt=at) for name, at in attempts.items())}
    if latest:
        yield {}
    yield Fails("the model is down")
    yield HitsLimit()


def verified(state: State) -> Iterator[Any]:
    """A verdict of each kind on the layer."""
    kinds: list[tuple[Layer, tuple[Any, ...], Patch]] = [
        ("goal", (YES, YES), {}),
        ("goal", (YES, YES), {"refuted": "it is not so"}),
        ("goal", (YES, THIN), {}),
        ("goal", (NO, NO), {}),
        ("structure", (NO,), {}),
        ("evidence", (NO,), {"spent": tuple(step.id for step in state.layer)}),
        ("goal", (YES, DOUBT), {}),
        ("goal", (THIN, THIN), {"needs": "a key"}),
        ("goal", (YES, THIN), {"disputed": ("c2",)}),
        ("goal", (), {}),
    ]
    for layer, statuses, more in kinds:
        items = tuple(
            Item(step=step.id, attempt=0, criterion=f"c{number}", status=status)
            for step in state.layer
            for number, status in enumerate(statuses, 1)
        )
        number = state.rounds + 1
        found = Verdict(round=number, plan=state.plan_no, cursor=state.cursor, layer=layer, items=items, **more)
        yield {"verdicts": (found,), "rounds": state.rounds + 1, "reasons": ("why",)}
    yield Fails("the disk is gone")


def finalized(state: State) -> Iterator[Any]:
    """Complete where all passed, unless a citation did not hold in the end."""
    if state.is_complete:
        yield {"answer": Answer(status="complete", text="so")}
    yield {"answer": PARTIAL}
    yield Fails("the disk is gone")


def answered(state: State) -> Iterator[Patch]:
    """Whatever a person may say, and not only what is offered. Each answer allows a turn more, by which they count."""
    for patch in words(state):
        yield {**patch, "max_turns": TURNS + said(state) + 1}


def words(state: State) -> Iterator[Patch]:
    yield GIVES_UP
    if said(state) == persons(state):
        return
    wanted: Patch = {"approval": routes._wanted(state)}
    yield from ({}, wanted, {"notes": ("it is so",)}, {"goal": "another"})
    if len(wanted["approval"]) > 1:
        yield {"approval": wanted["approval"][:1]}
    yield {**wanted, "max_rounds": state.rounds, "max_replans": state.replans}
    for to in ("plan", "execute", "finalize"):
        decided: Any = Decision(pause=pause_id(state), to=to)
        yield {"decisions": (decided,)}
        if state.rounds == state.max_rounds:
            yield {"decisions": (decided,), "max_rounds": state.rounds + 1}


def persons(state: State) -> int:
    """How often a person has an answer before they give up, by the name of the run."""
    return int(state.task_id)


def said(state: State) -> int:
    return (state.max_turns or 0) - TURNS


def place(state: State) -> Hashable:
    """All that decides: of the verdicts the latest two and the layers that passed, of the dead ends the latest."""
    if state.stage in GRAPH.ends or state.give_up:
        return state.stage
    here = [one for one in state.verdicts if one.plan == state.plan_no]
    passed = frozenset(one.cursor for one in here if one.status == "PASS")
    kinds = tuple(
        (one.layer, one.status, one.scope, one.refuted, one.cursor, one.round == state.rounds, len(one.items))
        for one in here[-2:]
    )
    failed = (here[-1].failed if here else (), state.fingerprints[-1].failed if state.fingerprints else ())
    return (
        state.stage, state.came_from, state.goal, state.planned_goal, state.plan, state.asks, bool(state.blocked),
        state.cursor, state.rounds, state.replans, state.max_rounds, state.max_replans, passed, kinds, failed,
        state.answer, len(state.latest_results), len(state.fresh_notes), state.task_id, said(state),
        state.approve, state.approval, state.give_up,
    )  # fmt: skip


def done_only_when_approved(before: State, taken: Taken, after: State) -> str | None:
    if after is None or after.stage is not Stage.DONE or "finish" not in after.approve:
        return None
    approved = after.answer is not None and after.answer.fingerprint in after.approval
    return None if approved else "done, and nobody approved the answer"


def no_round_is_begun_when_they_are_spent(before: State, taken: Taken, after: State) -> str | None:
    """A visit of VERIFY is a round."""
    begun = taken.stage is Stage.VERIFY and before.rounds >= before.max_rounds
    return f"a round after {before.rounds} of {before.max_rounds}" if begun else None


def nothing_is_carried_out_unapproved(before: State, taken: Taken, after: State) -> str | None:
    if taken.stage is not Stage.EXECUTE:
        return None
    if "plan" in before.approve and before.plan_fingerprint not in before.approval:
        return "a plan was carried out that nobody approved"
    acts = any(step.id in before.asks for step in before.layer)
    unapproved = acts and before.layer_fingerprint not in before.approval
    return "a layer with effects ran, and nobody approved it" if unapproved else None


def what_is_degraded_is_partial(before: State, taken: Taken, after: State) -> str | None:
    """Where a limit or a person cut a run short, its end says so."""
    if taken.stage is not Stage.FINALIZE or before.is_complete or after is None:
        return None
    return None if after.stage in (Stage.PARTIAL, Stage.HUMAN) else f"cut short, and it ended as {after.stage}"


def no_pass_without_the_lower_layers(before: State, taken: Taken, after: State) -> str | None:
    if taken.stage is not Stage.VERIFY or after is None or after.stage is not Stage.ADVANCE:
        return None
    latest = after.verdicts[-1]
    return None if latest.layer == "goal" and latest.status == "PASS" else f"on without a pass: {latest.layer}"


def incomplete(state: State) -> bool:
    return not state.is_complete or state.answer is None or state.answer.status != "complete"


LAWS = (
    terminates(),
    pauses_are_left(),
    reason_given(),
    monotone("rounds"),
    monotone("replans"),
    monotone("results"),
    monotone("verdicts"),
    monotone("fingerprints"),
    budget_holds("rounds", "max_rounds"),
    budget_holds("replans", "max_replans"),
    never(Stage.DONE, when=incomplete),
    always_before(Stage.VERIFY, Stage.DONE),
    always_before(Stage.FINALIZE, Stage.DONE),
    always_before(Stage.EXECUTE, Stage.ADVANCE),
    done_only_when_approved,
    no_round_is_begun_when_they_are_spent,
    nothing_is_carried_out_unapproved,
    what_is_degraded_is_partial,
    no_pass_without_the_lower_layers,
)
NODES = {
    Stage.PLAN: planned,
    Stage.EXECUTE: executed,
    Stage.VERIFY: verified,
    Stage.ADVANCE: lambda state: [{"cursor": state.cursor + 1}, Fails("the disk is gone")],
    Stage.FINALIZE: finalized,
    Stage.GIVE_UP: lambda state: [{"answer": PARTIAL}, *([] if state.give_up else [Fails("the disk is gone")])],
}
BY_NAME = {Stage.PLAN, Stage.EXECUTE, Stage.FINALIZE, Stage.GIVE_UP}
NOT_IN_THESE_RUNS = {
    *((Stage.HUMAN, stage, "back") for stage in BY_NAME),  # an exit as well, and counted as such
    (Stage.HUMAN, Stage.APPROVE, "back"),  # no pause leads to another
}


def run_of(persons: int, rounds: int, *approve: Any, goal: str = "g") -> State:
    return replace(START, task_id=str(persons), approve=approve, goal=goal, max_rounds=rounds)


HALF_WAY: Patch = {
    "stage": Stage.EXECUTE,
    "cursor": 1,
    "plan": PLAN,
    "plan_no": 1,
    "planned_goal": "g",
    "results": (result(),),
    "rounds": 1,
    "verdicts": (PASSED,),
}
RUNS = (
    run_of(0, 4),
    run_of(0, 2, goal=" "),
    run_of(1, 2),
    replace(run_of(1, 2, "finish"), **HALF_WAY),
    run_of(2, 1, "plan", "finish"),
)


@cache
def explored() -> Report:
    """Every run in which a person answers at most so often, and then gives up."""
    choices = {stage: answered if stage in GRAPH.pauses else NODES[stage] for stage in GRAPH.nodes}
    return explore(GRAPH, RUNS, choices, laws=(*LAWS, every_stage_reached()), view=place)


def test_every_run_keeps_the_laws() -> None:
    report = explored().raise_on_violation()
    assert report.complete
    assert report.space.refused > 500


def test_every_edge_of_the_table_is_in_some_run() -> None:
    taken = explored().edges_taken
    assert {edge for edge in GRAPH.edges if edge[2] != "doubt" and edge not in taken} == NOT_IN_THESE_RUNS


def test_without_a_person_a_run_is_short() -> None:
    choices = {stage: NODES.get(stage, [GIVES_UP]) for stage in GRAPH.nodes}
    report = explore(GRAPH, run_of(0, 4), choices, view=place)
    assert report.longest == 3 * 4 + 1
