"""All runs there can be, for small limits: each node answers in each of a handful of ways, and nothing is left out.

The rule: an outcome is what the real node may return by its contract; what EXECUTE does without a plan or at high risk
is asked of the real node. A person answers so often and no oftener, so that the space has an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from graph_agent import Context, FakeTools, pause_id
from graph_agent.testing import (
    Fails,
    HitsLimit,
    Report,
    Taken,
    Took,
    always_before,
    budget_holds,
    can_reach,
    explore,
    monotone,
    reason_given,
    terminates,
)
from graph_agent.tools.workspace import Changed
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair import nodes
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Decision, Review, Stage, TaskState
from tests.workflows.repairing import FILES, POLICY, RIGHT, infos, plan_of, repair_of, seen, task
from tests.workflows.test_repair_routes import FAIL, FORBIDDEN, PASS, UNKNOWN

State = TaskState
Patch = dict[str, Any]

BLOCKED: Patch = {"blocked": "can't"}
START = task(max_retries=2, max_turns=8)


def returned(state: State) -> Iterator[Any]:
    """What the node at the state's stage may come to."""
    for patch, turns in outcomes(state):
        yield Took(patch, turns)
    yield Fails("the disk is gone")
    yield HitsLimit()


def outcomes(state: State) -> Iterator[tuple[Patch, int]]:
    """What the node at the state's stage may return, and the turns that it spends."""
    stage = state.stage
    if stage is Stage.INTAKE:
        yield {"baseline": infos(FILES), "blocked": ""}, 0
        yield {"risks": ("a forbidden word",), **BLOCKED}, 0
    elif stage is Stage.DIAGNOSE:
        yield {"observations": seen(), "blocked": ""}, 2
        yield {"observations": seen(), "risks": ("no diff",), "blocked": ""}, 2
        yield BLOCKED, 1
    elif stage is Stage.PLAN:
        yield {"plan": plan_of(RIGHT), "blocked": ""}, 1
        yield BLOCKED, 2
    elif stage is Stage.EXECUTE:
        yield from executed(state)
    elif stage is Stage.VERIFY:
        for verification in (PASS, FAIL, UNKNOWN, FORBIDDEN):
            risks = {"risks": ("a permission",)} if verification.permission_problem else {}
            named = replace(verification, id=f"V{len(state.verifications) + 1}")
            yield {"verifications": (named,), "blocked": "", **risks}, 0
    elif stage is Stage.REPAIR:
        tried = {"retries": state.retries + 1}
        yield {**tried, "repairs": (repair_of(RIGHT),), "blocked": ""}, 1
        yield {**tried, "repairs": (repair_of(decision="clarify", plan=None),), "blocked": ""}, 1
        yield {**tried, **BLOCKED}, 2
    elif stage is Stage.REVIEW:
        yield {"reviews": (Review(blockers=()),), "blocked": ""}, 2
        yield {"reviews": (Review(blockers=("no",)),), "blocked": ""}, 2
        yield BLOCKED, 2


def executed(state: State) -> Iterator[tuple[Patch, int]]:
    """What the real node does: refuses, or writes."""
    tools = FakeTools({"edit_file": Changed(path="shop.py", before="a" * 64, after="b" * 64), "restore_file": None})
    patch = nodes.execute(state, Context(tools=tools, policy=POLICY))
    wrote = bool(tools.calls)
    assert wrote == (not patch["blocked"])
    if wrote:
        assert state.plan_now is not None, "nothing is written without a plan"
        assert state.risk == "low", "nothing is written at high risk without approval"
        assert state.plan_approved
    yield patch, int(wrote)
    if wrote:
        yield BLOCKED, 1


def answers(state: State) -> Iterator[Patch]:
    """What a person may say: to end it, to approve, to raise a limit once, to send the run on."""
    yield {"give_up": True}
    approved = {state.risks_fingerprint, state.plan_fingerprint, state.patch_fingerprint}
    if not approved <= set(state.approval):
        yield {"approval": tuple(sorted(approved))}
    if state.max_retries == START.max_retries:
        yield {"max_retries": 3, "max_turns": 11}
    for to in ("plan", "execute", "verify", "done"):
        yield {"decisions": (Decision(pause=pause_id(state), to=to),)}  # type: ignore[arg-type]


def spoken(state: State) -> int:
    """How often a person spoke, by the marks that they left."""
    raised = state.max_retries > START.max_retries
    return len(state.decisions) + (len(state.approval) + 2) // 3 + raised


def no_write_without_an_approved_plan(before: State, taken: Taken, after: State) -> str | None:
    if after is None or len(after.changes) == len(before.changes):
        return None
    if taken.stage is not Stage.EXECUTE:
        return f"{taken.stage} wrote"
    return None if before.plan_now is not None and before.plan_approved else "there was no plan, or nobody approved it"


def none_at_high_risk(before: State, taken: Taken, after: State) -> str | None:
    wrote = after is not None and len(after.changes) > len(before.changes)
    return f"written at high risk: {before.risks}" if wrote and before.risk == "high" else None


def done_only_on_a_pass(before: State, taken: Taken, after: State) -> str | None:
    if after is None or after.stage is not Stage.DONE:
        return None
    latest = after.verification
    if latest is None or latest.verdict is not Verdict.PASS:
        return "nothing passed"
    accepted = bool(after.decisions) and after.decisions[-1].to == "done"
    return None if after.patch_approved or accepted else "nobody approved the patch"


def out_of_budget_nothing_is_written(before: State, taken: Taken, after: State) -> str | None:
    spent = before.max_turns is not None and before.spent_turns >= before.max_turns
    return "written out of budget" if spent and after is not None and after.changes != before.changes else None


LAWS = (
    terminates(),
    reason_given(),
    budget_holds(),
    budget_holds("retries", "max_retries"),
    monotone("changes"),
    monotone("verifications"),
    monotone("observations"),
    always_before(Stage.DIAGNOSE, Stage.PLAN),
    always_before(Stage.DIAGNOSE, Stage.REPAIR),  # no model sees a request before the rules did
    always_before(Stage.VERIFY, Stage.DONE),
    can_reach(Stage.HUMAN),
    no_write_without_an_approved_plan,
    none_at_high_risk,
    done_only_on_a_pass,
    out_of_budget_nothing_is_written,
)


@cache
def explored(persons: int, review: bool = False, approve: tuple[Any, ...] = (), retries: int = 2) -> Report:
    """Every run in which a person answers at most so often."""

    def asked(state: State) -> Iterator[Patch]:
        if spoken(state) < persons:
            yield from answers(state)

    choices = {stage: asked if stage in GRAPH.pauses else returned for stage in GRAPH.nodes}
    start = replace(START, review=review, approve=approve, max_retries=retries)
    return explore(GRAPH, start, choices, laws=LAWS)


RUNS: list[tuple[Any, ...]] = [
    (0,),
    (0, True, ("plan", "finish")),
    (1,),
    (1, True),
    (2, True, ("plan", "finish")),
]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_every_run_keeps_the_laws(run: tuple[Any, ...]) -> None:
    report = explored(*run).raise_on_violation()
    assert report.complete


def test_without_a_person_a_run_is_short() -> None:
    assert explored(0).longest == 11


def all_states() -> list[State]:
    return [state for run in RUNS for state in explored(*run).space.states]


def test_a_run_stops_at_a_person_or_an_end_and_nowhere_else() -> None:
    for run in RUNS:
        space = explored(*run).space
        stops = {state.stage for state, steps in zip(space.states, space.steps, strict=True) if not steps}
        assert Stage.HUMAN in stops
        assert stops <= {Stage.HUMAN, Stage.DONE, Stage.FAILED}


def test_a_person_always_has_an_answer_that_leads_away() -> None:
    """Where one may still speak, one of their answers is taken."""
    space = explored(1).space
    for state, steps in zip(space.states, space.steps, strict=True):
        if state.stage is Stage.HUMAN and not spoken(state):
            assert any(taken.to is not Stage.HUMAN for taken, _ in steps)


NOT_IN_THESE_RUNS = {
    (Stage.INTAKE, Stage.FAILED, "route"),  # an empty request: a run of one step, below
    (Stage.DIAGNOSE, Stage.HUMAN, "limit"),  # it is the first that may spend, and has eight turns
    # A person lets a run go on where it came from only when nothing has to be decided; here they always decide.
    *((Stage.HUMAN, stage, "back") for stage in (Stage.PLAN, Stage.EXECUTE, Stage.VERIFY)),
}


def test_every_stage_and_every_edge_is_in_some_run() -> None:
    taken = {edge for run in RUNS for edge in explored(*run).edges_taken}
    missed = {edge for edge in GRAPH.edges if edge[2] != "doubt" and edge not in taken}
    assert missed <= NOT_IN_THESE_RUNS
    assert {state.stage for state in all_states()} == set(Stage)


def test_an_empty_request_ends_at_once() -> None:
    report = explore(GRAPH, replace(START, request=" "), {s: [{"blocked": ""}] for s in GRAPH.runs_on}, laws=LAWS[1:2])
    assert [one.taken.to for one in report.space.path_to(1)] == [Stage.FAILED]


def test_with_no_retries_there_is_one_failed_verification_and_no_second_write() -> None:
    states = explored(0, retries=0).space.states
    assert all(len(state.verifications) <= 1 and len(state.changes) <= 1 for state in states)
    assert all(state.stage is not Stage.REPAIR for state in states)
    assert any(state.stage is Stage.HUMAN and state.changes for state in states)
