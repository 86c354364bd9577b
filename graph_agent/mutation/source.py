"""One Python source text with its tree, and the way from a node to the characters it stands on.

The families edit text by the positions of nodes, so that what lies outside an edit stays as it was written. The rule
kept here: every position is a character offset in the text as given, with its byte order mark, tabs and line ends.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias, TypeVar, cast, overload

from .edit import MutationError

Unit: TypeAlias = "ast.stmt | ast.ExceptHandler | ast.match_case"
Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Loop: TypeAlias = "ast.For | ast.AsyncFor | ast.While"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
BLOCKS = ("body", "orelse", "finalbody")

_UNTOUCHED = (ast.Import, ast.ImportFrom, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)

_N = TypeVar("_N", bound=ast.AST)
_M = TypeVar("_M", bound=ast.AST)
_L = TypeVar("_L", bound=ast.AST)
_T = TypeVar("_T")
_BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\r|\n")
_SKIPPED = re.compile(r"(?:\s|\\|#[^\r\n]*)*")


class Source:
    """A parsed text. Raises `MutationError` when it is not Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.base = len(_BOM) if text.startswith(_BOM) else 0
        self.tree = parse(text[self.base :])
        self._starts = [self.base, *(m.end() for m in _LINE_END.finditer(text, self.base))]
        self._line_texts = [text[a:b] for a, b in zip(self._starts, [*self._starts[1:], len(text)], strict=True)]
        self._plain = [line.isascii() for line in self._line_texts]
        self.parents: dict[ast.AST, ast.AST] = {}
        self.order: list[ast.AST] = []
        self._spans: dict[ast.AST, tuple[int, int]] = {}
        self._found: dict[object, object] = {}
        self._enter(self.tree)

    def _enter(self, top: ast.AST) -> None:
        """Note parents, in the order of the text; leave out what no mutation should touch."""
        waiting = [top]
        while waiting:
            node = waiting.pop()
            self.order.append(node)
            below = [child for child in _mutable_children(node) if not self._misplaced(child, node)]
            for child in below:
                self.parents[child] = node
            waiting.extend(reversed(below))

    def _misplaced(self, node: ast.AST, parent: ast.AST) -> bool:
        """Whether the positions of a node in an f-string are not to be trusted, as before Python 3.12."""
        if not isinstance(parent, ast.FormattedValue) or not isinstance(node, ast.expr):
            return False
        try:
            again = ast.parse(f"({self.seg(node)})", mode="eval").body
        except (SyntaxError, ValueError, IndexError):
            return True
        return ast.dump(again) != ast.dump(node)

    def offset(self, line: int, column: int) -> int:
        """The character offset of a line (from 1) and a column in UTF-8 bytes (from 0), as the tree counts them."""
        start = self._starts[line - 1]
        if self._plain[line - 1]:
            return start + column
        return start + len(self._line_texts[line - 1].encode()[:column].decode(errors="ignore"))

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
            start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
            end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
            known = self._spans[node] = (start, end)
        return known

    def whole(self, statement: ast.AST) -> tuple[int, int]:
        """A statement's span with its decorators."""
        start, end = self.span(statement)
        for decorator in getattr(statement, "decorator_list", None) or ():
            start = min(start, self.text.rindex("@", 0, self.span(decorator)[0]))
        return start, end

    def header(self, unit: ast.AST) -> tuple[int, int]:
        """The part of a unit that is its own: up to the first thing it holds, or all of it when it holds nothing."""
        start = self._case_start(unit) if isinstance(unit, ast.match_case) else self.span(unit)[0]
        if isinstance(unit, ast.Match):
            return start, self._case_start(unit.cases[0])
        inner = getattr(unit, "body", None)
        return start, self.whole(inner[0])[0] if inner else self.span(unit)[1]

    def _case_start(self, case: ast.match_case) -> int:
        """A case has no position of its own, its pattern has."""
        return self.text.rindex("case", 0, self.span(case.pattern)[0])

    def seg(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def outer(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands, with the parentheses that belong to it alone."""
        start, end = self.span(node)
        low, high = self._room(node)
        while True:
            after = _SKIPPED.match(self.text, end, high)
            close = after.end() if after else end
            before = start - 1
            while before >= low and self.text[before].isspace():
                before -= 1
            if close >= high or before < low or self.text[close] != ")" or self.text[before] != "(":
                return start, end
            start, end = before, close + 1

    def _room(self, node: ast.AST) -> tuple[int, int]:
        """The part of the text in which parentheses can belong to the node and not to what holds it."""
        parent = self.parents.get(node)
        while parent is not None and not hasattr(parent, "lineno"):
            parent = self.parents.get(parent)
        if parent is None:
            return self.base, len(self.text)
        low, high = self.span(parent)
        if isinstance(parent, ast.Call):
            if node is parent.func:
                return low, high
            low = self.text.index("(", self.outer(parent.func)[1]) + 1
            high -= 1
            if isinstance(node, ast.GeneratorExp):
                return self.span(node)
        elif isinstance(parent, ast.ClassDef):
            return self.span(node)
        return low, high

    def full(self, node: ast.AST) -> str:
        """The node's text with the parentheses that belong to it."""
        start, end = self.outer(node)
        return self.text[start:end]

    @overload
    def of(self, first: type[_N], /) -> Iterator[_N]: ...
    @overload
    def of(self, first: type[_N], second: type[_M], /) -> Iterator[_N | _M]: ...
    @overload
    def of(self, first: type[_N], second: type[_M], third: type[_L], /) -> Iterator[_N | _M | _L]: ...
    @overload
    def of(self, *kinds: type[_N]) -> Iterator[_N]: ...
    def of(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """All nodes of these kinds, in the order of the text."""
        return (node for node in self.order if isinstance(node, kinds))

    def functions(self) -> Iterator[Function]:
        return self.of(ast.FunctionDef, ast.AsyncFunctionDef)

    def all_loops(self) -> Iterator[Loop]:
        return self.of(ast.For, ast.AsyncFor, ast.While)

    def up(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds the node, from the nearest outwards."""
        above = self.parents.get(node)
        while above is not None:
            yield above
            above = self.parents.get(above)

    def unit(self, node: ast.AST) -> Unit:
        """The statement, handler or case that the node belongs to; the node itself when it is one."""
        here: ast.AST | None = node
        while here is not None and not isinstance(here, ast.stmt | ast.ExceptHandler | ast.match_case):
            here = self.parents.get(here)
        if here is None:
            raise LookupError(f"{type(node).__name__} stands in no statement: ask only for nodes below one")
        return here

    def function(self, node: ast.AST) -> Function | None:
        """The function whose body holds the node."""
        return next((above for above in self.up(node) if isinstance(above, FUNCTIONS)), None)

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops of the node's own function around it, innermost first."""
        found: list[Loop] = []
        for above in self.up(node):
            if isinstance(above, FUNCTIONS):
                break
            if isinstance(above, LOOPS):
                found.append(above)
        return found

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that this one stands in."""
        parent = self.parents[statement]
        blocks = (getattr(parent, field, None) for field in BLOCKS)
        return next(block for block in blocks if isinstance(block, list) and statement in block)

    def once(self, make: Callable[[Source], _T]) -> _T:
        """What `make` finds out about this source, made at the first call and kept."""
        if make not in self._found:
            self._found[make] = make(self)
        return cast("_T", self._found[make])

    @cached_property
    def newline(self) -> str:
        """How the text ends its lines."""
        found = _LINE_END.search(self.text)
        return found.group() if found else "\n"


def is_stored(node: ast.AST) -> bool:
    """Whether a name, attribute or item is written to or deleted rather than read."""
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def parse(text: str) -> ast.Module:
    """The tree of a text, or a `MutationError` that says where it stops being Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise MutationError(
            f"the source does not parse: line {error.lineno or '?'}: {error.msg}. Mutants are made of valid Python; "
            "mend the file first"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise MutationError(
            f"the source does not parse: {error or type(error).__name__}. Give text without null bytes and lone "
            "surrogates, and not nested beyond what Python reads"
        ) from error


def _mutable_children(node: ast.AST) -> Iterator[ast.AST]:
    """Children in the order of the fields, without annotations, decorators, imports and bare strings."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params", "type_comment", "format_spec"}:
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and not isinstance(child, _UNTOUCHED) and not _is_bare_text(child):
                yield child


def _is_bare_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
