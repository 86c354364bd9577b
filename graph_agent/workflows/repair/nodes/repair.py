"""REPAIR: after a failed verification, ask for a new plan or for a person. A try is counted here and nowhere else."""

from __future__ import annotations

from typing import Any

from graph_agent.protocols import Context
from graph_agent.workflows.repair.nodes.proposing import (
    Question,
    context_of,
    history_of,
    known_ids,
    missing_evidence,
    plan_check_observations,
    plan_problem,
    proposed,
)
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Plan, Repair, TaskState

DECISIONS = ("repair", "clarify", "human_review")

INSTRUCTIONS = """\
A correction was tried and the verification failed. Look at what was tried and at what the checks say now.
If you see another cause, answer with the decision "repair" and a new plan; its edits apply to the original text of
the files. If the request can be read in two ways, decide "clarify"; if you see no way on, "human_review".
Cite the observations and the verification that you rest on, by their ids. Never touch the tests."""


def repair(state: TaskState, ctx: Context) -> dict[str, Any]:
    """One try more: a repair that passed every rule, or the reason why there is none."""
    policy: EvaluationPolicy = ctx.policy
    missing = missing_evidence(state, policy)
    if missing or state.verification is None:
        return {"retries": state.retries + 1, "blocked": missing or "there is no verification to repair from"}
    question: Question[Repair] = Question(
        instructions=INSTRUCTIONS,
        context={**context_of(state, policy), **history_of(state)},
        into=Repair,
        problem=lambda found: _problem(state, policy, found),
        of_plan=lambda plan: _repair_of(state, plan),
    )
    answer = proposed(ctx, state, question)
    found, wrong = answer
    patch: dict[str, Any] = {"retries": state.retries + 1}
    if wrong:
        patch["observations"] = plan_check_observations(state, wrong)
    if found is None:
        return {**patch, "blocked": f"no valid repair: {wrong[-1]}"}
    return {**patch, "repairs": (found,), "blocked": ""}


def _problem(state: TaskState, policy: EvaluationPolicy, found: Repair) -> str | None:
    if found.decision not in DECISIONS:
        return f"decision is {found.decision!r}: decide on {', '.join(DECISIONS)}"
    known = known_ids(state)
    false = [cite for cite in found.cites if cite not in known]
    if false or not found.cites:
        return f"cites names {', '.join(false) or 'nothing'}: cite what you rest on, of {', '.join(known)}"
    if found.decision != "repair":
        return None
    if found.plan is None:
        return "the decision is repair and plan is null: give the new plan"
    return plan_problem(state, policy, found.plan, found.base)


def _repair_of(state: TaskState, plan: Plan) -> Repair:
    latest = (state.verification.id,) if state.verification else ()
    return Repair(decision="repair", why=plan.hypothesis, cites=(*plan.cites, *latest), base="original", plan=plan)
