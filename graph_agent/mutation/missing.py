"""Statements that may be missing: an update in a loop, something collected after it, a note of what was visited.

What a loop waits for must change in it, a set that is asked must be filled, and what is gathered at the end of each
round must be gathered once more when the rounds are over. The rule: a new statement repeats the shape of one that is
there, or fills a gap that can be seen in the source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .kinds import LIST, NUMBER, SET
from .lines import after, extent, indented, margin, put
from .scope import Scopes, Variable
from .source import Loop, Source
from .write import short

_FILLERS = frozenset({"append", "add", "extend", "insert", "update", "appendleft", "push"})


def after_loops(source: Source) -> Iterator[Edit]:
    """What a loop gathers is gathered once more behind it."""
    for loop in source.all_loops():
        at = after(source, loop)
        if at is None:
            continue
        for statement in _below(source, loop):
            text = indented(source, statement, margin(source, loop)) if _gathers(statement) else None
            if text is not None:
                why = f"`{short(text)}` is repeated behind the loop"
                yield put(source, at, text.rstrip("\r\n"), "insert", why, 0.25)


def fillings(source: Source) -> Iterator[Edit]:
    """Something that is read in a loop and filled nowhere gets an `append` or `add`."""
    scopes = Scopes.of(source)
    for function in source.functions():
        filled = {_filled(node) for node in ast.walk(function)}
        for variable in _own(scopes, function):
            if variable.name in filled or variable.parameter or not variable.kinds & {LIST, SET}:
                continue
            word = "add" if SET in variable.kinds and LIST not in variable.kinds else "append"
            yield from _fill(source, scopes, function, variable, word)


def repeated(source: Source) -> Iterator[Edit]:
    """An `append` or `add` that is there, for another name in scope, right behind it."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Expr):
        call, at = node.value, after(source, node)
        if (
            at is None
            or not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or call.func.attr not in _FILLERS
        ):
            continue
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
            continue
        owner, item = source.full(call.func.value), call.args[0].id
        others = [v for v in scopes.local(node) if v.name != item and v.name != owner]
        for variable in others:
            line = f"{margin(source, node)}{owner}.{call.func.attr}({variable.name})"
            yield put(source, at, line, "insert", f"`{line.strip()}` is added", 0.1 / (len(others) + 1))


def updates(source: Source) -> Iterator[Edit]:
    """A variable that a loop reads and never changes gets a new value at the loop's end."""
    scopes = Scopes.of(source)
    for loop in source.all_loops():
        last, changed = loop.body[-1], {name for node in ast.walk(loop) for name in _changed(node)}
        at = after(source, last)
        if at is None or isinstance(last, ast.Return | ast.Break | ast.Continue):
            continue
        wanted = _waits_for(loop) - changed if isinstance(loop, ast.While) and not _waits_for(loop) & changed else set()
        for variable in scopes.local(last):
            if variable.name in changed or (variable.parameter and variable.name not in wanted):
                continue
            read = any(isinstance(node, ast.Name) and node.id == variable.name for node in ast.walk(loop))
            if not read and variable.name not in wanted:
                continue
            weight = 0.8 if variable.name in wanted else 0.2
            for text, share in _new_values(scopes, last, variable):
                line = f"{margin(source, last)}{variable.name} {text}"
                yield put(source, at, line, "insert", f"`{line.strip()}` is added", weight * share)


def _fill(source: Source, scopes: Scopes, function: ast.AST, variable: Variable, word: str) -> Iterator[Edit]:
    items = _asked(function, variable.name)
    places = [s for s in _block_ends(source, function) if source.loops(s) or items]
    for last in places:
        loops = [
            loop.target.id
            for loop in source.loops(last)
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)
        ]
        names = (
            list(dict.fromkeys([*items, *loops])) or [v.name for v in scopes.local(last) if v.name != variable.name][:4]
        )
        at = after(source, last)
        if isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise):
            lines = extent(source, last)
            at = lines[0] if lines else None
        for name in names if at is not None else ():
            line = f"{margin(source, last)}{variable.name}.{word}({name})"
            weight = 1.0 / (len(places) + len(names))
            yield put(source, at or 0, line, "insert", f"`{line.strip()}` is added", weight)


def _new_values(scopes: Scopes, node: ast.stmt, variable: Variable) -> Iterator[tuple[str, float]]:
    if NUMBER in variable.kinds or not variable.kinds:
        yield "+= 1", 0.6
        yield "-= 1", 0.6
        yield "//= 2", 0.1
    others = [v for v in scopes.local(node) if v.name != variable.name]
    for other in others:
        yield f"= {other.name}", 0.8 * scopes.fit(node, variable, other) / (len(others) + 1)


def _below(source: Source, loop: Loop) -> list[ast.stmt]:
    return [
        node for node in ast.walk(loop) if isinstance(node, ast.stmt) and node in source.parents and node is not loop
    ]


def _gathers(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    return _filled(statement.value) is not None or isinstance(statement.value, ast.Yield)


def _filled(node: ast.AST) -> str | None:
    """The name of what a call puts something into."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _FILLERS:
        return None
    return node.func.value.id if isinstance(node.func.value, ast.Name) else None


def _own(scopes: Scopes, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Variable]:
    return [v for v in scopes.local(function.body[-1]) if v.owner is function]


def _asked(function: ast.AST, name: str) -> list[str]:
    """What is looked for in a collection: the left side of `in`."""
    found = []
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.In | ast.NotIn)
            and isinstance(node.left, ast.Name)
        ):
            right = node.comparators[0]
            if isinstance(right, ast.Name) and right.id == name:
                found.append(node.left.id)
    return found


def _block_ends(source: Source, function: ast.AST) -> list[ast.stmt]:
    """The last statement of every block of a function."""
    ends: dict[ast.stmt, None] = {}
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and block[-1] in source.parents and isinstance(node, ast.stmt):
                ends[block[-1]] = None
    return list(ends)


def _waits_for(loop: ast.While) -> set[str]:
    return {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}


def _changed(node: ast.AST) -> Iterator[str]:
    """Names that a node binds, or whose object it may change."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        yield node.func.value.id
    elif (
        isinstance(node, ast.Subscript | ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    ):
        yield node.value.id


FAMILIES = (after_loops, fillings, repeated, updates)
