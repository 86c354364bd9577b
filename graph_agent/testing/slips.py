"""The slips that a router is graded on: what the hand that wrote it may have got wrong, one place at a time.

Stages and other enum members, comparisons, conditions, their order, numbers, fields and compared texts. The rule: only
what decides is touched; the text of a reason is not, nor is anything within an f-string.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from types import ModuleType
from typing import Any

from graph_agent.mutation import conditions, names, operators
from graph_agent.mutation.scope import Code
from graph_agent.mutation.source import LEAVING, Edit, Function, called, is_stored
from graph_agent.mutation.statements import blocks, lines_of

_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min", "startswith": "endswith", "endswith": "startswith"}
_LOOSE = (ast.IfExp, ast.Lambda, ast.NamedExpr)


def slips(
    function: tuple[str, int], values: Mapping[str, Any], exits: Collection[Any] | None
) -> Callable[[Code], Iterator[Edit]]:
    """A family of edits within one function, which is given by its name and the line of its `def`.

    `values` is what names stand for there. A stage in a `Route` becomes each of `exits`, or each member of its enum.
    """

    def family(source: Code) -> Iterator[Edit]:
        home = next(one for one in source.of(ast.FunctionDef) if (one.name, one.lineno) == function)
        start, end = source.span(home.body[0])[0], source.span(home)[1]
        if not source.text[source.line_start(start) : start].strip():
            start = source.line_start(start)
        texts = [*_texts(source)]
        for edit in _all(source, values, exits, texts):
            inside = start <= edit.start and edit.end <= end
            if inside and not any(low <= edit.start and edit.end <= high for low, high in texts):
                yield edit

    return family


def _all(
    source: Code, values: Mapping[str, Any], exits: Collection[Any] | None, texts: list[tuple[int, int]]
) -> Iterator[Edit]:
    yield from _of_the_engine(source, values)
    yield from _members(source, values, exits)
    yield from _decided(source)
    yield from _order(source)
    yield from _cases(source)
    yield from _numbers(source)
    yield from _fields(source, values, texts)
    yield from _compared_texts(source, texts)


def _texts(source: Code) -> Iterator[tuple[int, int]]:
    """Where text stands that a person reads."""
    for node in source.of(ast.JoinedStr):
        yield source.span(node)
    for call in source.of(ast.Call):
        if called(call) == "Route":
            reasons = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "reason")]
            yield from map(source.span, reasons)


def _of_the_engine(source: Code, values: Mapping[str, Any]) -> Iterator[Edit]:
    """What the engine knows and a router may have; `==` is not held for an order between things that have none."""
    unordered = {
        source.between(left, right)
        for node in source.of(ast.Compare)
        for left, right in pairwise([node.left, *node.comparators])
        if any(_has_no_order(source, side, values) for side in (left, right))
    }
    for edit in operators.operators(source):
        if edit.family == "comparison" and not (edit.new in ("<=", ">=") and (edit.start, edit.end) in unordered):
            yield edit
    yield from operators.boolean(source)
    yield from (edit for edit in operators.unary(source) if edit.family == "condition")
    yield from (edit for edit in operators.singletons(source) if edit.new in ("True", "False") and edit.weight > 0.5)
    yield from (edit for edit in operators.elements(source) if edit.family == "elements")
    yield from (edit for edit in conditions.negated(source) if edit.weight > 0.1)
    yield from conditions.weakened(source)
    yield from (edit for edit in names.siblings(source) if _CALLS.get(source.text[edit.start : edit.end]) == edit.new)
    for call in source.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
            yield source.replace(call, source.full(call.func.value), "unwrap", 0.3)


def _has_no_order(source: Code, side: ast.AST, values: Mapping[str, Any]) -> bool:
    text = isinstance(side, ast.Constant) and not isinstance(side.value, int | float)
    return text or isinstance(_value(side, values), Enum)


def _members(source: Code, values: Mapping[str, Any], exits: Collection[Any] | None) -> Iterator[Edit]:
    """An enum member becomes another; where a `Route` leads, one of the exits, or of what `Route`s lead to here."""
    found = [(node, _value(node, values)) for node in source.of(ast.Attribute, ast.Name) if not is_stored(node)]
    members = [(node, member) for node, member in found if isinstance(member, Enum)]
    targets: dict[Function | None, dict[Any, None]] = {}
    for node, member in members:
        if _is_target(source, node):
            targets.setdefault(source.function(node), {}).update(dict.fromkeys(exits or type(member)))
    for node, member in members:
        for other in targets[source.function(node)] if _is_target(source, node) else type(member):
            text = _spelled(node, member, other, source, values)
            if text and other is not member:
                yield source.replace(node, text, "member", 1.0)


def _is_target(source: Code, node: ast.AST) -> bool:
    """Whether this is where a `Route` leads, and no part of what that depends on."""
    below = node
    for above in source.up(node):
        if isinstance(above, ast.Call):
            first = [*above.args[:1], *(word for word in above.keywords if word.arg == "stage")]
            return called(above) == "Route" and below in first
        if isinstance(above, ast.Compare | ast.stmt) or (isinstance(above, ast.IfExp) and below is above.test):
            return False
        below = above
    return False


def _spelled(node: ast.AST, member: Enum, other: Enum, source: Code, values: Mapping[str, Any]) -> str:
    """How another member is written here, or "" where no name leads to it."""
    if isinstance(node, ast.Attribute) and type(other) is type(member):
        return f"{source.full(node.value)}.{other.name}"
    known = next((name for name, value in values.items() if value is other), "")
    return known or next((f"{name}.{other.name}" for name, value in values.items() if value is type(other)), "")


def _value(node: ast.AST, values: Mapping[str, Any]) -> Any:
    """What a name, or a name in a module or a class, stands for."""
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, values)
        if isinstance(owner, ModuleType | type):
            return getattr(owner, node.attr, None)
    return None


def _decided(source: Code) -> Iterator[Edit]:
    """A condition that always holds, and one that never does: what hangs on it happens in any case, or is dropped."""
    for node in source.order:
        if isinstance(node, ast.If | ast.IfExp):
            yield source.replace(node.test, "True", "condition", 0.8)
            yield source.replace(node.test, "False", "condition", 0.8)
        elif isinstance(node, ast.While):
            yield source.replace(node.test, "False", "condition", 0.8)
        elif isinstance(node, ast.comprehension):
            yield from (source.replace(test, "False", "condition", 0.8) for test in node.ifs)
        elif isinstance(node, ast.match_case) and node.guard is not None:
            yield source.replace(node.guard, "True", "condition", 0.8)
            yield source.replace(node.guard, "False", "condition", 0.8)
            text = f"({source.seg(node.guard)})" if isinstance(node.guard, _LOOSE) else source.operand(node.guard)
            yield source.replace(node.guard, f"not {text}", "condition", 0.8)


def _order(source: Code) -> Iterator[Edit]:
    """Two neighbouring `if`s that leave the function change places, or a condition and the `elif` behind it."""
    for _, block in blocks(source):
        for first, second in pairwise(block):
            if _leaves(first) and _leaves(second):
                (a, b), (c, d) = lines_of(source, first), lines_of(source, second)
                one, two = source.text[a:b], source.text[c:d]
                two += "" if two.endswith(("\n", "\r")) else source.newline
                yield Edit(a, d, two + source.text[b:c] + one, "order", 0.5)
    for node in source.of(ast.If):
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            below = node.orelse[0]
            if source.text.startswith("elif", source.span(below)[0]):
                yield _exchanged(source, node, below)


def _leaves(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], LEAVING)


def _exchanged(source: Code, first: ast.If, second: ast.If) -> Edit:
    parts = [source.outer(first.test), _body(source, first), source.outer(second.test), _body(source, second)]
    texts = [source.text[start:end] for start, end in parts]
    gaps = [source.text[a[1] : b[0]] for a, b in pairwise(parts)]
    new = texts[2] + gaps[0] + texts[3] + gaps[1] + texts[0] + gaps[2] + texts[1]
    return Edit(parts[0][0], parts[3][1], new, "order", 0.5)


def _body(source: Code, node: ast.If) -> tuple[int, int]:
    return source.whole(node.body[0])[0], source.span(node.body[-1])[1]


def _cases(source: Code) -> Iterator[Edit]:
    """A `case` is left out."""
    for node in source.of(ast.Match):
        for case in node.cases if len(node.cases) > 1 else ():
            start = source.line_start(source.span(case.pattern)[0])
            yield Edit(start, source.line_end(source.span(case.body[-1])[1]), "", "case", 0.8)


def _numbers(source: Code) -> Iterator[Edit]:
    """A number, one more and one less."""
    for node in source.of(ast.Constant):
        if type(node.value) in (int, float):
            for value in (node.value + 1, node.value - 1):  # type: ignore[operator]
                yield source.replace(node, repr(value), "number", 0.7)


def _fields(source: Code, values: Mapping[str, Any], texts: list[tuple[int, int]]) -> Iterator[Edit]:
    """`state.retries` becomes `state.max_retries`, where the function looks at both."""
    seen: dict[tuple[Function | None, str], dict[str, None]] = {}
    found = []
    for node in source.of(ast.Attribute):
        start, end = source.span(node)
        read = not is_stored(node) and getattr(source.parents[node], "func", None) is not node
        text = any(low <= start and end <= high for low, high in texts)
        if read and not text and not isinstance(_value(node.value, values), ModuleType | type):
            key = source.function(node), source.seg(node.value)
            seen.setdefault(key, {})[node.attr] = None
            found.append((node, key))
    for node, key in found:
        end = source.span(node)[1]
        for name in seen[key]:
            if name != node.attr:
                yield Edit(end - len(node.attr), end, name, "field", 0.4, source.unit(node))


def _compared_texts(source: Code, texts: list[tuple[int, int]]) -> Iterator[Edit]:
    """A text in a comparison or a `case` becomes another one that the function compares with, or the empty one."""
    seen: dict[Function | None, dict[str, None]] = {}
    found = []
    for node in source.of(ast.Constant):
        compared = any(isinstance(above, ast.Compare | ast.pattern) for above in source.up(node))
        span = source.span(node)
        if isinstance(node.value, str) and compared and not any(low <= span[0] < high for low, high in texts):
            seen.setdefault(source.function(node), {})[source.seg(node)] = None
            found.append(node)
    for node in found:
        for text in (*seen[source.function(node)], '""'):
            yield source.replace(node, text, "text", 0.4)
