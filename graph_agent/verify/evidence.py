"""The second layer: is what a result cites there, and does it say what is quoted from it?

Code alone decides. The rule: one failure here is a failure, whatever a model says of it. A quote is found when it
stands in the source word for word, and so is a block of code; white space is folded, case is kept, and nothing else is
forgiven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from graph_agent.runtime.errors import nearest
from graph_agent.tools.words import numbers
from graph_agent.verify.citations import code_blocks, marks
from graph_agent.verify.report import Verdict
from graph_agent.verify.statements import Statement, asides, quotes_of, statements

_ELLIPSIS = re.compile(r"\.\.\.|\u2026")


def evidence_problems(text: str, evidence: Mapping[str, str]) -> tuple[str, ...]:
    """What does not hold of a result, given the full text of each piece of evidence by its id."""
    said = statements(text)
    found = [problem for one in said for problem in statement_problems(one, evidence)]
    alone = set(marks(text).unknown(set(evidence))) - {name for one in said for name in one.cites}
    found += [_unknown(one, evidence) for one in sorted(alone)]
    return (*found, *_block_problems(text, evidence), *_aside_problems(text, evidence))


def statement_problems(statement: Statement, evidence: Mapping[str, str]) -> Iterator[str]:
    """What does not hold of one statement: an id that is none, a quote or a number that is not in what it cites."""
    unknown = [one for one in statement.cites if one not in evidence]
    for one in unknown:
        yield _unknown(one, evidence)
    cited = {one: evidence[one] for one in statement.cites if one in evidence}
    if unknown or not cited:
        return
    for quote in statement.quotes:
        if all(check_quote(one, quote, cited) is not Verdict.PASS for one in cited):
            where = " or ".join(cited)
            apart = ", each piece by itself" if _ELLIPSIS.search(quote) else ""
            how = f"quote word for word{apart}, or cite where it stands"
            yield f"the quote {_short(quote)!r} does not stand in {where}: {how}"
    given = numbers(statement.text)
    if not given:  # most have none, and a source may be long
        return
    there = _numbers_in(cited)
    for number in sorted(given - there):
        yield f"the number {number} does not occur in {' or '.join(cited)}: cite where it stands, or leave it out"


def _unknown(name: str, evidence: Mapping[str, str]) -> str:
    return f"there is no evidence {name}{nearest(name, evidence)}: cite what there is, of {_listed(evidence)}"


def _block_problems(text: str, evidence: Mapping[str, str]) -> Iterator[str]:
    """A block of code is no statement and has no citation of its own, but nobody may say in one what he likes."""
    cited = {one: evidence[one] for one in marks(text).ids if one in evidence}
    for block in code_blocks(text):
        if folded(block) and all(check_quote(one, block, cited) is not Verdict.PASS for one in cited):
            where = " or ".join(cited) or "any evidence"
            what = f"the block {_short(folded(block))!r}"
            yield f"{what} does not stand in {where}: quote it word for word, or leave it out"


def _aside_problems(text: str, evidence: Mapping[str, str]) -> Iterator[str]:
    """A heading has no citation of its own either: what it quotes and its numbers stand in something that is cited."""
    cited = {one: evidence[one] for one in marks(text).ids if one in evidence}
    for said in asides(text):
        for number in sorted(numbers(said) - _numbers_in(cited)):
            yield f"the number {number} of {_short(said)!r} occurs in nothing that is cited: leave it out there"
        for quote in quotes_of(said):
            if all(check_quote(one, quote, cited) is not Verdict.PASS for one in cited):
                yield f"the quote {_short(quote)!r} of a heading stands in nothing that is cited: leave it out there"


def _numbers_in(cited: Mapping[str, str]) -> frozenset[str]:
    return frozenset[str]().union(*map(_numbers_of, cited.values()))


@lru_cache(maxsize=64)
def _numbers_of(text: str) -> frozenset[str]:
    """Of a source: as it is broken into lines, and as one. Kept, since each statement looks at them."""
    return numbers(text) | numbers(folded(text))


def check_quote(evidence_id: str, quote: str, evidence: Mapping[str, str]) -> Verdict:
    """Whether a quote stands in one piece of evidence. An empty quote, or no such evidence, is UNKNOWN."""
    wanted = folded(quote)
    if not wanted or evidence_id not in evidence:
        return Verdict.UNKNOWN
    return Verdict.PASS if wanted in folded(evidence[evidence_id]) else Verdict.FAIL


def folded(text: str) -> str:
    """Each run of white space as one blank."""
    return " ".join(text.split())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def _listed(evidence: Mapping[str, str]) -> str:
    ids = list(evidence)
    return ", ".join(ids[:12]) + (f" and {len(ids) - 12} more" if len(ids) > 12 else "") if ids else "none"
