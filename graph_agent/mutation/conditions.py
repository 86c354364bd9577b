"""Conditions negated, weakened, strengthened, dropped, or read in another order.

A part that is missing from a condition is often written somewhere near, in a sibling's condition, or is a plain check
of a parameter that no condition looks at. The rule: what is added comes from names and conditions of the same function.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from .scope import BOOL, CONTAINER, LIST, NUMBER, TEXT, Code, kind_of
from .source import LEAVING, Edit, called, is_int, names_in

_MOST_SIBLINGS = 12
_LOOSE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)


def negated(source: Code) -> Iterator[Edit]:
    """`if found` becomes `if not found`."""
    for test in _tests(source):
        if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield _not(source, test, 0.5)
    for node in source.of(ast.Return, ast.keyword):
        value = node.value
        if value is not None and (kind_of(value) == BOOL or isinstance(value, ast.BoolOp | ast.Name | ast.Call)):
            yield _not(source, value, 0.3 if kind_of(value) == BOOL else 0.1)
    for chain in source.of(ast.BoolOp):
        for value in chain.values:
            if not isinstance(value, ast.Compare | ast.UnaryOp):
                yield _not(source, value, 0.25)


def weakened(source: Code) -> Iterator[Edit]:
    """One part of an `and` or `or` is dropped; a comprehension loses its filter."""
    for node in source.of(ast.BoolOp):
        for at in range(len(node.values)):
            yield source.without([*node.values], at, "condition", 0.9 / len(node.values))
    for part in source.of(ast.comprehension):
        for test in part.ifs:
            start, end = source.outer(test)
            yield Edit(source.text.rindex("if", 0, start), end, "", "condition", 0.2, source.unit(test))


def strengthened(source: Code) -> Iterator[Edit]:
    """A part is added with `and` or `or`: a sibling's condition, or a check of a name."""
    siblings: dict[ast.AST | None, dict[str, None]] = defaultdict(dict)
    for test in _tests(source):
        for part in test.values if isinstance(test, ast.BoolOp) else (test,):
            if not isinstance(part, ast.Constant | ast.BoolOp) and part.lineno == part.end_lineno:
                siblings[source.function(test)][source.seg(part)] = None
    for test in _tests(source):
        guards = [text for text in siblings[source.function(test)] if text != source.seg(test)][:_MOST_SIBLINGS]
        for guard in guards:
            for word in ("and", "or"):
                yield _joined(source, test, guard, word, 0.25 / (len(guards) + 1))
        parent = source.parents[test]
        leaves = isinstance(parent, ast.If) and isinstance(parent.body[-1], LEAVING)
        others = [v for v in source.local(test, names_in(test)) if v.parameter or NUMBER not in v.kinds]
        for variable in others:
            share = (0.5 if variable.parameter and leaves else 0.15) / (len(others) + 1)
            yield _joined(source, test, f"not {variable.name}", "or", share)
            yield _joined(source, test, variable.name, "and", share / 2)
        for name in sorted({n.value.id for n in ast.walk(test) if _is_part_of_name(n)}):  # type: ignore[attr-defined]
            for guard, word in ((f"{name} is None", "or"), (name, "and"), (f"not {name}", "or")):
                yield _joined(source, test, guard, word, 0.17, before=True)


def loops_on(source: Code) -> Iterator[Edit]:
    """`while True` becomes `while queue`."""
    for node in source.of(ast.While):
        if isinstance(node.test, ast.Constant):
            yield from source.each(node.test, source.local(node), (("", "", 1.0),), "condition")


def _tests(source: Code) -> Iterator[ast.expr]:
    for node in source.order:
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _not(source: Code, node: ast.expr, weight: float) -> Edit:
    text = f"({source.full(node)})" if isinstance(node, _LOOSE) else source.full(node)
    return source.replace(node, f"not {text}", "condition", weight)


def _joined(source: Code, test: ast.expr, guard: str, word: str, weight: float, *, before: bool = False) -> Edit:
    """The edit that adds a guard behind a test, or before it."""
    start, end = source.outer(test)
    same = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == (word == "and")
    text = source.text[start:end]
    if isinstance(test, _LOOSE) and not same and (start, end) == source.span(test):
        text = f"({text})"
    new = f"{guard} {word} {text}" if before else f"{text} {word} {guard}"
    return Edit(start, end, new, "guard", weight, source.unit(test))


def _is_part_of_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name)


_TERM_PLACES = (ast.Return, ast.Assign, ast.AugAssign, ast.Slice, ast.Compare, ast.ListComp)
_STEP_PLACES: dict[type[ast.AST], float] = {
    ast.Slice: 0.4,
    ast.Subscript: 0.4,
    ast.Compare: 0.2,
    ast.Return: 0.2,
    ast.Call: 0.12,
    ast.BinOp: 0.1,
    ast.Assign: 0.1,
    ast.AugAssign: 0.1,
    ast.Tuple: 0.1,
    ast.IfExp: 0.1,
}
_NOT_CUT = frozenset({"enumerate", "zip", "map", "filter", "reversed", "range"})


def steps(source: Code) -> Iterator[Edit]:
    """`expr + 1` and `expr - 1`."""
    for node, parent in source.values():
        stepped = isinstance(node, ast.Constant) or (isinstance(node, ast.BinOp) and is_int(node.right))
        if (
            not stepped
            and source.may_be(node, NUMBER)
            and not (isinstance(parent, ast.Subscript) and parent.value is node)
        ):
            weight = 0.5 if called(parent) == "range" else _STEP_PLACES.get(type(parent), 0.0)
            for sign in "-+":
                yield source.replace(node, f"{source.operand(node)} {sign} 1", "offset", weight)


def terms(source: Code) -> Iterator[Edit]:
    """An operand is left out: `a + b` becomes `a`, `n - 1` becomes `n`."""
    for node in source.of(ast.BinOp):
        constant = isinstance(node.right, ast.Constant)
        yield source.replace(node, source.full(node.left), "operand", 0.5 if constant else 0.4, outer=True)
        yield source.replace(node, source.full(node.right), "operand", 0.1 if constant else 0.3, outer=True)
        if isinstance(node.left, ast.BinOp) and source.outer(node.left) == source.span(node.left):
            start, end = source.outer(node.left.right)[0], source.outer(node.right)[0]
            yield Edit(start, end, "", "operand", 0.2, source.unit(node))


def more_terms(source: Code) -> Iterator[Edit]:
    """A term that may be missing: another number in scope is added, subtracted or multiplied."""
    for node, parent in source.values():
        if not source.may_be(node, NUMBER):
            continue
        recursive = called(parent) in source.functions
        usual = recursive or isinstance(parent, _TERM_PLACES)
        others = [v for v in source.numbers(node, names_in(node)) if usual or not v.reads]
        text, weight = source.operand(node), 0.25 if recursive else 0.12
        forms = [(f"{text} {sign} ", "", weight) for sign in "-+*"]
        yield from source.each(node, others, forms, "operand")
        if isinstance(parent, ast.Return) and called(node) in source.functions:
            yield source.replace(node, f"1 + {text}", "offset", 0.2)


def slices(source: Code) -> Iterator[Edit]:
    """A bound of a slice is dropped, moved to the other side or stepped; a slice is dropped or turned round."""
    for node in source.of(ast.Subscript):
        cut = node.slice
        if not isinstance(cut, ast.Slice):
            continue
        yield source.replace(node, source.full(node.value), "slice", 0.25)
        low, high, step = (source.full(part) if part else "" for part in (cut.lower, cut.upper, cut.step))
        tail = f":{step}" if step else ""
        choices = {
            f"{low}:{tail}": 0.3,
            f":{high}{tail}": 0.3,
            f"{high}:{low}{tail}": 0.3,
            f"{low}:{high}": 0.25,
            f"{low}:{high}:-1": 0.1,
            f"{low}:{low} + {high}{tail}": 0.2 if low and high else 0.0,
            f"{low or 1}:{high}{tail}": 0.15,
            f"{low}:{high or -1}{tail}": 0.15,
        }
        for text, weight in choices.items():
            yield source.replace(cut, text, "slice", weight)


def more_slices(source: Code) -> Iterator[Edit]:
    """A slice that may be missing: without the first, without the last, turned round, cut at a number in scope."""
    for node, parent in source.values():
        end, kinds = source.span(node)[1], source.kinds(node)
        if isinstance(parent, ast.Subscript) or called(parent) in {"range", "len"} or called(node) in _NOT_CUT:
            continue
        if not (kinds & {LIST, TEXT, CONTAINER} or (isinstance(node, ast.Name) and not kinds)):
            continue
        for text, weight in (("1:", 0.1), (":-1", 0.1), ("::-1", 0.12)):
            yield Edit(end, end, f"[{text}]", "slice", weight, source.unit(node))
        others = [v for v in source.numbers(node) if NUMBER in v.kinds or not v.reads]
        forms = [(f"{source.seg(node)}[{low}", f"{high}]", 0.07) for low, high in ((":", ""), ("", ":"), ("", " + 1:"))]
        yield from source.each(node, others, forms, "slice")


def ranges(source: Code) -> Iterator[Edit]:
    """`range(n)` becomes `range(1, n)`; `range(a, b)` loses its start, starts at the other end, or runs backwards."""
    for node in source.of(ast.Call):
        if called(node) != "range" or not node.args or isinstance(node.args[0], ast.Starred):
            continue
        first, *rest = (source.operand(argument) for argument in node.args)
        if not rest:
            choices = {f"1, {first} + 1": 0.35, f"1, {first}": 0.35, f"2, {first}": 0.08, f"0, {first}, 2": 0.06}
        else:
            choices = {f"{rest[0]}, {first}, -1": 0.08, f"{first}, {rest[0]}": 0.15, f"{first}, {rest[0]}, 2": 0.06}
            if len(rest) == 1:
                choices |= {rest[0]: 0.15, f"{first} + 1, {rest[0]} + 1": 0.15, f"{first} - 1, {rest[0]} - 1": 0.08}
        start, end = source.outer(node.args[0])[0], source.outer(node.args[-1])[1]
        for text, weight in choices.items():
            yield Edit(start, end, text, "range", weight, source.unit(node))


FAMILIES = (negated, weakened, strengthened, loops_on, steps, terms, more_terms, slices, more_slices, ranges)
