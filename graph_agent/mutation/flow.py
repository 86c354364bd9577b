"""How a function is left and a loop goes on: `return`, `yield`, `break`, `continue`, `while`.

A value that is worked out and then dropped, or a function that ends without one while its other paths give one, is
most likely a forgotten `return`. The rule: `yield` goes only where a generator is or was meant, `break` only in loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .lines import after, blocks, margin, put
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
        generator = is_generator(function)
        if generator:
            for word, weight in (("yield from ", 0.9 if recursive else 0.3), ("yield ", 0.3)):
                yield Edit(start, start, word, "return", f"`{word.strip()}` is added", weight, node)
        else:
            weight = 0.9 if recursive else 0.15 if isinstance(node.value, ast.Call) else 0.6
            yield Edit(start, start, "return ", "return", "`return` is added", weight, node)


def results_kept(source: Source) -> Iterator[Edit]:
    """The result of a call goes back into the variable that was passed: `f(x)` becomes `x = f(x)`."""
    scopes = Scopes.of(source)
    for node in source.of(ast.Expr):
        call, at = node.value, source.span(node)[0]
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in scopes.functions:
            for argument in call.args:
                if isinstance(argument, ast.Name | ast.Attribute):
                    text = f"{source.seg(argument)} = "
                    yield Edit(at, at, text, "target", f"`{text.strip()}` is added", 0.4, node)


def yielded(source: Source) -> Iterator[Edit]:
    """`return` becomes `yield` in a generator and back; `yield` becomes `yield from` and back."""
    for node in source.of(ast.Return, ast.Yield, ast.YieldFrom):
        function = source.function(node)
        if function is None or node.value is None:
            continue
        value = source.full(node.value)
        if isinstance(node, ast.Return):
            inner = source.loops(node) and not is_generator(function)
            if inner or is_generator(function):
                weight = 0.5 if is_generator(function) else 0.05
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


def once_or_often(source: Source) -> Iterator[Edit]:
    """`if` becomes `while` where what it holds changes what it asks, and `while` becomes `if`."""
    for node in source.of(ast.If, ast.While):
        start = source.span(node)[0]
        asked = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if isinstance(node, ast.While):
            yield Edit(start, start + len("while"), "if", "condition", "`while` becomes `if`", 0.08, None)
        elif asked & stored and not node.orelse and source.text.startswith("if", start):
            yield Edit(start, start + len("if"), "while", "condition", "`if` becomes `while`", 0.3, None)


def endings(source: Source) -> Iterator[Edit]:
    """A `return` where the function's end is reached without one."""
    scopes = Scopes.of(source)
    for function in source.functions():
        last, values = function.body[-1], [r.value for r in returns(source, function) if r.value is not None]
        at = after(source, last)
        if at is None or last not in source.parents or always_leaves(last) or is_generator(function):
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


def returns(source: Source, function: Function) -> list[ast.Return]:
    return [node for node in source.of(ast.Return) if source.function(node) is function]


def is_generator(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def always_leaves(statement: ast.stmt) -> bool:
    """Whether nothing behind the statement is ever reached, by its form."""
    if isinstance(statement, ast.Return | ast.Raise):
        return True
    if isinstance(statement, ast.If):
        sides = [statement.body, statement.orelse] if statement.orelse else [statement.body]
        return all(always_leaves(side[-1]) for side in sides) and (bool(statement.orelse) or len(statement.body) == 1)
    return isinstance(statement, ast.With) and always_leaves(statement.body[-1])


def _opposites(values: list[ast.expr]) -> Iterator[str]:
    """What a function most likely gives at its end, by what it gives elsewhere."""
    texts = [ast.unparse(value) for value in values if isinstance(value, ast.Constant | ast.List)]
    for text in texts:
        yield {"True": "False", "False": "True"}.get(text, text)


FAMILIES = (forgotten, results_kept, yielded, loop_exits, once_or_often, endings)
