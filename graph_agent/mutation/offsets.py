"""Off by one, one term too many or too few: at indices, bounds, slices, ranges, arguments and returned values.

Bounds are where counting goes wrong, so an expression there is tried one more and one less before anything else. The
rule: a term is added only where a number can stand, and a slice only on what can be cut.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .kinds import CONTAINER, DICT, LIST, NUMBER, TEXT, kind_of
from .scope import Scopes
from .source import Source, is_stored
from .write import insert, replace, replace_outer, short, tight

_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.Subscript)


_TERM_PLACES = (ast.Return, ast.Assign, ast.AugAssign, ast.Slice, ast.Compare, ast.ListComp)


def steps(source: Source) -> Iterator[Edit]:
    """`expr + 1` and `expr - 1`."""
    scopes = Scopes.of(source)
    for node in source.of(*_PLAIN):
        if is_stored(node) or not _may_be_number(scopes, node):
            continue
        less, more = _step_weights(source, node)
        if less:
            yield replace(source, node, f"{tight(source, node)} - 1", "offset", less)
            yield replace(source, node, f"{tight(source, node)} + 1", "offset", more)


def terms(source: Source) -> Iterator[Edit]:
    """An operand is left out: `a + b` becomes `a`, `n - 1` becomes `n`."""
    for node in source.of(ast.BinOp):
        constant = isinstance(node.right, ast.Constant)
        words = TEXT in {kind_of(node.left), kind_of(node.right)}
        yield replace_outer(source, node, node.left, "operand", 0.5 if constant or words else 0.4)
        yield replace_outer(source, node, node.right, "operand", 0.3 if not constant else 0.1)
        if isinstance(node.left, ast.BinOp) and source.outer(node.left) == source.span(node.left):
            start, end = source.outer(node.left.right)[0], source.outer(node.right)[0]
            why = f"`{short(source.text[start:end])}` is left out"
            yield Edit(start, end, "", "operand", why, 0.2, source.unit(node))
    for statement in source.of(ast.AugAssign):
        if isinstance(statement.value, ast.BinOp):
            yield replace(source, statement.value, source.full(statement.value.right), "operand", 0.1)


def more_terms(source: Source) -> Iterator[Edit]:
    """A term that may be missing: another number in scope is added, subtracted or multiplied."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Name, ast.Call, ast.Subscript, ast.BinOp, ast.Constant):
        parent = source.parents[node]
        if is_stored(node) or not _may_be_number(scopes, node):
            continue
        recursive = isinstance(parent, ast.Call) and _called(parent) in scopes.functions
        usual = recursive or isinstance(parent, _TERM_PLACES)
        inside = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        others = [v for v in scopes.numbers(node) if v.name not in inside and (usual or v.reads == 0)]
        for variable in others:
            unread = 3.0 if variable.reads == 0 else 1.0 if NUMBER in variable.kinds else 0.5
            for op, weight in (("-", 0.25), ("+", 0.25), ("*", 0.15)):
                share = weight * unread / (len(others) + 2) * (1.0 if recursive else 0.5)
                yield replace(source, node, f"{tight(source, node)} {op} {variable.name}", "operand", share)
        if isinstance(parent, ast.Return) and isinstance(node, ast.Call) and _called(node) in scopes.functions:
            yield replace(source, node, f"1 + {source.seg(node)}", "offset", 0.2)


def slices(source: Source) -> Iterator[Edit]:
    """A bound of a slice is dropped, moved to the other side or stepped; a slice is dropped or turned round."""
    for node in source.of(ast.Subscript):
        cut = node.slice
        if not isinstance(cut, ast.Slice):
            continue
        yield replace(source, node, source.full(node.value), "slice", 0.25)
        lower, upper, step = (source.full(part) if part else "" for part in (cut.lower, cut.upper, cut.step))
        tail = f":{step}" if step else ""
        choices = [(f"{lower}:{tail}", 0.3), (f":{upper}{tail}", 0.3), (f"{upper}:{lower}{tail}", 0.3)]
        if lower and upper and isinstance(cut.upper, ast.Name | ast.Constant | ast.Call):
            choices.append((f"{lower}:{lower} + {upper}{tail}", 0.2))
        if not step:
            choices.append((f"{lower}:{upper}:-1", 0.1))
            choices.append((f"{lower}:{upper}:2", 0.02))
        else:
            choices.append((f"{lower}:{upper}", 0.25))
        if not lower:
            choices += [(f"1:{upper}{tail}", 0.15)]
            choices += [(f"-{upper}:{tail}", 0.1)] if upper and upper.isidentifier() else []
        if not upper:
            choices += [(f"{lower}:-1{tail}", 0.15)]
        for text, weight in choices:
            yield replace(source, cut, text, "slice", weight)


def more_slices(source: Source) -> Iterator[Edit]:
    """A slice that may be missing: without the first, without the last, turned round, cut at a number in scope."""
    scopes = Scopes.of(source)
    for node in source.of(ast.expr):
        if not isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.ListComp):
            continue
        parent = source.parents[node]
        if is_stored(node) or isinstance(parent, ast.Subscript | ast.Attribute | ast.Expr):
            continue
        if (
            isinstance(parent, ast.Call) and (parent.func is node or _called(parent) in {"range", "len"})
        ) or not _may_be_cut(scopes, node):
            continue
        for text, weight in (("1:", 0.1), (":-1", 0.1), ("::-1", 0.12), (":", 0.02)):
            yield _cut(source, node, text, weight)
        others = [v for v in scopes.numbers(node) if NUMBER in v.kinds or v.reads == 0]
        for variable in others:
            unread = 6.0 if variable.reads == 0 else 1.0
            for text in (f":{variable.name}", f"{variable.name}:", f"{variable.name} + 1:"):
                yield _cut(source, node, text, unread * 0.07 / (len(others) + 1))


def ranges(source: Source) -> Iterator[Edit]:
    """`range(n)` becomes `range(1, n)`; `range(a, b)` loses its start, starts at the other end, or runs backwards."""
    for node in source.of(ast.Call):
        if _called(node) != "range" or not node.args or isinstance(node.args[0], ast.Starred):
            continue
        given = [source.full(argument) for argument in node.args]
        if len(given) == 1:
            choices = [
                (f"1, {tight(source, node.args[0])} + 1", 0.35),
                (f"1, {given[0]}", 0.35),
                (f"2, {given[0]}", 0.08),
                (f"0, {given[0]}, 2", 0.06),
            ]
        elif len(given) == 2:
            choices = [
                (f"{given[0]}, {given[1]}, 2", 0.06),
                (f"{given[1]}, {given[0]}, -1", 0.08),
                (f"{given[1]}", 0.15),
            ]
            choices.append((f"{tight(source, node.args[0])} + 1, {tight(source, node.args[1])} + 1", 0.15))
            choices.append((f"{tight(source, node.args[0])} - 1, {tight(source, node.args[1])} - 1", 0.08))
        else:
            choices = [(f"{given[0]}, {given[1]}", 0.15), (f"{given[1]}, {given[0]}, {given[2]}", 0.08)]
        start, end = source.outer(node.args[0])[0], source.outer(node.args[-1])[1]
        for text, weight in choices:
            why = f"`range({short(source.text[start:end])})` becomes `range({short(text)})`"
            yield Edit(start, end, text, "range", why, weight, source.unit(node))


def _step_weights(source: Source, node: ast.expr) -> tuple[float, float]:
    """How likely it is that one is to be taken off here, and put on; zero where a step makes no sense."""
    parent = source.parents[node]
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and type(node.right.value) is int:
        return 0.0, 0.0
    if isinstance(parent, ast.Subscript):
        return (0.5, 0.3) if parent.slice is node else (0.0, 0.0)
    if isinstance(parent, ast.Slice):
        return 0.35, 0.45
    if isinstance(parent, ast.Call):
        if parent.func is node:
            return 0.0, 0.0
        return (0.45, 0.6) if _called(parent) == "range" else (0.12, 0.12)
    if isinstance(parent, ast.Compare):
        return 0.2, 0.15
    if isinstance(parent, ast.Return):
        return 0.2, 0.25
    if isinstance(parent, ast.BinOp):
        return (
            (0.15, 0.15) if isinstance(source.parents[parent], ast.Slice | ast.Subscript | ast.Call) else (0.06, 0.06)
        )
    return (0.1, 0.1) if isinstance(parent, ast.Assign | ast.AugAssign | ast.IfExp | ast.Tuple) else (0.0, 0.0)


def _may_be_number(scopes: Scopes, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        variable = scopes.find(node, node.id)
        return variable is not None and (NUMBER in variable.kinds or not variable.kinds)
    return (kind_of(node) in {NUMBER, None} and not isinstance(node, ast.Constant)) or (
        isinstance(node, ast.Constant) and type(node.value) is int
    )


def _may_be_cut(scopes: Scopes, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        variable = scopes.find(node, node.id)
        return variable is not None and (bool(variable.kinds & {LIST, TEXT, CONTAINER}) or not variable.kinds - {DICT})
    return kind_of(node) in {LIST, TEXT} and _called(node) not in {
        "enumerate",
        "zip",
        "map",
        "filter",
        "reversed",
        "range",
    }


def _cut(source: Source, node: ast.expr, text: str, weight: float) -> Edit:
    end = source.span(node)[1]
    return insert(
        source,
        end,
        f"[{text}]",
        "slice",
        f"`{short(source.seg(node))}` is cut by `[{text}]`",
        weight,
        source.unit(node),
    )


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


FAMILIES = (steps, terms, more_terms, slices, more_slices, ranges)
