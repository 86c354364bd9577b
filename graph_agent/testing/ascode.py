"""Values as the code that makes them: enums by member, dataclasses by their fields, and the imports it takes.

The rule: what is written can be pasted and run; what has no such form (a lambda, a local class) is marked by a comment,
and never guessed.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from graph_agent.runtime.graph import BACK, Graph


class Imports:
    """What the code needs, by module."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self.missing: list[str] = []

    def add(self, module: str, name: str) -> str:
        self._names.setdefault(module, set()).add(name)
        return name

    def text(self) -> str:
        lines = [f"from {module} import {', '.join(sorted(names))}\n" for module, names in sorted(self._names.items())]
        return "".join([*lines, *(f"# {one}\n" for one in self.missing)])


def as_code(value: Any, imports: Imports) -> str:
    """An expression that makes the value."""
    if value is BACK:
        return imports.add("graph_agent", "BACK")
    if isinstance(value, Enum):
        return f"{_named(type(value), imports)}.{value.name}"
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value, imports)
    if isinstance(value, tuple):
        inner = ", ".join(as_code(one, imports) for one in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, frozenset):
        inner = ", ".join(sorted(as_code(one, imports) for one in value))
        return f"frozenset({{{inner}}})" if value else "frozenset()"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {as_code(one, imports)}' for key, one in value.items())}}}"
    if callable(value):
        return _named(value, imports)
    return repr(value)


def place_of(graph: Graph[Any]) -> tuple[str, str] | None:
    """The module that holds a graph, and the name there; the module of its state is asked first."""
    first = sys.modules.get(graph.state.__module__)
    for module in (first, *list(sys.modules.values())):
        for name, value in list(vars(module).items()) if module else ():
            if value is graph and module:
                return module.__name__, name
    return None


def graph_in(graph: Graph[Any], imports: Imports) -> str:
    """The graph's name, imported from where it stands."""
    place = place_of(graph)
    if place is not None:
        return imports.add(*place)
    imports.missing.append("GRAPH is your graph: no module holds it under a name")
    return "GRAPH"


def _record(value: Any, imports: Imports) -> str:
    """Without the fields that have their default."""
    given = []
    for declared in fields(value):
        default = declared.default_factory() if declared.default_factory is not MISSING else declared.default
        held = getattr(value, declared.name)
        if declared.init and (type(held) is not type(default) or held != default):
            given.append((declared, as_code(held, imports)))
    by_place = _positional(value)
    words = [text if at < by_place else f"{one.name}={text}" for at, (one, text) in enumerate(given)]
    return f"{_named(type(value), imports)}({', '.join(words)})"


def _positional(value: Any) -> int:
    """How many of the first fields may be given by place: those before the first that was left out."""
    count = 0
    for declared in fields(value):
        default = declared.default_factory() if declared.default_factory is not MISSING else declared.default
        held = getattr(value, declared.name)
        if declared.kw_only or (type(held) is type(default) and held == default):
            break
        count += 1
    return count


def _named(thing: Any, imports: Imports) -> str:
    name, module = getattr(thing, "__qualname__", repr(thing)), getattr(thing, "__module__", None)
    top = name.partition(".")[0]
    if module is None or "<" in name or getattr(sys.modules.get(module), top, None) is None:
        short = name.rpartition(".")[2]
        imports.missing.append(f"{short} has no name of its own in a module: write it here")
        return short.replace("<lambda>", "a_function_of_yours")
    imports.add("graph_agent.testing" if module.startswith("graph_agent.testing.") else module, top)
    return name
