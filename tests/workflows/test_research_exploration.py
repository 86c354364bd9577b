"""All runs of a research that there can be, for small limits: each node answers in each way that its contract allows.

Two states are one place when all that a router may look at is equal; what only grows is left out. A person answers so
often and no oftener, so that the space has an end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from graph_agent import pause_id
from graph_agent.testing import (
    Fails,
    HitsLimit,
    Report,
    Taken,
    always_before,
    explore,
    monotone,
    reason_given,
    terminates,
)
from graph_agent.workflows.research import routes
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.nodes.plan import failed_plan
from graph_agent.workflows.research.state import Answer, Decision, Item, ResearchState, Stage, Verdict
from tests.workflows.research_states import DOUBT, NO, PLAN, THIN, UNCLEAR, YES, result

State = ResearchState
Patch = dict[str, Any]
START = State(task_id="r", goal="g", max_rounds=4, max_replans=2, max_turns=100)


def planned(state: State) -> Iterator[Any]:
    """A plan, one that asks before its second layer, a question, or that there is none; a failed plan is a dead end."""
    if not state.goal.strip():
        yield {}
        return
    failed = failed_plan(state)
    dead: Patch = {"fingerprints": (failed,), "replans": state.replans + 1} if failed else {}
    made = {"plan": PLAN, "plan_no": state.plan_no + 1, "planned_goal": state.goal, "cursor": 0, "blocked": ""}
    yield {**dead, **made, "asks": ()}
    yield {**dead, **made, "asks": ("s2",)}
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
    for layer, statuses, more in (
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
    ):
        items = tuple(
            Item(step=step.id, attempt=0, criterion=f"c{number}", status=status)  # type: ignore[arg-type]
            for step in state.layer
            for number, status in enumerate(statuses, 1)
        )
        found = Verdict(
            round=state.rounds + 1, plan=state.plan_no, cursor=state.cursor, layer=layer, items=items, **more
        )  # type: ignore[arg-type]  # fmt: skip
        yield {"verdicts": (found,), "rounds": state.rounds + 1, "reasons": ("why",)}
    yield Fails("the disk is gone")


def finalized(state: State) -> Iterator[Any]:
    """Complete where all passed, unless a citation did not hold in the end."""
    if state.is_complete:
        yield {"answer": Answer(status="complete", text="so")}
    yield {"answer": Answer(status="partial", text="", why="a citation does not hold")}


def answered(state: State) -> Iterator[Patch]:
    """Whatever a person may say that is taken, and not only what is offered."""
    yield {"give_up": True}
    yield {}
    for wanted in filter(None, (routes._wanted(state), state.layer_fingerprint)):
        if wanted not in state.approval:
            yield {"approval": (wanted,)}
    yield {"notes": ("it is so",)}
    yield {"goal": "another"}
    more = {"max_rounds": state.max_rounds + 1, "max_replans": state.max_replans + 1}
    yield more
    for to in ("plan", "execute", "finalize"):
        decided: Any = Decision(pause=pause_id(state), to=to)
        yield {"decisions": (decided,), **(more if state.rounds >= state.max_rounds else {})}


def said(state: State) -> int:
    """How often a person spoke, by the marks that they left."""
    words = len(state.decisions) + len(state.approval) + len(state.notes) + (state.goal != START.goal)
    return words + (state.max_replans - START.max_replans) * (not state.decisions)


def place(state: State) -> Hashable:
    """All that decides: of the verdicts the latest two and the layers that passed, of the dead ends the latest."""
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
        state.answer, len(state.latest_results), len(state.fresh_notes), routes.decision_of(state), said(state),
        state.approval, state.give_up,
    )  # fmt: skip


def done_only_when_complete(before: State, taken: Taken, after: State) -> str | None:
    if after is None or after.stage is not Stage.DONE:
        return None
    if not after.is_complete or after.answer is None or after.answer.status != "complete":
        return "done, and not complete"
    unapproved = "finish" in after.approve and after.answer.fingerprint not in after.approval
    return "done, and nobody approved the answer" if unapproved else None


def rounds_are_bounded(before: State, taken: Taken, after: State) -> str | None:
    """A visit of VERIFY is a round, and none is begun when they are spent."""
    if taken.stage is Stage.VERIFY and before.rounds >= before.max_rounds:
        return f"a round after {before.rounds} of {before.max_rounds}"
    more = after is not None and after.replans > after.max_replans
    return f"{after.replans} replans of {after.max_replans}" if more else None


def nothing_acts_unapproved(before: State, taken: Taken, after: State) -> str | None:
    if taken.stage is not Stage.EXECUTE or not any(step.id in before.asks for step in before.layer):
        return None
    return None if before.layer_fingerprint in before.approval else "a layer with effects ran, and nobody approved it"


def no_pass_without_the_lower_layers(before: State, taken: Taken, after: State) -> str | None:
    if taken.stage is not Stage.VERIFY or after is None or after.stage is not Stage.ADVANCE:
        return None
    latest = after.verdicts[-1]
    return None if latest.layer == "goal" and latest.status == "PASS" else f"on without a pass: {latest.layer}"


LAWS = (
    terminates(),
    reason_given(),
    monotone("rounds"),
    monotone("replans"),
    always_before(Stage.VERIFY, Stage.DONE),
    always_before(Stage.EXECUTE, Stage.ADVANCE),
    done_only_when_complete,
    rounds_are_bounded,
    nothing_acts_unapproved,
    no_pass_without_the_lower_layers,
)
NODES = {
    Stage.PLAN: planned,
    Stage.EXECUTE: executed,
    Stage.VERIFY: verified,
    Stage.ADVANCE: lambda state: [{"cursor": state.cursor + 1}],
    Stage.FINALIZE: finalized,
    Stage.GIVE_UP: lambda state: [{"answer": Answer(status="partial", text="", why="given up")}],
}


@cache
def explored(persons: int, approve: tuple[Any, ...] = (), goal: str = "g", max_rounds: int = 4) -> Report:
    """Every run in which a person answers at most so often."""

    def asked(state: State) -> Iterator[Patch]:
        if said(state) < persons:
            yield from (patch for patch in answered(state) if _is_taken(state, patch))

    choices = {stage: asked if stage in GRAPH.pauses else NODES[stage] for stage in GRAPH.nodes}
    start = replace(START, approve=approve, goal=goal, max_rounds=max_rounds)
    return explore(GRAPH, start, choices, laws=LAWS, view=place, max_states=400_000)


def _is_taken(state: State, patch: Patch) -> bool:
    if not patch and state.came_from is None:
        return False
    return routes._would_do(state, patch)


RUNS: list[tuple[Any, ...]] = [
    (0,),
    (0, (), " "),
    (1, (), "g", 2),
    (1, ("plan", "finish"), "g", 3),
    (1, ("finish",), "g", 3),
]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_every_run_keeps_the_laws(run: tuple[Any, ...]) -> None:
    report = explored(*run).raise_on_violation()
    assert report.complete


def test_without_a_person_a_run_is_short() -> None:
    assert explored(0).longest <= 4 * START.max_rounds + 4


def test_every_stage_and_every_exit_is_taken_by_some_run() -> None:
    taken = set().union(*(explored(*run).edges_taken for run in RUNS))
    stages = {edge[0] for edge in taken} | {edge[1] for edge in taken}
    assert stages == set(Stage)
    exits = {(stage, target) for stage, entry in GRAPH.nodes.items() for target in (entry.exits or ())}
    assert {(a, b) for a, b in exits if isinstance(b, Stage)} <= {(a, b) for a, b, _ in taken}
