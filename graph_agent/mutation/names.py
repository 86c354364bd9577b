"""One name for another: a variable, an attribute, a target; an expression for a name; another thing returned.

What stands nearest and looks alike is mixed up most, and a name that nobody reads is probably the one that is missing.
The rule: names come from the scope at that place, so that a mutant fails for what it does and not for a `NameError`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from .edit import Edit
from .kinds import CONTAINER, FUNCTION, LIST, NUMBER
from .scope import Scopes, Variable
from .source import Source, is_stored
from .write import replace, replace_outer

_MOST_NAMES = 12


def variables(source: Source) -> Iterator[Edit]:
    """A variable where it is read becomes another one."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Name):
        if not isinstance(node.ctx, ast.Load) or _is_callee(source, node):
            continue
        there = scopes.find(node, node.id)
        others = [(scopes.fit(node, there, v), v.name) for v in scopes.visible(node) if v.name != node.id]
        share = 1.6 / max(2, len(others) + 1)
        for fit, name in sorted(others, key=lambda pair: -pair[0])[:_MOST_NAMES]:
            yield replace(source, node, name, "name", min(0.9, share * fit))


def unknown(source: Source) -> Iterator[Edit]:
    """A name that nothing binds becomes one that looks like it."""
    scopes = Scopes.of(source)
    bound = scopes.bound_names()
    for node in source.of(ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in bound:
            for variable in scopes.visible(node):
                alike = (
                    variable.name.lower().strip("_") == node.id.lower().strip("_") or variable.name[:3] == node.id[:3]
                )
                yield replace(source, node, variable.name, "name", 1.0 if alike else 0.5)


def targets(source: Source) -> Iterator[Edit]:
    """What is assigned goes to another variable."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Name):
        statement = source.parents[node]
        if not isinstance(node.ctx, ast.Store) or not isinstance(statement, ast.Assign | ast.AugAssign):
            continue
        there = scopes.find(node, node.id)
        others = [v for v in scopes.local(node) if v.name != node.id and not _is_loop_variable(source, scopes, node, v)]
        for other in others:
            yield replace(source, node, other.name, "target", 0.5 * scopes.fit(node, there, other) / (len(others) + 1))


def attributes(source: Source) -> Iterator[Edit]:
    """`thing.left` becomes `thing.right`, when the source has both on something."""
    seen: dict[bool, dict[str, None]] = defaultdict(dict)
    for node in source.of(ast.Attribute):
        seen[_is_callee(source, node)][node.attr] = None
    for node in source.of(ast.Attribute):
        others = [name for name in seen[_is_callee(source, node)] if name != node.attr]
        end = source.span(node)[1]
        for name in others:
            why = f"`.{node.attr}` becomes `.{name}`"
            weight = (0.3 if _is_callee(source, node) else 1.0) / (len(others) + 1)
            yield Edit(end - len(node.attr), end, name, "attribute", why, weight, source.unit(node))
        if not _is_callee(source, node) and not isinstance(source.parents[node], ast.Attribute):
            yield replace(source, node, source.full(node.value), "attribute", 0.15)
            for name in others:
                yield Edit(end, end, f".{name}", "attribute", f"`.{name}` is added", 0.05, source.unit(node))
    yield from _objects_attributes(source, list(seen[False]))


def constants_and_names(source: Source) -> Iterator[Edit]:
    """A number becomes a variable that holds one, or the length of something; a variable becomes a length."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Constant):
        if isinstance(node.value, str) and node.value.isidentifier() and scopes.find(node, node.value):
            yield replace(source, node, node.value, "name", 0.5)
        if type(node.value) is not int:
            continue
        numbers = scopes.numbers(node)
        for variable in numbers:
            unread = 2.0 if variable.reads == 0 else 1.0
            yield replace(source, node, variable.name, "name", unread * 0.25 / (len(numbers) + 1))
    for place in source.of(ast.Name, ast.Constant):
        if _holds_number(scopes, place):
            containers = scopes.containers(place)
            for variable in containers:
                yield replace(source, place, f"len({variable.name})", "name", 0.25 / (len(containers) + 1))


def returned(source: Source) -> Iterator[Edit]:
    """Another local is returned; or a whole expression gives way to a variable."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Return, ast.Assign, ast.AugAssign):
        value = node.value
        if value is None or isinstance(value, ast.Name):
            continue
        others = [v for v in scopes.local(value) if not _is_loop_variable(source, scopes, node, v)]
        for variable in others:
            unread = 3.0 if variable.reads == 0 else 1.0
            often = isinstance(value, ast.Constant) and source.loops(node)
            share = (0.6 if isinstance(node, ast.Return) or often else 0.25) / (len(others) + 1)
            constant = 0.6 if isinstance(value, ast.Constant) and isinstance(node, ast.Return) else 1.0
            edit = replace(
                source,
                value,
                variable.name,
                "return" if isinstance(node, ast.Return) else "name",
                share * unread * constant,
            )
            yield edit._replace(weight=min(0.7, edit.weight))


def settled(source: Source) -> Iterator[Edit]:
    """A plain True or False that is returned becomes a look at a variable."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Return):
        if not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, bool):
            continue
        others = [v for v in scopes.local(node) if not _is_loop_variable(source, scopes, node, v)]
        for variable in others:
            test = f"{variable.name} == 0" if NUMBER in variable.kinds else f"not {variable.name}"
            share = (0.15 if variable.parameter else 0.6) / (len(others) + 1)
            yield replace(source, node.value, test, "return", share)


def subexpressions(source: Source) -> Iterator[Edit]:
    """An indexed or computed argument gives way to a plain variable of the same scope."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Subscript, ast.Call, ast.Attribute, ast.BinOp):
        parent = source.parents[node]
        if is_stored(node) or _is_callee(source, node) or isinstance(parent, ast.Expr | ast.Return | ast.Assign):
            continue
        others = [v for v in scopes.local(node) if FUNCTION not in v.kinds]
        inside = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        for variable in others:
            near = 1.0 if variable.name not in inside else 0.7
            unread = 3.0 if variable.reads == 0 else 1.0
            yield replace(source, node, variable.name, "name", unread * near * 0.3 / (len(others) + 2))


def indexed(source: Source) -> Iterator[Edit]:
    """A name gets an index (`x` becomes `xs[x]`, `xs` becomes `xs[i]`), or loses it."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Subscript):
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice):
            for call in ("sum", "max", "min", "len"):
                yield replace(source, node, f"{call}({source.full(node.value)})", "wrap", 0.03)
            yield replace_outer(source, node, node.value, "index", 0.15)
            yield replace_outer(source, node, node.slice, "index", 0.15)
    for name in source.of(ast.Name):
        variable = scopes.find(name, name.id)
        if not isinstance(name.ctx, ast.Load) or variable is None or isinstance(source.parents[name], ast.Subscript):
            continue
        if NUMBER in variable.kinds:
            for other in [v for v in scopes.containers(name) if v.kinds & {LIST, CONTAINER, "dict"}][:3]:
                yield replace(source, name, f"{other.name}[{name.id}]", "index", 0.06)


def _objects_attributes(source: Source, names: list[str]) -> Iterator[Edit]:
    """A bare name that elsewhere has attributes gets one of them."""
    owners: dict[str, dict[str, None]] = defaultdict(dict)
    for node in source.of(ast.Attribute):
        if isinstance(node.value, ast.Name) and not _is_callee(source, node):
            owners[node.value.id][node.attr] = None
    for name in source.of(ast.Name):
        if isinstance(name.ctx, ast.Load) and name.id in owners and not isinstance(source.parents[name], ast.Attribute):
            for attribute in owners[name.id]:
                yield replace(source, name, f"{name.id}.{attribute}", "attribute", 0.4 / (len(names) + 1))


def _holds_number(scopes: Scopes, node: ast.Name | ast.Constant) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    variable = scopes.find(node, node.id) if isinstance(node.ctx, ast.Load) else None
    return variable is not None and NUMBER in variable.kinds


def _is_callee(source: Source, node: ast.AST) -> bool:
    parent = source.parents[node]
    return isinstance(parent, ast.Call) and parent.func is node


def _is_loop_variable(source: Source, scopes: Scopes, node: ast.AST, variable: Variable) -> bool:
    """Bound by a loop around the node, where to assign or return it is seldom meant, unless it is a plain item."""
    loops = [loop for loop in source.loops(node) if isinstance(loop, ast.For | ast.AsyncFor)]
    return NUMBER in variable.kinds and any(
        isinstance(name, ast.Name) and name.id == variable.name for loop in loops for name in ast.walk(loop.target)
    )


FAMILIES = (variables, unknown, targets, attributes, constants_and_names, returned, settled, subexpressions, indexed)
