"""What a written result consists of: its statements, and in each the quotes and the citations.

A statement is a sentence, a list item, a row of a table or a block quote that says something. The rule: what is not
plainly a heading, a lead-in or a question is a statement, and so needs a citation. `EXAMPLES` is the rule in examples,
which the tests run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from graph_agent.verify.citations import marks, without_blocks, without_code, without_marks

# ruff: noqa: E501  # examples on one line each
EXAMPLES: tuple[tuple[str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]], ...] = (
    # a text, and of each statement: its words, its quotes, the ids that it cites
    ("The limit is 25 steps [E1].", (("The limit is 25 steps.", (), ("E1",)),)),
    ("The limit is 25. [E1] It was 20. [E2]", (("The limit is 25.", (), ("E1",)), ("It was 20.", (), ("E2",)))),
    ("Not cited at all.", (("Not cited at all.", (), ()),)),
    ('It says "no more than 25 steps. Never." [E3]', (('It says "no more than 25 steps. Never."', ("no more than 25 steps. Never.",), ("E3",)),)),
    ('"Runs are kept." [E1] "They go." [E2]', (('"Runs are kept."', ("Runs are kept.",), ("E1",)), ('"They go."', ("They go.",), ("E2",)))),
    ("> Runs are kept for 30 days. Then they go. [E2]", (("Runs are kept for 30 days. Then they go.", ("Runs are kept for 30 days. Then they go.",), ("E2",)),)),
    ("## Limits\n\nIn short:\n\n- 25 steps [E1]\n- 3 tries [E1, E4]", (("25 steps", (), ("E1",)), ("3 tries", (), ("E1", "E4")))),
    ("Version 2.5 of e.g. the codec. [E1]", (("Version 2.5 of e.g. the codec.", (), ("E1",)),)),
    ("\u4e0a\u9650\u662f25\u6b65\u3002[E1]\u4ee5\u524d\u662f20\u6b65\u3002[E2]", (("\u4e0a\u9650\u662f25\u6b65\u3002", (), ("E1",)), ("\u4ee5\u524d\u662f20\u6b65\u3002", (), ("E2",)))),
    ("\u6587\u4ef6\u8bf4\u300c\u6700\u591a25\u6b65\u300d[E1]\u3002", (("\u6587\u4ef6\u8bf4\u300c\u6700\u591a25\u6b65\u300d\u3002", ("\u6700\u591a25\u6b65",), ("E1",)),)),
    ("> Runs are kept\n> for 30 days.\n\n[E2]", (("Runs are kept for 30 days.", ("Runs are kept for 30 days.",), ("E2",)),)),
    ("| what | days |\n|---|---|\n| runs | 30 [E2] |", (("| runs | 30 |", (), ("E2",)),)),
    ("How long? **For 30 days**, says `keep.md`. [E2]", (("**For 30 days**, says `keep.md`.", (), ("E2",)),)),
    ("Tours take 14 days. they are guided. 3 are free [E1].", (("Tours take 14 days.", (), ()), ("they are guided.", (), ()), ("3 are free.", (), ("E1",)))),
    ("It ran `x[E9]` once [E1].", (("It ran `x[E9]` once.", (), ("E1",)),)),
)  # fmt: skip

_BULLET = re.compile(r"\s*(?:[-*+\u2022]|\(?(?P<number>\d{1,3})[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s*#{1,6}(?:\s|$)")
_NUMBERED = re.compile(r"^[#\s*_|]*(?:(?:[^\W\d]+ )?\(?(?:\d{1,2}\.?)+[.):]?(?=[\s*_]|$))?")
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|={3,})\s*$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_QUOTE = re.compile(  # bounded, since an opening mark that is never closed is looked at to the end
    r'(?<!\d)["\uff02]([^"\uff02\n]+)["\uff02]|\u201c([^\u201d\n]{1,999})\u201d|\u201e([^\u201c\u201d\n]{1,999})[\u201c\u201d]'
    r"|\u300c([^\u300d\n]{1,999})\u300d|\u300e([^\u300f\n]{1,999})\u300f"
    r"|\u00ab([^\u00bb\n]{1,999})\u00bb|\u00bb([^\u00ab\n]{1,999})\u00ab"
)
_MARKS = r"(?:\s*\[[^\[\]\n]{0,60}\])*"
_SENTENCE_END = re.compile(
    rf"[.!?\u2026]+[\"\uff02\u201d\u00bb')*_\u300d\u300f]*{_MARKS}(?=\s+[^\sa-z\d]|\s*$)"
    rf"|(?:(?<=[^\W\d_]{{4}})|(?<=[\d\])%\"\u201d]))\.[\"*_]*{_MARKS}(?=\s+[a-z\d])|(?<=\])\.(?=[A-Z])"
    rf"|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\")*\uff09]*{_MARKS}"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?i:e\.g|i\.e|etc|cf|vs|no|nos|nr|mr|mrs|ms|dr|prof|fig|figs|sec|sect|art|ch|vol|ver|para|pp?|ed|eds|al|ca"
    r"|approx|resp|incl|excl|max|min|st|jan|feb|aug|sept?|oct|nov|dec)|\b[A-Z]|\b[ap]\.m)\.$"
)
_STOP = re.compile(r"[.\u3002!\uff01][\s*_\"\u201d\u300d)]*$")
_LEAD_IN = re.compile(r"[:\uff1a?\uff1f][\s*_]*$")
_SHORT = 20
_BOLD = re.compile(r"(\*\*|__)(?:(?!\1).){1,80}\1$")
_SAYS_SOMETHING = re.compile(r"\w")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """`text` is as it was written, less its marks; `quotes` word for word; `malformed`: marks that can't be read.

    `written` says the same by itself: it is a block quote, where the statement is one.
    """

    text: str
    quotes: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    written: str = ""


@dataclass
class _Piece:
    """Lines that belong together, joined; a quoted one is a block quote and one statement. `number`: of a list."""

    text: str
    quoted: bool = False
    number: int = 0
    cites: bool = False

    @property
    def written(self) -> str:
        return f"> {self.text}" if self.quoted else self.text


def statements(text: str) -> tuple[Statement, ...]:
    """All statements of a result, in order."""
    sentences = [
        _Piece(sentence, piece.quoted)
        for piece in _paragraphs(text)
        for sentence in ([piece.text] if piece.quoted else _sentences(piece.text))
    ]
    return tuple(said for piece in _with_stray_marks(sentences) if (said := _statement(piece)))


def asides(text: str) -> tuple[str, ...]:
    """Headings and heads of tables, less the number that they begin with: what is written and is no statement."""
    lines = without_blocks(text).split("\n")
    found = (line for line, below in pairwise([*map(str.strip, lines), ""]) if line and _is_heading(line, below))
    told = (_NUMBERED.sub("", without_marks(one)).strip(" *_|") for one in found)
    return tuple(one for one in told if _SAYS_SOMETHING.search(one))


def quotes_of(text: str) -> tuple[str, ...]:
    """What stands in double quotation marks of any kind, code apart."""
    return tuple(next(filter(None, found.groups())) for found in _QUOTE.finditer(without_code(text)))


def own_words(text: str) -> str:
    """A result less what it quotes and less code."""
    lines = (line for line in without_code(text).split("\n") if not line.lstrip().startswith(">"))
    return _QUOTE.sub(" ", "\n".join(lines))


def _paragraphs(text: str) -> Iterator[_Piece]:
    """Paragraphs, list items, block quotes and rows. Code blocks, headings and rules are left out."""
    lines = without_blocks(text).split("\n")
    open_: _Piece | None = None
    number = 0
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        new = _begun(line, following, open_, number)
        if new is None and open_ is not None:
            bare = line.strip()
            open_.text += f" {bare.removeprefix('>').strip() if open_.quoted else bare}"
            open_.cites |= open_.quoted and _cites(bare)
            continue
        if open_ is not None:
            yield open_
        open_ = new if new is not None and new.text else None
        number = open_.number or number if open_ else number
    if open_ is not None:
        yield open_


def _begun(line: str, following: str, before: _Piece | None, number: int) -> _Piece | None:
    """What a line begins: an empty piece is a break; None, when it goes on with what is before it.

    A wrapped line may begin like the item of a list ("25. "): it is one at the beginning, or with the next number.
    """
    bare = line.strip()
    if not bare or _RULE.match(line) or _is_heading(bare, following):
        return _Piece("")
    if bare.startswith(">"):
        said = bare.lstrip("> ").strip()
        goes_on = before is not None and before.quoted and said and not before.cites
        return None if goes_on else _Piece(said, quoted=True, cites=_cites(said))
    if bullet := _BULLET.match(line):
        own = int(bullet["number"] or 0)
        if before is None or before.quoted or own in (0, 1, number + 1):
            return _Piece(line[bullet.end() :].strip(), number=own)
    if before is None or before.quoted or bare.startswith("|") or before.text.startswith("|"):
        return _Piece(bare)
    return _Piece(bare) if _HEADING.match(bare) or _HEADING.match(before.text) else None


def _is_heading(bare: str, following: str) -> bool:
    """A line under a rule of its own, after "#" or all bold, and the head of a table; none that cites or has a stop."""
    if _cites(bare) or _STOP.search(bare):
        return False
    above = "|" in bare and "|" in following and _TABLE_RULE.match(following)
    ruled = "|" in bare and _TABLE_RULE.match(bare)
    return bool(_HEADING.match(bare) or _BOLD.match(bare) or above or ruled or re.match(r"\s*={3,}\s*$", following))


def _sentences(paragraph: str) -> Iterator[str]:
    """Cut at the ends of sentences, never inside a quote or code; marks behind an end belong to what is before it."""
    plain = "".join("X" if new != old else old for new, old in zip(without_code(paragraph), paragraph, strict=True))
    masked = _QUOTE.sub(lambda found: "X" * len(found[0]), plain)  # X, since either may begin a sentence
    start = 0
    for end in _SENTENCE_END.finditer(_ends_of_quotes(masked, paragraph)):
        stop = end.start() + len(end[0].split("[")[0].rstrip())
        if _ABBREVIATION.search(paragraph[start:stop]) and end.end() < len(paragraph.rstrip()):
            continue
        yield paragraph[start : end.end()].strip()
        start = end.end()
    yield paragraph[start:].strip()


def _ends_of_quotes(masked: str, paragraph: str) -> str:
    """The stop within a quote that ends the sentence around it is seen."""
    seen = list(masked)
    for found in _QUOTE.finditer(without_code(paragraph)):
        if paragraph[found.end() - 2] in ".!?\u3002\uff01\uff1f":
            seen[found.end() - 2] = paragraph[found.end() - 2]
            seen[found.end() - 1] = paragraph[found.end() - 1]
    return "".join(seen)


def _with_stray_marks(pieces: list[_Piece]) -> list[_Piece]:
    """Marks that stand alone belong to what is before them; at the beginning, to what follows."""
    kept: list[_Piece] = []
    ahead = ""
    for piece in pieces:
        alone = _cites(piece.written) and not _SAYS_SOMETHING.search(without_marks(piece.written))
        if alone and kept:
            kept[-1].text += f" {piece.text}"
        elif alone:
            ahead += f"{piece.text} "
        elif _SAYS_SOMETHING.search(piece.text):
            kept.append(_Piece(ahead + piece.text, piece.quoted))
            ahead = ""
    return kept


def _cites(text: str) -> bool:
    found = marks(text)
    return bool(found.ids or found.malformed)


def _statement(piece: _Piece) -> Statement | None:
    found = marks(piece.written)
    said = without_marks(piece.written).removeprefix("> " if piece.quoted else "").strip()
    uncited = not (found.ids or found.malformed or piece.quoted)
    if not _SAYS_SOMETHING.search(said) or (uncited and _leads_in(said)):
        return None
    quotes = (_unwrapped(said),) if piece.quoted else quotes_of(said)
    malformed = tuple(one for one in found.malformed if not found.ids or not any(one in quote for quote in quotes))
    return Statement(text=said, quotes=quotes, cites=found.ids, malformed=malformed, written=piece.written)


def _leads_in(said: str) -> bool:
    """A question, or what ends in a colon. A longer one with a number in it may well state something."""
    return bool(_LEAD_IN.search(said)) and (len(said) <= _SHORT or not re.search(r"\d", said))


def _unwrapped(said: str) -> str:
    """A block quote may have quotation marks around it."""
    whole = _QUOTE.fullmatch(said)
    return next(filter(None, whole.groups())) if whole else said
