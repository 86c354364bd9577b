"""Conditions negated, weakened, strengthened, dropped, or read in another order.

A part that is missing from a condition is often written somewhere near, in a sibling's condition, or is a plain check
of a parameter that no condition looks at. The rule: what is added comes from names and conditions of the same function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from .edit import Edit
from .kinds import BOOL, NUMBER, kind_of
from .scope import Scopes
from .source import Source
from .write import replace, short, swap

_MOST_SIBLINGS = 12


def negated(source: Source) -> Iterator[Edit]:
    """`if found` becomes `if not found`."""
    for test in _tests(source):
        simple = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not simple and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            yield replace(source, test, f"not {_operand(source, test)}", "condition", 0.5)
    for node in source.of(ast.Return, ast.keyword):
        value = node.value
        if value is not None and (kind_of(value) == BOOL or isinstance(value, ast.BoolOp | ast.Name | ast.Call)):
            yield replace(
                source, value, f"not {_operand(source, value)}", "condition", 0.1 if kind_of(value) != BOOL else 0.3
            )
    for chain in source.of(ast.BoolOp):
        for value in chain.values:
            if not isinstance(value, ast.Compare | ast.UnaryOp):
                yield replace(source, value, f"not {_operand(source, value)}", "condition", 0.25)


def weakened(source: Source) -> Iterator[Edit]:
    """One part of an `and` or `or` is dropped, or all but one; a comprehension loses its filter."""
    for node in source.of(ast.BoolOp):
        for at, value in enumerate(node.values):
            start, end = source.outer(value)
            if at:
                start = source.outer(node.values[at - 1])[1]
            else:
                end = source.outer(node.values[1])[0]
            why = f"the condition `{short(source.seg(value))}` is dropped"
            yield Edit(start, end, "", "condition", why, 0.9 / len(node.values), source.unit(node))
    for part in source.of(ast.comprehension):
        for test in part.ifs:
            start, end = source.outer(test)
            start = source.text.rindex("if", 0, start)
            why = f"the filter `{short(source.seg(test))}` is dropped"
            yield Edit(start, end, "", "condition", why, 0.2, source.unit(test))


def strengthened(source: Source) -> Iterator[Edit]:
    """A part is added with `and` or `or`: a sibling's condition, or a check of a name."""
    scopes = Scopes.of(source)
    siblings = _siblings(source)
    for test in _tests(source):
        guards = [text for text in siblings.get(source.function(test), ()) if text != source.seg(test)][:_MOST_SIBLINGS]
        for guard in guards:
            for word in ("and", "or"):
                yield _joined(source, test, guard, word, 0.25 / (len(guards) + 1))
        yield from _name_checks(source, scopes, test)
        yield from _none_checks(source, test)


def loops_on(source: Source) -> Iterator[Edit]:
    """`while True` becomes `while queue`."""
    scopes = Scopes.of(source)
    for node in source.of(ast.While):
        if isinstance(node.test, ast.Constant):
            others = scopes.local(node)
            for variable in others:
                near = 1.0 if variable.kinds - {NUMBER} else 0.5
                yield replace(source, node.test, variable.name, "condition", near * 1.2 / (len(others) + 1))


def choices(source: Source) -> Iterator[Edit]:
    """The sides of `a if c else b` change places, or one is taken always."""
    for node in source.of(ast.IfExp):
        yield swap(source, node.body, node.orelse, "condition", 0.3)
        yield replace(source, node, source.full(node.body), "condition", 0.12)
        yield replace(source, node, source.full(node.orelse), "condition", 0.08)


def forced(source: Source) -> Iterator[Edit]:
    """A test is asked in another way: `if x` for `if x is not None`, or settled."""
    for test in _tests(source):
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
            if test.comparators[0].value is None:
                positive = isinstance(test.ops[0], ast.IsNot | ast.NotEq)
                new = source.seg(test.left) if positive else f"not {_operand(source, test.left)}"
                yield replace(source, test, new, "condition", 0.2)
        elif isinstance(test, ast.Name | ast.Attribute):
            for text, weight in ((" is not None", 0.25), (" is None", 0.08), (" > 0", 0.05)):
                yield replace(source, test, source.seg(test) + text, "condition", weight)
        if not isinstance(test, ast.Constant):
            yield replace(source, test, "False", "condition", 0.03)
            yield replace(source, test, "True", "condition", 0.03)


def regrouped(source: Source) -> Iterator[Edit]:
    """Parentheses move: `a and b or c` becomes `a and (b or c)`, `a + b * c` becomes `(a + b) * c`."""
    for node in source.of(ast.BoolOp):
        for first, second in pairwise(node.values):
            if isinstance(first, ast.BoolOp) and source.outer(first) == source.span(first):
                start, end = source.outer(first.values[-1])[0], source.outer(second)[1]
                yield _grouped(source, node, start, end)
            if isinstance(second, ast.BoolOp) and source.outer(second) == source.span(second):
                yield _grouped(source, node, source.outer(first)[0], source.outer(second.values[0])[1])
    for outer in source.of(ast.BinOp):
        left, right = outer.left, outer.right
        if isinstance(left, ast.BinOp):
            if source.outer(left) == source.span(left):
                yield _grouped(source, outer, source.outer(left.right)[0], source.outer(right)[1])
            else:
                yield _ungrouped(source, left)
        if isinstance(right, ast.BinOp):
            if source.outer(right) == source.span(right):
                yield _grouped(source, outer, source.outer(left)[0], source.outer(right.left)[1])
            else:
                yield _ungrouped(source, right)


def _grouped(source: Source, node: ast.AST, start: int, end: int) -> Edit:
    text = source.text[start:end]
    return Edit(start, end, f"({text})", "grouping", f"`{short(text)}` is taken together", 0.2, source.unit(node))


def _ungrouped(source: Source, node: ast.AST) -> Edit:
    start, end = source.outer(node)
    return Edit(
        start,
        end,
        source.seg(node),
        "grouping",
        f"`{short(source.seg(node))}` loses its parentheses",
        0.2,
        source.unit(node),
    )


def _tests(source: Source) -> Iterator[ast.expr]:
    for statement in source.of(ast.If, ast.While, ast.IfExp):
        yield statement.test
    for claim in source.of(ast.Assert):
        yield claim.test
    for part in source.of(ast.comprehension):
        yield from part.ifs


def _operand(source: Source, node: ast.expr) -> str:
    """The node's text, fit to stand behind `not`."""
    text = source.full(node)
    loose = isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr)
    return f"({text})" if loose and not text.startswith("(") else text


def _joined(source: Source, test: ast.expr, guard: str, word: str, weight: float, *, before: bool = False) -> Edit:
    text = source.full(test)
    if isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr) and not text.startswith("("):
        mixed = not isinstance(test, ast.BoolOp) or isinstance(test.op, ast.And) != (word == "and")
        text = f"({text})" if mixed else text
    new = f"{guard} {word} {text}" if before else f"{text} {word} {guard}"
    start, end = source.outer(test)
    why = f"`{word} {short(guard)}` is added"
    return Edit(start, end, new, "guard", why, weight, source.unit(test))


def _siblings(source: Source) -> dict[ast.AST | None, list[str]]:
    """The simple conditions of each function, as text."""
    found: dict[ast.AST | None, list[str]] = {}
    for test in _tests(source):
        for part in test.values if isinstance(test, ast.BoolOp) else (test,):
            texts = found.setdefault(source.function(test), [])
            text = source.seg(part)
            if (
                isinstance(part, ast.Compare | ast.Call | ast.Name | ast.UnaryOp)
                and text not in texts
                and "\n" not in text
            ):
                texts.append(text)
    return found


def _name_checks(source: Source, scopes: Scopes, test: ast.expr) -> Iterator[Edit]:
    """`or not name`, `and name`, for names that the condition does not look at."""
    inside = {name.id for name in ast.walk(test) if isinstance(name, ast.Name)}
    guards = isinstance(source.parents[test], ast.If) and _leaves(source.parents[test])
    others = [v for v in scopes.local(test) if v.name not in inside and not (NUMBER in v.kinds and not v.parameter)]
    for variable in others:
        share = (0.5 if variable.parameter and guards else 0.15) / (len(others) + 1)
        yield _joined(source, test, f"not {variable.name}", "or", share)
        yield _joined(source, test, variable.name, "and", share * 0.5)
        yield _joined(source, test, variable.name, "or", share * 0.2)


def _none_checks(source: Source, test: ast.expr) -> Iterator[Edit]:
    """Before an attribute, an item or a call of something is asked for: is it there at all?"""
    for node in dict.fromkeys(_used(source, test)):
        yield _joined(source, test, f"{node} is None", "or", 0.2, before=True)
        yield _joined(source, test, node, "and", 0.2, before=True)
        yield _joined(source, test, f"not {node}", "or", 0.08, before=True)


def _used(source: Source, test: ast.expr) -> Iterator[str]:
    for node in ast.walk(test):
        if (
            isinstance(node, ast.Attribute | ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value in source.parents
        ):
            yield source.seg(node.value)


def _leaves(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


FAMILIES = (negated, weakened, strengthened, loops_on, choices, forced, regrouped)
