"""VERIFY: is what the steps brought well formed, does it rest on what it cites, and does it meet its criteria?

Three layers, the cheapest first, and the first that a result fails ends it for that result. The rule: what a step says
of itself is not looked at, and the judge gets the task, the criteria and the output, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from graph_agent.protocols import Context
from graph_agent.runtime.errors import BlobError
from graph_agent.verify.citations import marks
from graph_agent.verify.evidence import evidence_problems
from graph_agent.verify.judge import Item as Judged
from graph_agent.verify.judge import ModelJudge, Status, in_both_orders, together
from graph_agent.verify.structure import structure_problems
from graph_agent.workflows.research.policy import ResearchPolicy
from graph_agent.workflows.research.state import RETRIES, Item, Layer, ResearchState, Result, Step, Verdict

WELL_FORMED = "the result is carried out and made of cited statements"
BORNE_OUT = "what is cited is there and says what is quoted"
NO_RESULT = "it has no result"
LAYERS: tuple[Layer, ...] = ("structure", "evidence", "goal")


def verify(state: ResearchState, ctx: Context) -> dict[str, Any]:
    """The verdict on the layer at the cursor, and in a line why."""
    found = _verdict(state, ctx)
    facts = f"round={found.round} | layer={found.layer} | score={found.score:.2f} | scope={found.scope}"
    ctx.note(facts)
    reason = f"plan {found.plan}, layer {found.cursor + 1}: {found.layer} {found.status}, {found.reason}"
    return {"verdicts": (found,), "rounds": state.rounds + 1, "reasons": (reason,)}


def texts_of(state: ResearchState, ctx: Context, ids: set[str]) -> dict[str, str]:
    """The whole text of each piece of evidence, read back. One that is gone is left out: nothing can rest on it."""
    found = {}
    for one in state.evidence:
        if one.id in ids and not one.empty:
            try:
                found[one.id] = ctx.read(one.text)
            except BlobError as error:
                ctx.note(f"{one.id} can't be read back: {error}")
    return found


def _verdict(state: ResearchState, ctx: Context) -> Verdict:
    """Each result goes through the layers up to the one it fails; the round is of the lowest at which one failed."""
    results = {one.step: one for one in state.latest_results}
    cited = {name for one in results.values() for name in marks(one.text).ids}
    if cited - {one.id for one in state.evidence}:  # whoever cites what is not there is told what is
        cited |= {one.id for one in state.evidence if one.plan == state.plan_no and one.step in results}
    texts = texts_of(state, ctx, cited)
    reached: list[Layer] = []
    items: list[Item] = []
    disputed: list[str] = []
    for step in state.layer:
        layer, some, differ = _checked(state, ctx, step, results.get(step.id), texts)
        reached.append(layer)
        items += some
        disputed += differ
    return Verdict(
        round=state.rounds + 1,
        plan=state.plan_no,
        cursor=state.cursor,
        layer=min(reached, key=LAYERS.index, default="structure"),
        items=tuple(items),
        refuted=next((one.refutes for one in results.values() if one.refutes), ""),
        needs="; ".join(one.needs for one in results.values() if one.needs),
        disputed=tuple(disputed),
        spent=_spent(state, items),
        by_person=state.results_fingerprint in state.approval,
    )


Checked: TypeAlias = "tuple[Layer, list[Item], tuple[str, ...]]"


def _checked(state: ResearchState, ctx: Context, step: Step, one: Result | None, texts: Mapping[str, str]) -> Checked:
    """The layer at which a result failed ("goal" for none), its items, and what two judges differ on."""
    if one is None:
        return "structure", [Item(step=step.id, attempt=0, criterion=WELL_FORMED, status="violated", why=NO_RESULT)], ()
    if why := one.insufficient or one.needs:  # a legal result, without statements to check
        return "goal", [_item(one, text, "insufficient_evidence", why) for text in step.done_when], ()
    wrong = (one.failed,) if one.failed else structure_problems(one.text)
    if wrong:
        return "structure", [_item(one, WELL_FORMED, "violated", "; ".join(wrong))], ()
    if wrong := evidence_problems(one.text, texts):
        return "evidence", [_item(one, BORNE_OUT, "violated", "; ".join(wrong))], ()
    return "goal", *_by_goal(state, ctx, step, one)


def _by_goal(state: ResearchState, ctx: Context, step: Step, one: Result) -> tuple[list[Item], tuple[str, ...]]:
    """The third layer. What was accepted at this attempt is not judged again, and a person's word holds."""
    if state.results_fingerprint in state.approval:
        return [_item(one, text, "satisfied", "accepted by a person") for text in step.done_when], ()
    items = state.verdict.items if state.verdict else ()
    earlier = [item for item in items if (item.step, item.attempt) == (one.step, one.attempt)]
    if earlier and all(item.status == "satisfied" for item in earlier):
        return earlier, ()
    judged, disputed = _judged(ctx, step, one)
    return [_item(one, each.criterion, each.status, each.why) for each in judged], disputed


def _judged(ctx: Context, step: Step, result: Result) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    policy: ResearchPolicy = ctx.policy
    task, criteria, output = step.goal, step.done_when, result.text
    first = in_both_orders(ModelJudge(ctx.llm), task, criteria, output)
    if policy.judges == 1:
        return first, ()
    return together(first, in_both_orders(ModelJudge(ctx.llm, prompt=1), task, criteria, output))


def _item(result: Result, criterion: str, status: Status, why: str) -> Item:
    return Item(step=result.step, attempt=result.attempt, criterion=criterion, status=status, why=why)


def _spent(state: ResearchState, items: list[Item]) -> tuple[str, ...]:
    """Steps that may not be tried again: their retries are made, or they twice found nothing."""
    unmet = {one.step: one.attempt for one in items if one.unmet}
    found_nothing = [one.step for one in state.results if one.plan == state.plan_no and one.insufficient]
    return tuple(step for step, attempt in unmet.items() if attempt >= RETRIES or found_nothing.count(step) >= 2)
