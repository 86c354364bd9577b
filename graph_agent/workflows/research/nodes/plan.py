"""PLAN: ask a model for the steps, and check that they can be carried out and judged. ADVANCE: the next layer.

The planner sees what failed, never the plan that failed: a model that sees its old plan edits it. The rule: a plan is
data that is checked, asked for again once, and never mended here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graph_agent.llm.ask import AskError, Refused, Truncated, ask
from graph_agent.protocols import Context, ContextError, Request
from graph_agent.runtime.dag import step_problems
from graph_agent.runtime.errors import nearest
from graph_agent.workflows.research.nodes.memory import (
    MOST_LINE,
    accepted_lines,
    cut,
    dead_end_lines,
    failure_digest,
    fingerprint_of,
)
from graph_agent.workflows.research.policy import ResearchPolicy
from graph_agent.workflows.research.state import KINDS, DeadEnd, Plan, ResearchState, Step

FEWEST, MOST, MOST_CRITERIA = 2, 6, 6
TEMPERATURE = 0.2
ROUNDS_FOR_A_REPEAT = 3
"""Rounds that must be left for a plan that repeats a dead end to be asked for again: a plan, a retry, an end."""

INSTRUCTIONS = """\
Plan how to find out what the goal asks, with the tools there are. Give 2 to 6 steps. Each has one goal and says when
it is done in 1 to 6 sentences that a third party can check from the result alone. Kinds: "probe" finds out what there
is, "work" finds what is asked, "close" writes the answer from the other results; they run in this order. A step that
needs another's result depends on it; all else runs side by side. Every result must cite what the tools brought.
If the goal can't be planned for without an answer from the person, ask it in "unclear" and give no steps."""

ANOTHER_WAY = """\
A plan for this goal has failed. Take another kind of decomposition: other sources, other questions, another order.
What was accepted is kept where a step has the same goal, word for word."""

NOT_AGAIN = """\
The plan you just gave is one that has failed already. Do not word it anew: take it apart in another way, ask
other questions of other sources, or begin with a probe of what there is."""

_ID = re.compile(r"[\w.-]{1,20}")


def plan(state: ResearchState, ctx: Context) -> dict[str, Any]:
    """A plan that passed every check, or why there is none. A plan that failed becomes a dead end here."""
    if not state.goal.strip():
        return {}
    if not isinstance(ctx.policy, ResearchPolicy):
        given = "Context(policy=ResearchPolicy(tools=cards_of(tools.specs())))"
        raise ContextError(f"a research needs its rules: give {given}")
    failed = failed_plan(state)
    dead = {"fingerprints": (failed,), "replans": state.replans + 1} if failed else {}
    found, why = _proposed(state, ctx, (*state.dead_ends, failed) if failed else state.dead_ends)
    if failed:
        ctx.note(_replan_line(state, failed, found))
    if found is None:
        return {**dead, "blocked": why}
    policy: ResearchPolicy = ctx.policy
    cards = {step.id: policy.card(step.tool) for step in found.steps}
    asks = tuple(name for name, card in cards.items() if card and card.effect in policy.ask_for)
    kept = replace(found, rationale="", unclear=found.unclear.strip())
    made = {"plan": kept, "plan_no": state.plan_no + 1, "planned_goal": state.goal}
    return {**dead, **made, "asks": asks, "cursor": 0, "blocked": ""}


def advance(state: ResearchState, _: Context) -> dict[str, Any]:
    """The cursor is moved here and set back by a new plan, nowhere else."""
    return {"cursor": state.cursor + 1}


def failed_plan(state: ResearchState) -> DeadEnd | None:
    """The present plan as a dead end, where it failed as a whole; a person's wish for another makes it none."""
    verdict = state.verdict
    if state.plan is None or verdict is None or not state.has_failed:
        return None
    tried = cut("; ".join(step.goal for step in state.plan.steps), MOST_LINE)
    why = f"refuted: {verdict.refuted}" if verdict.refuted else verdict.reason
    fingerprint, why = fingerprint_of(state.plan), cut(why, MOST_LINE)
    return DeadEnd(fingerprint=fingerprint, tried=tried, why=why, failed=verdict.failed, goal=state.goal)


def _proposed(state: ResearchState, ctx: Context, ends: tuple[DeadEnd, ...]) -> tuple[Plan | None, str]:
    """A plan, or why there is none: twice invalid, or twice one that has failed already."""
    policy: ResearchPolicy = ctx.policy
    instructions = f"{INSTRUCTIONS}\n\n{ANOTHER_WAY}" if ends else INSTRUCTIONS
    context = _context_of(state, policy, ends)
    request = Request(instructions=instructions, context=context, temperature=TEMPERATURE)
    asked_anew = {"invalid": False, "repeated": False}
    while True:
        try:
            found = ask(ctx.llm, request, Plan, corrections=0, check=lambda made: plan_problem(made, policy))
        except (Truncated, Refused):
            raise
        except AskError as error:
            ctx.note(f"invalid plan: {error.message}")
            if asked_anew["invalid"]:
                return None, f"no valid plan: {error.message}"
            asked_anew["invalid"] = True
            again = {"your_last_answer": error.raw, "what_was_wrong": error.message}
        else:
            repeats = next((one for one in ends if one.fingerprint == fingerprint_of(found)), None)
            if repeats is None or found.unclear.strip():
                return found, ""
            ctx.note(f"the plan repeats a dead end: {repeats.fingerprint}")
            if asked_anew["repeated"] or state.max_rounds - state.rounds < ROUNDS_FOR_A_REPEAT:
                return None, f"the new plan repeats one that has failed: {repeats.tried}"
            asked_anew["repeated"] = True
            again = {"what_was_wrong": NOT_AGAIN}
        request = replace(request, context={**context, **again})


def _context_of(state: ResearchState, policy: ResearchPolicy, ends: tuple[DeadEnd, ...]) -> dict[str, Any]:
    """The goal first and last; no old plan, no history."""
    context: dict[str, Any] = {"goal": state.goal, "tools": [card.shown for card in policy.tools]}
    if accepted := accepted_lines(state):
        context["accepted"] = accepted
    if ends and (failures := failure_digest(state)):
        context["failures"] = failures
    if ends:
        context["dead_ends"] = dead_end_lines(ends)
    if state.notes:
        context["a_person_says"] = [cut(one, 4 * MOST_LINE) for one in state.notes[-4:]]
    return {**context, "steps": {"at_least": FEWEST, "at_most": MOST}, "the_goal_again": state.goal}


def plan_problem(plan: Plan, policy: ResearchPolicy) -> str | None:
    """Everything that is wrong with a plan, in one text; None when it can be carried out and judged."""
    if plan.unclear.strip():
        return None
    problems = list(_problems(plan, policy))
    return "; ".join(problems) if problems else None


def _problems(plan: Plan, policy: ResearchPolicy) -> Iterator[str]:
    if not FEWEST <= len(plan.steps) <= MOST:
        yield f"there are {len(plan.steps)} steps: give {FEWEST} to {MOST}"
    yield from step_problems([(step.id, step.depends_on) for step in plan.steps])
    kinds = {step.id: KINDS.index(step.kind) for step in plan.steps}
    for step in plan.steps:
        yield from _step_problems(step, policy)
        for other in step.depends_on:
            if kinds.get(other, -1) > kinds[step.id]:
                yield f"step {step.id!r} is a {step.kind} and depends on {other!r}, which runs later: change a kind"


def _step_problems(step: Step, policy: ResearchPolicy) -> Iterator[str]:
    if not _ID.fullmatch(step.id):
        yield f"{step.id!r} is no id: give a short name of letters and digits"
    if not step.goal.strip():
        yield f"step {step.id!r} has no goal"
    criteria = [one for one in step.done_when if one.strip()]
    if not 1 <= len(criteria) <= MOST_CRITERIA or len(criteria) < len(step.done_when):
        yield f"step {step.id!r} has {len(criteria)} sentences in done_when: give 1 to {MOST_CRITERIA}, none empty"
    for one in criteria:
        if word := policy.vague_word(one):
            yield f"step {step.id!r} is done when {one!r}: nobody can check {word!r}, say what must be there"
    if step.tool and policy.card(step.tool) is None:
        names = [card.name for card in policy.tools]
        near = nearest(step.tool, names)
        yield f"step {step.id!r} uses {step.tool!r}, which is no tool{near}: there are {', '.join(names) or 'none'}"


def _replan_line(state: ResearchState, failed: DeadEnd, found: Plan | None) -> str:
    now = f"{fingerprint_of(found)} ({len(found.steps)} steps)" if found else "none"
    missed = "; ".join(failed.failed) or "none"
    return f"replan {state.replans + 1}: {failed.fingerprint} -> {now} | failed: {missed} | because {failed.why}"
