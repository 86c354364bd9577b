"""FINALIZE and GIVE_UP: put together what stands, look at every citation once more, and say what is missing.

No model stands here. The rule: the answer is made of statements that were accepted and read back a last time; what
does not hold is left out and said, and then the answer is partial.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graph_agent.protocols import Context
from graph_agent.verify.citations import marks
from graph_agent.verify.evidence import folded, statement_problems
from graph_agent.verify.statements import Statement, statements
from graph_agent.workflows.research.nodes.memory import MOST_LINE, cut
from graph_agent.workflows.research.nodes.verify import texts_of
from graph_agent.workflows.research.state import Answer, ResearchState, Result, Source, accepted_results, normal


def finalize(state: ResearchState, ctx: Context) -> dict[str, Any]:
    """The answer: complete when every layer passed and all that it says holds."""
    return {"answer": _answer(state, ctx, done=state.is_complete)}


def give_up(state: ResearchState, ctx: Context) -> dict[str, Any]:
    """What is done, with its citations, what is not, what ended the run, and what would help."""
    return {"answer": _answer(state, ctx, done=False)}


def _answer(state: ResearchState, ctx: Context, *, done: bool) -> Answer:
    results = _results(state)
    texts = texts_of(state, ctx, {name for one in results for name in marks(one.text).ids})
    parts: list[str] = []
    dropped: list[str] = []
    told: set[str] = set()
    for result in results:
        standing = []
        for one in statements(result.text):
            wrong = list(statement_problems(one, texts)) if one.cites and not one.malformed else ["it has no citation"]
            if wrong:
                dropped.append(f"left out: {cut(one.text, MOST_LINE)} ({wrong[0]})")
            elif _key(one) not in told:
                told.add(_key(one))
                standing.append(one)
        parts += [_part(result, standing)] if standing else []
    text = "\n\n".join(parts)
    whole = done and not dropped and bool(text)
    missing = () if whole else tuple(dict.fromkeys((*_missing(state), *dropped)))
    return Answer(
        status="complete" if whole else "partial",
        text=text,
        sources=_sources(state, text),
        caveats=tuple(dict.fromkeys(_caveats(state))),
        missing=missing,
        why="" if whole else state.route_reason,
        would_help="" if whole else _would_help(state),
    )


def _sources(state: ResearchState, text: str) -> tuple[Source, ...]:
    cited = set(marks(text).ids)
    return tuple(Source(id=one.id, place=one.place, caveat=one.caveat) for one in state.evidence if one.id in cited)


def _results(state: ResearchState) -> tuple[Result, ...]:
    """Those of this plan in plan order; of earlier plans what was accepted for another goal. Probes only when alone."""
    own = state.accepted
    goals = {normal(one.goal) for one in own}
    earlier = {normal(one.goal): one for one in accepted_results(state) if one.plan < state.plan_no}
    kinds = {step.id: step.kind for step in state.plan.steps} if state.plan else {}
    told = tuple(one for one in own if kinds.get(one.step) != "probe") or own
    return told if state.is_complete else (*(one for goal, one in earlier.items() if goal not in goals), *told)


def _part(result: Result, standing: list[Statement]) -> str:
    """The result as it was written where all of it stands, else what stands."""
    if len(standing) == len(statements(result.text)):
        return result.text.strip()
    return "\n\n".join(one.written for one in standing)


def _key(one: Statement) -> str:
    return f"{folded(one.text)} {one.cites}"


def _missing(state: ResearchState) -> Iterator[str]:
    """The steps without an accepted result: what they lack, and for those that come after, what they wait for."""
    if state.plan is None:
        yield f"nothing was found out on: {state.goal}"
        return
    accepted = {one.step for one in state.accepted}
    unmet = [one for one in state.verdict.items if one.status != "satisfied"] if state.verdict else []
    failed = {one.step: one for one in reversed(unmet)}
    causes: dict[str, tuple[str, ...]] = {}
    for layer in state.plan.layers:
        for step in layer:
            if step.id in accepted:
                continue
            failing = dict.fromkeys(cause for one in step.depends_on for cause in causes.get(one, ()))
            causes[step.id] = (step.id,) if step.id in failed else tuple(failing)
            if step.id in failed:
                item = failed[step.id]
                yield f"{step.id}, {step.goal}: {item.criterion} is {item.status}" + (
                    f" ({item.why})" if item.why else ""
                )
            elif failing:
                yield f"{step.id}, {step.goal}: void, since {', '.join(failing)} failed"
            else:
                yield f"{step.id}, {step.goal}: not reached"


def _caveats(state: ResearchState) -> Iterator[str]:
    """What passed with a doubt, what a person accepted, and what a cited source says of itself."""
    for verdict in state.verdicts:
        if verdict.plan == state.plan_no and verdict.status == "PASS":
            if verdict.refuted:
                yield f"what the plan rested on is refuted: {verdict.refuted}"
            for one in verdict.items:
                if one.status == "insufficient_evidence":
                    yield f"the evidence is insufficient for: {one.criterion}"
                elif verdict.by_person:
                    yield f"a person, not a judge, accepted: {one.criterion}"
    cited = {name for one in _results(state) for name in marks(one.text).ids}
    for piece in state.evidence:
        if piece.id in cited and piece.caveat:
            yield f"{piece.id} ({piece.place}): {piece.caveat}"


def _would_help(state: ResearchState) -> str:
    verdict = state.verdict
    if state.max_turns is not None and state.spent_turns >= state.max_turns:
        return f"more turns than {state.max_turns}"
    if verdict is not None and verdict.needs:
        return f"this information: {verdict.needs}"
    if verdict is not None and state.rounds >= state.max_rounds:
        return f"more rounds than {state.max_rounds}"
    lacking = [one.step for one in verdict.items if one.status == "insufficient_evidence"] if verdict else []
    if lacking:
        goal = next((step.goal for step in state.layer if step.id == lacking[0]), state.goal)
        return f"documents that answer this: {goal}"
    if state.plan is None or state.blocked:
        return "another wording of the question, or a model that plans better"
    return "a look at why the last round failed, and another wording of the question"
