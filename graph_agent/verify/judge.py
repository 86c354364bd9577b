"""The third layer: does a result meet its criteria? A judge says so, a model or a rule, behind one protocol.

A judge gets the task, the criteria and the output, nothing of how it came about: no transcript, no excuse. The rule:
only the documented words decide; whatever else comes back, or does not, is "unknown" and never a pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from graph_agent.llm.ask import AskError, ask
from graph_agent.protocols import LLM, LLMError, Request
from graph_agent.runtime.state import described
from graph_agent.verify.statements import statements

Status: TypeAlias = Literal["satisfied", "violated", "insufficient_evidence", "unknown"]

VERSION = "1"
AT_ONCE = 6
"""Criteria that are put before a judge at once. With more the later ones get less of its attention."""

_WORDS: dict[str, Status] = {
    "satisfied": "satisfied", "true": "satisfied", "pass": "satisfied",
    "violated": "violated", "false": "violated", "fail": "violated",
    "insufficient_evidence": "insufficient_evidence",
}  # fmt: skip

_STRICTEST: tuple[Status, ...] = ("violated", "unknown", "insufficient_evidence", "satisfied")

PROMPTS = (
    """\
Judge an output against criteria that somebody else set. Begin with your concerns: what in the output could mislead a
reader; if there is none, say so. Then one item for each criterion, by its number. "satisfied": what the output says,
with what it quotes, meets the criterion. "violated": it says something that breaks it. "insufficient_evidence": it
does not say enough to tell. Judge what is written, not the effort. Do not rewrite the output or add what you know.""",
    """\
You are the second reader and have seen no other judgement. Try to refute the output: for each criterion look for the
sentence of the output that meets it. First name your concerns, or say that there is none. Then give one item for each
criterion, by its number: "satisfied" only where you found that sentence, "violated" where one says the contrary,
"insufficient_evidence" where there is neither. Length, tone and effort count for nothing. Rewrite no output.""",
)


@dataclass(frozen=True, kw_only=True)
class Item:
    """What was decided on one criterion, and in a sentence why."""

    criterion: str
    status: Status
    why: str = ""


class Judge(Protocol):
    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
        """One item for each criterion, in their order. What can't be decided is "unknown"; raises nothing for it."""
        ...


@dataclass(frozen=True, kw_only=True)
class JudgedCriterion:
    number: int = described("the number of the criterion, from 1")
    status: str | bool | None = described("satisfied, violated or insufficient_evidence")
    why: str = described("the reason in one sentence, naming what in the output decides", default="")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a model answers as a judge."""

    concerns: str = described("what in the output could mislead a reader; if there is none, say so")
    items: tuple[JudgedCriterion, ...] = described("one for each criterion")


def status_of(said: Any) -> Status:
    """The status that a word stands for, in any case. Anything that is not documented is "unknown"."""
    if isinstance(said, bool):
        said = str(said)
    return _WORDS.get(said.strip().casefold(), "unknown") if isinstance(said, str) else "unknown"


class ModelJudge:
    """A model as a judge, at temperature 0. `prompt` is the number of the wording in PROMPTS."""

    def __init__(self, llm: LLM, *, prompt: int = 0) -> None:
        self._llm, self._instructions = llm, PROMPTS[prompt]

    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
        return tuple(item for some in batches(criteria) for item in self._judged(task, some, output))

    def _judged(self, task: str, criteria: Sequence[str], output: str) -> tuple[Item, ...]:
        asked = [{"number": number, "criterion": text} for number, text in enumerate(criteria, 1)]
        context = {"task": task, "criteria": asked, "output": output}
        request = Request(instructions=self._instructions, context=context, temperature=0.0)
        try:
            said = ask(self._llm, request, Judgement)
        except AskError as error:
            return _unknown(criteria, f"the judgement is of no use: {error.message}")
        except LLMError as error:
            return _unknown(criteria, f"the judge can't be asked: {error}")
        return read_items(criteria, said)


def read_items(criteria: Sequence[str], said: Judgement) -> tuple[Item, ...]:
    """Its items by criterion. One that is missing, or given twice and not alike, is unknown.

    A number that no criterion has may be an item of another numbering, from 0 say: then none of them is believed.
    """
    strange = [one.number for one in said.items if not 1 <= one.number <= len(criteria)]
    if strange:
        return _unknown(criteria, f"the judge speaks of a criterion {strange[0]}, of 1 to {len(criteria)}")
    found = []
    for number, criterion in enumerate(criteria, 1):
        given = [one for one in said.items if one.number == number]
        statuses = {status_of(one.status) for one in given}
        if len(statuses) == 1:
            found.append(Item(criterion=criterion, status=statuses.pop(), why=_worded(given[0])))
        else:
            why = "the judge contradicts itself" if given else "the judge said nothing of it"
            found.append(Item(criterion=criterion, status="unknown", why=why))
    return tuple(found)


def _worded(given: JudgedCriterion) -> str:
    why = " ".join(given.why.split())
    if status_of(given.status) == "unknown" and not (given.status == "unknown" and why):
        return f"the judge's word {given.status!r} is none of satisfied, violated, insufficient_evidence"
    return why


def in_both_orders(judge: Judge, task: str, criteria: Sequence[str], output: str) -> tuple[Item, ...]:
    """Comparisons are judged once more with the statements in reverse: what hangs on their order is not decided."""
    first = judge.judge(task, criteria, output)
    compared = [one for one in criteria if is_comparison(one)]
    lines = [one.written for one in statements(output)]
    if not compared or len(lines) < 2:
        return first
    turned = dict(zip(compared, judge.judge(task, compared, "\n\n".join(reversed(lines))), strict=True))
    return tuple(_agreed(one, turned[one.criterion]) if one.criterion in turned else one for one in first)


def _agreed(first: Item, second: Item) -> Item:
    if first.status == second.status or first.status == "unknown":
        return first
    if second.status == "unknown":
        return second
    why = f"judged {first.status} in one order and {second.status} in the other"
    return Item(criterion=first.criterion, status="insufficient_evidence", why=why)


_COMPARISON = re.compile(
    r"\b(?:compar\w+|versus|vs\.?|differ\w*|contrast\w*|better|worse|(?!(?:rath|oth|ev|nev)er\b)\w{2,}er than)\b"
    r"|\b(?:more|less|fewer)\b(?! than \d).*?\bthan\b"
    r"|\u6bd4\u8f83|\u5bf9\u6bd4|\u76f8\u6bd4|\u4e0d\u540c|\u533a\u522b|\u5dee\u5f02"
    r"|\u6bd4.{1,20}[\u66f4\u9ad8\u4f4e\u5927\u5c0f\u591a\u5c11\u5feb\u6162\u597d\u5dee]",
    re.IGNORECASE,
)


def is_comparison(criterion: str) -> bool:
    return bool(_COMPARISON.search(criterion))


def together(one: Sequence[Item], other: Sequence[Item]) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Of two judges the stricter word on each criterion, and the criteria of which one is satisfied and one is not."""
    items, disputed = [], []
    for first, second in zip(one, other, strict=True):
        stricter = min(first, second, key=lambda item: _STRICTEST.index(item.status))
        items.append(stricter)
        said = {first.status, second.status}
        if "satisfied" in said and len(said) == 2 and "unknown" not in said:
            disputed.append(first.criterion)
    return tuple(items), tuple(disputed)


def score_of(items: Iterable[Item]) -> float:
    """satisfied / all; 0.0 where there is none."""
    counts = Counter(one.status for one in items)
    return counts["satisfied"] / counts.total() if counts else 0.0


def batches(criteria: Sequence[str]) -> list[Sequence[str]]:
    return [criteria[at : at + AT_ONCE] for at in range(0, len(criteria), AT_ONCE)]


def _unknown(criteria: Sequence[str], why: str) -> tuple[Item, ...]:
    return tuple(Item(criterion=one, status="unknown", why=why) for one in criteria)
