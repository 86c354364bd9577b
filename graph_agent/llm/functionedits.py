"""A whole function that a model wrote, put in the place of the one in the file.

The function is found by name, moved to the indentation of the original, and keeps the original's decorators when it
brings none. The rule: what is ambiguous is an error that lists the candidates, never a guess.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from copy import copy

from graph_agent.llm.functions import Function, FunctionNode, Source, dumped, same_code
from graph_agent.llm.textedits import Change, Edit, EditError, keeping_line_ends, unique_edit
from graph_agent.runtime.errors import nearest

_RUNS_ON = re.compile(r"\"{3}|'{3}|\\\r?\n")  # what a string that goes over several lines must have


def function_edit(path: str, text: str, name: str, source: str) -> Edit:
    """The edit that puts `source` for the function or method `name` ("f" or "Class.m").

    `source` is that function and nothing else, at any indentation, with or without its `class` line. Raises
    `EditError` for a name that is unknown or ambiguous, for source that does not parse, for more than the one
    function, and when nothing would change.
    """
    file, piece = Source(path, text), Source(f"the new {name}", source, piece=True)
    new = _only_function(piece, name)
    pool = [(path, old) for old in homes(file, new, name.removesuffix(new.base))]
    if not pool:
        near = nearest(name, (old.name for old in file.functions))
        raise EditError("unknown_function", f"{path} has no function {name!r}{near}.")
    old = choose(pool, name, new)[1]
    change = replacement(file, old, piece, new)
    if change is None:
        raise EditError("no_change", f"{name} in {path} is already as proposed.", lines=(old.node.lineno,))
    return unique_edit(path, text, *change)


def homes(file: Source, new: Function, owner: str) -> tuple[Function, ...]:
    """The functions of a file that `new` may mean, when it was written in the class `owner` ("Class." or "").

    Without a class it may also be a method, but only one that takes `self` when it does.
    """
    name = owner + new.base
    return tuple(
        old
        for old in file.functions
        if old.name == name or (f".{old.name}".endswith(f".{name}") and _takes_self(old) == _takes_self(new))
    )


def choose(pool: Sequence[tuple[str, Function]], name: str, new: Function) -> tuple[str, Function]:
    """The one of several (path, function) that `new` must mean, by its first argument.

    Of several with one full name, the one with the same decorators and signature.
    """
    pool = [(path, old) for path, old in pool if _takes_self(old) == _takes_self(new)] or pool
    if len({(path, old.name) for path, old in pool}) == 1:  # of one property, overload or branch; never of two classes
        for trait in (_decorators, _signature):
            pool = [(path, old) for path, old in pool if trait(old) == trait(new)] or pool
    if len(pool) > 1:
        lines = tuple(old.node.lineno for _, old in pool)
        listed = ", ".join(f"{old.name} on line {old.node.lineno} of {path}" for path, old in pool)
        hint = "Write the method within its class, and the path in a comment on the first line."
        raise EditError("ambiguous", f"{name!r} may mean {listed}.", hint=hint, lines=lines)
    return pool[0]


def replacement(file: Source, old: Function, piece: Source, new: Function) -> Change | None:
    """The change that puts `new` in the place of `old`; None when they differ in layout and comments only."""
    node = copy(old.node)
    if not new.node.decorator_list:
        node.decorator_list = []
    if same_code(node, new.node):
        return None
    start = old.start if new.node.decorator_list else old.head
    before = file.text[start : old.end]
    after = moved(piece, new.node, file.indentation(old.head), old.node)
    return Change(start, old.end, keeping_line_ends(before, after, file.text))


def moved(piece: Source, node: ast.stmt, indentation: str, original: ast.stmt | None = None) -> str:
    """The lines of a statement at another indentation.

    The inside of a string moves only where that changes nothing: in a docstring, and where the string then reads as
    it does in the `original`, because the model moved the function as a block.
    """
    start, end = piece.span(node)
    own = piece.indentation(start)
    if own == indentation:
        return piece.text[start:end]
    fixed = _fixed_lines(piece, node, own, indentation, original)
    lines = piece.lines(start, end)
    return "".join(line if number in fixed else _shifted(line, own, indentation) for number, line in lines)


def _fixed_lines(piece: Source, node: ast.stmt, own: str, indentation: str, original: ast.stmt | None) -> set[int]:
    inner = list(ast.walk(node))
    docstrings = {id(_docstring(owner)) for owner in inner}
    known = {part.value for part in ast.walk(original) if isinstance(part, ast.Constant)} if original else set()
    fixed: set[int] = set()
    for part in inner:
        if not isinstance(part, ast.Constant | ast.JoinedStr) or id(part) in docstrings:
            continue
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            first, *rest = f"{part.value}|".split("\n")  # the mark is the quote, before which a line is never blank
            if "\n".join([first, *(_shifted(line, own, indentation) for line in rest)])[:-1] in known:
                continue
        last = (part.end_lineno or part.lineno) + 1
        if _RUNS_ON.search(piece.text, piece.line_start(part.lineno), piece.line_start(last)):
            fixed.update(range(part.lineno + 1, last))
    return fixed


def _docstring(owner: ast.AST) -> ast.Constant | None:
    body = owner.body if isinstance(owner, FunctionNode | ast.ClassDef) else []
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return first if isinstance(first, ast.Constant) else None


def _shifted(line: str, own: str, indentation: str) -> str:
    if not line.strip():
        return line
    return indentation + (line[len(own) :] if line.startswith(own) else line.lstrip(" \t"))


def _only_function(piece: Source, name: str) -> Function:
    base = name.rpartition(".")[2]
    named = [found for found in piece.functions if found.base == base]
    others = [found.name for found in piece.functions if found.base != base]
    if len(named) != 1 or not f".{name}".endswith(f".{named[0].name}"):
        found = ", ".join(function.name for function in piece.functions) or "no function"
        raise EditError("other_function", f"{piece.where} defines {found}.", hint=f"Write {name} alone, once.")
    wrapper = piece.body[0].body if isinstance(piece.body[0], ast.ClassDef) else piece.body
    if others or len(piece.body) > 1 or len(wrapper) > 1:
        raise EditError("extra_code", f"{piece.where} holds more than {name}.", hint=f"Write {name} alone.")
    return named[0]


def _takes_self(function: Function) -> bool:
    arguments = function.node.args.posonlyargs + function.node.args.args
    return bool(arguments) and arguments[0].arg in ("self", "cls")


def _decorators(function: Function) -> list[str]:
    return [dumped(decorator) for decorator in function.node.decorator_list]


def _signature(function: Function) -> str:
    return dumped(function.node.args)
