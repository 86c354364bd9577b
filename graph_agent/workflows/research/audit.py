"""A research verified once more, away from the loop: every citation of its answer, and the answer's own status.

Code alone decides, and what the judge said is not asked again. The rule: a statement is held to the whole text of what
it cites, and where the document is still what it was, to the document's own lines too; it must come from a result that
was accepted, and only a run whose every layer passed may call its answer complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from graph_agent.verify.citations import marks
from graph_agent.verify.evidence import evidence_problems, folded, statement_problems
from graph_agent.verify.report import Verdict
from graph_agent.verify.statements import statements
from graph_agent.verify.structure import structure_problems
from graph_agent.workflows.research.state import Answer, Evidence, ResearchState, Stage, accepted_results


def claimed(state: ResearchState) -> Verdict:
    """PASS for an answer that is called complete, FAIL for a partial one, UNKNOWN where there is none."""
    if state.answer is None:
        return Verdict.UNKNOWN
    return Verdict.PASS if state.stage is Stage.DONE or state.answer.status == "complete" else Verdict.FAIL


def cited(state: ResearchState) -> tuple[Evidence, ...]:
    """The evidence that the answer names."""
    names = set(marks(state.answer.text).ids) if state.answer else set()
    return tuple(one for one in state.evidence if one.id in names)


def answer_problems(answer: Answer, texts: Mapping[str, str], lost: Collection[str] = ()) -> Iterator[str]:
    """What does not hold of an answer, by the kept texts of its evidence.

    What cites one of the `lost` is left out: nothing can be told of it.
    """
    if not answer.text:
        return
    yield from structure_problems(answer.text)
    if not lost:
        yield from evidence_problems(answer.text, texts)
        return
    for one in statements(answer.text):
        if not set(one.cites) & set(lost):
            yield from statement_problems(one, texts)


def document_problems(answer: Answer, lines: Mapping[str, str]) -> Iterator[str]:
    """What does not hold by the documents. `lines`: what stands at the place of each evidence that could be read."""
    for one in statements(answer.text):
        if one.cites and set(one.cites) <= lines.keys():
            yield from (f"in the document itself: {problem}" for problem in statement_problems(one, lines))


def status_problems(state: ResearchState) -> Iterator[str]:
    """Where an answer's status, its statements or its sources are not what verdicts, results and evidence say."""
    answer = state.answer
    if answer is None:
        return
    if claimed(state) is Verdict.PASS:
        yield from _incomplete(state, answer)
    accepted = {folded(one.text) for result in accepted_results(state) for one in statements(result.text)}
    for one in statements(answer.text):
        if folded(one.text) not in accepted:
            yield f"no accepted result says {_short(one.text)!r}"
    places = {one.id: one.place for one in cited(state)}
    listed = {one.id: one.place for one in answer.sources}
    for name in sorted(places.keys() | listed.keys()):
        if places.get(name) != listed.get(name):
            yield f"the source {name} is listed as {listed.get(name)}, and its evidence is from {places.get(name)}"


def _incomplete(state: ResearchState, answer: Answer) -> Iterator[str]:
    if answer.status != "complete":
        yield f"the run ended as answered, and its answer is {answer.status}"
    if not answer.text.strip():
        yield "the answer is called complete, and says nothing"
    if not state.is_complete:
        passed = {one.cursor for one in state.verdicts if one.plan == state.plan_no and one.status == "PASS"}
        layers = len(state.plan.layers) if state.plan else 0
        told = f"{len(passed)} of {layers} layers of plan {state.plan_no} passed"
        yield f"the answer is called complete, and the verdicts do not say so: {told}"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
