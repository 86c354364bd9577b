"""EXECUTE: carry out the steps of the layer at the cursor, on a retry only those whose criteria were not met.

Steps that only read run side by side, those that do more one at a time in plan order; what they bring lands in plan
order either way. The rule: results and evidence are added, never replaced, and each step's ids are reserved beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from graph_agent.protocols import Context, ToolDenied
from graph_agent.runtime.fanout import Outcome, fan_out
from graph_agent.tools.sourced import Sourced
from graph_agent.verify.citations import marks
from graph_agent.workflows.research.nodes.look import changed_since
from graph_agent.workflows.research.nodes.memory import kept_result
from graph_agent.workflows.research.nodes.step import Work, carry_out, evidence_of
from graph_agent.workflows.research.policy import ResearchPolicy
from graph_agent.workflows.research.state import Evidence, ResearchState, Result, Step

Carried: TypeAlias = "tuple[Result, tuple[Evidence, ...]]"


def execute(state: ResearchState, ctx: Context) -> dict[str, Any]:
    """A result for each step that needs one. Where a judge could not tell, nothing is done again."""
    notes = _taken_up(state, ctx)
    todo = list(_to_run(state))
    carried = _carried(state, ctx, todo, notes) if todo else []
    results = tuple(result for result, _ in carried)
    evidence = (*notes, *(one for _, some in carried for one in some))
    return {"results": results, "evidence": evidence} if results or evidence else {}


def first_id(state: ResearchState, policy: ResearchPolicy) -> int:
    """The number of the next evidence: each result has the ids of a step reserved, each note of a person one."""
    return 1 + policy.most_calls * len(state.results) + sum(one.by == "person" for one in state.evidence)


def _taken_up(state: ResearchState, ctx: Context) -> tuple[Evidence, ...]:
    """What a person added, as evidence."""
    first = first_id(state, ctx.policy)
    return tuple(
        evidence_of(ctx, f"E{number}", "person", Sourced(text=note, source="person"))
        for number, note in enumerate(state.fresh_notes, first)
    )


def _to_run(state: ResearchState) -> Iterator[tuple[Step, int]]:
    """The steps of the layer that have no result yet, or one that was turned down; with the number of the attempt."""
    latest = {one.step: one for one in state.latest_results}
    unmet = {(one.step, one.attempt) for one in state.verdict.items if one.unmet} if state.verdict else set()
    for step in state.layer:
        if step.id not in latest:
            yield step, 0
        elif (step.id, latest[step.id].attempt) in unmet:
            yield step, latest[step.id].attempt + 1


def _carried(
    state: ResearchState, ctx: Context, todo: list[tuple[Step, int]], notes: tuple[Evidence, ...]
) -> list[Carried]:
    policy: ResearchPolicy = ctx.policy
    first = first_id(state, policy) + len(notes)
    jobs: dict[str, Callable[[], Carried]] = {}
    found: dict[str, Carried] = {}
    for place, (step, attempt) in enumerate(todo):
        kept = kept_result(state, step.goal) if attempt == 0 else None
        if kept is not None and _stands(state, ctx, kept):
            found[step.id] = (replace(kept, plan=state.plan_no, step=step.id, attempt=0, goal=step.goal, kept=True), ())
            continue
        may_act = step.id not in state.asks or state.layer_fingerprint in state.approval
        work = Work(state, ctx, step, attempt, first + place * policy.most_calls, may_act, notes)
        jobs[step.id] = partial(carry_out, work)
    reading = [step for step, _ in todo if step.id in jobs and _only_reads(step, policy)]
    outcomes = fan_out([jobs[step.id] for step in reading], workers=policy.workers, job_timeout=policy.step_timeout)
    attempts = {step.id: attempt for step, attempt in todo}
    for step, outcome in zip(reading, outcomes, strict=True):
        found[step.id] = _came(outcome, state, step, attempts[step.id], policy)
    for step, _ in todo:
        if step.id not in found:
            found[step.id] = jobs[step.id]()
    return [found[step.id] for step, _ in todo]


def _stands(state: ResearchState, ctx: Context, kept: Result) -> bool:
    """Whether the documents that a result of an earlier plan cites are still what they were then."""
    cited = set(marks(kept.text).ids)
    try:
        return not changed_since((one for one in state.evidence if one.id in cited), ctx)
    except ToolDenied:  # a caller's own tools brought it
        return True


def _only_reads(step: Step, policy: ResearchPolicy) -> bool:
    card = policy.card(step.tool)
    return card is None or card.effect == "read"


def _came(outcome: Outcome[Carried], state: ResearchState, step: Step, attempt: int, policy: ResearchPolicy) -> Carried:
    """A step's own failure is its result; a model that can't be reached stops the node, for a person to see."""
    if outcome.value is not None:
        return outcome.value
    if outcome.error is not None:
        raise outcome.error
    failed = f"it took more than {policy.step_timeout:g} seconds"
    return Result(plan=state.plan_no, step=step.id, attempt=attempt, goal=step.goal, failed=failed), ()
