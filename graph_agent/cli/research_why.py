"""Tell for each statement of an answer where it is from and how it was judged, and what became of each step."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from graph_agent.cli.kept import Kept
from graph_agent.cli.printing import print_json, visible
from graph_agent.verify.statements import statements
from graph_agent.workflows.research.state import ResearchState, Result, accepted_results


def tell(options: argparse.Namespace, kept: Kept) -> None:
    state: ResearchState = kept.state
    data = {
        "run": kept.folder.name,
        "statements": [_of_statement(state, one.written, one.cites) for one in statements(_text(state))],
        "steps": [_of_result(state, one) for one in state.results],
        "dead_ends": [{"tried": one.tried, "why": one.why, "failed": list(one.failed)} for one in state.fingerprints],
    }
    if options.json:
        print_json(data)
    else:
        print(visible("\n".join(_lines(kept.folder.name, state, data))))


def _text(state: ResearchState) -> str:
    return state.answer.text if state.answer else ""


def _of_statement(state: ResearchState, written: str, cites: tuple[str, ...]) -> dict[str, Any]:
    evidence = [one for one in state.evidence if one.id in cites]
    origin = next((one for one in reversed(accepted_results(state)) if written in one.text), None)
    return {
        "statement": written,
        "evidence": [{"id": one.id, "place": one.place, "by": one.by, "caveat": one.caveat} for one in evidence],
        "step": f"{origin.step} of plan {origin.plan}" if origin else "",
        "judged": _judged(state, origin) if origin else [],
    }


def _of_result(state: ResearchState, one: Result) -> dict[str, Any]:
    said = one.insufficient and f"INSUFFICIENT: {one.insufficient}"
    other = one.needs and f"BLOCKED: {one.needs}"
    return {
        "plan": one.plan,
        "step": one.step,
        "attempt": one.attempt + 1,
        "goal": one.goal,
        "came_to": said or other or one.failed or one.gist,
        "kept": one.kept,
        "accepted": one in accepted_results(state),
        "judged": _judged(state, one),
    }


def _judged(state: ResearchState, one: Result) -> list[dict[str, str]]:
    """By the latest round that looked at it."""
    for verdict in reversed(state.verdicts):
        items = [item for item in verdict.items if (item.step, item.attempt) == (one.step, one.attempt)]
        if verdict.plan == one.plan and items:
            return [{"criterion": item.criterion, "status": item.status, "why": item.why} for item in items]
    return []


def _lines(name: str, state: ResearchState, data: dict[str, Any]) -> Iterator[str]:
    yield f"{name}: {state.stage.value}, {state.route_reason}"
    for one in data["statements"]:
        yield f"\n{one['statement']}"
        yield from (f"  {piece['id']}: {piece['place']}, brought by {piece['by']}" for piece in one["evidence"])
        yield f"  from {one['step']}"
        yield from map(_item, one["judged"])
    yield "\nWhat was tried:"
    for step in data["steps"]:
        fate = "accepted" if step["accepted"] else "turned down" if step["judged"] else "not judged"
        kept = ", kept from an earlier plan" if step["kept"] else ""
        yield f"plan {step['plan']}, {step['step']}, attempt {step['attempt']}: {fate}{kept}: {step['goal']}"
        yield f"  came to: {step['came_to'] or 'nothing'}"
        yield from () if step["accepted"] else map(_item, step["judged"])
    for end in data["dead_ends"]:
        yield f"a plan failed: tried {end['tried']}; because {end['why']}"


def _item(item: dict[str, str]) -> str:
    return f"    {item['status']}: {item['criterion']}" + (f" ({item['why']})" if item["why"] else "")
