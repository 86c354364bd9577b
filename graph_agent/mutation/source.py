"""One Python source text with its tree, the way from a node to its characters, and the edits that families propose.

A family is a function that looks at a `Source` and proposes edits, each with a weight. A proposal is cheap and may be
wrong: whether it parses and is new is decided later. Positions are character offsets in the text without its mark.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from graph_agent.protocols import GraphAgentError

_PARSING = Lock()

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Loop: TypeAlias = "ast.For | ast.While"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.While)
LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)

_N = TypeVar("_N", bound=ast.AST)
_M = TypeVar("_M", bound=ast.AST)
_BOM = "\ufeff"
_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "type_comment", "format_spec"}
_SKIPPED_NODES = (ast.Import, ast.ImportFrom, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_LINE_END = re.compile(r"\r\n|\r|\n")
_SPACE = re.compile(r"(?:\s|\\|#[^\r\n]*)*")
_NO_CODE = re.compile(r"(?:\s|\\|[()]|#[^\r\n]*)*")
# How far out an expression's own operator binds, and how far out one may bind that stands in another.
_BINDS = {ast.BinOp: 1, ast.UnaryOp: 1, ast.Compare: 2, ast.BoolOp: 3, ast.IfExp: 4, ast.Lambda: 4, ast.NamedExpr: 4}
_ALLOWS = {ast.BinOp: 0, ast.UnaryOp: 0, ast.Attribute: 0, ast.Await: 0, ast.Starred: 0, ast.Compare: 1, ast.BoolOp: 2}
_ALLOWS |= {ast.IfExp: 3, ast.comprehension: 3, ast.FormattedValue: 3}
_MOST_SHOWN = 40


class MutationError(GraphAgentError):
    """A source text from which no mutants can be made. The message says where it does not parse."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit to a source text: the characters from `start` up to `end` become `new`. `line` counts from 1."""

    start: int
    end: int
    new: str
    family: str
    line: int
    why: str

    def apply(self, source: str) -> str:
        """The text with the edit made; `source` must be the text that the mutant was made from."""
        return source[: self.start] + self.new + source[self.end :]


class Edit(NamedTuple):
    """A proposal: `text[start:end]` becomes `new`. `weight` is 1.0 for the likeliest slip, less for others.

    `unit` is the statement (or handler, or case) inside whose own text the edit stays; None when it changes which
    statements there are or how they nest.
    """

    start: int
    end: int
    new: str
    family: str
    weight: float
    unit: ast.AST | None = None


class Source:
    """A parsed text. Raises `MutationError` when it is not Python."""

    def __init__(self, text: str) -> None:
        self.mark = len(_BOM) if text.startswith(_BOM) else 0
        self.text = text[self.mark :]
        self.tree = _parse(self.text)
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(self.text))]
        first_end = _LINE_END.search(self.text)
        self.newline = first_end.group() if first_end else "\n"
        self.parents: dict[ast.AST, ast.AST] = {}
        self.order: list[ast.AST] = []
        self._spans: dict[ast.AST, tuple[int, int]] = {}
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            self.order.append(node)
            below = list(_children(node))
            self.parents.update(dict.fromkeys(below, node))
            waiting.extend(reversed(below))

    def _offset(self, line: int, column: int) -> int:
        """The character offset of a line (from 1) and a column in UTF-8 bytes (from 0), as the tree counts them."""
        start = self._starts[line - 1]
        text = self.text[start : start + column]
        return start + (column if text.isascii() else len(text.encode()[:column].decode(errors="ignore")))

    def line_of(self, offset: int) -> int:
        """The line, from 1, in which a character offset lies."""
        return max(1, bisect_right(self._starts, offset))

    def line_start(self, offset: int) -> int:
        return self._starts[self.line_of(offset) - 1]

    def line_end(self, offset: int) -> int:
        """The offset just behind the line's end mark."""
        line = self.line_of(offset)
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands, without parentheses around it."""
        known = self._spans.get(node)
        if known is None:
            start = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
            end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
            known = self._spans[node] = (start, end)
        return known

    def whole(self, statement: ast.AST) -> tuple[int, int]:
        """A statement's span with its decorators."""
        start, end = self.span(statement)
        decorators = getattr(statement, "decorator_list", None)
        return (self.text.rindex("@", 0, self.span(decorators[0])[0]) if decorators else start), end

    def header(self, unit: ast.AST) -> tuple[int, int]:
        """The part of a unit that is its own: up to the first thing it holds, or all of it when it holds nothing."""
        start, end = self.span(unit.pattern if isinstance(unit, ast.match_case) else unit)
        inner = [case.pattern for case in unit.cases] if isinstance(unit, ast.Match) else getattr(unit, "body", None)
        return start, self.whole(inner[0])[0] if inner else end

    def outer(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands, with the parentheses that belong to it alone."""
        start, end = self.span(node)
        low, high = self._room(node)
        while True:
            after = _SPACE.match(self.text, end, high)
            close = after.end() if after else end
            before = len(self.text[:start].rstrip()) - 1 if start and self.text[start - 1].isspace() else start - 1
            if close >= high or before < low or self.text[close] != ")" or self.text[before] != "(":
                return start, end
            start, end = before, close + 1

    def _room(self, node: ast.AST) -> tuple[int, int]:
        """The part of the text in which parentheses can belong to the node and not to what holds it."""
        parent = next((above for above in self.up(node) if hasattr(above, "lineno")), None)
        if parent is None:
            return 0, len(self.text)
        if isinstance(parent, ast.ClassDef):
            return self.span(node)
        low, high = self.span(parent)
        if isinstance(parent, ast.Call) and node is not parent.func:
            return self.text.index("(", self.outer(parent.func)[1]) + 1, high - 1
        return low, high

    def between(self, left: ast.AST, right: ast.AST) -> tuple[int, int]:
        """Where the operator between two operands stands."""
        low, high = self.span(left)[1], self.span(right)[0]
        skipped = _NO_CODE.match(self.text, low, high)
        start = end = skipped.end() if skipped else low
        while end < high and not _NO_CODE.fullmatch(self.text, end, high):
            end += 1
        return start, end

    def seg(self, node: ast.AST) -> str:
        return self.text[slice(*self.span(node))]

    def full(self, node: ast.AST) -> str:
        """The node's text with the parentheses that belong to it."""
        return self.text[slice(*self.outer(node))]

    def operand(self, node: ast.AST) -> str:
        """The node's text, fit to have an operator put before or behind it."""
        bare = self.outer(node) == self.span(node) and _binds(node) > 1
        return f"({self.seg(node)})" if bare else self.full(node)

    @overload
    def of(self, first: type[_N], second: type[_M], /) -> Iterator[_N | _M]: ...
    @overload
    def of(self, *kinds: type[_N]) -> Iterator[_N]: ...
    def of(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """All nodes of these kinds, in the order of the text."""
        return (node for node in self.order if isinstance(node, kinds))

    def up(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds the node, from the nearest outwards."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def unit(self, node: ast.AST) -> ast.AST:
        """The statement, handler or case that the node belongs to; the node itself when it is one."""
        around = (node, *self.up(node))
        return next(here for here in around if isinstance(here, ast.stmt | ast.ExceptHandler | ast.match_case))

    def function(self, node: ast.AST) -> Function | None:
        """The function whose body holds the node."""
        return next((above for above in self.up(node) if isinstance(above, FUNCTIONS)), None)

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops of the node's own function around it, innermost first."""
        home = self.function(node)
        return [above for above in self.up(node) if isinstance(above, LOOPS) and self.function(above) is home]

    def replace(self, node: ast.AST, new: str, family: str, weight: float, *, outer: bool = False) -> Edit:
        """The node's text becomes `new`, with parentheses where `new` needs them there.

        With `outer`, the parentheses around the node go too.
        """
        start, end = self.outer(node)
        if outer or (start, end) == self.span(node):
            parent = self.parents[node]
            head = isinstance(parent, ast.Call | ast.Subscript) and next(ast.iter_child_nodes(parent)) is node
            if _binds_text(new) > (0 if head else _ALLOWS.get(type(parent), 4)):
                new = f"({new})"
        else:
            start, end = self.span(node)
        return Edit(start, end, new, family, weight, self.unit(node))

    def swap(self, first: ast.AST, second: ast.AST, family: str, weight: float) -> Edit:
        """Two nodes of one statement change places; what is between them stays."""
        (a, b), (c, d) = self.outer(first), self.outer(second)
        new = self.text[c:d] + self.text[b:c] + self.text[a:b]
        return Edit(a, d, new, family, weight, self.unit(first))

    def without(self, parts: list[ast.AST], at: int, family: str, weight: float) -> Edit:
        """One of several parts in a row is left out, with what stands between it and the next."""
        start, end = self.outer(parts[at])
        if at + 1 < len(parts):
            end = self.outer(parts[at + 1])[0]
        elif at:
            start = self.outer(parts[at - 1])[1]
        return Edit(start, end, "", family, weight, self.unit(parts[at]))

    def mutant(self, edit: Edit) -> Mutant:
        """The edit as others get it, in positions of the text as it was given."""
        old, new = short(self.text[edit.start : edit.end]), short(edit.new)
        why = f"`{old}` becomes `{new}`" if old and new else f"`{old}` is left out" if old else f"`{new}` is added"
        if edit.family in {"move", "swap"}:
            why = f"the lines of `{old}` change their order or depth"
        return Mutant(
            start=edit.start + self.mark,
            end=edit.end + self.mark,
            new=edit.new,
            family=edit.family,
            line=self.line_of(edit.start),
            why=why,
        )


def short(text: str) -> str:
    """The text on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 3] + "..."


def called(node: ast.AST | None) -> str:
    """The last name of what a call calls, or nothing."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def is_stored(node: ast.AST) -> bool:
    """Whether a name, attribute or item is written to or deleted rather than read."""
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def is_int(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names that stand anywhere in a node; those that are only read, or only bound, by their context."""
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, context)}


def parsed(text: str, mode: str = "exec") -> Any:
    """`ast.parse`, one thread at a time and without warnings.

    CPython 3.11 counts the depth of the trees of all threads together, and fails when two parse at once.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)


def _parse(text: str) -> ast.Module:
    try:
        tree: ast.Module = parsed(text)
        return tree
    except (SyntaxError, ValueError, MemoryError) as error:
        line = f"line {error.lineno or '?'}: {error.msg}" if isinstance(error, SyntaxError) else repr(error)
        raise MutationError(
            f"the source does not parse: {line}. Mutants are made of valid Python; mend the file first"
        ) from error


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Children in the order of the fields, without annotations, decorators, imports and bare strings."""
    if isinstance(node, ast.FormattedValue) and sys.version_info < (3, 12):
        return  # before 3.12 the positions in an f-string are not to be trusted
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else (value,):
            text = child.value if isinstance(child, ast.Expr) else child if isinstance(node, ast.JoinedStr) else None
            bare = isinstance(text, ast.Constant) and isinstance(text.value, str)
            skipped = bare or field in _SKIPPED_FIELDS or isinstance(child, _SKIPPED_NODES)
            if isinstance(child, ast.AST) and not skipped:
                yield child


def _binds(node: ast.AST) -> int:
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return 2 if negation else _BINDS.get(type(node), 0)


def _binds_text(text: str) -> int:
    try:
        return 0 if text.isalnum() else _binds(parsed(text.strip(), "eval").body)
    except (SyntaxError, ValueError):
        return 0
