"""Calls: arguments swapped, dropped or changed, another function of the same sort, a call unwrapped or put around.

Functions that are mixed up come in small circles (`min` and `max`, `append` and `extend`). The rule: a circle holds
only what takes the same arguments, so that the mutant runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from .circles import UNWRAPPED, same_sort
from .edit import Edit
from .kinds import TEXT, kind_of
from .scope import Scopes
from .source import Source
from .write import insert, replace, short, swap

_IN_PLACE = frozenset({"sort", "reverse", "append", "extend", "update", "add", "insert"})


def arguments(source: Source) -> Iterator[Edit]:
    """Two neighbouring arguments change places, or one is left out."""
    for node in source.of(ast.Call):
        plain = [a for a in node.args if not isinstance(a, ast.Starred)]
        for first, second in pairwise(plain):
            weight = 0.1 if named(node) in {"min", "max", "isinstance"} else 0.6 / (len(plain) - 1)
            yield swap(source, first, second, "arguments", weight)
        if len(plain) == 3:
            yield swap(source, plain[0], plain[2], "arguments", 0.1)
        everything: list[ast.AST] = [*node.args, *node.keywords]
        for at, argument in enumerate(everything):
            if len(everything) > 1 or not isinstance(argument, ast.GeneratorExp):
                yield _without(source, node, everything, at)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        if len(plain) == 1 and all(isinstance(place, ast.Name | ast.Constant) for place in (receiver, plain[0])):
            assert receiver is not None
            yield swap(source, receiver, plain[0], "arguments", 0.1)


def siblings(source: Source) -> Iterator[Edit]:
    """A function or method becomes another one of its circle, or another one of the module with as many parameters."""
    for node in source.of(ast.Call):
        name = named(node)
        end = source.span(node.func)[1]
        others = same_sort(name, method=isinstance(node.func, ast.Attribute))
        for other in others:
            yield Edit(
                end - len(name),
                end,
                other,
                "call",
                f"`{name}` becomes `{other}`",
                0.8 / (1 + len(others)),
                source.unit(node),
            )
        if isinstance(node.func, ast.Name):
            yield from _other_functions(source, node, name)


def unwrapped(source: Source) -> Iterator[Edit]:
    """A call gives way to its argument, or a method call to what it was called on."""
    for node in source.of(ast.Call):
        name = named(node)
        for argument in node.args[:3]:
            if not isinstance(argument, ast.Starred | ast.GeneratorExp):
                weight = 0.4 if name in UNWRAPPED else 0.15
                yield replace(source, node, source.seg(argument), "unwrap", weight / len(node.args))
        if isinstance(node.func, ast.Attribute) and not isinstance(source.parents[node], ast.Expr):
            weight = 0.4 if kind_of(node) == TEXT and not node.args else 0.12
            yield replace(source, node, source.full(node.func.value), "unwrap", weight)


def keywords(source: Source) -> Iterator[Edit]:
    """`reverse=True` is added to a sort, `key=len` to a choice, `start=1` to a count."""
    additions = {
        "sorted": (("reverse=True", 0.3), ("key=len", 0.08), ("key=abs", 0.03)),
        "sort": (("reverse=True", 0.3), ("key=len", 0.08)),
        "max": (("key=len", 0.06), ("default=0", 0.1)),
        "min": (("key=len", 0.06), ("default=0", 0.1)),
        "enumerate": (("start=1", 0.25),),
        "round": (("2", 0.1),),
        "sum": (("start=1", 0.03),),
    }
    for node in source.of(ast.Call):
        for text, weight in additions.get(named(node), ()):
            taken = {keyword.arg for keyword in node.keywords}
            if text.split("=")[0] in taken or (node.args and isinstance(node.args[-1], ast.GeneratorExp)):
                continue
            if "=" in text and len(node.args) > 1 and named(node) in {"max", "min", "enumerate"}:
                continue
            at = source.span(node)[1] - 1
            new = f", {text}" if node.args or node.keywords else text
            yield insert(source, at, new, "arguments", f"`{text}` is added", weight, source.unit(node))


def in_place(source: Source) -> Iterator[Edit]:
    """The value of a method that returns None is used: call `sorted` instead, or use what it was called on."""
    for node in source.of(ast.Call):
        name = named(node)
        if (
            not isinstance(node.func, ast.Attribute)
            or name not in _IN_PLACE
            or isinstance(source.parents[node], ast.Expr)
        ):
            continue
        owner = source.full(node.func.value)
        if name in {"sort", "reverse"}:
            rest = source.text[source.span(node.func)[1] : source.span(node)[1]]
            given = rest[rest.index("(") + 1 : -1]
            call = "sorted" if name == "sort" else "reversed"
            yield replace(source, node, f"{call}({', '.join(part for part in (owner, given) if part)})", "call", 1.0)
        yield replace(source, node, owner, "unwrap", 0.8)
        if node.args and name in {"append", "extend"}:
            item = source.full(node.args[0])
            yield replace(source, node, f"{owner} + {f'[{item}]' if name == 'append' else item}", "call", 0.8)


def _other_functions(source: Source, node: ast.Call, name: str) -> Iterator[Edit]:
    functions = Scopes.of(source).functions
    count = len(node.args) + len(node.keywords)
    others = [f.name for f in functions.values() if f.name != name and _takes(f, count) and not f.name.startswith("__")]
    for other in others:
        near = 1.0 if name in functions else 0.3
        yield replace(source, node.func, other, "call", near * 0.6 / (len(others) + 1))


def _takes(function: ast.FunctionDef | ast.AsyncFunctionDef, count: int) -> bool:
    given = function.args
    most = len(given.posonlyargs) + len(given.args)
    return most - len(given.defaults) <= count <= most and not given.kwonlyargs


def _without(source: Source, node: ast.Call, everything: list[ast.AST], at: int) -> Edit:
    only, keyword = len(everything) == 1, isinstance(everything[at], ast.keyword)
    weight = 0.25 if keyword else 0.08 if only else 0.3 / len(everything)
    start, end = source.outer(everything[at])
    if at + 1 < len(everything):
        end = source.outer(everything[at + 1])[0]
    elif at:
        start = source.outer(everything[at - 1])[1]
    why = f"the argument `{short(source.seg(everything[at]))}` is left out"
    return Edit(start, end, "", "arguments", why, weight, source.unit(node))


def named(node: ast.AST) -> str:
    """The last name of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


FAMILIES = (arguments, siblings, unwrapped, keywords, in_place)
