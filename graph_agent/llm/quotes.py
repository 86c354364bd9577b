"""An answer out of a text's own sentences, without a model: which of them answer a question, and which disagree.

The rule: better nothing than an unrelated quote. A sentence is quoted word for word (white space folded) and only when
it covers the question's own words well enough; what no quote covers is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graph_agent.llm.asking import LIGHT, Asked, asked
from graph_agent.llm.kinds import Kind
from graph_agent.tools.ranking import Ranking
from graph_agent.tools.sentences import sentences
from graph_agent.tools.words import content_terms, numbers, terms

COVERED = 0.72
"""The least share of a question's words, by weight, that a quote with what it stands under must have."""
OWN = 0.45
"""The least share that the quote must have by itself."""
CLOSE = 0.7
"""Of the best quote's score, what another must have to be quoted beside it."""
SAME = 0.5
"""How alike two sentences must be, less their numbers, to speak of the same thing (Dice)."""

HEADED, BESIDE = 0.8, 0.6
"""What a word counts that stands not in the quote but above it (a heading, the source's name), or in the sentence
beside it."""
ABSENT = 1.6
"""What a word counts that is in no passage at all, or a name that is nowhere near."""
LITTLE = 0.4
"""What is left of the weight of a word that says little of what a question is about."""
RARE = 0.2
"""How much a word's rarity adds to its weight of 1."""
LEADS, OPENS, ABOVE, ASIDE = 0.2, 0.3, 0.2, 0.1
"""What it changes in the rank of a quote that it begins with what is asked about, that it is the first below a heading
which has all that is asked about, that what is above speaks of it, and that it only adds something."""
MISFIT: dict[Kind, float] = {"count": 0.5, "length": 0.5, "size": 0.5, "number": 0.6, "time": 0.75, "person": 0.6}
"""What is left of a quote's worth that has no number where one is asked for, and the like."""

_LEANS_BACK = re.compile(r"(?:It|This|They|These|That|Those|Its|Their|He|She|Such|Sie|Dies\w*|Es)\b|[它这该其]")
_ASIDE = re.compile(
    r"(?:Changed|New|Deprecated|Added) in |(?:See|For example|Note|Also|However|Similarly|When|If|While|Unless)\b|\("
)
_STOPS = re.compile(r"[.,;:|!\u3002\uff0c\uff1b\uff1a]")
_TORN = re.compile(r"\s*(?:[a-z]+[\s,]|\()")
_LONGEST = 500  # characters; more than that is no answer


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A piece of a source. `heading` is what it stands under, for what the text itself does not repeat."""

    id: str
    source: str
    text: str
    superseded: bool = False
    heading: str = ""


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Word for word from the passage `id`, but for white space."""

    id: str
    source: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Two quotes from different sources that say nearly the same with different numbers."""

    first: Quote
    second: Quote
    why: str


@dataclass(frozen=True, kw_only=True)
class Quotes:
    """`covered`: the share of the question that the quotes cover; `missing`: its words that none of them has."""

    found: tuple[Quote, ...] = ()
    covered: float = 0.0
    missing: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


@dataclass(eq=False)
class _Candidate:
    """A sentence with the terms it has, and those of what stands around it."""

    quote: Quote
    superseded: bool
    own: set[str]
    above: set[str]
    around: set[str]
    opens: set[str]  # the terms of the heading, when it is the first sentence below it
    score: float = 0.0
    covered: float = 0.0
    by_itself: float = 0.0


def best_quotes(question: str, passages: Sequence[Passage], *, most: int = 3) -> Quotes:
    """At most `most` quotes, best first; those from superseded passages only where no current one answers or it
    says something else."""
    what = asked(question)
    candidates = [candidate for passage in passages for candidate in _candidates(passage)]
    if not what.terms or not candidates:
        return Quotes(missing=what.words(what.terms))
    ranking = Ranking([candidate.quote.text for candidate in candidates])
    everywhere = {term for candidate in candidates for term in candidate.own | candidate.around}
    for candidate in candidates:
        _judge(candidate, what, ranking, everywhere)
    fitting = [candidate for candidate in candidates if _answers(candidate, what)]
    fitting.sort(key=lambda candidate: (candidate.superseded, -candidate.score))
    chosen, conflicts = _chosen(fitting, most)
    present = {term for candidate in chosen for term in candidate.own | candidate.around}
    missing = [term for term in what.terms if not what.met(term, present)]
    return Quotes(
        found=tuple(candidate.quote for candidate in chosen),
        covered=round(_share(what, present, ranking), 3) if chosen else 0.0,
        missing=what.words(missing if chosen else what.terms),
        conflicts=conflicts,
    )


def _candidates(passage: Passage) -> Iterator[_Candidate]:
    folded = " ".join(passage.text.split())
    named = "\n".join((passage.heading, _name_of(passage.source)))
    heading, before, below = passage.heading.rpartition("\n")[2], "", 0
    said = sentences(passage.text)
    for position, sentence in enumerate(said):
        if sentence.heading:
            heading, before, below = sentence.text, "", 0
            continue
        text, below = sentence.text, below + 1
        following = next((one.text for one in said[position + 1 : position + 2] if not one.heading), "")
        if before and _LEANS_BACK.match(text) and f"{before} {text}" in folded:
            text = f"{before} {text}"
        elif text.endswith((":", "\uff1a")):
            text = _with_what_follows(text, folded, [one.text for one in said[position + 1 :]])
        torn = position == 0 and _TORN.match(passage.text)
        if _states(text) and not torn:
            above = set(terms(f"{heading}\n{named}"))
            yield _Candidate(
                quote=Quote(id=passage.id, source=passage.source, text=text),
                superseded=passage.superseded,
                own=set(terms(text)),
                above=above,
                around=above | set(terms(f"{before}\n{following}")),
                opens=set(terms(heading)) if below == 1 else set(),
            )
        before = sentence.text


def _with_what_follows(text: str, folded: str, following: list[str]) -> str:
    """A lead-in with its items, as they stand in the text."""
    start = folded.find(text)
    stop = start + len(text)
    for one in following:
        at = folded.find(one, stop)
        marked = 0 < len(folded[stop:at].strip()) <= 4  # a bullet or a number
        if start < 0 or at < 0 or not marked or at + len(one) - start > _LONGEST:
            break
        stop = at + len(one)
    return folded[start:stop] if start >= 0 else text


def _states(text: str) -> bool:
    """No question, and no heap of words."""
    return (
        len(text) <= _LONGEST and not text.endswith(("?", "\uff1f")) and (len(text) < 100 or bool(_STOPS.search(text)))
    )


def _name_of(source: str) -> str:
    return source.rpartition("/")[2].rpartition(".")[0] or source


def _judge(candidate: _Candidate, what: Asked, ranking: Ranking, everywhere: set[str]) -> None:
    met = {term for term in what.terms if what.met(term, candidate.own)}
    beside = {term for term in what.terms if term not in met and what.met(term, candidate.around)}
    above = {term for term in what.terms if what.met(term, candidate.above)}
    absent = {term for term in what.terms if term not in met | beside}
    lost = {term for term in absent if term in what.names or not what.met(term, everywhere)}
    whole = _weight(what.terms, ranking) + (ABSENT - 1) * _weight(lost, ranking)
    said_above = _weight(beside & what.names, ranking)
    candidate.by_itself = _weight(met, ranking) / (whole - said_above) if met else 0.0
    near = HEADED * _weight(beside & above, ranking) + BESIDE * _weight(beside - above, ranking)
    candidate.covered = (_weight(met, ranking) + near) / whole
    if not what.fits(candidate.quote.text):
        candidate.covered *= MISFIT[what.wants]
    leads = not met.isdisjoint(content_terms(candidate.quote.text)[:1])
    opens = what.wants == "anything" and all(what.met(term, candidate.opens) for term in what.terms)
    if opens:
        candidate.by_itself = max(candidate.by_itself, OWN)
    bonus = (
        OPENS * opens
        + LEADS * leads
        + ABOVE * _weight(above, ranking) / whole
        - ASIDE * bool(_ASIDE.match(candidate.quote.text))
    )
    candidate.score = candidate.covered + 0.3 * candidate.by_itself + bonus - len(candidate.own) / 1000


def _answers(candidate: _Candidate, what: Asked) -> bool:
    says_more = not set(content_terms(candidate.quote.text)) <= set(what.terms)
    return says_more and candidate.covered >= COVERED and candidate.by_itself >= OWN


def _weight(among: Iterable[str], ranking: Ranking) -> float:
    """Damped: among passages that were searched for a word, the word is no rarer for being the subject."""
    return sum((1 + RARE * ranking.weight(term)) * (LITTLE if term in LIGHT else 1) for term in among)


def _share(what: Asked, present: set[str], ranking: Ranking) -> float:
    met = [term for term in what.terms if what.met(term, present)]
    return _weight(met, ranking) / _weight(what.terms, ranking)


def _chosen(fitting: list[_Candidate], most: int) -> tuple[list[_Candidate], tuple[Conflict, ...]]:
    chosen: list[_Candidate] = []
    conflicts: list[Conflict] = []
    current = any(not candidate.superseded for candidate in fitting)
    for candidate in fitting:
        against = [conflict for other in chosen if (conflict := _conflict(other, candidate))]
        old = candidate.superseded and current and not against
        weak = chosen and candidate.score < CLOSE * chosen[0].score and not against
        again = any(_says_as_much(other, candidate) for other in chosen) and not against
        if old or weak or again or len(chosen) >= most:
            continue
        chosen.append(candidate)
        conflicts += against
    return chosen, tuple(conflicts)


def _says_as_much(first: _Candidate, second: _Candidate) -> bool:
    one, two = first.quote.text, second.quote.text
    return _alike(first, second) > 0.8 or one in two or two in one


def _conflict(first: _Candidate, second: _Candidate) -> Conflict | None:
    one, two = (numbers(candidate.quote.text) for candidate in (first, second))
    if first.quote.source == second.quote.source or not one - two or not two - one or _alike(first, second) < SAME:
        return None
    why = f"{first.quote.source} says {_listed(one - two)}, {second.quote.source} says {_listed(two - one)}"
    if second.superseded:
        why += " and was superseded"
    return Conflict(first=first.quote, second=second.quote, why=why)


def _alike(first: _Candidate, second: _Candidate) -> float:
    one, two = (set(content_terms(candidate.quote.text)) for candidate in (first, second))
    one, two = ({term for term in some if not term[0].isdigit()} for some in (one, two))
    return 2 * len(one & two) / (len(one) + len(two)) if one or two else 0.0


def _listed(some: frozenset[str]) -> str:
    return " and ".join(sorted(some, key=lambda number: (len(number), number)))
