"""Another operator in an operator's place: comparison, arithmetic, boolean, bitwise, augmented and unary.

Slips of one operator are the most frequent of all small bugs, so the weights here are the highest. The rule: an
operator's neighbours (`<` and `<=`, `+` and `-`) come before what is merely possible.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise

from .edit import Edit
from .kinds import NUMBER, TEXT, kind_of
from .source import Source, is_stored
from .write import operator_between, replace, short, swap

_Table = Mapping[type[ast.AST], tuple[tuple[str, float], ...]]

_COMPARISONS: _Table = {
    ast.Lt: (("<=", 1.0), (">", 0.7), (">=", 0.4), ("!=", 0.15), ("==", 0.15)),
    ast.LtE: (("<", 1.0), (">=", 0.6), (">", 0.4), ("==", 0.15)),
    ast.Gt: ((">=", 1.0), ("<", 0.7), ("<=", 0.4), ("!=", 0.15), ("==", 0.15)),
    ast.GtE: ((">", 1.0), ("<=", 0.6), ("<", 0.4), ("==", 0.15)),
    ast.Eq: (("!=", 0.7), ("<=", 0.3), (">=", 0.3), ("<", 0.1), (">", 0.1), ("in", 0.1)),
    ast.NotEq: (("==", 0.7), ("<", 0.2), (">", 0.2), ("<=", 0.1), (">=", 0.1), ("not in", 0.05)),
    ast.Is: (("is not", 0.7), ("==", 0.1)),
    ast.IsNot: (("is", 0.7), ("!=", 0.1)),
    ast.In: (("not in", 0.7), ("==", 0.1)),
    ast.NotIn: (("in", 0.7), ("!=", 0.1)),
}
_ARITHMETIC: _Table = {
    ast.Add: (("-", 0.8), ("*", 0.3), ("//", 0.05), ("%", 0.05)),
    ast.Sub: (("+", 0.8), ("*", 0.15), ("//", 0.1), ("%", 0.15), ("/", 0.1)),
    ast.Mult: (("+", 0.35), ("**", 0.3), ("/", 0.25), ("//", 0.25), ("-", 0.15), ("%", 0.1)),
    ast.Div: (("//", 0.7), ("*", 0.3), ("%", 0.3), ("-", 0.1)),
    ast.FloorDiv: (("/", 0.6), ("%", 0.6), ("*", 0.2), ("-", 0.1)),
    ast.Mod: (("//", 0.6), ("/", 0.4), ("*", 0.1), ("-", 0.1)),
    ast.Pow: (("*", 0.5), ("//", 0.1)),
    ast.MatMult: (("*", 0.5),),
    ast.BitAnd: (("|", 0.6), ("^", 0.4)),
    ast.BitOr: (("&", 0.6), ("^", 0.4), ("-", 0.1)),
    ast.BitXor: (("&", 0.6), ("|", 0.5), ("**", 0.3)),
    ast.LShift: ((">>", 0.7),),
    ast.RShift: (("<<", 0.7),),
}
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


def comparisons(source: Source) -> Iterator[Edit]:
    """`<` becomes `<=`, `==` becomes `!=`, `is` becomes `is not`."""
    for node in source.of(ast.Compare):
        operands = [node.left, *node.comparators]
        for left, right, op in zip(operands, operands[1:], node.ops, strict=False):
            for new, weight in _COMPARISONS[type(op)]:
                yield _between(source, node, left, right, new, "comparison", weight)
        if len(operands) == 2 and not isinstance(
            node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.Lt | ast.Gt
        ):
            yield swap(
                source, node.left, operands[1], "operand", 0.2 if isinstance(node.ops[0], ast.In | ast.NotIn) else 0.05
            )


def arithmetic(source: Source) -> Iterator[Edit]:
    """`+` becomes `-`, `/` becomes `//`, `&` becomes `|`."""
    for node in source.of(ast.BinOp):
        left, right = kind_of(node.left), kind_of(node.right)
        words = TEXT in {left, right}
        for new, weight in _ARITHMETIC[type(node.op)]:
            family = "bitwise" if isinstance(node.op, _BITWISE) else "arithmetic"
            yield _between(source, node, node.left, node.right, new, family, weight * (0.05 if words else 1.0))
        symmetric = isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor)
        numbers = NUMBER in {left, right}
        if not (symmetric and numbers):
            yield swap(source, node.left, node.right, "operand", 0.3 if not symmetric or words else 0.15)


def boolean(source: Source) -> Iterator[Edit]:
    """`and` becomes `or` and back: all of a chain, or one link of it."""
    for node in source.of(ast.BoolOp):
        new = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in pairwise(node.values):
            yield _between(source, node, left, right, new, "boolean", 0.9 / (len(node.values) - 1))
        if len(node.values) > 2:
            yield _whole_chain(source, node, new)


def augmented(source: Source) -> Iterator[Edit]:
    """`+=` becomes `-=`, or `=`."""
    for node in source.of(ast.AugAssign):
        start, end = operator_between(source, node.target, node.value)
        words = kind_of(node.value) == TEXT
        choices = [(f"{new}=", weight * (0.05 if words else 1.0)) for new, weight in _ARITHMETIC[type(node.op)]]
        for new, weight in [*choices, ("=", 0.35)]:
            why = f"`{source.text[start:end]}` becomes `{new}`"
            yield Edit(start, end, new, "augmented", why, weight, node)


def assigned_again(source: Source) -> Iterator[Edit]:
    """`=` becomes `+=` where the name already holds something."""
    bound: set[tuple[ast.AST | None, str]] = set()
    for node in source.of(ast.Assign):
        target = node.targets[0]
        key = (source.function(node), source.seg(target))
        kept = (isinstance(target, ast.Subscript) and source.loops(node)) or isinstance(target, ast.Attribute)
        if (kept or (key in bound and source.loops(node))) and not isinstance(target, ast.Tuple):
            start, end = operator_between(source, target, node.value)
            for new, weight in (("+=", 0.25), ("-=", 0.08), ("*=", 0.08)):
                yield Edit(start, end, new, "augmented", f"`=` becomes `{new}`", weight, node)
        bound.add(key)


def unary(source: Source) -> Iterator[Edit]:
    """A sign or a `not` is dropped, or a sign added."""
    for node in source.of(ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            yield replace(source, node, source.full(node.operand), "condition", 0.7)
        else:
            weight = 0.25 if isinstance(node.operand, ast.Constant) else 0.5
            yield replace(source, node, source.full(node.operand), "unary", weight)
    for place in source.of(ast.Name, ast.Call, ast.Subscript):
        if not is_stored(place) and _may_be_signed(source, place):
            in_key = any(isinstance(above, ast.Lambda) for above in source.up(place))
            yield replace(source, place, f"-{source.seg(place)}", "unary", 0.25 if in_key else 0.06)


def operator_and_constant(source: Source) -> Iterator[Edit]:
    """The operator and a constant of one comparison change together: `> 0` becomes `>= 1`."""
    for node in source.of(ast.Compare):
        if len(node.ops) != 1:
            continue
        weight = 0.4 if _leaves_nothing(source, node) else 0.05
        start, end = operator_between(source, node.left, node.comparators[0])
        for constant in [part for part in ast.walk(node) if isinstance(part, ast.Constant) and type(part.value) is int]:
            for operator, _ in _COMPARISONS[type(node.ops[0])][:2]:
                for value in (int(constant.value) - 1, int(constant.value) + 1):  # type: ignore[arg-type]
                    changes = sorted([(start, end, operator), (*source.span(constant), str(value))])
                    yield _changed(source, node, changes, weight)


def _changed(source: Source, node: ast.Compare, changes: list[tuple[int, int, str]], weight: float) -> Edit:
    (a, b, first), (c, d, second) = changes
    new = first + source.text[b:c] + second
    why = f"`{short(source.text[a:d])}` becomes `{short(new)}`"
    return Edit(a, d, new, "comparison", why, weight, source.unit(node))


def _leaves_nothing(source: Source, test: ast.Compare) -> bool:
    """Whether an `else` behind the test can never be reached: the test before it was the opposite one."""
    here = source.parents[test]
    above = source.parents[here]
    if not isinstance(here, ast.If) or not isinstance(above, ast.If) or above.orelse != [here] or not here.orelse:
        return False
    return _opposite(above.test, test)


def _opposite(first: ast.expr, second: ast.expr) -> bool:
    """Whether the second test is true whenever the first is false, by its form: `==` and `!=` of the same things."""
    if (
        not isinstance(first, ast.Compare)
        or not isinstance(second, ast.Compare)
        or len(first.ops) + len(second.ops) != 2
    ):
        return False
    kinds = {type(first.ops[0]), type(second.ops[0])}
    same = ast.dump(first.left) == ast.dump(second.left)
    return kinds == {ast.Eq, ast.NotEq} and same and ast.dump(first.comparators[0]) == ast.dump(second.comparators[0])


def _may_be_signed(source: Source, node: ast.expr) -> bool:
    """Where a lost sign would go unseen: in a value that is kept, returned, passed on or used as an index."""
    parent = source.parents[node]
    if isinstance(parent, ast.Call):
        return parent.func is not node
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    return isinstance(parent, ast.Return | ast.Assign | ast.AugAssign | ast.Tuple | ast.IfExp | ast.Lambda)


def _between(
    source: Source, node: ast.expr, left: ast.expr, right: ast.expr, new: str, family: str, weight: float
) -> Edit:
    start, end = operator_between(source, left, right)
    old = source.text[start:end]
    why = f"`{' '.join(old.split())}` becomes `{new}`"
    if new.isalpha() and old and not old[0].isalpha():
        new = f"{'' if source.text[start - 1].isspace() else ' '}{new}{'' if source.text[end].isspace() else ' '}"
    return Edit(start, end, new, family, why, weight, source.unit(node))


def _whole_chain(source: Source, node: ast.BoolOp, new: str) -> Edit:
    start, end = source.outer(node.values[0])[0], source.outer(node.values[-1])[1]
    pieces = [source.full(value) for value in node.values]
    old = "and" if new == "or" else "or"
    why = f"every `{old}` becomes `{new}`"
    return Edit(start, end, f" {new} ".join(pieces), "boolean", why, 0.4, source.unit(node))


FAMILIES = (comparisons, arithmetic, boolean, augmented, assigned_again, unary, operator_and_constant)
