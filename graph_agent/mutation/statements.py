"""Statements deleted, swapped with their neighbour, moved in or out of a block; blocks without their condition.

The rule: two statements change places only when one touches what the other reads or writes, since the mutant would
otherwise do the same as before.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from .edit import Edit
from .lines import blocks, extent, indented, margin, taken_out
from .source import FUNCTIONS, LOOPS, Source
from .write import short

_MUTATORS = frozenset(
    {"append", "add", "pop", "remove", "extend", "insert", "sort", "reverse", "clear", "update", "popleft"}
)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_KEPT = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)


def deleted(source: Source) -> Iterator[Edit]:
    """One statement is deleted, or two that follow each other."""
    for _, block in blocks(source):
        for at, statement in enumerate(block):
            if isinstance(statement, _KEPT):
                continue
            edit = taken_out(source, statement, source.block(statement), "delete", _delete_weight(source, statement))
            if edit:
                yield edit
            if at + 1 < len(block) and len(block) > 2 and not isinstance(block[at + 1], _KEPT):
                yield from _both_deleted(source, statement, block[at + 1])


def swapped(source: Source) -> Iterator[Edit]:
    """Two neighbouring statements change places."""
    for _, block in blocks(source):
        for first, second in pairwise(block):
            a, b = extent(source, first), extent(source, second)
            if a is None or b is None or not _depend(source, first, second):
                continue
            text = source.text
            one, two = text[slice(*a)], text[slice(*b)]
            if not two.endswith(("\n", "\r")):
                one, two = one.rstrip("\r\n"), two + source.newline
            why = f"`{short(source.seg(first))}` and `{short(source.seg(second))}` change places"
            plain = not hasattr(first, "body") and not hasattr(second, "body")
            yield Edit(a[0], b[1], two + text[a[1] : b[0]] + one, "swap", why, 0.3 if plain else 0.15, None)


def moved_out(source: Source) -> Iterator[Edit]:
    """The last statement of a block moves behind it; the first of a loop moves before it."""
    for owner, block in blocks(source):
        if (
            not isinstance(owner, ast.If | ast.With | ast.Try | ast.For | ast.AsyncFor | ast.While)
            or len(source.block(block[0])) < 2
        ):
            continue
        outside, last, first = extent(source, owner), block[-1], block[0]
        for statement, behind in ((last, True), (first, False)):
            lines, text = extent(source, statement), indented(source, statement, margin(source, owner))
            if (
                not outside
                or not lines
                or text is None
                or isinstance(statement, _KEPT)
                or (not behind and not isinstance(owner, LOOPS))
            ):
                continue
            why = f"`{short(source.seg(statement))}` moves {'behind' if behind else 'before'} the `{_word(owner)}`"
            if behind:
                rest = source.text[lines[1] : outside[1]]
                if rest and not rest.endswith(("\n", "\r")):
                    rest += source.newline
                yield Edit(lines[0], outside[1], rest + text, "move", why, _out_weight(owner, statement), None)
            else:
                yield Edit(outside[0], lines[1], text + source.text[outside[0] : lines[0]], "move", why, 0.15, None)


def moved_in(source: Source) -> Iterator[Edit]:
    """The statement behind a block moves in at its end; the one before a loop moves in at its start."""
    for _, block in blocks(source):
        for first, second in pairwise(block):
            for inner in _last_blocks(source, first):
                yield from _into_end(source, first, second, inner, 0.3 if isinstance(first, LOOPS) else 0.2)
            if isinstance(second, LOOPS) and not isinstance(first, _KEPT):
                yield from _into_start(source, first, second)


def unconditional(source: Source) -> Iterator[Edit]:
    """An `if` goes and what it held stays; or one of its two sides stays."""
    for node in source.of(ast.If):
        lines = extent(source, node)
        if lines is None or source.text.startswith("elif", source.span(node)[0]):
            continue
        for side, weight in ((node.body, 0.15), (node.orelse, 0.05)):
            texts = [indented(source, statement, margin(source, node)) for statement in side]
            if texts and None not in texts:
                why = f"`{'if' if side is node.body else 'else'}` is dropped, what it held stays"
                yield Edit(*lines, "".join(text for text in texts if text), "condition", why, weight, None)


def chained(source: Source) -> Iterator[Edit]:
    """`elif` becomes `if`, and an `if` behind an `if` becomes `elif`."""
    for node in source.of(ast.If):
        start = source.span(node)[0]
        if source.text.startswith("elif", start):
            yield Edit(start, start + 2, "", "condition", "`elif` becomes `if`", 0.2, None)
    for _, block in blocks(source):
        for first, second in pairwise(block):
            if isinstance(first, ast.If) and isinstance(second, ast.If) and not first.orelse and extent(source, second):
                start = source.span(second)[0]
                yield Edit(start, start, "el", "condition", "`if` becomes `elif`", 0.15, None)


def _delete_weight(source: Source, statement: ast.stmt) -> float:
    if isinstance(statement, ast.Break | ast.Continue):
        return 0.4
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return 0.03 if source.once(_Effects).bound_once(statement) else 0.3
    if isinstance(statement, ast.Return):
        return 0.1
    return 0.06 if isinstance(statement, LOOPS) else 0.25


def _both_deleted(source: Source, first: ast.stmt, second: ast.stmt) -> Iterator[Edit]:
    a, b = extent(source, first), extent(source, second)
    if a and b and isinstance(first, ast.Assign | ast.Expr | ast.AugAssign) and isinstance(second, type(first)):
        weight = min(_delete_weight(source, first), _delete_weight(source, second)) * 0.4
        yield Edit(
            a[0], b[1], "", "delete", f"`{short(source.text[slice(*a)])}` and the next are deleted", weight, None
        )


def _out_weight(owner: ast.AST, statement: ast.stmt) -> float:
    if isinstance(statement, ast.Return) and isinstance(owner, LOOPS):
        return 0.7
    return 0.3 if isinstance(owner, LOOPS) else 0.2


def _last_blocks(source: Source, statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The block that ends where a compound statement ends, and the one that ends it in turn."""
    while True:
        inner = getattr(statement, "orelse", None) or getattr(statement, "body", None)
        if (
            isinstance(statement, _KEPT)
            or not isinstance(inner, list)
            or not inner
            or not isinstance(inner[-1], ast.stmt)
        ):
            return
        yield inner
        statement = inner[-1]


def _into_end(source: Source, block: ast.stmt, moved: ast.stmt, inner: list[ast.stmt], weight: float) -> Iterator[Edit]:
    text, lines = indented(source, moved, margin(source, inner[-1])), extent(source, moved)
    if isinstance(moved, _KEPT) or text is None or lines is None or extent(source, inner[-1]) is None:
        return
    why = f"`{short(source.seg(moved))}` moves into the `{_word(block)}`"
    bare = weight if not isinstance(moved, ast.Return) else weight / 2
    yield Edit(*lines, text, "move", why, bare, None)


def _into_start(source: Source, moved: ast.stmt, loop: ast.stmt) -> Iterator[Edit]:
    inner: list[ast.stmt] = loop.body  # type: ignore[attr-defined]
    text, lines, within = (
        indented(source, moved, margin(source, inner[0])),
        extent(source, moved),
        extent(source, inner[0]),
    )
    if text is not None and lines and within:
        why = f"`{short(source.seg(moved))}` moves into the `{_word(loop)}`"
        yield Edit(lines[0], within[0], source.text[lines[1] : within[0]] + text, "move", why, 0.2, None)


def _word(node: ast.AST) -> str:
    return type(node).__name__.removeprefix("Async").lower()


class _Effects:
    """What each statement, with those below it, binds or changes and what it reads."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[ast.AST, tuple[frozenset[str], frozenset[str]]] = {}
        self._bindings: dict[ast.AST, Counter[str]] = {}

    def of(self, statement: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
        known = self._known.get(statement)
        if known is None:
            nodes = list(ast.walk(statement))
            written = frozenset(name for node in nodes for name in _writes(node))
            read = frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
            known = self._known[statement] = (written, read)
        return known

    def bound_once(self, statement: ast.stmt) -> bool:
        """Whether nothing else in the function writes what the statement does."""
        scope = self._source.function(statement) or self._source.tree
        if scope not in self._bindings:
            self._bindings[scope] = Counter(name for node in ast.walk(scope) for name in _writes(node))
        return all(self._bindings[scope][name] < 2 for name in _writes(statement))


def _depend(source: Source, first: ast.stmt, second: ast.stmt) -> bool:
    if isinstance(first, (*_LEAVING, *_KEPT)) or isinstance(second, _KEPT):
        return False
    if isinstance(second, _LEAVING) or (isinstance(first, ast.If) and isinstance(second, ast.If)):
        return True
    (written, read), (written_then, read_then) = source.once(_Effects).of(first), source.once(_Effects).of(second)
    return bool(written & (read_then | written_then) or written_then & read)


def _writes(node: ast.AST) -> set[str]:
    """Names that one node, without those below it, binds or changes."""
    if isinstance(node, ast.Assign):
        return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        return {name.id for name in ast.walk(node.func.value) if isinstance(name, ast.Name)}
    return set()


FAMILIES = (deleted, swapped, moved_out, moved_in, unconditional, chained)
