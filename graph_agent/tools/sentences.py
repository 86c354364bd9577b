"""A document's sentences, each with its lines: prose, list items and table rows; code is left out.

The rule: a sentence is the text's own words with nothing but its white space folded, and what only names a section is
marked as a heading, so that nobody takes it for a statement.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from graph_agent.tools.blocks import Block, blocks


@dataclass(frozen=True, slots=True)
class Sentence:
    """`first` and `last` are lines, from 1; `heading`: it names what follows and states nothing."""

    text: str
    first: int
    last: int
    heading: bool = False


def sentences(text: str) -> list[Sentence]:
    """All of them, in order. Code, rulers, tables of contents and the edges of pages are none."""
    found: list[Sentence] = []
    whole = [*blocks(text)]
    for before, block, after in zip([None, *whole], whole, [*whole[1:], None], strict=False):
        if block.heading or _names_a_section(block, before, after):
            found.append(Sentence(block.folded, block.first, block.last, True))
        else:
            found += _cut(block)
    return found


_CLOSED = re.compile(r"[.!?:;,\u2026\u3002\uff01\uff1f\uff1a][\"'\u201d\u2019)*_`]*$")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|be|must|may|can|will|should|shall|means?|takes?|costs?|needs?|ist|sind|wird|hat)\b"
)
_ASKS = re.compile(r"(?:what|when|where|who|why|how|which)\b", re.IGNORECASE)
_SECTION_NUMBER = re.compile(r"(?:\d+(?:\.\d+)+\.?|\d+\.|[A-Z]\.(?:\d+\.?)*|第\S{1,4}[章节条])\s+\S")
_SIGNATURE = re.compile(r"(?:(?:class|function|method|def) )?[A-Za-z_][\w.]*\([^()]*\)(?: -> .*)?")
_END = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]\u00bb*_`]*(?=\s+[^\sa-z]|\s+[a-z]\w*[_(.]\w)"
    r"|[\u3002\uff01\uff1f\u0964\u061f]+[\u300d\u300f\u201d\u2019\uff09)]*\s*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'])(?:e\.g|i\.e|cf|vs|viz|mr|mrs|ms|dr|prof|st|fig|figs|sec|sect|ch|approx|vol|pp|p|ed|eds|ca"
    r"|al|resp|incl|jr|sr|jan|feb|apr|aug|sept?|oct|nov|dec|z\.\s?b|d\.\s?h|u\.\s?a|bzw|evtl|ggf|abs|[a-z])\.$",
    re.IGNORECASE,
)
_BEFORE_A_NUMBER = re.compile(r"(?:^|[\s(\[])(?:no|nos|nr|num|art)\.$", re.IGNORECASE)


def _names_a_section(block: Block, *beside: Block | None) -> bool:
    """A line that stands alone and says nothing: a signature, a numbered title, or words with neither verb nor stop."""
    text = block.folded
    if len(block.lines) == 1 and _SIGNATURE.fullmatch(text):
        return True
    if len(block.lines) > 1 or block.kind not in ("text", "item") or _CLOSED.search(text):
        return False
    numbered = block.numbered or _SECTION_NUMBER.match(text) is not None
    in_a_list = block.kind == "item" and any(other is not None and other.kind == "item" for other in beside)
    if in_a_list or (block.kind == "item" and not numbered):
        return False
    says = _VERB.search(text) and not _ASKS.match(text)
    return len(text) <= 80 and not says and (numbered or text[0].isupper() or not text[0].isascii())


def _cut(block: Block) -> Iterator[Sentence]:
    text, starts = block.folded, block.starts
    begin = 0
    for end in [*_ends(text), len(text)]:
        piece = text[begin:end]
        if any(map(str.isalnum, piece)):
            stripped = piece.strip()
            start = begin + piece.index(stripped)
            first, last = (bisect_right(starts, at) for at in (start, start + len(stripped) - 1))
            yield Sentence(stripped, block.first + first - 1, block.first + last - 1)
        begin = end


def _ends(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        before, after = text[max(0, found.start() - 12) : found.start() + 1], text[found.end() :].lstrip()
        if text[found.start()] == "." and (
            _ABBREVIATION.search(before) or (_BEFORE_A_NUMBER.search(before) and after[:1].isdigit())
        ):
            continue
        yield found.end()
