"""Statements deleted, swapped with a neighbour, moved in or out of a block; how functions are left and loops go on.

A value that is worked out and then dropped is most likely a forgotten `return`. The rule: only statements that have
their lines to themselves are touched, and one moves together with the comment behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from .scope import Code
from .source import FUNCTIONS, LEAVING, LOOPS, Edit, Function, Source, called, names_in

_KEPT = (*FUNCTIONS, ast.ClassDef, ast.Pass)
_COMPOUND = (ast.If, ast.With, ast.Try, *LOOPS)
_FIELDS = ("body", "orelse", "finalbody")


def deleted(source: Code) -> Iterator[Edit]:
    """One statement is deleted, or two of a sort that follow each other; `pass` stands for the only one of a block."""
    for owner, block in blocks(source):
        for at, statement in enumerate(block):
            if isinstance(statement, _KEPT):
                continue
            weight = 0.4 if isinstance(statement, ast.Break | ast.Continue) else 0.25
            if isinstance(statement, ast.Assign | ast.Return):
                found = [source.find(statement, name) for name in names_in(statement, ast.Store)]
                weight = 0.3 if any(variable and variable.writes > 1 for variable in found) else 0.05
            if any(getattr(owner, field, None) == [statement] for field in _FIELDS):
                yield Edit(*source.whole(statement), "pass", "delete", weight)
                continue
            start, end = lines_of(source, statement)
            yield Edit(start, end, "", "delete", weight)
            if at and type(block[at - 1]) is type(statement) and not hasattr(statement, "body"):
                yield Edit(lines_of(source, block[at - 1])[0], end, "", "delete", weight * 0.4)


def swapped(source: Code) -> Iterator[Edit]:
    """Two neighbouring statements change places, when one touches what the other reads or writes."""
    for _, block in blocks(source):
        for first, second in pairwise(block):
            (a, b), (c, d) = lines_of(source, first), lines_of(source, second)
            touch = changed(first) & names_in(second) or changed(second) & names_in(first)
            if (touch or isinstance(second, LEAVING)) and not isinstance(first, (*LEAVING, *_KEPT)):
                one, two = source.text[a:b], source.text[c:d]
                if not two.endswith(("\n", "\r")):
                    one, two = one.rstrip("\r\n"), two + source.newline
                weight = 0.1 if hasattr(first, "body") or hasattr(second, "body") else 0.2
                yield Edit(a, d, two + source.text[b:c] + one, "swap", weight)


def moved_out(source: Code) -> Iterator[Edit]:
    """The last statement of a block moves behind it."""
    for owner, block in blocks(source):
        last = block[-1]
        if len(block) > 1 and isinstance(owner, _COMPOUND) and not isinstance(last, _KEPT):
            (start, end), outside = lines_of(source, last), lines_of(source, owner)[1]
            rest = source.text[end:outside]
            if rest and not rest.endswith(("\n", "\r")):
                rest += source.newline
            looped = isinstance(owner, LOOPS)
            weight = 0.7 if looped and isinstance(last, ast.Return) else 0.3 if looped else 0.2
            yield Edit(start, outside, rest + indented(source, last, margin(source, owner)), "move", weight)


def moved_in(source: Code) -> Iterator[Edit]:
    """The statement behind a block moves in at its end; the one before a loop moves in at its start."""
    for _, block in blocks(source):
        for first, second in pairwise(block):
            inner = first
            while isinstance(inner, _COMPOUND) and not isinstance(second, _KEPT):
                inner = (getattr(inner, "orelse", None) or inner.body)[-1]
                weight = 0.3 if isinstance(first, LOOPS) and not isinstance(second, ast.Return) else 0.15
                text = indented(source, second, margin(source, inner))
                yield Edit(*lines_of(source, second), text, "move", weight)
            if isinstance(second, LOOPS) and not isinstance(first, _KEPT):
                (start, end), within = lines_of(source, first), lines_of(source, second.body[0])[0]
                text = source.text[end:within] + indented(source, first, margin(source, second.body[0]))
                yield Edit(start, within, text, "move", 0.2)


def unconditional(source: Code) -> Iterator[Edit]:
    """An `if` goes and what it held stays; `if` becomes `while`, where what it holds changes what it asks."""
    for _, block in blocks(source):
        for node in block:
            start = source.span(node)[0]
            if not isinstance(node, ast.If) or source.text.startswith("elif", start):
                continue
            if names_in(node.test) & names_in(node, ast.Store) and not node.orelse:
                yield Edit(start, start + len("if"), "while", "condition", 0.3)
            for side in (node.body, node.orelse):
                text = "".join(indented(source, statement, margin(source, node)) for statement in side)
                yield Edit(*lines_of(source, node), text, "condition", 0.12)


def forgotten(source: Code) -> Iterator[Edit]:
    """An expression whose value is dropped is returned or yielded, or kept in the variable that was passed."""
    for node in source.of(ast.Expr):
        function, start = source.function(node), source.span(node)[0]
        if function is None or isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await | ast.Constant):
            continue
        recursive = called(node.value) == function.name
        words = {"return ": 0.9 if recursive else 0.15 if isinstance(node.value, ast.Call) else 0.6}
        if is_generator(function):
            words = {"yield from ": 0.9 if recursive else 0.3, "yield ": 0.3}
        if isinstance(node.value, ast.Call) and called(node.value) in source.functions:
            words |= {f"{source.seg(a)} = ": 0.4 for a in node.value.args if isinstance(a, ast.Name)}
        for word, weight in words.items():
            yield Edit(start, start, word, "return", weight, node)


def exits(source: Code) -> Iterator[Edit]:
    """`return`, `yield` and `yield from`, `break` and `continue` for each other; a jump that may be missing."""
    for node in source.of(ast.Return, ast.Yield, ast.YieldFrom, ast.Break, ast.Continue):
        function, value = source.function(node), getattr(node, "value", None)
        others = {"continue": 0.5, "break": 0.5} if isinstance(node, ast.Break | ast.Continue) else {}
        if value is not None and function is not None:
            likely = 0.4 if is_generator(function) else 0.05 if source.loops(node) else 0.0
            others = {"yield ": likely, "yield from ": likely * 0.7, "return ": 0.1}
        for new, weight in others.items():
            text = source.full(value) if value is not None else ""
            yield Edit(*source.span(node), new + text, "return" if text else "exit", weight, source.unit(node))
    for owner, block in blocks(source):
        if isinstance(owner, ast.If) and source.loops(owner) and not isinstance(block[-1], LEAVING):
            for word, weight in (("break", 0.14), ("continue", 0.1)):
                yield put_last(source, block[-1], word, "exit", weight)


def endings(source: Code) -> Iterator[Edit]:
    """A `return` where the function's end is reached without one."""
    for owner, block in blocks(source):
        last = block[-1]
        if not isinstance(owner, FUNCTIONS) or isinstance(last, LEAVING) or is_generator(owner):
            continue
        values = [ast.unparse(value) for value in returned(source, owner)]
        for text in values:
            new = {"True": "False", "False": "True"}.get(text, text)
            yield put_last(source, last, f"return {new}", "return", 0.3)
        others = source.local(last)
        for variable in others:
            weight = (0.3 if values else 0.8) * variable.missed / (len(others) + 1)
            yield put_last(source, last, f"return {variable.name}", "return", min(0.7, weight))


def returned(source: Code, function: Function) -> list[ast.expr]:
    """The plain values that a function gives: constants, lists and tuples."""
    found = {ast.dump(r): r.value for r in source.of(ast.Return) if r.value and source.function(r) is function}
    return [value for value in found.values() if isinstance(value, ast.Constant | ast.List | ast.Tuple)]


def is_generator(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def changed(node: ast.AST) -> set[str]:
    """Names that a node binds, or whose object it may change."""
    found = names_in(node, ast.Store)
    for inner in ast.walk(node):
        owner = inner.func if isinstance(inner, ast.Call) else inner
        stored = isinstance(getattr(owner, "ctx", None), ast.Store) or owner is not inner
        if isinstance(owner, ast.Attribute | ast.Subscript) and isinstance(owner.value, ast.Name) and stored:
            found.add(owner.value.id)
    return found


def blocks(source: Source) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Every list of statements that can be moved, with what holds it."""
    for node in source.order:
        for field in _FIELDS:
            block = getattr(node, field, None)
            kept = [s for s in block if s in source.parents and _movable(source, s)] if isinstance(block, list) else []
            if kept:
                yield node, kept


def stands_alone(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with no other."""
    (start, end), (first, last) = source.whole(statement), lines_of(source, statement)
    behind = source.text[end:last].strip()
    return not source.text[first:start].strip() and (not behind or behind.startswith("#"))


def lines_of(source: Source, statement: ast.AST) -> tuple[int, int]:
    """The statement's lines, from the first one's start to behind the last one's end mark."""
    start, end = source.whole(statement)
    return source.line_start(start), source.line_end(end)


def margin(source: Source, statement: ast.AST) -> str:
    """The white space before a statement; a form feed in it starts the count of columns afresh."""
    start = source.whole(statement)[0]
    return source.text[source.line_start(start) : start].rpartition("\f")[2]


def indented(source: Source, statement: ast.stmt, by: str) -> str:
    """The statement's lines at another margin."""
    old, text = margin(source, statement), source.text[slice(*lines_of(source, statement))]
    text += "" if text.endswith(("\n", "\r")) else source.newline
    lines = text.splitlines(keepends=True)
    return "".join(by + line.lstrip("\f").removeprefix(old) if line.strip() else line for line in lines)


def put(source: Source, at: int, text: str, family: str, weight: float) -> Edit:
    """A new line at a line's start (or at the end of the text)."""
    text = text.rstrip("\r\n")
    unfinished = at == len(source.text) and not source.text.endswith(("\n", "\r"))
    return Edit(at, at, source.newline + text if unfinished else text + source.newline, family, weight)


def put_last(source: Source, last: ast.stmt, text: str, family: str, weight: float) -> Edit:
    """A new line at the end of the block that ends with a statement: before a jump, else behind."""
    at = lines_of(source, last)[not isinstance(last, LEAVING)]
    return put(source, at, margin(source, last) + text, family, weight)


def _movable(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement has its lines to itself, and no string that runs over several lines."""
    texts = (n for n in ast.walk(statement) if isinstance(n, ast.Constant | ast.JoinedStr))
    return stands_alone(source, statement) and all(text.lineno == text.end_lineno for text in texts)


FAMILIES = (deleted, swapped, moved_out, moved_in, unconditional, forgotten, exits, endings)
