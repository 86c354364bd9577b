"""Expressions put into a call: `abs(x)`, `len(x)`, `x.lower()`, `d.values()`, both sides of a comparison alike.

What a value seems to hold decides what may be missing around it. The rule: a wrapper is proposed where it can take
such a value, and never a second time around itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .calls import named
from .edit import Edit
from .kinds import BOOL, CONTAINER, DICT, LIST, NUMBER, SET, TEXT, kind_of
from .scope import Scopes
from .source import Source, is_stored
from .write import insert, replace, short

_TEXT_METHODS = (("lower", 0.12), ("upper", 0.08), ("strip", 0.08))
_TAKE_ALL = frozenset({"sum", "max", "min", "list", "sorted", "any", "all", "set", "len", "enumerate", "zip"})


def wrapped(source: Source) -> Iterator[Edit]:
    """An expression is put into `abs`, `len`, `sorted`, `set`, `int`, `str` and the like."""
    scopes = Scopes.of(source)
    for node in source.of(ast.expr):
        if not isinstance(
            node, ast.Name | ast.Call | ast.Subscript | ast.BinOp | ast.Attribute | ast.ListComp | ast.GeneratorExp
        ):
            continue
        parent = source.parents[node]
        if is_stored(node) or isinstance(parent, ast.Expr | ast.Attribute | ast.keyword):
            continue
        if isinstance(parent, ast.Call) and (
            parent.func is node or (named(parent) == "range" and len(parent.args) > 1)
        ):
            continue
        inside = source.text[slice(*source.span(node))]
        inside = inside[1:-1] if isinstance(node, ast.GeneratorExp) and inside.startswith("(") else inside
        for call, weight in _wrappers(scopes, node, parent):
            if named(parent) != call and named(node) != call:
                yield replace(
                    source, node, f"{call}({inside})", "wrap", weight, why=f"`{short(inside)}` is put into `{call}`"
                )


def lettered(source: Source) -> Iterator[Edit]:
    """A text gets `.lower()`, `.upper()` or `.strip()`."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Name, ast.Call, ast.Subscript):
        parent = source.parents[node]
        if is_stored(node) or isinstance(parent, ast.Expr):
            continue
        if getattr(parent, "func", None) is node or not _maybe_text(scopes, node):
            continue
        if not isinstance(parent, ast.Attribute) or TEXT in _kinds(scopes, node):
            for method, weight in _TEXT_METHODS:
                yield replace(source, node, f"{source.seg(node)}.{method}()", "wrap", weight)


def views(source: Source) -> Iterator[Edit]:
    """A dict that is gone through gets `.values()` or `.items()`."""
    scopes = Scopes.of(source)
    mappings = {source.seg(node) for node in _mappings(source)}
    for node in source.of(ast.Name, ast.Attribute):
        parent = source.parents[node]
        gone_through = isinstance(parent, ast.For | ast.comprehension) and parent.iter is node
        if not gone_through and not (
            isinstance(parent, ast.Call) and node in parent.args and named(parent) in _TAKE_ALL
        ):
            continue
        if source.seg(node) in mappings or DICT in _kinds(scopes, node):
            for view, weight in (("values", 0.3), ("items", 0.25), ("keys", 0.02)):
                at = source.span(node)[1]
                why = f"`{short(source.seg(node))}` gets `.{view}()`"
                yield insert(source, at, f".{view}()", "wrap", why, weight, source.unit(node))


def bounded(source: Source) -> Iterator[Edit]:
    """`best = x` becomes `best = max(best, x)`; what is subtracted does not fall below zero."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name | ast.Subscript | ast.Attribute) and source.loops(node):
            for call in ("max", "min"):
                if named(node.value) not in {"max", "min"} and not isinstance(node.value, ast.Constant):
                    new = f"{call}({source.seg(target)}, {source.seg(node.value)})"
                    yield replace(source, node.value, new, "wrap", 0.12)
    for difference in source.of(ast.BinOp):
        parent = source.parents[difference]
        if isinstance(difference.op, ast.Sub) and isinstance(parent, ast.Return | ast.Assign | ast.Call | ast.Slice):
            yield replace(source, difference, f"max(0, {source.seg(difference)})", "wrap", 0.08)


def both_sides(source: Source) -> Iterator[Edit]:
    """Both sides of a comparison are put into the same call."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Compare):
        sides = (node.left, node.comparators[0])
        if len(node.ops) != 1 or not all(isinstance(side, ast.Name | ast.Attribute | ast.Subscript) for side in sides):
            continue
        one, other = map(source.seg, sides)
        calls = ["len", "abs"] if not isinstance(node.ops[0], ast.Eq | ast.NotEq) else ["sorted", "set", "len", "abs"]
        texts = [(f"{call}({one})", f"{call}({other})") for call in calls]
        if any(_maybe_text(scopes, side) for side in sides):
            texts.append((f"{one}.lower()", f"{other}.lower()"))
        start, end = source.span(node)
        between = source.text[source.span(sides[0])[1] : source.span(sides[1])[0]]
        for first, second in texts:
            why = f"`{first}` is compared with `{second}`"
            yield Edit(start, end, first + between + second, "wrap", why, 0.12, source.unit(node))


def _mappings(source: Source) -> Iterator[ast.expr]:
    """Expressions that the source treats as a dict somewhere."""
    for node in source.of(ast.Assign):
        if kind_of(node.value) == DICT:
            yield from node.targets
    for call in source.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in {"get", "items", "keys", "values", "setdefault"}:
            yield call.func.value


def _wrappers(scopes: Scopes, node: ast.expr, parent: ast.AST) -> Iterator[tuple[str, float]]:
    """Calls that may be missing around an expression, by what it seems to hold."""
    kinds = _kinds(scopes, node)
    unknown = not kinds
    if unknown or kinds & {NUMBER}:
        yield "abs", 0.3 if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else 0.05
        yield "int", 0.12 if isinstance(node, ast.BinOp) else 0.06
        yield "str", 0.06
        yield "float", 0.04
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
            yield "round", 0.05
    if unknown or kinds & {TEXT, LIST, SET, CONTAINER}:
        iterated = isinstance(parent, ast.For | ast.comprehension)
        yield "set", 0.2 if isinstance(parent, ast.Call | ast.Compare) else 0.08
        yield "sorted", 0.25 if isinstance(parent, ast.Return | ast.Compare) or iterated else 0.1
        yield "reversed", 0.15 if iterated else 0.02
        yield "list", 0.12 if isinstance(node, ast.Call) else 0.05
        yield "len", 0.2 if isinstance(parent, ast.BinOp | ast.Compare | ast.Return) else 0.05
        yield "enumerate", 0.05 if iterated else 0.0
        yield "sum", 0.05
    if TEXT in kinds:
        yield "int", 0.1
        yield "float", 0.06
    if BOOL in kinds:
        yield "not ", 0.1
    if isinstance(parent, ast.Return):
        yield "max", 0.03
        yield "min", 0.03
        yield "tuple", 0.05


def _kinds(scopes: Scopes, node: ast.expr) -> frozenset[str]:
    if isinstance(node, ast.Name):
        variable = scopes.find(node, node.id)
        return variable.known if variable else frozenset()
    kind = kind_of(node)
    return frozenset({kind}) if kind else frozenset()


def _maybe_text(scopes: Scopes, node: ast.expr) -> bool:
    kinds = _kinds(scopes, node)
    return TEXT in kinds or (not kinds and isinstance(node, ast.Name | ast.Subscript)) or kinds == {CONTAINER}


FAMILIES = (wrapped, lettered, views, bounded, both_sides)
