"""Guards at a function's start that may be missing: a base case for one that calls itself, a check of what is empty.

Where one parameter has a guard, another one may need the like of it. The rule: a guard's result is one that the
function gives elsewhere, one of its parameters, or the neutral value of its sort.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .flow import always_leaves, is_generator, returns
from .lines import after, extent, indented, margin, put
from .source import Function, Source
from .write import short


def base_cases(source: Source) -> Iterator[Edit]:
    """A guard like one that is there, for another parameter; or a first guard for a function that calls itself."""
    for function in source.functions():
        parameters = [a.arg for a in [*function.args.posonlyargs, *function.args.args] if a.arg not in {"self", "cls"}]
        guards = [s for s in function.body if isinstance(s, ast.If) and not s.orelse and always_leaves(s)]
        if _calls_itself(function) and not any(isinstance(s, ast.If) for s in function.body):
            yield from _first_guards(source, function, parameters)
        for guard in guards:
            yield from _guards_like(source, guard, parameters)
        yield from _guards_before(source, function, parameters, bool(guards))


def _guards_like(source: Source, guard: ast.If, parameters: list[str]) -> Iterator[Edit]:
    """The guard again, with one parameter for another in its test, or in its result."""
    text, at = indented(source, guard, margin(source, guard)), after(source, guard)
    used = {name.id for name in ast.walk(guard.test) if isinstance(name, ast.Name)}
    if text is None or at is None:
        return
    cut = source.span(guard.test)
    begin = source.line_start(source.span(guard)[0])
    for old in sorted(used & set(parameters)):
        for new in parameters:
            if new not in used:
                test = _renamed(source, guard.test, old, new)
                copy = text[: cut[0] - begin] + test + text[cut[1] - begin :]
                why = f"a guard is added: `if {short(test)}`"
                yield put(source, at, copy.rstrip("\r\n"), "base case", why, 0.2 / len(parameters))
                body = _swapped_names(source, guard, old, new)
                if body is not None:
                    yield put(source, at, body, "base case", why, 0.25 / len(parameters))


def _first_guards(source: Source, function: Function, parameters: list[str]) -> Iterator[Edit]:
    start = _after_head(source, function)
    if start is None:
        return
    space = margin(source, function.body[-1])
    for name in parameters:
        for test, values in (
            (f"not {name}", (name, "0", "[]", "[[]]", "1")),
            (f"{name} <= 1", (name, "1")),
            (f"{name} == 0", ("0", "1")),
        ):
            for value in values:
                line = f"{space}if {test}:{source.newline}{space}{_step(source, function)}return {value}"
                yield put(
                    source,
                    start,
                    line,
                    "base case",
                    f"a base case is added: `if {test}: return {value}`",
                    0.2 / len(parameters),
                )


def _guards_before(source: Source, function: Function, parameters: list[str], guarded: bool) -> Iterator[Edit]:
    """`if not parameter` with a result of the function's own, for what is empty."""
    start = _after_head(source, function)
    values = dict.fromkeys(
        source.seg(r.value)
        for r in returns(source, function)
        if isinstance(r.value, ast.Constant | ast.List | ast.Tuple)
    )
    if start is None or is_generator(function):
        return
    space = margin(source, function.body[-1])
    texts = [text for text in values if "\n" not in text] or ["None"]
    for name in parameters:
        for text in texts[:3]:
            line = f"{space}if not {name}:{source.newline}{space}{_step(source, function)}return {text}"
            yield put(
                source,
                start,
                line,
                "base case",
                f"a guard is added: `if not {name}: return {text}`",
                (0.08 if guarded else 0.12) / len(parameters),
            )


def _after_head(source: Source, function: Function) -> int | None:
    """The start of the first line of a body, behind the docstring."""
    first = next((statement for statement in function.body if statement in source.parents), None)
    lines = extent(source, first) if first else None
    return lines[0] if lines else None


def _step(source: Source, function: Function) -> str:
    inner, outer = margin(source, function.body[-1]), margin(source, function)
    return inner.removeprefix(outer) or "    "


def _calls_itself(function: Function) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(
        (isinstance(f, ast.Name) and f.id == function.name)
        or (isinstance(f, ast.Attribute) and f.attr == function.name)
        for f in calls
    )


def _renamed(source: Source, node: ast.AST, old: str, new: str) -> str:
    start, end = source.span(node)
    text, moved = source.text[start:end], 0
    places = sorted(
        source.span(n) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old and n in source.parents
    )
    for a, b in places:
        text = text[: a - start + moved] + new + text[b - start + moved :]
        moved += len(new) - (b - a)
    return text


def _swapped_names(source: Source, guard: ast.If, old: str, new: str) -> str | None:
    """The guard with the two names exchanged everywhere, when it speaks of both."""
    names = [n for n in ast.walk(guard) if isinstance(n, ast.Name) and n.id in {old, new}]
    if {n.id for n in names} != {old, new}:
        return None
    start, end = source.line_start(source.span(guard)[0]), source.span(guard)[1]
    text, moved = source.text[start:end], 0
    for name in sorted(names, key=source.span):
        a, b = source.span(name)
        other = new if name.id == old else old
        text = text[: a - start + moved] + other + text[b - start + moved :]
        moved += len(other) - (b - a)
    return text


FAMILIES = (base_cases,)
