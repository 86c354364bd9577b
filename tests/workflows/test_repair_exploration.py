"""All runs there can be, for small limits: each node answers in each of a handful of ways, and nothing is left out.

`advance` is pure and states are hashable, so every reachable state can be visited. The rule: an outcome is what the
real node may return by its contract; what EXECUTE does without a plan or at high risk is asked of the real node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from graph_agent import AnswerError, Context, FakeTools, advance, answer, pause_id
from graph_agent.runtime.advance import may_start, stop_at_error, stop_at_limit
from graph_agent.tools.workspace import Changed
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair import nodes
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Decision, Review, Stage, TaskState
from tests.workflows.repairing import FILES, POLICY, RIGHT, infos, plan_of, repair_of, seen, task
from tests.workflows.test_repair_routes import FAIL, FORBIDDEN, PASS, UNKNOWN

State = TaskState
Patch = dict[str, Any]
Edges = dict[State, list[State]]

BLOCKED: Patch = {"blocked": "can't"}
START = task(max_retries=2, max_turns=8)


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
    yield {}
    yield {"approval": (state.risks_fingerprint, state.plan_fingerprint, state.patch_fingerprint)}
    raised = {"max_retries": 3, "max_turns": 11}
    yield raised
    for to in ("plan", "execute", "verify", "done"):
        yield {"decisions": (Decision(pause=pause_id(state), to=to),)}  # type: ignore[arg-type]


def following(state: State, persons: int) -> Iterator[State]:
    """All states after one step. A person answers at most `persons` times in a run."""
    if state.stage in GRAPH.pauses:
        if pauses_answered(state) < persons:
            yield from answered(state)
        return
    if not may_start(GRAPH, state):
        yield stop_at_limit(GRAPH, state, started=False)
        return
    left = 99 if state.max_turns is None else state.max_turns - state.spent_turns
    for patch, turns in outcomes(state):
        if turns <= left:
            yield advance(GRAPH, state, patch, turns=turns)
        else:
            yield stop_at_limit(GRAPH, state, turns=left)
    yield stop_at_error(GRAPH, state, OSError("the disk is gone"))


def pauses_answered(state: State) -> int:
    """How often a person spoke, as far as they left a mark."""
    return len(state.decisions) + len(state.approval) // 3 + (state.max_retries > START.max_retries)


def answered(state: State) -> Iterator[State]:
    for patch in answers(state):
        try:
            after = answer(GRAPH, state, patch)
        except AnswerError:
            continue
        if after.stage in GRAPH.ends or pauses_answered(after) > pauses_answered(state):
            yield after


@cache
def explored(persons: int, review: bool, approve: tuple[Any, ...]) -> Edges:
    """Every state that a run can reach, with those that may follow it."""
    start = replace(START, review=review, approve=approve)
    edges: Edges = {}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if state in edges:
            continue
        edges[state] = [] if state.stage in GRAPH.ends else list(following(state, persons))
        waiting.extend(edges[state])
        assert len(edges) < 50_000, "the exploration is bounded"
    return edges


def all_runs() -> list[Edges]:
    return [
        explored(0, False, ()),
        explored(0, True, ("plan", "finish")),
        explored(1, False, ()),
        explored(2, True, ("plan", "finish")),
    ]


def test_every_run_ends_and_none_is_endless_without_a_person() -> None:
    """Steps only grow, so a finite set of states means that each run is finite; here is the longest."""
    edges = explored(0, False, ())
    assert max(state.steps for state in edges) <= 12
    for state, after in edges.items():
        assert all(one.steps > state.steps or one.stage is Stage.HUMAN for one in after)


def test_a_run_stops_at_a_person_or_an_end_and_nowhere_else() -> None:
    for edges in all_runs():
        stops = {state.stage for state, after in edges.items() if not after}
        assert Stage.HUMAN in stops
        assert stops <= {Stage.HUMAN, Stage.DONE, Stage.FAILED}


def test_a_person_can_be_reached_from_wherever_a_run_stands() -> None:
    for edges in all_runs():
        reaching = {state for state in edges if state.stage is Stage.HUMAN}
        before: dict[State, list[State]] = {}
        for state, after in edges.items():
            for one in after:
                before.setdefault(one, []).append(state)
        waiting = list(reaching)
        while waiting:
            for state in before.get(waiting.pop(), ()):
                if state not in reaching:
                    reaching.add(state)
                    waiting.append(state)
        assert all(state in reaching for state in edges if state.stage not in GRAPH.ends)


def test_done_is_reached_on_a_pass_alone() -> None:
    done = [state for edges in all_runs() for state in edges if state.stage is Stage.DONE]
    assert done
    for state in done:
        assert state.verification is not None
        assert state.verification.verdict is Verdict.PASS
        if "finish" in state.approve:
            assert state.patch_approved or state.decisions[-1].to == "done", "a person accepted it"


def test_limits_hold_in_every_run() -> None:
    for edges in all_runs():
        for state in edges:
            assert state.retries <= state.max_retries
            assert state.max_turns is not None
            assert state.spent_turns <= state.max_turns
            assert len(state.repairs) <= state.retries


def test_every_stop_says_why() -> None:
    for edges in all_runs():
        assert all(state.route_reason.strip() for state in edges if state.steps)


def test_every_stage_is_reached_in_some_run() -> None:
    reached = {state.stage for edges in all_runs() for state in edges}
    assert reached == set(Stage)


def test_with_no_retries_there_is_one_failed_verification_and_no_second_write() -> None:
    edges: Edges = {}
    waiting = [replace(START, max_retries=0)]
    while waiting:
        state = waiting.pop()
        if state not in edges:
            edges[state] = [] if state.stage in GRAPH.ends else list(following(state, 0))
            waiting += edges[state]
    assert all(len(state.verifications) <= 1 and len(state.changes) <= 1 for state in edges)
    assert all(state.stage is not Stage.REPAIR for state in edges)
    assert any(state.stage is Stage.HUMAN and state.changes for state in edges)
