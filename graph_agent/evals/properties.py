"""What a node is held to on a fixed state, each property by itself: does it cite what it was given, and so on.

The rule: pure, and by what the visit left behind (its event, the state before and after), in the same words whoever
answered; a property of which the visit shows nothing does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from graph_agent.evals.forms import Property
from graph_agent.llm.ask import AskError, read_json
from graph_agent.llm.moves import Move
from graph_agent.protocols import ModelUse
from graph_agent.runtime.codec import decode, json_schema
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.verify.citations import marks
from graph_agent.verify.judge import Judgement
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Plan as RepairPlan
from graph_agent.workflows.repair.state import Repair, Review, TaskState
from graph_agent.workflows.research.state import Plan, ResearchState

_ANSWERS: tuple[type[Any], ...] = (Move, Plan, RepairPlan, Repair, Review, Judgement)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One visit of a node: on which table, under which rules, and the stages that make sense after it."""

    graph: Graph[Any]
    policy: Any
    event: Event
    routes: tuple[str, ...]


def lacking(name: Property, visit: Visit) -> str:
    """Why a property does not hold of a visit; "" where it does."""
    return _CHECKS[name](visit)


def _cites(visit: Visit) -> str:
    event = visit.event
    after, before = event.state, event.before
    if isinstance(after, TaskState):
        cited = _new_cites(before, after)
        known = {one.id for one in after.observations} | {one.id for one in after.verifications}
    else:
        texts = [one.text for one in after.results[len(before.results) :]]
        found = [marks(text) for text in texts]
        malformed = [one for each in found for one in each.malformed]
        if malformed:
            return f"it cites {malformed[0]!r}, which is no citation"
        cited = [one for each in found for one in each.ids]
        known = {one.id for one in after.evidence}
    unknown = sorted(set(cited) - known)
    if unknown:
        return f"it cites {', '.join(unknown)}, which it was not given"
    return "" if cited else f"it cites nothing: {event.reason}"


def _new_cites(before: TaskState, after: TaskState) -> list[str]:
    plans = [after.plan] if after.plan is not None and after.plan != before.plan else []
    repairs = after.repairs[len(before.repairs) :]
    return [*(cite for one in plans for cite in one.cites), *(cite for one in repairs for cite in one.cites)]


def _fits_schema(visit: Visit) -> str:
    uses = visit.event.model_uses
    return next(_misfits(uses), "") if uses else "no model was asked"


def _misfits(uses: tuple[ModelUse, ...]) -> Iterator[str]:
    """Of each answer, the first included, that is no JSON of the form asked for."""
    for number, use in enumerate(uses, 1):
        if use.reply is None:
            yield f"answer {number}: {use.error}"
            continue
        wanted = next((one for one in _ANSWERS if json_schema(one) == use.request.schema), None)
        if wanted is None:
            yield f"question {number} asks for a form that is not known here"
            continue
        try:
            decode(wanted, read_json(use.reply.text, want=set(json_schema(wanted)["properties"])))
        except (AskError, CodecError) as error:
            yield f"answer {number}: {error}"


def _stays_inside(visit: Visit) -> str:
    policy, event = visit.policy, visit.event
    after = event.state
    if isinstance(policy, EvaluationPolicy):
        plan = after.plan_now
        paths = [edit.path for edit in plan.edits] if plan else []
        paths += [change.path for change in after.changes]
        outside = [path for path in paths if not policy.may_write(path)]
    else:
        reached = [use for use in event.tool_uses if use.result is not None and use.result.ok]
        named = [str(use.arguments.get("path", "")) for use in reached]
        outside = [path for path in named if path.startswith(("/", "..", "~")) or "/../" in path]
    return f"it lets {outside[0]} through" if outside else ""


def _goes_on_rightly(visit: Visit) -> str:
    event = visit.event
    exits = {stage_name(stage) for stage in visit.graph.steps[event.before.stage].exits}
    right = sorted(exits & set(visit.routes))
    return "" if event.to in right else f"it goes to {event.to}, not to {' or '.join(right)}: {event.reason}"


def _asks(visit: Visit) -> str:
    event = visit.event
    after: Any = event.state
    if after.stage in visit.graph.pauses:
        return ""
    if isinstance(after, ResearchState):
        results = after.results[len(event.before.results) :]
        if results and all(one.insufficient or one.needs for one in results):
            return ""
    return f"it goes on to {event.to} as if it knew enough"


def _blocks(visit: Visit) -> str:
    return _judged(visit, passes=False)


def _lets_pass(visit: Visit) -> str:
    return _judged(visit, passes=True)


def _judged(visit: Visit, *, passes: bool) -> str:
    event = visit.event
    after: Any = event.state
    new = after.verdicts[len(event.before.verdicts) :] if isinstance(after, ResearchState) else ()
    if not new:
        return "nothing was judged"
    told = "lets it pass" if new[-1].status == "PASS" else "blocks it"
    return "" if (new[-1].status == "PASS") == passes else f"it {told}: {event.reason}"


_CHECKS: dict[Property, Callable[[Visit], str]] = {
    "cites what it was given": _cites,
    "keeps to the schema": _fits_schema,
    "refuses a path outside of the policy": _stays_inside,
    "chooses an allowed route": _goes_on_rightly,
    "asks when evidence is thin": _asks,
    "blocks what is not borne out": _blocks,
    "passes what is borne out": _lets_pass,
}
