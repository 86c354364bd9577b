"""Which proposals are programs, and new ones: each edit is parsed, and compared with all that were let through before.

Two mutants are the same when their trees are. Parsing the whole file for each would cost more than all the rest, so
only the statement or the function that changed is parsed. The rule: equal trees have equal keys.
"""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from .edit import Edit
from .source import FUNCTIONS, Source

_STANDING = frozenset({"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"})
_STUB = "pass"

_Key: TypeAlias = tuple[object, int]


class Programs:
    """What has been seen of one source's mutants."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._bounds = [source.whole(statement) for statement in source.tree.body]
        self._original: dict[ast.AST, int] = {}
        self._seen: set[_Key] = set()

    def admit(self, edit: Edit) -> bool:
        """Whether the edit gives a program that is not the source and was not admitted before."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant's odd escapes and `is` with numbers are nobody's concern
            try:
                key = self._across(edit) if edit.unit is None else self._inside(edit, edit.unit)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return False
        if key is None or key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _inside(self, edit: Edit, unit: ast.AST) -> _Key | None:
        """The key of an edit within one statement: which one, and what it says now."""
        fresh = self._parse_unit(edit, unit)
        return None if fresh is None else self._changed_to(unit, fresh)

    def _changed_to(self, unit: ast.AST, fresh: ast.AST) -> _Key | None:
        if unit not in self._original:
            self._original[unit] = hash(_own_shape(unit))
        made = hash(_own_shape(fresh))
        return None if made == self._original[unit] else (unit, made)

    def _parse_unit(self, edit: Edit, unit: ast.AST) -> ast.AST | None:
        """The edited statement, alone; one with a body gets a stub for it."""
        source = self._source
        start, end = source.header(unit)
        if not start <= edit.start <= edit.end <= end:
            return None
        if source.text.startswith("elif", start):
            start += len("el")
        return _parse_one(source.text[start : edit.start] + edit.new + source.text[edit.end : end], unit)

    def _across(self, edit: Edit) -> _Key | None:
        """The key of an edit that changes which statements there are: of a function, or of the file."""
        holder = self._function_around(edit)
        if holder is None:
            return self._across_file(edit)
        source = self._source
        start = source.line_start(source.whole(holder)[0])
        end = max(source.line_end(source.span(holder)[1]), edit.end)
        indented = source.text[start : source.whole(holder)[0]].strip("\f") != ""
        text = source.text[start : edit.start] + edit.new + source.text[edit.end : end]
        body = _compiled(f"if 1:{source.newline}{text}" if indented else text)
        if indented and len(body) == 1:
            body = body[0].body  # type: ignore[attr-defined]
        return self._key_of(holder, [holder], body)

    def _across_file(self, edit: Edit) -> _Key | None:
        starts = [start for start, _ in self._bounds]
        first = max(0, bisect_right(starts, _place(edit)) - 2)  # and the one before: a line may move into it
        last = max(first, bisect_left(starts, edit.end) - 1)
        if not starts or edit.start < starts[first]:
            return None
        start, end = starts[first], max(self._bounds[last][1], edit.end)
        text = self._source.text
        body = _compiled(text[start : edit.start] + edit.new + text[edit.end : end])
        tops = self._source.tree.body
        return self._key_of(None, tops, [*tops[:first], *body, *tops[last + 1 :]])

    def _key_of(self, holder: ast.AST | None, old: Sequence[ast.AST], new: Sequence[ast.AST]) -> _Key | None:
        """A change that turns out to be of one statement's own text gets the key of such a change."""
        changes = list(_changes(old, new))
        if all(changes):
            keys = [self._changed_to(*pair) for pair in changes if pair]
            real = [key for key in keys if key]
            if len(real) <= 1:
                return real[0] if real else None
        return holder, hash(tuple(_shape(node) for node in new))

    def _function_around(self, edit: Edit) -> ast.AST | None:
        """The outermost function that holds all of the edit on lines of its own."""
        found: ast.AST | None = None
        block: Sequence[ast.AST] = self._source.tree.body
        while found is None:
            at = bisect_right([self._source.whole(node)[0] for node in block], _place(edit)) - 1
            node = block[at] if at >= 0 else None
            if node is None or edit.end > self._source.line_end(self._source.span(node)[1]):
                return None
            if isinstance(node, FUNCTIONS):
                found = node
            elif isinstance(node, ast.ClassDef):
                block = node.body
            else:
                return None
        start = self._source.whole(found)[0]
        return None if self._source.text[self._source.line_start(start) : start].strip() else found


def _place(edit: Edit) -> int:
    """A character that the edit belongs to: a new line belongs to the lines before it."""
    return edit.start - 1 if edit.start == edit.end else edit.start


def _compiled(text: str) -> list[ast.stmt]:
    """The statements of a text that Python not only parses but takes: no `break` outside a loop."""
    tree = ast.parse(text)
    compile(tree, "mutant", "exec", dont_inherit=True)
    return tree.body


def _parse_one(text: str, unit: ast.AST) -> ast.AST | None:
    """The one statement (handler, case) that the text is, or None."""
    if isinstance(unit, ast.ExceptHandler):
        text = f"try: {_STUB}\n{text}{_STUB}"
    elif isinstance(unit, ast.match_case):
        text = f"match 0:\n {text}{_STUB}"
    elif isinstance(unit, ast.Match):
        text += f"case _: {_STUB}"
    elif hasattr(unit, "body"):
        text += _STUB
    body = ast.parse(text).body
    if len(body) != 1:
        return None
    found: ast.AST = body[0]
    if isinstance(found, ast.Try) and isinstance(unit, ast.ExceptHandler):
        found = found.handlers[0]
    elif isinstance(found, ast.Match) and isinstance(unit, ast.match_case):
        found = found.cases[0]
    holds = hasattr(unit, "body") or hasattr(unit, "cases")
    return None if holds and type(found) is not type(unit) else found


def _changes(old: Sequence[ast.AST], new: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, ast.AST] | None]:
    """The statements whose own text differs, in pairs; a None where the two do not correspond."""
    if len(old) != len(new):
        yield None
        return
    for one, other in zip(old, new, strict=True):
        if one is other:
            continue
        if _own_shape(one) != _own_shape(other):
            yield one, other
        for field in sorted(_STANDING):
            below = getattr(one, field, None) or [], getattr(other, field, None) or []
            if field == "decorator_list":
                continue
            if isinstance(below[0], list) and isinstance(below[1], list):
                yield from _changes(*below)


def _own_shape(node: ast.AST) -> tuple[object, ...]:
    """What a statement says without what it holds."""
    if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
        return _shape(node)
    fields = [field for field in node._fields if field not in _STANDING]
    return (type(node), *(_value_shape(getattr(node, field, None)) for field in fields))


def _shape(node: ast.AST) -> tuple[object, ...]:
    """A tree as tuples, without positions and without how a literal is written."""
    kind = type(node)
    if kind is ast.Name:
        return (kind, node.id)  # type: ignore[attr-defined]
    return (kind, *[_value_shape(getattr(node, field, None)) for field in node._fields])


def _value_shape(value: object) -> object:
    if isinstance(value, ast.AST):
        return _shape(value)
    if isinstance(value, list):
        return tuple([_value_shape(item) for item in value])
    return value if value is None or isinstance(value, str) else (type(value), repr(value))
