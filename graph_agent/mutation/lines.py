"""Statements as whole lines of text: taken out, put in, moved to another depth.

A statement is moved together with the comment behind it, and keeps its line ends. The rule: only what has its lines
to itself is touched, and text inside strings that run over several lines is never indented.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .source import BLOCKS, Source
from .write import short


def blocks(source: Source) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Every list of statements, with what holds it, without bare strings and imports."""
    for node in source.order:
        for field in BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                kept = [statement for statement in block if statement in source.parents]
                if kept:
                    yield node, kept


def extent(source: Source, statement: ast.stmt) -> tuple[int, int] | None:
    """The statement's lines, from the first one's start to behind the last one's end mark; None when it shares them."""
    start, end = source.whole(statement)
    first, last = source.line_start(start), source.line_end(end)
    behind = source.text[end:last].strip()
    if source.text[first:start].strip() or (behind and not behind.startswith("#")):
        return None
    return first, last


def margin(source: Source, statement: ast.stmt) -> str:
    """The white space before a statement."""
    start = source.whole(statement)[0]
    return source.text[source.line_start(start) : start].rpartition("\f")[2]


def indented(source: Source, statement: ast.stmt, by: str) -> str | None:
    """The statement's lines at another margin; None where that would change what they say."""
    lines = extent(source, statement)
    if lines is None or any(_runs_over(node) for node in ast.walk(statement)):
        return None
    old = margin(source, statement)
    moved = []
    for line in source.text[lines[0] : lines[1]].splitlines(keepends=True):
        bare = line.lstrip("\f")  # a form feed starts the count of columns afresh
        if line.strip() and not bare.startswith(old):
            return None
        moved.append(by + bare[len(old) :] if line.strip() else line)
    text = "".join(moved)
    return text if text.endswith(("\n", "\r")) else text + source.newline


def is_last_line(source: Source, at: int) -> bool:
    """Whether a position behind a line is the end of a text that lacks its last line end."""
    return at == len(source.text) and not source.text.endswith(("\n", "\r"))


def put(source: Source, at: int, text: str, family: str, why: str, weight: float) -> Edit:
    """A new line at a line's start (or at the end of the text)."""
    new = text + source.newline
    if is_last_line(source, at):
        new = source.newline + text
    return Edit(at, at, new, family, why, weight, None)


def taken_out(source: Source, statement: ast.stmt, block: list[ast.stmt], family: str, weight: float) -> Edit | None:
    """The edit that removes a statement; `pass` stands for the only one of a block."""
    lines = extent(source, statement)
    if lines is None:
        return None
    start, end = source.whole(statement)
    why = f"`{short(source.text[start:end])}` is deleted"
    if len(block) == 1:
        return Edit(start, end, "pass", family, why, weight, None)
    return Edit(*lines, "", family, why, weight, None)


def after(source: Source, statement: ast.stmt) -> int | None:
    """Where a line behind the statement would start."""
    lines = extent(source, statement)
    return lines[1] if lines else None


def _runs_over(node: ast.AST) -> bool:
    text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
    return text and node.lineno != node.end_lineno  # type: ignore[attr-defined]
