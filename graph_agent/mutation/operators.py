"""Another operator or constant in the place of one: the most frequent of all small slips.

An operator's neighbours (`<` and `<=`, `+` and `-`) come before what is merely possible. The rule: a new constant
comes from the old one by a small step, or from elsewhere in the same source. None comes from what a test expects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from .scope import NUMBER, TEXT, Code, kind_of
from .source import FUNCTIONS, Edit, is_int, is_stored

# What is taken for what, the likeliest first.
_OTHERS = {
    "<": ("<=", ">", ">="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=", "<=", ">="),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
    "+": ("-", "*", "//", "%"),
    "-": ("+", "*", "//", "%", "/"),
    "*": ("+", "**", "/", "//", "-", "%"),
    "/": ("//", "*", "%"),
    "//": ("/", "%", "*"),
    "%": ("//", "/", "*"),
    "**": ("*", "//"),
    "&": ("|", "^"),
    "|": ("&", "^"),
    "^": ("&", "|", "**"),
    "<<": (">>",),
    ">>": ("<<",),
}
_BY_RANK = (0.9, 0.6, 0.35, 0.15, 0.1, 0.1)
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_SYMMETRIC = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_SINGLETONS = {True: ("False", "None"), False: ("True", "None"), None: ("False", "True", "0", "[]", "''")}


def operators(source: Code) -> Iterator[Edit]:
    """`<` becomes `<=`, `/` becomes `//`, `&` becomes `|`, `+=` becomes `-=` or `=`."""
    for node in source.of(ast.Compare):
        for left, right in pairwise([node.left, *node.comparators]):
            yield from _others(source, node, left, right, "comparison")
    for sum_ in source.of(ast.BinOp):
        family = "bitwise" if isinstance(sum_.op, _BITWISE) else "arithmetic"
        yield from _others(source, sum_, sum_.left, sum_.right, family)
        words = TEXT in {kind_of(sum_.left), kind_of(sum_.right)}
        if not isinstance(sum_.op, _SYMMETRIC) or words:
            yield source.swap(sum_.left, sum_.right, "operand", 0.3)
        elif NUMBER not in {kind_of(sum_.left), kind_of(sum_.right)}:
            yield source.swap(sum_.left, sum_.right, "operand", 0.15)
    for update in source.of(ast.AugAssign):
        yield from _others(source, update, update.target, update.value, "augmented")
        yield Edit(*source.between(update.target, update.value), "=", "augmented", 0.35, update)


def boolean(source: Code) -> Iterator[Edit]:
    """`and` becomes `or` and back: all of a chain, or one link of it."""
    for node in source.of(ast.BoolOp):
        new = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in pairwise(node.values):
            at = source.between(left, right)
            yield Edit(*at, new, "boolean", 1.1 / (len(node.values) - 1), source.unit(node))
        chain = f" {new} ".join(source.full(value) for value in node.values)
        start, end = source.outer(node.values[0])[0], source.outer(node.values[-1])[1]
        yield Edit(start, end, chain, "boolean", 0.5, source.unit(node))


def accumulated(source: Code) -> Iterator[Edit]:
    """`=` becomes `+=` in a loop, where the name already holds something."""
    bound = set()
    for node in source.of(ast.Assign):
        target = node.targets[0]
        key = source.function(node), source.seg(target)
        held = isinstance(target, ast.Subscript | ast.Attribute) or key in bound
        if held and source.loops(node):
            yield Edit(*source.between(target, node.value), "+=", "augmented", 0.25, node)
        bound.add(key)


def unary(source: Code) -> Iterator[Edit]:
    """A sign or a `not` is dropped, or a sign added where its loss would go unseen."""
    for node in source.of(ast.UnaryOp):
        family = "condition" if isinstance(node.op, ast.Not) else "unary"
        yield source.replace(node, source.full(node.operand), family, 0.6)
    for place, parent in source.values():
        if isinstance(parent, ast.Return | ast.Assign | ast.Tuple | ast.Lambda | ast.Call) and source.may_be(
            place, NUMBER
        ):
            in_key = any(isinstance(above, ast.Lambda) for above in source.up(place))
            yield source.replace(place, f"-{source.operand(place)}", "unary", 0.25 if in_key else 0.06)


def operator_and_constant(source: Code) -> Iterator[Edit]:
    """The operator and a constant of one comparison change together: `> 0` becomes `>= 1`."""
    for node in source.of(ast.Compare):
        if len(node.ops) != 1:
            continue
        at = source.between(node.left, node.comparators[0])
        for constant in [part for part in ast.walk(node) if isinstance(part, ast.Constant) and is_int(part)]:
            for operator in _OTHERS.get(_sign(source, at), ())[:2]:
                for value in (constant.value - 1, constant.value + 1):  # type: ignore[operator]
                    (a, b, first), (c, d, second) = sorted([(*at, operator), (*source.span(constant), str(value))])
                    new = first + source.text[b:c] + second
                    yield Edit(a, d, new, "comparison", 0.1, source.unit(node))


def numbers(source: Code) -> Iterator[Edit]:
    """A number one more or one less, of the other sign, zero, one; another number of the same function."""
    nearby: dict[ast.AST | None, dict[str, None]] = {}
    found = [node for node in source.of(ast.Constant) if type(node.value) in {int, float}]
    for node in found:
        nearby.setdefault(source.function(node), {})[source.seg(node)] = None
    for node in found:
        value: float = node.value  # type: ignore[assignment]
        steps = {repr(value + 1): 0.7, repr(value - 1): 0.7, f"-{value!r}": 0.25, "-1": 0.35, "1": 0.15, "0": 0.15}
        if not value:
            steps = {"1": 0.7, "-1": 0.35, "None": 0.1}
        if isinstance(value, float):
            steps |= {"0.0": 0.25, repr(value * 2): 0.1, repr(value / 2): 0.1}
        others = [text for text in nearby[source.function(node)] if text not in steps]
        steps |= dict.fromkeys(others, min(0.1, 0.5 / (len(others) or 1)))
        row = len(getattr(source.parents[node], "elts", ()))
        for text, weight in steps.items():
            yield source.replace(node, text, "constant", weight * min(1.0, 3 / (row or 1)))


def singletons(source: Code) -> Iterator[Edit]:
    """True, False and None, each for another."""
    for node in source.of(ast.Constant):
        if node.value is None or isinstance(node.value, bool):
            for at, text in enumerate(_SINGLETONS[node.value]):
                yield source.replace(node, text, "constant", 0.15 if node.value is None or at else 0.9)


def strings(source: Code) -> Iterator[Edit]:
    """The empty string, another string of the file, other letter case, one character less."""
    found = [node for node in source.of(ast.Constant) if isinstance(node.value, str) and len(node.value) < 200]
    texts = list(dict.fromkeys(str(node.value) for node in found))
    for node in found:
        for text, weight in _string_choices(str(node.value), texts):
            literal = repr(text)
            if source.seg(node).endswith('"') and '"' not in text and "'" not in text:
                literal = f'"{literal[1:-1]}"'
            yield source.replace(node, literal, "string", weight)


def elements(source: Code) -> Iterator[Edit]:
    """A list, tuple or set loses an element, or two of them change places; `[[]]` for `[]` and back."""
    for node in source.of(ast.expr):
        if not isinstance(node, ast.List | ast.Tuple | ast.Set) or is_stored(node):
            continue
        if isinstance(source.parents[node], ast.Subscript):
            continue
        count = len(node.elts)
        for at in range(count if count > 1 else 0):
            edit = source.without([*node.elts], at, "elements", 0.3 / count)
            comma = isinstance(node, ast.Tuple) and count == 2 and at == 1
            yield edit._replace(new=",") if comma else edit
        constant = all(isinstance(element, ast.Constant) for element in node.elts)
        for first, second in pairwise(node.elts):
            yield source.swap(first, second, "arguments", 0.1 / count if constant else 0.5 / (count - 1))
        if isinstance(node, ast.List):
            yield from _lists(source, node)


def _lists(source: Code, node: ast.List) -> Iterator[Edit]:
    function = source.function(node)
    if node.elts:
        yield source.replace(node, "[]", "constant", 0.1)
        if len(node.elts) == 1:
            yield source.replace(node, source.full(node.elts[0]), "constant", 0.15)
        return
    returned = isinstance(source.parents[node], ast.Return)
    yield source.replace(node, "[[]]", "constant", 0.25 if returned else 0.06)
    if returned and isinstance(function, FUNCTIONS):
        for argument in function.args.args[:3]:
            yield source.replace(node, f"[{argument.arg}]", "return", 0.15)


def _others(source: Code, node: ast.AST, left: ast.AST, right: ast.AST, family: str) -> Iterator[Edit]:
    at = source.between(left, right)
    augmented = "=" if family == "augmented" else ""
    seldom = 0.05 if family in {"arithmetic", "augmented"} and TEXT in {kind_of(left), kind_of(right)} else 1.0  # type: ignore[arg-type]
    for new, weight in zip(_OTHERS.get(_sign(source, at).removesuffix(augmented), ()), _BY_RANK, strict=False):
        new += augmented
        yield Edit(*at, new, family, weight * seldom, source.unit(node))


def _sign(source: Code, at: tuple[int, int]) -> str:
    return " ".join(source.text[slice(*at)].split())


def _string_choices(value: str, others: list[str]) -> Iterator[tuple[str, float]]:
    yield "", 0.35 if value.isspace() else 0.2
    yield " ", 0.2 if len(value) < 2 else 0.03
    for other in others:
        close = len(other) == len(value) or other.lower() == value.lower()
        yield other, (0.6 if close else 0.3) / max(2, len(others) - 1)
    yield value.lower(), 0.1
    yield value.upper(), 0.1
    if 1 < len(value) <= 40:
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :], 0.3 / len(value)


FAMILIES = (operators, boolean, accumulated, unary, operator_and_constant, numbers, singletons, strings, elements)
