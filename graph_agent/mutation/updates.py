"""Statements that may be missing: an update in a loop, something gathered behind it, a guard at a function's start.

A `while` whose condition stays as it is never ends, a set that is asked must be filled, and what is gathered in each
round must be gathered once more when the rounds are over. The rule: a new statement fills a gap that can be seen, or
repeats the shape of one that is there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .scope import LIST, NUMBER, SET, Code, Variable
from .source import FUNCTIONS, LEAVING, Edit, called, names_in
from .statements import blocks, changed, indented, is_generator, lines_of, margin, put, put_last, returned

_FILLERS = frozenset({"append", "add", "extend", "insert", "update", "appendleft", "push"})


def updates(source: Code) -> Iterator[Edit]:
    """A variable that a loop should change gets a new value at the end of one of the loop's blocks."""
    for owner, block in blocks(source):
        loops = source.loops(block[-1])
        touched = changed(loops[0]) if loops else set()
        waits = names_in(loops[0].test) if loops and isinstance(loops[0], ast.While) else set()
        for variable in source.local(block[-1], touched) if loops else ():
            early = variable.line < loops[0].lineno and variable.reads
            stale = early and variable.writes == 1 and not variable.parameter
            weight = 1.0 if variable.name in waits and not waits & touched else 0.4 if stale else 0.0
            for text, likely in _new_values(source, block[-1], variable):
                share = weight * likely * (1.0 if owner in loops else 0.5)
                yield put_last(source, block[-1], f"{variable.name} {text}", "insert", share)


def _new_values(source: Code, node: ast.stmt, variable: Variable) -> Iterator[tuple[str, float]]:
    if NUMBER in variable.kinds or not variable.kinds:
        yield from (("+= 1", 0.6), ("-= 1", 0.6), ("//= 2", 0.1))
    others = source.local(node, {variable.name})
    for other in others:
        fit = source.fit(variable.kinds, other) / (len(others) + 1)
        yield f"= {other.name}", min(0.8, 1.2 * fit)
        if NUMBER in variable.kinds:
            yield f"+= {other.name}", min(0.5, 0.4 * fit)


def gathered(source: Code) -> Iterator[Edit]:
    """What a loop gathers is gathered once more behind it; an `append` or `add` again, for another name."""
    for owner, block in blocks(source):
        for statement in block:
            inner = statement.body[0] if isinstance(statement, ast.If) and len(statement.body) == 1 else statement
            call = inner.value if isinstance(inner, ast.Expr) else None
            if called(call) not in _FILLERS and not isinstance(call, ast.Yield):
                continue
            for loop in source.loops(statement):
                text = indented(source, statement, margin(source, loop))
                yield put(source, lines_of(source, loop)[1], text, "insert", 0.35)
            if inner is statement and isinstance(call, ast.Call) and len(call.args) == 1:
                owner = call.func
                others = source.local(statement, names_in(call))
                for other in others:
                    text = f"{margin(source, statement)}{source.seg(owner)}({other.name})"
                    yield put(source, lines_of(source, statement)[1], text, "insert", 0.14 / (len(others) + 1))


def fillings(source: Code) -> Iterator[Edit]:
    """What is looked up in a loop and filled nowhere gets an `append` or `add` of what is looked for."""
    for node in source.of(ast.Compare):
        wanted, place = node.left, node.comparators[0]
        function, variable = source.function(node), source.find(node, getattr(place, "id", ""))
        if not isinstance(wanted, ast.Name) or variable is None or function is None or variable.parameter:
            continue
        if variable.kinds & {LIST, SET} and not any(variable.name in changed(call) for call in source.of(ast.Call)):
            word = "append" if LIST in variable.kinds else "add"
            for _, block in blocks(source):
                if source.function(block[-1]) is function:
                    yield put_last(source, block[-1], f"{variable.name}.{word}({wanted.id})", "insert", 0.3)


def guards(source: Code) -> Iterator[Edit]:
    """A base case or a check of what is empty at a function's start; a guard that is there, for another parameter."""
    for function, block in blocks(source):
        if not isinstance(function, FUNCTIONS) or is_generator(function):
            continue
        names = [a.arg for a in function.args.args if a.arg not in {"self", "cls"}]
        there = [s for s in block if isinstance(s, ast.If) and not s.orelse and isinstance(s.body[-1], LEAVING)]
        values = [source.seg(value) for value in returned(source, function)][:3] or ["None"]
        recursive = not there and any(called(node) == function.name for node in ast.walk(function))
        space, step = margin(source, block[0]), margin(source, block[0]).removeprefix(margin(source, function))
        for name in names:
            tests = [f"not {name}", f"{name} <= 1", f"{name} == 0"] if recursive else [f"not {name}"]
            for value in [*values, name, "0", "1", "[]", "[[]]"] if recursive else values:
                for test in tests:
                    line = f"{space}if {test}:{source.newline}{space}{step}return {value}"
                    weight = (0.2 if recursive else 0.1) / len(names)
                    yield put(source, lines_of(source, block[0])[0], line, "base case", weight)
            for guard in there:
                for old in sorted(names_in(guard.test) & {*names}) if name not in names_in(guard.test) else ():
                    text = _exchanged(source, guard, old, name)
                    yield put(source, lines_of(source, guard)[1], text, "base case", 0.25 / len(names))


def _exchanged(source: Code, node: ast.stmt, one: str, other: str) -> str:
    """The statement's lines with two names in each other's place."""
    at, end = lines_of(source, node)
    text = ""
    for name in source.of(ast.Name):
        if node in source.up(name) and name.id in {one, other}:
            start, behind = source.span(name)
            text += source.text[at:start] + (other if name.id == one else one)
            at = behind
    return text + source.text[at:end]


FAMILIES = (updates, gathered, fillings, guards)
