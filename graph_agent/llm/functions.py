"""Which functions, imports and names a piece of Python has, and exactly which lines each of them takes.

Made for two texts: the file that is to be changed, and the piece that a model wrote, which may be indented, may have
one method wrapped in its class, or may lack the class. Positions are offsets in characters of the text as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from warnings import catch_warnings, simplefilter

from graph_agent.llm.textedits import EditError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function or method. `name` is "f" or "Class.m"; the offsets are those of whole lines."""

    name: str
    node: FunctionNode
    start: int
    """Where its decorators begin, or its `def` when it has none."""
    head: int
    """Where the line with `def` begins."""
    end: int

    @property
    def base(self) -> str:
        return self.node.name


class Source:
    """A parsed text. `where` names it in errors, and a `piece` may be indented as a whole.

    Raises `EditError` "does_not_parse" with the line.
    """

    def __init__(self, where: str, text: str, *, piece: bool = False) -> None:
        self.where = where
        self.text, self.body = _parsed(where, text, piece)
        self._lines = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text)), len(self.text)]
        self.functions = tuple(self._functions(self.body, ""))
        self.classes = {node.name: node for node in self.body if isinstance(node, ast.ClassDef)}

    def line_start(self, number: int) -> int:
        """The offset at which line `number` (from 1) begins; one more than the last line is the end of the text."""
        return self._lines[min(number - 1, len(self._lines) - 1)]

    def span(self, node: ast.stmt) -> tuple[int, int]:
        """The whole lines that a statement takes, decorators included."""
        decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return self.line_start(first), self.line_start((node.end_lineno or node.lineno) + 1)

    def lines(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The numbered lines between two offsets at which lines begin."""
        for number, (first, last) in enumerate(pairwise(self._lines), 1):
            if start <= first < end:
                yield number, self.text[first:last]

    def indentation(self, offset: int) -> str:
        """The blanks with which the line that begins at `offset` begins."""
        match = re.compile(r"[ \t]*").match(self.text, offset)
        return match.group() if match else ""

    def above_comments(self, offset: int) -> int:
        """Where a new neighbour goes that shall stand before the lines at `offset` and before their comment."""
        comment = re.compile(re.escape(self.indentation(offset)) + "#")
        number = self._lines.index(offset) + 1
        while number > 1 and comment.match(self.text, self.line_start(number - 1)):
            number -= 1
        return self.line_start(number)

    def _functions(self, body: Sequence[ast.stmt], owner: str) -> Iterator[Function]:
        for node in body:
            if isinstance(node, FunctionNode):
                start, end = self.span(node)
                yield Function(
                    name=owner + node.name, node=node, start=start, head=self.line_start(node.lineno), end=end
                )
            elif isinstance(node, ast.ClassDef):
                yield from self._functions(node.body, f"{owner}{node.name}.")
            else:
                for inner in _blocks(node):
                    yield from self._functions(inner, owner)


def names_used(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that pieces of code read: also those in front of a dot."""
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def same_code(one: ast.AST, other: ast.AST) -> bool:
    """True when two statements differ in nothing but layout and comments."""
    return dumped(one) == dumped(other)


def dumped(node: ast.AST) -> str:
    """What a piece of code says, layout and comments apart, as a text to compare."""
    try:
        return ast.dump(node)
    except RecursionError:
        line = getattr(node, "lineno", 1)
        raise EditError(
            "too_deep", f"the code on line {line} is nested too deeply to compare.", lines=(line,)
        ) from None


def bound_names(body: Sequence[ast.stmt]) -> set[str]:
    """The names that a module's or class's own statements give a value."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        else:
            stored = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
            names.update(name.id for name in stored if isinstance(name.ctx, ast.Store))
            for inner in _blocks(node):
                names |= bound_names(inner)
    return names


def _parsed(where: str, text: str, piece: bool) -> tuple[str, list[ast.stmt]]:
    """The text and its statements. An indented piece is put under an `if`, so that its strings stay as they are."""
    try:
        return text, _statements(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if not (piece and isinstance(error, IndentationError)):
            raise _unparsable(where, error) from error
    wrapped = f"if True:\n{text}"
    try:
        block, *rest = _statements(wrapped)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unparsable(where, error, added=1) from error
    return wrapped, [*(block.body if isinstance(block, ast.If) else [block]), *rest]


def _statements(text: str) -> list[ast.stmt]:
    with catch_warnings():
        simplefilter("ignore")  # a doubtful escape in somebody's string is not ours to report
        return ast.parse(text).body


def _unparsable(where: str, error: Exception, added: int = 0) -> EditError:
    line = max((getattr(error, "lineno", None) or 1) - added, 1)
    said = getattr(error, "msg", None) or str(error) or type(error).__name__
    return EditError("does_not_parse", f"{where} is not valid Python: line {line}: {said}.", lines=(line,))


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement that belong to the same scope: an `if`, a `try`, a `with`."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for handler in getattr(node, "handlers", []):
        yield handler.body
