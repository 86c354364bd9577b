"""How a family writes an edit: replacing a node, a header, or the text between two nodes.

Precedence is decided here alone: new text gets parentheses where what stands around it would otherwise take a part
of it. The rule: an edit covers as few characters as it can.
"""

from __future__ import annotations

import ast
import re

from .edit import Edit
from .source import Source

_NO_CODE = re.compile(r"(?:\s|\\|[()]|#[^\r\n]*)*")
_ATOM = re.compile(r"[\w.]+")
_ARITHMETIC, _COMPARED, _JOINED, _LOOSEST = 1, 2, 3, 4
_LEVELS: tuple[tuple[type[ast.expr] | tuple[type[ast.expr], ...], int], ...] = (
    (ast.BinOp, _ARITHMETIC),
    (ast.Compare, _COMPARED),
    (ast.BoolOp, _JOINED),
    ((ast.IfExp, ast.Lambda, ast.NamedExpr), _LOOSEST),
)
_SHOWN = 40


def replace(source: Source, node: ast.AST, new: str, family: str, weight: float, *, why: str = "") -> Edit:
    """The node's text becomes `new`, with parentheses where `new` needs them there."""
    start, end = source.span(node)
    if source.outer(node) == (start, end) and _needs_parentheses(source.parents.get(node), node, _looseness(new)):
        new = f"({new})"
    return Edit(
        start,
        end,
        new,
        family,
        why or f"`{short(source.text[start:end])}` becomes `{short(new)}`",
        weight,
        source.unit(node),
    )


def replace_outer(source: Source, node: ast.AST, by: ast.AST, family: str, weight: float) -> Edit:
    """A node gives way to another node's text, parentheses included."""
    start, end = source.outer(node)
    new = source.full(by)
    if not new.startswith("(") and _needs_parentheses(source.parents.get(node), node, _looseness(new)):
        new = f"({new})"
    why = f"`{short(source.text[start:end])}` becomes `{short(new)}`"
    return Edit(start, end, new, family, why, weight, source.unit(node))


def operator_between(source: Source, left: ast.AST, right: ast.AST) -> tuple[int, int]:
    """Where the operator between two operands stands."""
    low, high = source.span(left)[1], source.span(right)[0]
    skipped = _NO_CODE.match(source.text, low, high)
    start = skipped.end() if skipped else low
    end = start
    while end < high and not _NO_CODE.fullmatch(source.text, end, high):
        end += 1
    return start, end


def swap(source: Source, first: ast.AST, second: ast.AST, family: str, weight: float) -> Edit:
    """Two nodes of one statement change places; what is between them stays."""
    (a, b), (c, d) = source.outer(first), source.outer(second)
    text = source.text
    new = text[c:d] + text[b:c] + text[a:b]
    return Edit(
        a, d, new, family, f"`{short(text[a:b])}` and `{short(text[c:d])}` change places", weight, source.unit(first)
    )


def insert(source: Source, at: int, new: str, family: str, why: str, weight: float, unit: ast.AST | None) -> Edit:
    return Edit(at, at, new, family, why, weight, unit)


def short(text: str) -> str:
    """The text on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def tight(source: Source, node: ast.AST) -> str:
    """The node's text, fit to have an operator put before or behind it."""
    text = source.full(node)
    if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript) or text.startswith("("):
        return text
    return text if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult) else f"({text})"


def _looseness(text: str) -> int:
    """How far out a text's own operator binds: one of the levels above, 0 for what holds together by itself."""
    if _ATOM.fullmatch(text):
        return 0
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return 0
    if isinstance(node, ast.UnaryOp):
        return _COMPARED if isinstance(node.op, ast.Not) else _ARITHMETIC
    if isinstance(node, ast.Tuple):
        return 0 if text.lstrip().startswith("(") else _LOOSEST
    return next((level for kinds, level in _LEVELS if isinstance(node, kinds)), 0)


def _needs_parentheses(parent: ast.AST | None, node: ast.AST, looseness: int) -> bool:
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        return looseness > _COMPARED
    if isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Attribute | ast.Await | ast.Starred):
        return looseness > 0
    if isinstance(parent, ast.Compare):
        return looseness > _ARITHMETIC
    if isinstance(parent, ast.BoolOp):
        return looseness > _COMPARED
    if isinstance(parent, ast.IfExp | ast.comprehension | ast.FormattedValue):
        return looseness > _JOINED
    inner = getattr(parent, "value" if isinstance(parent, ast.Subscript) else "func", None)
    return looseness > 0 and inner is node
