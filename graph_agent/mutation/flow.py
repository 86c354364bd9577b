"""How a function is left and a loop goes on: `return`, `yield`, `break`, `continue`, and base cases.

A value that is worked out and then dropped, or a function that ends without one while its other paths give one, is
most likely a forgotten `return`. The rule: `yield` goes only where a generator is or was meant, `break` only in loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .lines import after, blocks, extent, indented, margin, put
from .scope import Scopes
from .source import Function, Source
from .write import short


def forgotten(source: Source) -> Iterator[Edit]:
    """An expression whose value is dropped is returned or yielded."""
    for node in source.of(ast.Expr):
        function = source.function(node)
        if function is None or isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await | ast.Constant):
            continue
        start = source.span(node)[0]
        recursive = (
            isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id == function.name
        )
        generator = _is_generator(function)
        if generator:
            for word, weight in (("yield from ", 0.9 if recursive else 0.3), ("yield ", 0.3)):
                yield Edit(start, start, word, "return", f"`{word.strip()}` is added", weight, node)
        else:
            weight = 0.9 if recursive else 0.15 if isinstance(node.value, ast.Call) else 0.6
            yield Edit(start, start, "return ", "return", "`return` is added", weight, node)


def yielded(source: Source) -> Iterator[Edit]:
    """`return` becomes `yield` in a generator and back; `yield` becomes `yield from` and back."""
    for node in source.of(ast.Return, ast.Yield, ast.YieldFrom):
        function = source.function(node)
        if function is None or node.value is None:
            continue
        value = source.full(node.value)
        if isinstance(node, ast.Return):
            inner = source.loops(node) and not _is_generator(function)
            if inner or _is_generator(function):
                weight = 0.5 if _is_generator(function) else 0.05
                yield _whole(source, node, f"yield {value}", weight)
                yield _whole(source, node, f"yield from {value}", weight * 0.6)
        elif isinstance(source.parents[node], ast.Expr):
            yield _whole(source, node, f"yield from {value}" if isinstance(node, ast.Yield) else f"yield {value}", 0.3)
            yield _whole(source, node, f"return {value}", 0.1)


def loop_exits(source: Source) -> Iterator[Edit]:
    """`break` for `continue`, and either where it may be missing."""
    for node in source.of(ast.Break, ast.Continue):
        new = "continue" if isinstance(node, ast.Break) else "break"
        yield Edit(*source.span(node), new, "exit", f"`{source.seg(node)}` becomes `{new}`", 0.5, node)
        yield Edit(*source.span(node), "return", "exit", f"`{source.seg(node)}` becomes `return`", 0.03, node)
    for owner, block in blocks(source):
        last = block[-1]
        if (
            not isinstance(owner, ast.If)
            or not source.loops(last)
            or isinstance(last, ast.Break | ast.Continue | ast.Return | ast.Raise)
        ):
            continue
        at = after(source, last)
        if at is not None:
            for word, weight in (("break", 0.12), ("continue", 0.08)):
                yield put(source, at, margin(source, last) + word, "exit", f"`{word}` is added", weight)
    for leaving in source.of(ast.Return):
        if source.loops(leaving):
            for word in ("break", "continue"):
                yield Edit(
                    *source.span(leaving),
                    word,
                    "exit",
                    f"`{short(source.seg(leaving))}` becomes `{word}`",
                    0.05,
                    leaving,
                )


def endings(source: Source) -> Iterator[Edit]:
    """A `return` where the function's end is reached without one."""
    scopes = Scopes.of(source)
    for function in source.functions():
        last, values = function.body[-1], [r.value for r in _returns(source, function) if r.value is not None]
        at = after(source, last)
        if at is None or last not in source.parents or _always_leaves(last) or _is_generator(function):
            continue
        put_out = margin(source, last)
        if values:
            for text in dict.fromkeys(_opposites(values)):
                yield put(source, at, f"{put_out}return {text}", "return", f"`return {text}` is added at the end", 0.25)
        locals_ = [v for v in scopes.local(last) if not v.parameter] or scopes.local(last)
        unread = [v for v in locals_ if v.reads == 0]
        for variable in locals_:
            weight = (0.7 if variable in unread and not values else 0.4 if not values else 0.2) / (len(locals_) + 1) * 2
            yield put(
                source,
                at,
                f"{put_out}return {variable.name}",
                "return",
                f"`return {variable.name}` is added at the end",
                min(0.6, weight),
            )
    for node in source.of(ast.Return):
        if node.value is None:
            for variable in scopes.local(node):
                why = f"`{variable.name}` is returned"
                yield Edit(*source.span(node), f"return {variable.name}", "return", why, 0.2, node)


def base_cases(source: Source) -> Iterator[Edit]:
    """A guard like one that is there, for another parameter; or a first guard for a function that calls itself."""
    for function in source.functions():
        parameters = [a.arg for a in [*function.args.posonlyargs, *function.args.args] if a.arg not in {"self", "cls"}]
        guards = [s for s in function.body if isinstance(s, ast.If) and not s.orelse and _always_leaves(s)]
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
    start = after_head(source, function)
    if start is None:
        return
    space = margin(source, function.body[-1])
    for name in parameters:
        for test, values in (
            (f"not {name}", (name, "0", "[]", "1")),
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
    start = after_head(source, function)
    values = dict.fromkeys(
        source.seg(r.value)
        for r in _returns(source, function)
        if isinstance(r.value, ast.Constant | ast.List | ast.Tuple)
    )
    if start is None or _is_generator(function):
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


def after_head(source: Source, function: Function) -> int | None:
    """The start of the first line of a body, behind the docstring."""
    first = next((statement for statement in function.body if statement in source.parents), None)
    lines = extent(source, first) if first else None
    return lines[0] if lines else None


def _step(source: Source, function: Function) -> str:
    inner, outer = margin(source, function.body[-1]), margin(source, function)
    return inner.removeprefix(outer) or "    "


def _whole(source: Source, node: ast.AST, new: str, weight: float) -> Edit:
    start, end = source.span(node)
    return Edit(
        start,
        end,
        new,
        "return",
        f"`{short(source.text[start:end])}` becomes `{short(new)}`",
        weight,
        source.unit(node),
    )


def _returns(source: Source, function: Function) -> list[ast.Return]:
    return [node for node in source.of(ast.Return) if source.function(node) is function]


def _is_generator(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _calls_itself(function: Function) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(
        (isinstance(f, ast.Name) and f.id == function.name)
        or (isinstance(f, ast.Attribute) and f.attr == function.name)
        for f in calls
    )


def _always_leaves(statement: ast.stmt) -> bool:
    """Whether nothing behind the statement is ever reached, by its form."""
    if isinstance(statement, ast.Return | ast.Raise):
        return True
    if isinstance(statement, ast.If):
        sides = [statement.body, statement.orelse] if statement.orelse else [statement.body]
        return all(_always_leaves(side[-1]) for side in sides) and (bool(statement.orelse) or len(statement.body) == 1)
    return isinstance(statement, ast.With) and _always_leaves(statement.body[-1])


def _opposites(values: list[ast.expr]) -> Iterator[str]:
    """What a function most likely gives at its end, by what it gives elsewhere."""
    texts = [ast.unparse(value) for value in values if isinstance(value, ast.Constant | ast.List)]
    for text in texts:
        yield {"True": "False", "False": "True"}.get(text, text)


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


FAMILIES = (forgotten, yielded, loop_exits, endings, base_cases)
