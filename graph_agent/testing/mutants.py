"""Mutants of a router: the same function with one slip in it, each as a function of its own.

A test that passes with all of them would not notice the slip. The rule: the router itself and its module are left as
they are; a mutant runs in a copy of the module's names, and one that goes on for ever is stopped by counting its steps.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from graph_agent.mutation import Mutant, MutationError, mutants
from graph_agent.runtime.graph import Node, Pause
from graph_agent.testing.slips import slips

MOST_STEPS = 1_000_000  # calls, and rounds of loops, in one mutant
_STEP = "__graph_agent_step__"


class RanAway(BaseException):
    """A mutant made more steps than it may: it most likely never ends. No `except Exception` on its way stops it."""


class Steps:
    """Counts the calls of a mutated function and the rounds of its loops, up to a limit."""

    def __init__(self) -> None:
        self.limit, self.taken = MOST_STEPS, 0

    def __call__(self) -> None:
        self.taken += 1
        if self.taken > self.limit:
            raise RanAway(f"more than {self.limit} calls and rounds of loops")


@dataclass(frozen=True)
class RouterMutant:
    """`route` is the router with one slip, `function` the name of what it was made in, `line` its line in the file.

    `description` tells it from the others, and stays as it is when the lines around it move.
    """

    description: str
    function: str
    file: str
    line: int
    route: Callable[[Any], Any] = field(repr=False)
    source: str = field(repr=False)
    original: str = field(repr=False)
    steps: Steps = field(repr=False)

    @property
    def diff(self) -> str:
        """What was changed, as a unified diff; `source` is the whole text of the file with the change."""
        from difflib import unified_diff

        old, new = self.original.splitlines(), self.source.splitlines()
        return "\n".join(unified_diff(old, new, self.file, f"{self.file} (mutant)", n=2, lineterm=""))


def mutate_router(
    route: Callable[[Any], Any],
    *,
    also: Iterable[Callable[..., Any]] = (),
    exits: Collection[Any] | Node | Pause | None = None,
) -> tuple[RouterMutant, ...]:
    """Each one-slip mutant of a router, and of the functions in `also` that it calls by a name in its module.

    A stage becomes each of `exits` (or the exits of the entry of a table), or each stage of its enum. Raises
    `MutationError` for what has no source, or is no plain function.

    >>> from examples import after_check
    >>> for mutant in mutate_router(after_check)[:2]:
    ...     print(mutant.description)
    after_check: `if state.good:` becomes `if True:`
    after_check: `if state.good:` becomes `if False:`
    """
    allowed = (exits.exits or (exits.to,)) if isinstance(exits, Node | Pause) else exits
    if isinstance(allowed, Set):
        allowed = sorted(allowed, key=repr)  # a set has another order in each process
    return tuple(Subject(route, also).mutants(allowed))


class Subject:
    """A router and its helpers, and how a copy of it is made in which one of them is another function."""

    def __init__(self, route: Any, also: Iterable[Any]) -> None:
        self.bound = route.__self__ if inspect.ismethod(route) else None
        self.function: FunctionType = _plain(route.__func__ if inspect.ismethod(route) else route)
        self.texts = [_Text(self.function), *map(_Text, also)]
        for helper in self.texts[1:]:
            name = helper.function.__name__
            if self.function.__globals__.get(name) is not helper.function:
                raise MutationError(
                    f"{name} is no name in {self.function.__module__}, where {self.function.__name__} looks: give a "
                    "function of that module, or one that is imported there by its own name"
                )

    def copy(self, text: _Text, source: str, *, lines: int = 0) -> tuple[Callable[[Any], Any], Steps]:
        """The router with the function of `text` made anew from a changed source, which has so many lines more."""
        names, steps = dict(self.function.__globals__), Steps()
        names[_STEP] = steps
        changed = text.function
        made = _function(changed, _code(text, source, lines), names)
        new = made if changed is self.function else _function(self.function, self.function.__code__, names)
        for name, value in self.function.__globals__.items():
            if value is changed:
                names[name] = made
            elif value is self.function:
                names[name] = new
            elif inspect.isfunction(value) and value.__globals__ is self.function.__globals__:
                names[name] = _function(value, value.__code__, names)
        return (new if self.bound is None else MethodType(new, self.bound)), steps

    def mutants(self, exits: Collection[Any] | None) -> Iterator[RouterMutant]:
        for text in self.texts:
            name, seen = text.function.__name__, dict[str, int]()
            family = slips((name, text.definition.lineno), text.values, exits)
            for mutant in mutants(text.source, within=text.lines, families=(family,)):
                told = f"{name}: {_told(text.source, mutant)}"
                seen[told] = seen.get(told, 0) + 1
                yield self._made(text, mutant, told if seen[told] == 1 else f"{told} ({seen[told]})")

    def _made(self, text: _Text, mutant: Mutant, description: str) -> RouterMutant:
        source = mutant.apply(text.source)
        route, steps = self.copy(text, source, lines=source.count("\n") - text.source.count("\n"))
        return RouterMutant(
            description=description,
            function=text.function.__name__,
            file=text.file,
            line=mutant.line,
            route=route,
            source=source,
            original=text.source,
            steps=steps,
        )

    def unchanged(self) -> list[tuple[Callable[[Any], Any], Steps]]:
        """Copies with no slip, one for each function that has mutants."""
        return [self.copy(text, text.source) for text in self.texts]


class _Text:
    """The source of a function: the text of its file, and where it stands there."""

    def __init__(self, given: Any) -> None:
        self.function = function = _plain(given)
        try:
            lines, _ = inspect.findsource(function)
        except (OSError, TypeError) as error:
            raise MutationError(
                f"there is no source of {function.__qualname__} ({error}): write it in a file with `def`"
            ) from error
        self.source, self.file = "".join(lines), function.__code__.co_filename
        self.definition = self._found()
        self.lines = self.definition.lineno, self.definition.end_lineno or self.definition.lineno
        free = inspect.getclosurevars(function).nonlocals
        self.values: Mapping[str, Any] = {**function.__globals__, **free}

    def _found(self) -> ast.FunctionDef:
        try:
            tree = ast.parse(self.source)
        except SyntaxError as error:
            raise MutationError(f"{self.file} does not parse, line {error.lineno}: {error.msg}") from error
        code = self.function.__code__
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                decorated = [one.lineno for one in node.decorator_list]
                if min([node.lineno, *decorated]) == code.co_firstlineno:
                    return node
        raise MutationError(
            f"{self.file} has no function {code.co_name} at line {code.co_firstlineno}: the file was changed after it "
            "was imported, or the function is wrapped by a decorator. Start Python anew, or give what is wrapped"
        )


def _plain(given: Any) -> FunctionType:
    name = getattr(given, "__qualname__", repr(given))
    if hasattr(given, "__wrapped__"):
        raise MutationError(f"{name} is wrapped by a decorator: give the function itself, {name}.__wrapped__")
    if not isinstance(given, FunctionType):
        raise MutationError(f"{name} is no function ({type(given).__name__}): give one that is written with `def`")
    if given.__name__ == "<lambda>" or given.__code__.co_name == "<lambda>":
        raise MutationError(f"{name} is a lambda, which has no source of its own: write it with `def`")
    return given


def _told(source: str, mutant: Mutant) -> str:
    """The lines before and after; where lines change places, the first of each."""
    start = source.rfind("\n", 0, mutant.start) + 1
    end = source.find("\n", max(mutant.start, mutant.end - 1))
    end = len(source) if end < 0 else end
    old = " ".join(source[start:end].split())
    new = " ".join((source[start : mutant.start] + mutant.new + source[mutant.end : end]).split())
    if mutant.family == "order":
        tests = [line.strip() for line in source[start:end].splitlines() if line.strip().startswith(("if ", "elif "))]
        return f"`{tests[0]}` and `{tests[-1]}` change places"
    if mutant.family == "case":
        return f"`{source[start:end].strip().splitlines()[0]}` is left out"
    return f"`{old}` becomes `{new}`"


def _code(text: _Text, source: str, lines: int) -> CodeType:
    """The code of the changed function, with its steps counted."""
    first, last = text.lines
    kept = "\n".join(source.split("\n")[first - 1 : last + lines])
    deep = kept[:1].isspace()
    tree = ast.parse(f"if 1:\n{kept}" if deep else kept)
    definition: Any = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    definition.decorator_list = []
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.For | ast.While):
            node.body.insert(0, ast.copy_location(ast.parse(f"{_STEP}()").body[0], node.body[0]))
    # what it takes from functions around it must be no global, and nothing else may be taken from one
    free = text.function.__code__.co_freevars
    around: Any = ast.parse(f"def {_STEP}({', '.join(free)}): pass")
    itself = [] if definition.name in free else [ast.Global([definition.name])]
    around.body[0].body = [*itself, definition]
    ast.increment_lineno(definition, first - 1 - deep)
    code = compile(ast.fix_missing_locations(around), f"<mutant of {text.file}>", "exec", dont_inherit=True)
    return _inner(_inner(code, _STEP), definition.name)


def _inner(code: CodeType, name: str) -> CodeType:
    below = [one for one in code.co_consts if isinstance(one, CodeType)]
    return next(one for one in below if one.co_name == name)


def _function(old: FunctionType, code: CodeType, names: dict[str, Any]) -> FunctionType:
    """A function like another one, in other code and among other names."""
    cells = dict(zip(old.__code__.co_freevars, old.__closure__ or (), strict=True))
    if old.__code__.co_name in cells:
        cells[old.__code__.co_name] = CellType()
    new = FunctionType(code, names, old.__name__, old.__defaults__, tuple(cells[name] for name in code.co_freevars))
    new.__kwdefaults__, new.__qualname__, new.__module__ = old.__kwdefaults__, old.__qualname__, old.__module__
    new.__doc__ = old.__doc__
    new.__dict__.update(old.__dict__)
    if old.__code__.co_name in cells:
        cells[old.__code__.co_name].cell_contents = new
    return new
