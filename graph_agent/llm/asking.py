"""What a question asks for: its words, the names in it, and the kind of answer it wants.

The rule: these are hints drawn from the question's own words, in the few languages listed; nothing here knows an
answer, and a question of no known kind wants any sentence that covers its words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from graph_agent.llm.kinds import ANY_NUMBER, ASKED, ASKED_AS, COUNTED, FITTING, NUMERALS, Kind
from graph_agent.tools.words import content_terms, numbers, terms

_NAME = re.compile(
    r"[\"'`\u201c\u300c\u300a]([^\"'`\u201d\u300d\u300b]+)[\"'`\u201d\u300d\u300b]|(?<=[\w,] )([A-Z]\w*)"
    r"|(\w*(?:_\w|\d|[a-z][A-Z])\w*|[A-Z]{2,}\w*)"
)

_SYNONYMS = """
    keep retain store hold preserve save | maximum max most limit up larger longer | minimum min least fewer shorter
    | delete remove drop erase purge | allow permit | forbid prohibit disallow | raise throw | return yield give
    | call invoke | begin start | end stop finish | change modify alter edit | create make build | need require must
    | choose pick select | big large size | length size character long | error exception failure | fix repair mend
    | show display print | argument parameter | pay cost price fee | folder directory | evaluate compute
    | differ different | supersede replace obsolete | publish release | decide decision | approve approval
    | happen occur | inspect examine check | fit contain carry bear
    | belong have | turn cause make become | responsible owner own | empty zero | due within
"""


LIGHT = frozenset(
    terms(
        "belong have has get take give make put go come carry bear hold keep kept fit start begin stop leave last run"
        " allow forbid forbidden permit need use find show tell happen stand stay lie mean call work reach send kept"
        " own do does least most large late full new itself break"
    )
)
"""Words that say little of what a question is about: a sentence may well do without."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """`terms` are the content terms; `names` those of them that are names; `counted`: of what the number is asked."""

    question: str
    terms: tuple[str, ...]
    names: frozenset[str]
    wants: Kind
    counted: tuple[str, ...] = ()

    def met(self, term: str, present: Collection[str]) -> bool:
        """Whether a term, or a word that stands for the same, is there."""
        return term in present or (term not in self.names and not _ALIKE.get(term, _NONE).isdisjoint(present))

    def fits(self, text: str) -> bool:
        """Whether a sentence has the kind of thing that is asked for, apart from what the question has itself."""
        if self.wants == "anything":
            return True
        if self.wants in ("count", "number") and not (numbers(text) - numbers(self.question)):
            text = re.sub(r"\d", "", text)
        return bool(FITTING[self.wants].search(text)) and (self.wants != "count" or self._counts(text))

    def words(self, missing: Iterable[str]) -> tuple[str, ...]:
        """Terms as the question writes them."""
        written = {term: word for word in re.findall(r"\w+", self.question) for term in reversed(terms(word))}
        return tuple(dict.fromkeys(written.get(term, term) if term.isascii() else term for term in missing))

    def _counts(self, text: str) -> bool:
        """Whether a number stands with what is counted: "12 jobs", "at most five working days", "workers: 3"."""
        of_one = any(len(term) == 1 for term in self.counted)  # a character, as in a text without spaces
        found = re.findall(rf"[{NUMERALS}]+|\d[\d.,]*|\w" if of_one else r"\d[\d.,]*|[^\W\d]+", text)
        numbered = [at for at, word in enumerate(found) if ANY_NUMBER.fullmatch(word) or word[0].isdigit()]
        named = [at for at, word in enumerate(found) if not set(self.counted).isdisjoint({word, *terms(word)})]
        last = len(found) - 1
        close = (
            0 < there - here <= 3 or (0 < here - there <= 3 and here == last) for here in numbered for there in named
        )
        return not self.counted or any(close)


def asked(question: str) -> Asked:
    kept = ASKED_AS.sub(" ", question)
    wanted = content_terms(kept) or content_terms(question)
    named = {term for found in _NAME.finditer(question) for group in found.groups() if group for term in terms(group)}
    wants: Kind = next((kind for kind, pattern in ASKED.items() if pattern.search(question)), "anything")
    return Asked(
        question=question,
        terms=wanted,
        names=frozenset(named) & frozenset(wanted),
        wants=wants,
        counted=_counted(question) if wants == "count" else (),
    )


def _counted(question: str) -> tuple[str, ...]:
    found = COUNTED.search(question)
    if found is None:
        return ()
    *words, character = found.groups()
    return (character,) if character else content_terms(" ".join(filter(None, words)))


def _groups() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in _SYNONYMS.split("|"):
        alike = frozenset(terms(group))
        for term in alike:
            found[term] = found.get(term, _NONE) | alike
    return found


_NONE: frozenset[str] = frozenset()
_ALIKE = _groups()
