"""PLAN: ask a model what is wrong and what to change. What comes back is data, and is held against the policy."""

from __future__ import annotations

from typing import Any

from graph_agent.protocols import Context
from graph_agent.workflows.repair.nodes.proposing import (
    Question,
    context_of,
    history_of,
    missing_evidence,
    plan_check_observations,
    plan_problem,
    proposed,
)
from graph_agent.workflows.repair.state import FormerPlan, Plan, TaskState

INSTRUCTIONS = """\
A test of this project fails. Find the cause in the source files and correct it.
Rest your hypothesis on the observations, by their ids. Change as little as possible. Never touch the tests."""


def plan(state: TaskState, ctx: Context) -> dict[str, Any]:
    """A plan that passed every rule, or the reason why there is none. An invalid one is never kept as the plan."""
    missing = missing_evidence(state, ctx.policy)
    if missing:
        return {"blocked": missing}
    question: Question[Plan] = Question(
        instructions=INSTRUCTIONS,
        context={**context_of(state, ctx.policy), **history_of(state)},
        into=Plan,
        problem=lambda found: plan_problem(state, ctx.policy, found, "original"),
        of_plan=lambda found: found,
    )
    answer = proposed(ctx, state, question)
    found, wrong = answer
    notes = {"observations": plan_check_observations(state, wrong)} if wrong else {}
    if found is None:
        return {**notes, "blocked": f"no valid plan: {wrong[-1]}"}
    former = (FormerPlan(plan=state.plan, repairs=len(state.repairs)),) if state.plan else ()
    return {**notes, "plan": found, "former_plans": former, "blocked": ""}
