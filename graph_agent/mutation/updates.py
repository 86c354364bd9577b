"""Updates that may be missing in a loop: what it waits for, counts or carries over never changes.

A `while` whose condition stays as it is never ends, and a variable that is set before a loop, read later and changed
nowhere was most likely meant to be changed in the loop. The rule: only such variables get a new value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .kinds import NUMBER
from .lines import after, extent, margin, put
from .scope import Scopes, Variable
from .source import Loop, Source

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_COUNTS = (("+= 1", 0.6), ("-= 1", 0.6), ("//= 2", 0.1))


def updates(source: Source) -> Iterator[Edit]:
    """A variable that a loop should change gets a new value at the end of one of the loop's blocks."""
    scopes = Scopes.of(source)
    for loop in source.all_loops():
        changed = {name for node in ast.walk(loop) for name in _changed(node)}
        waits = {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)} if isinstance(loop, ast.While) else set()
        wanted = set() if waits & changed else waits
        for variable in scopes.local(loop.body[-1]):
            if variable.name not in changed and (variable.name in wanted or not variable.parameter):
                weight = 0.8 if variable.name in wanted else _staleness(source, loop, variable)
                yield from _set_in(source, scopes, loop, variable, weight)


def _set_in(source: Source, scopes: Scopes, loop: Loop, variable: Variable, weight: float) -> Iterator[Edit]:
    ends = list(_block_ends(source, loop)) if weight else []
    for last in ends:
        at = after(source, last)
        if isinstance(last, _LEAVING):
            lines = extent(source, last)
            at = lines[0] if lines else None
        if at is None:
            continue
        share = weight if last is loop.body[-1] else weight / 2
        for text, likely in _new_values(scopes, last, variable):
            line = f"{margin(source, last)}{variable.name} {text}"
            yield put(source, at, line, "insert", f"`{line.strip()}` is added", share * likely)


def _staleness(source: Source, loop: Loop, variable: Variable) -> float:
    """How much a variable looks as if the loop were to change it."""
    function = source.function(loop) or source.tree
    if variable.owner is not function or variable.line >= loop.lineno or source.function(loop) is None:
        return 0.0
    if sum(variable.name in set(_changed(node)) for node in ast.walk(function)) > 1 or not variable.reads:
        return 0.0
    first = next((n for n in ast.walk(function) if isinstance(n, ast.Assign) and variable.name in set(_names(n))), None)
    if first is None:
        return 0.0
    return 0.4 if isinstance(first.value, ast.Constant | ast.UnaryOp | ast.List | ast.Dict) else 0.2


def _new_values(scopes: Scopes, node: ast.stmt, variable: Variable) -> Iterator[tuple[str, float]]:
    if NUMBER in variable.kinds or not variable.kinds:
        yield from _COUNTS
    others = [v for v in scopes.local(node) if v.name != variable.name]
    for other in others:
        fit = scopes.fit(node, variable, other)
        yield f"= {other.name}", min(0.8, 1.2 * fit / (len(others) + 1))
        if NUMBER in variable.kinds:
            yield f"+= {other.name}", min(0.5, 0.4 * fit / (len(others) + 1))


def _block_ends(source: Source, loop: Loop) -> Iterator[ast.stmt]:
    """The last statement of the loop's body, and of every block within."""
    for node in ast.walk(loop):
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if block and block[-1] in source.parents and not (node is loop and block is not loop.body):
                    yield block[-1]


def _names(assignment: ast.Assign) -> Iterator[str]:
    return (n.id for target in assignment.targets for n in ast.walk(target) if isinstance(n, ast.Name))


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


FAMILIES = (updates,)
