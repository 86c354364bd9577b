"""A model that is no model: `ExtractiveLLM` answers a research from the documents' own sentences.

It stands where a model stands and answers in the same form: a plan, a move, a judgement. The rule: it says nothing of
its own but where sources disagree or are superseded, and where no sentence covers the question it says INSUFFICIENT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from graph_agent.llm.asking import LIGHT, asked
from graph_agent.llm.moves import Call, Delivery, Move, args_of
from graph_agent.llm.offline import OfflineError
from graph_agent.llm.quotes import Passage, Quotes, best_quotes
from graph_agent.protocols import Reply, Request
from graph_agent.runtime.codec import encode
from graph_agent.runtime.jsontext import dumps
from graph_agent.tools.words import content_terms
from graph_agent.verify.judge import JudgedCriterion, Judgement
from graph_agent.verify.rulejudge import RuleJudge
from graph_agent.verify.statements import statements
from graph_agent.workflows.research.state import Plan, Step

SEARCH, READ = "search_documents", "read_document"
MOST_QUESTIONS = 4
FIRST, WIDER, WIDEST = 4, 8, 14
"""Passages that a search asks for: at first, when those were not enough, and by a plan after one that failed."""

_PARTS = re.compile(
    r"(?<=[?\uff1f])\s*|\s*;\s+|[^\S\n]*\n\s*(?!(?-i:[a-z\s]))"  # a line that goes on in small letters was wrapped
    r"|\s*,?\s+(?:and also|and)\s+(?=(?:how|what|when|where|which|who|why|is|are|does|do|can)\b)",
    re.IGNORECASE,
)
_AND = re.compile(r"^(?:and|also)\s+", re.IGNORECASE)
_WANTS_A_NUMBER = ("count", "length", "size", "number")
_HIT = re.compile(r"(.+?):(\d+)-(\d+) \(.*")


class ExtractiveLLM:
    """Answers the requests of a research by their schema; any other is an `OfflineError`. It keeps nothing."""

    def describe(self) -> dict[str, str]:
        """What a run's header says of this model."""
        return {"llm": "offline", "model": "the documents' own sentences"}

    def complete(self, request: Request, /) -> Reply:
        fields = (request.schema or {}).get("properties", {})
        if "steps" in fields:
            return _said(_plan(request.context))
        if "call" in fields and "result" in fields:
            return _said(_move(request.context))
        if "items" in fields:
            return _said(_judgement(request.context))
        raise OfflineError("the offline model plans, searches, quotes and judges: for this question name a model")


def _said(answer: Any) -> Reply:
    return Reply(text=dumps(encode(answer)))


def questions_of(goal: str) -> list[str]:
    """The questions that a goal asks, at most four; what follows belongs to the last."""
    parts: list[str] = []
    for one in filter(None, _PARTS.split(goal)):
        if not any(map(str.isalnum, one)):
            continue
        if parts and not content_terms(one):  # "and when?" asks of what was asked before
            parts[-1] = f"{parts[-1].rstrip('?,;. ')}, {one.strip()}"
        else:
            parts.append(_AND.sub("", one.strip()))
    if len(parts) > MOST_QUESTIONS:
        parts[MOST_QUESTIONS - 1 :] = [" ".join(parts[MOST_QUESTIONS - 1 :])]
    return parts or [goal]


def _plan(context: Mapping[str, Any]) -> Plan:
    """A step for each question, and one that puts the answer together. After a failure it looks further down."""
    failed = len(context.get("dead_ends", ()))
    accepted = {one["goal"] for one in context.get("accepted", ())}
    can_search = any(tool["name"] == SEARCH for tool in context.get("tools", ()))
    steps = []
    for number, question in enumerate(questions_of(context["goal"]), 1):
        first = f"Find what the documents say: {question}"
        looked = [first, f"Look further down in the documents: {question}"]
        goal = first if first in accepted else looked[min(failed, 1)]
        query = {"query": question, "limit": WIDEST if failed else FIRST}
        what = asked(question)
        subject = ", ".join(what.words(term for term in what.terms if term not in LIGHT)) or question
        done_when = ["at least 1 cited statement", f"speaks of: {subject}"]
        if what.wants in _WANTS_A_NUMBER:
            done_when.append("gives a number")
        tool, args = (SEARCH, args_of(query)) if can_search else ("", ())
        step = Step(id=f"s{number}", kind="work", goal=goal, done_when=tuple(done_when), tool=tool, args=args)
        steps.append(step)
    close = Step(
        id="answer",
        kind="close",
        goal=f"Answer from what was found: {context['goal']}",
        done_when=("at least 1 cited statement",),
        depends_on=tuple(step.id for step in steps),
    )
    return Plan(steps=(*steps, close), rationale="one step a question")


def _move(context: Mapping[str, Any]) -> Move:
    step = context["step"]
    if step["kind"] == "close":
        return Move(result=_closing(context))
    question = step["goal"].partition(": ")[2] or step["goal"]
    evidence = context.get("evidence", ())
    if context.get("calls_left", 0) and (call := _next_call(context, question, evidence)):
        return Move(call=call)
    read = [one for one in evidence if one["by"] not in (SEARCH, "list_documents")]
    found = best_quotes(question, [_passage(one) for one in read])
    return Move(result=_delivery(found, {one["id"] for one in read if one.get("caveat")}))


def _next_call(context: Mapping[str, Any], question: str, evidence: Any) -> Call | None:
    """Read what was found and not read yet; when all is read, search wider, once."""
    tools = {tool["name"] for tool in context.get("tools", ())}
    if READ not in tools or SEARCH not in tools:
        return None
    found = [hit for one in evidence if one["by"] == SEARCH for hit in _hits(one["text"])]
    read = {one["source"] for one in evidence if one["by"] == READ}
    unread = [hit for hit in dict.fromkeys(found) if f"{hit[0]}:{hit[1]}-{hit[2]}" not in read]
    if unread:
        path, first, last = unread[0]
        return Call(tool=READ, args=args_of({"path": path, "start": int(first), "end": int(last)}))
    asked = [one.get("arguments", {}).get("limit", 0) for one in evidence if one["by"] == SEARCH]
    again = "what_was_wrong_last_time" in context or not asked
    if again and max(asked, default=0) < WIDER:
        return Call(tool=SEARCH, args=args_of({"query": question, "limit": WIDER if asked else FIRST}))
    return None


def _hits(told: str) -> Iterator[tuple[str, str, str]]:
    """The places that a search found: they stand first, a line each, and what the passages say is none."""
    for line in told.split("\n"):
        hit = _HIT.fullmatch(line)
        if hit is None:
            return
        yield hit[1], hit[2], hit[3]


def _passage(evidence: Mapping[str, Any]) -> Passage:
    source = str(evidence.get("source", "")).rpartition(":")[0] or str(evidence.get("source", ""))
    caveat = str(evidence.get("caveat", ""))
    return Passage(
        id=evidence["id"],
        source=source,
        text=evidence["text"].removesuffix(" [... cut]"),
        superseded=bool(caveat),
        heading=str(evidence.get("heading", "")),
    )


def _delivery(found: Quotes, superseded: set[str]) -> Delivery:
    if not found.found:
        missing = ", ".join(found.missing)
        why = f"no sentence that was read says it{f'; not found: {missing}' if missing else ''}"
        return Delivery(text=f"INSUFFICIENT: {why}")
    return Delivery(text="\n\n".join(_lines(found, superseded)), claim="each line is a sentence of the documents")


def _lines(found: Quotes, superseded: set[str]) -> Iterator[str]:
    """Quotes as they stand in the documents, and what has to be said of them."""
    told = set()
    for quote in found.found:
        told.add((quote.id, quote.text))
        yield f"> {quote.text} [{quote.id}]"
    for conflict in found.conflicts:
        for quote in (conflict.first, conflict.second):
            if (quote.id, quote.text) not in told:
                told.add((quote.id, quote.text))
                yield f"> {quote.text} [{quote.id}]"
        old = [quote.id for quote in (conflict.first, conflict.second) if quote.id in superseded]
        more = f"; the source of [{old[0]}] was superseded" if old else ""
        yield f"These sources contradict each other [{conflict.first.id}, {conflict.second.id}]{more}."


def _closing(context: Mapping[str, Any]) -> Delivery:
    """The first statement of each result that is told in full."""
    lines = []
    for one in context.get("results", ()):
        said = statements(one.get("text", ""))
        lines += [said[0].written] if said else []
    if not lines:
        return Delivery(text="INSUFFICIENT: there is no result to answer from")
    return Delivery(text="\n\n".join(lines), claim="the first sentence found for each question")


def _judgement(context: Mapping[str, Any]) -> Judgement:
    criteria = [one["criterion"] for one in context["criteria"]]
    items = RuleJudge().judge(context["task"], criteria, context["output"])
    return Judgement(
        concerns="there is none: a rule judged",
        items=tuple(
            JudgedCriterion(number=number, status=one.status, why=one.why) for number, one in enumerate(items, 1)
        ),
    )
