"""A judge that is a rule: it reads a few forms of criteria that can be checked by machine, and doubts all others.

The rule: for a criterion that is none of `FORMS`, and for what a form says besides, the words must stand in what the
output quotes; where they do not, the evidence is insufficient. It never finds a violation in what it can't read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from graph_agent.tools.words import content_terms, numbers
from graph_agent.verify.judge import Item, Status
from graph_agent.verify.statements import Statement, own_words, quotes_of, statements

FORMS = ("at least N cited statements", "mentions X", "gives a number", "gives a date", "speaks of X")

SPOKEN_OF = 0.5
"""Share of a criterion's content words that must stand in what is quoted, taken together."""

TOUCHED = 0.3
"""The share that each quote must have, to be counted: what has a word in common by chance speaks of something else."""

BORNE_OUT = 0.6
"""Share of a statement's content words that must stand in its quotes."""

_AT_LEAST = re.compile(
    r"\b(?:at least|no fewer than)\s+(?P<n>\d{1,6}|one|two|three|four|five|six)\s+(?:cited\s+)?statements?\b"
    r"|(?:\u81f3\u5c11|\u4e0d\u5c11\u4e8e)\u6709?\s*(?P<zh>\d{1,6}|[\u4e00\u4e24\u4e8c\u4e09\u56db\u4e94\u516d])\s*[\u6761\u4e2a\u9879\u53e5]"
    r"(?:[\u5e26\u6709]?\u5f15\u7528\u7684?)?(?:\u9648\u8ff0|\u8bed\u53e5|\u53e5\u5b50|\u8bf4\u6cd5)",
    re.IGNORECASE,
)
_MENTIONS = re.compile(
    r"(?:\bmentions?\s+|\u63d0[\u5230\u53ca]\u4e86?\s*)"
    r"(?:\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|\u300c([^\u300d]+)\u300d|'([^']+)'|`([^`]+)`|(?P<free>.+?))\s*[.\u3002]?\s*$",
    re.IGNORECASE,
)
_A_NUMBER = re.compile(
    r"\b(?:(?:gives|states|has|contains|names|with)\s+)?(?:an?|the|one|at least one)\s+"
    r"(?:(?:exact|concrete|specific)\s+)?(?:number|figure|amount)\b"
    r"|(?:\u7ed9\u51fa|\u6709|\u5199\u660e|\u8bf4\u660e|\u5305\u542b)\u4e86?(?:\u4e00\u4e2a|\u5177\u4f53\u7684?|\u786e\u5207\u7684?)*(?:\u6570\u5b57|\u6570\u503c|\u6570\u91cf)",
    re.IGNORECASE,
)
_A_DATE = re.compile(
    r"\b(?:(?:gives|states|has|contains|names|with)\s+)?(?:a|the|one)\s+(?:(?:exact|specific)\s+)?date\b"
    r"|(?:\u7ed9\u51fa|\u6709|\u5199\u660e|\u8bf4\u660e|\u5305\u542b)\u4e86?(?:\u4e00\u4e2a|\u5177\u4f53\u7684?|\u786e\u5207\u7684?)*\u65e5\u671f",
    re.IGNORECASE,
)
_SPEAKS_OF = re.compile(r"\s*(?:speaks? of|\u8c08\u5230\u4e86?|\u8bb2\u5230\u4e86?)\s*[:\uff1a]?\s*(.+)", re.DOTALL)
_FORBIDS = re.compile(
    r"\b(?:(?:do|does|must|should|may|shall|can|is|are)(?:\s+not|n't)|cannot|never|without|avoids?)\s+"
    r"(?:mention|stat|say|contain|includ|claim|giv|us|nam|list|quot|cit|speak|speculat|guess|rely|invent|repeat)\w*"
    r"|\b(?:mentions?|states?|says?|contains?|includes?|makes?|gives?|names?|has|have|with)\s+(?:no|neither|none)\b"
    r"|(?:\u4e0d|\u672a|\u6ca1\u6709?|\u52ff|\u4e0d\u5f97|\u4e0d\u8981|\u4e0d\u5e94|\u4e0d\u80fd)\u518d?"
    r"(?:\u63d0|\u8bf4|\u5305\u542b|\u542b|\u51fa\u73b0|\u4f7f\u7528|\u7ed9\u51fa|\u5217\u51fa)",
    re.IGNORECASE,
)
_WHO_SAYS = re.compile(
    r"^\W*(?:(?:the|this|an?|its?|each)\s+)?(?:(?:result|output|answer|reply|response|text|report|it)\s+"
    r"(?=\W*$|must|should|shall|has to|clearly|explicitly|states?|says?|gives?|names?|contains?|includes?|explains?"
    r"|describes?|tells?|shows?|cites?|quotes?|covers?|lists?|identif(?:y|ies)|has))?"
    r"(?:(?:must|should|shall|has to|clearly|explicitly)\s+)*"
    r"(?:(?:states?|says?|gives?|names?|contains?|includes?|explains?|describes?|tells?|shows?|cites?|quotes?|covers?"
    r"|lists?|identif(?:y|ies)|has|mentions?)\b)?(?:\s+that\b)?"
    r"|^(?:\u7ed3\u679c|\u7b54\u6848|\u56de\u7b54|\u8f93\u51fa)?(?:\u5fc5\u987b|\u5e94\u8be5?|\u9700\u8981?|\u8981)?"
    r"(?:\u8bf4\u660e|\u7ed9\u51fa|\u5199\u660e|\u6307\u51fa|\u5217\u51fa|\u63d0[\u5230\u53ca]|\u5305\u542b|\u89e3\u91ca|\u63cf\u8ff0)\u4e86?[:\uff1a]?",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}\.\d{1,2}\.\d{4}\b"
    r"|\d{4}\s*\u5e74|\d{1,2}\s*\u6708\s*\d{1,2}\s*\u65e5"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}|\b{_MONTH}\s+\d{{1,4}}\b"
    r"|\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Tt]ill|[Ff]rom|[Bb]y|[Bb]efore|[Aa]fter|[Dd]uring|[Oo]f|[Yy]ear)\s+(?:1[5-9]|20)\d{2}"
    r"(?=\W*$|[.,;:)\]]|\s+(?:the|an?|and|or|to|by|it|was|were|is|are|has|had|when|as|for|with|from|he|she|they|at|on|in)\b)"
)
_COUNTED = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6} | {
    char: number for number, char in enumerate("\u4e00\u4e8c\u4e09\u56db\u4e94\u516d", 1)
} | {"\u4e24": 2}  # fmt: skip

_IN_WORDS = re.compile(
    r"\b(?:once|twice|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million)s?"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)\b"
    r"|[\u4e00\u4e8c\u4e24\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343\u4e07]+"
    r"[\u4e2a\u6b21\u5929\u65e5\u5468\u6708\u5e74\u79d2\u5206\u4eba\u7c73\u5c0f\u516c\u5343\u5347\u5ea6\u6b65\u6761\u500d]",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:and|both)\b|[\u548c\u4e0e\u53ca]", re.IGNORECASE)

Decided: TypeAlias = tuple[Status, str]


class RuleJudge:
    """The judge of an offline run."""

    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
        cited = [one for one in statements(output) if one.cites]
        decided = [(one, _judged(one, cited)) for one in criteria]
        return tuple(Item(criterion=one, status=status, why=why) for one, (status, why) in decided)


def _judged(criterion: str, cited: Sequence[Statement]) -> Decided:
    if not cited:
        return "insufficient_evidence", "the output makes no cited statement"
    if _FORBIDS.search(criterion):
        return "insufficient_evidence", "what must not be said is not for a rule to judge"
    if found := _SPEAKS_OF.match(criterion):
        return _spoken_of(found[1], cited)
    for form, check in _CHECKS:
        if found := form.search(criterion):
            return check(found, cited, f"{criterion[: found.start()]} {criterion[found.end() :]}")
    return _spoken_of(criterion, cited)


def _count(found: re.Match[str], cited: Sequence[Statement], besides: str) -> Decided:
    said = (found["n"] or found["zh"]).casefold()
    least = _COUNTED.get(said) or int(said)
    subject = _subject(besides)
    counted = [one for one in cited if _enough(subject, [one])] if subject else cited
    why = f"{len(counted)} cited statements{' that quote something on it' if subject else ''}"
    if len(counted) >= least:
        return "satisfied", why
    return ("insufficient_evidence" if subject else "violated"), why


def _mention(found: re.Match[str], cited: Sequence[Statement], besides: str) -> Decided:
    """Words without quotation marks may as well be a description: there is no violation in their absence."""
    free = found["free"]
    wanted = quotes_of(free) if free else (next(filter(None, found.groups())),)
    if free and wanted and re.search(r"\w", _JOINED.sub("", own_words(free))):
        return "insufficient_evidence", "it asks for more than what it names"
    absent = [one for one in wanted or (free,) if not _is_mentioned(one, cited)]
    if not absent:
        return "satisfied", f"{', '.join(map(repr, wanted or (free,)))} mentioned"
    return ("violated", f"{absent[0]!r} is not mentioned") if wanted else _spoken_of(free, cited)


def _is_mentioned(wanted: str, cited: Sequence[Statement]) -> bool:
    """As a whole word, in any case."""
    whole = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(wanted)}(?![A-Za-z0-9_])", re.IGNORECASE)
    return any(whole.search(one.text) for one in cited)


def _number(_: re.Match[str], cited: Sequence[Statement], besides: str) -> Decided:
    giving = [one for one in cited if numbers(one.text) or _IN_WORDS.search(one.text)]
    return _given("number", giving, besides)


def _date(_: re.Match[str], cited: Sequence[Statement], besides: str) -> Decided:
    return _given("date", [one for one in cited if _DATE.search(one.text)], besides)


def _given(what: str, giving: Sequence[Statement], besides: str) -> Decided:
    if not giving:
        return "insufficient_evidence", f"no {what} is given"
    return _spoken_of(besides, giving) if _subject(besides) else ("satisfied", f"a {what} is given")


_CHECKS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Sequence[Statement], str], Decided]], ...] = (
    (_AT_LEAST, _count),
    (_MENTIONS, _mention),
    (_A_NUMBER, _number),
    (_A_DATE, _date),
)


def _spoken_of(criterion: str, cited: Sequence[Statement]) -> Decided:
    wanted = _subject(criterion)
    if not wanted:
        return "insufficient_evidence", "the criterion has no word that could be looked for"
    speaking = [one for one in cited if _share(wanted, [one]) >= TOUCHED]
    share, there = _share(wanted, speaking), _quoted(speaking)
    lacking = sorted(numbers(criterion) - {number for one in speaking for number in numbers(" ".join(one.quotes))})
    if _enough(wanted, speaking) and not lacking:
        return "satisfied", f"{share:.0%} of its words stand in what is quoted"
    missing = ", ".join([*lacking, *sorted(wanted - there - set(lacking))][:5])
    return "insufficient_evidence", f"{share:.0%} of its words stand in what is quoted, not: {missing}"


def _subject(criterion: str) -> set[str]:
    """Its content words, less those that say who says it."""
    return set(content_terms(_WHO_SAYS.sub(" ", criterion.strip(), count=1)))


def _enough(wanted: set[str], cited: Sequence[Statement]) -> bool:
    """One word of two is too little, though it is half of them."""
    met = len(wanted & _quoted(cited))
    return met >= min(2, len(wanted)) and met / len(wanted) >= SPOKEN_OF


def _share(wanted: set[str], cited: Sequence[Statement]) -> float:
    return len(wanted & _quoted(cited)) / len(wanted)


def _quoted(cited: Iterable[Statement]) -> set[str]:
    """The content words of all quotes of statements that are hardly more than what they quote."""
    found: set[str] = set()
    for one in cited:
        quoted = {term for quote in one.quotes for term in content_terms(quote)}
        said = set(content_terms(one.text))
        if said and len(said & quoted) / len(said) >= BORNE_OUT:
            found |= quoted
    return found
