"""Statements that may be missing: something gathered behind a loop, a note of what was visited, a look at an item.

A set that is asked must be filled, and what is gathered at the end of each round must be gathered once more when the
rounds are over. The rule: a new statement repeats the shape of one that is there, or fills a gap that can be seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .kinds import LIST, SET
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
            weight = 0.25 if _gathers(statement) else 0.2 if _gathers_if(statement) else 0.0
            text = indented(source, statement, margin(source, loop)) if weight else None
            if text is not None:
                why = f"`{short(text)}` is repeated behind the loop"
                yield put(source, at, text.rstrip("\r\n"), "insert", why, weight)
                yield from _when_there(source, loop, statement, at)


def _when_there(source: Source, loop: Loop, statement: ast.stmt, at: int) -> Iterator[Edit]:
    """What is left over is gathered only when something is left over."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    item = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if isinstance(item, ast.Name):
        outer = margin(source, loop)
        text = indented(source, statement, outer + _step(source, loop)) or ""
        why = f"`if {item.id}: {short(source.seg(statement))}` is added behind the loop"
        lines = f"{outer}if {item.id}:{source.newline}{text}".rstrip("\r\n")
        yield put(source, at, lines, "insert", why, 0.2)


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


def unused_items(source: Source) -> Iterator[Edit]:
    """What a loop does with one of its items gets a condition, where another loop's item is never looked at."""
    scopes = Scopes.of(source)
    for loop in source.all_loops():
        target = getattr(loop, "target", None)
        variable = scopes.find(loop.body[-1], target.id) if isinstance(target, ast.Name) else None
        inside = indented(source, loop.body[-1], margin(source, loop.body[-1]) + _step(source, loop))
        lines = extent(source, loop.body[-1])
        if variable is None or variable.reads or lines is None or inside is None:
            continue
        others = [v for v in scopes.local(loop.body[-1]) if v is not variable]
        for other in others:
            for operator in ("==", "!="):
                test = f"{margin(source, loop.body[-1])}if {other.name} {operator} {variable.name}:{source.newline}"
                why = f"`if {other.name} {operator} {variable.name}` is added"
                near = 0.8 if source.loops(loop) and not other.kinds else 0.3
                yield Edit(*lines, test + inside, "condition", why, near / (len(others) + 1), None)


def _step(source: Source, loop: Loop) -> str:
    return margin(source, loop.body[-1]).removeprefix(margin(source, loop)) or "    "


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


def _below(source: Source, loop: Loop) -> list[ast.stmt]:
    return [
        node for node in ast.walk(loop) if isinstance(node, ast.stmt) and node in source.parents and node is not loop
    ]


def _gathers(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    return _filled(statement.value) is not None or isinstance(statement.value, ast.Yield)


def _gathers_if(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and len(statement.body) == 1
        and not statement.orelse
        and _gathers(statement.body[0])
    )


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


FAMILIES = (after_loops, fillings, repeated, unused_items)
