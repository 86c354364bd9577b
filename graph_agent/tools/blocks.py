"""The lines of a document that belong together: paragraphs, list items, table rows, headings.

Read are Markdown, reStructuredText, RFCs and plain text, hard-wrapped or not. The rule: a block is whole lines of the
document less a bullet or a quote mark; code, rulers, tables of contents and the edges of pages are in none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "item", "field", "row", "quote", "heading"]


@dataclass
class Block:
    """Lines from line `first` on, without what marks them; `numbered`: the mark was a number."""

    kind: Kind
    first: int
    lines: list[str] = field(default_factory=list)
    numbered: bool = False

    @property
    def heading(self) -> bool:
        return self.kind == "heading"

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @cached_property
    def folded(self) -> str:
        """The text with its white space folded."""
        return " ".join(" ".join(self.lines).split())

    @cached_property
    def starts(self) -> list[int]:
        """Where in `folded` each line starts."""
        found, at = [], 0
        for line in self.lines:
            found.append(at)
            at += len(" ".join(line.split())) + 1
        return found


_RULER = re.compile(r"\s*([=\-~^*+#\"'`_.:])\1{2,}\s*$")
_TABLE_RULER = re.compile(r"\s*[|+]?[-=:+| ]*[-=]{2}[-=:+| ]*$")
_COLUMNS = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HASHES = re.compile(r" {0,3}#{1,6}\s+(?=\S)")
_BULLET = re.compile(r"\s*(?:[-*+\u2022\u2023\u00b7\u2013]|o(?= {2}))\s+(?=\S)")
_NUMBERED = re.compile(r"\s*\(?(\d{1,3}|[a-z])[.)]\s+(?=\S)")
_FIELD = re.compile(r"\s*(?::[\w -]+:|(?:[*_]{2})?[A-Za-z][\w-]*(?: [A-Za-z][\w-]*)?:(?:[*_]{2})?)\s+\S")
_DIRECTIVE = re.compile(r"\s*\.\. (?:[\w-]+::\s*)?")
_HOLDS_CODE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|math|productionlist|parsed-literal|doctest)::")
_CONTENTS = re.compile(r"(?:\. ?){4,}\s*\w+\s*$")
_PAGE_END = re.compile(r".*\[Page \w+\]\s*$")
_PAGE_START = re.compile(r"(?:RFC|Internet-Draft)\b|\S.*\s{3,}\S")
_CODE = re.compile(
    r"\s*(?:>>>|\.\.\. |[$%] \S|@\w|(?:def|class|import|from|for|while|if|elif|else|return|try|with|raise|except)\b"
    r"(?:[^.]*:$|.*[()\[\]=].*)|\w+ *::?=?(?: .*[\"|\[(].*|$)|\| |\S+ *(?:->|[-+*|&]?=)(?: |$)"
    r"|\S*[\w.]+\(.*\)(?:\s*#.*)?$|.*[;{}\]]$|[<\"(\[{])"
)


def blocks(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    left_out = _code(lines) | _page_edges(lines)
    block: Block | None = None
    in_columns, rows = False, 0
    for number, line in enumerate(lines, 1):
        kind = _kind(line, block, in_columns) if number not in left_out else None
        in_columns = bool(_COLUMNS.match(line)) or (in_columns and bool(line.strip()))
        rows = rows + 1 if kind == "row" else rows if line.strip() and kind is None else 0
        if kind is None:
            if block is not None:
                head = rows == 1 and bool("".join(lines[number : number + 1]).strip())
                yield _ended(block, line, head)
            block = None
        elif kind == "more" and block is not None:
            block.lines.append(line)
        else:
            if block is not None:
                yield block
            numbered = kind == "item" and line.lstrip("( ")[:1].isdecimal()
            block = Block("text" if kind == "more" else kind, number, [_unmarked(line, kind)], numbered)
    if block is not None:
        yield block


def _kind(line: str, block: Block | None, in_columns: bool) -> Kind | Literal["more"] | None:
    """What a line begins, "more" for what goes on, None for what ends a block and is in none."""
    bare = line.strip()
    if not bare or _RULER.match(line) or _TABLE_RULER.match(line) or _CONTENTS.search(line) or bare.startswith("<!--"):
        return None
    if bare.startswith(".. "):
        return "item" if _DIRECTIVE.sub("", line, count=1).strip() and "::" in bare else None
    if _HASHES.match(line):
        return "heading"
    if bare.startswith("|") or in_columns:
        return "row"
    if bare.startswith("> "):
        return "quote"
    if _BULLET.match(line):
        return "item"
    number = _NUMBERED.match(line)
    if number and (block is None or block.kind == "item" or number[1] in ("1", "a")):
        return "item"
    if _FIELD.match(line) and (block is None or block.kind == "field"):
        return "field"
    return "text" if block is None or block.kind in ("heading", "row", "quote") else "more"


def _unmarked(line: str, kind: str) -> str:
    if kind == "heading":
        return _HASHES.sub("", line).rstrip("# \t")
    if kind == "quote":
        return line.lstrip().removeprefix("> ")
    if kind == "item":
        for mark in (_DIRECTIVE, _BULLET, _NUMBERED):
            if mark.match(line):
                return mark.sub("", line, count=1)
    return line


def _ended(block: Block, line: str, first_row: bool) -> Block:
    """A ruler below makes a heading of one line, and the head of a table of its first row."""
    ruler = _RULER.match(line)
    long_enough = ruler and (ruler[1] in "=-" or len(line.strip()) >= len(block.folded) - 2)
    named = block.kind in ("text", "item", "field") and len(block.lines) == 1 and long_enough
    below_head = _TABLE_RULER.match(line) and ("=" in line or not line.lstrip().startswith("+"))
    if named or (block.kind == "row" and first_row and below_head):
        block.kind = "heading"
    return block


def _page_edges(lines: list[str]) -> set[int]:
    """An RFC's last and first lines of pages."""
    found, wanted = set(), False
    for number, line in enumerate(lines, 1):
        wanted = wanted or "\f" in line
        bare = line.strip()
        if _PAGE_END.match(line) or (wanted and bare and _PAGE_START.match(bare)):
            found.add(number)
        if bare:
            wanted = False
    return found


def _code(lines: list[str]) -> set[int]:
    """What is fenced, indented below "::", or indented further than the text before it and looks like code."""
    found: set[int] = set()
    fence, above, below = "", 0, -1  # the indents of the prose before and of the code being read
    for first, group in _groups(lines):
        indent = min(_indent(line) for line in group)
        announced = below >= 0
        if not fence and announced and indent > above:
            found.update(range(first, first + len(group)))
            continue
        below = -1
        for number, line in enumerate(group, first):
            mark = _FENCE.match(line)
            if mark:
                fence = "" if fence == mark[0].strip() else fence or mark[0].strip()
            if fence or mark:
                found.add(number)
        if fence or first in found:
            continue
        if _looks_like_code(group, indent > above):
            found.update(range(first, first + len(group)))
            continue
        above = indent
        if group[-1].rstrip().endswith("::") or _HOLDS_CODE.match(group[-1]):
            below = indent
    return found


def _looks_like_code(group: list[str], deeper: bool) -> bool:
    if group[0].lstrip().startswith(">>>"):
        return True
    if not deeper or _BULLET.match(group[0]):
        return False
    return bool(_CODE.match(group[0])) or 2 * sum(1 for line in group if _CODE.match(line)) > len(group)


def _groups(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    group: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            group.append(line)
        elif group:
            yield number - len(group), group
            group = []


def _indent(line: str) -> int:
    spread = line.expandtabs()
    return len(spread) - len(spread.lstrip())
