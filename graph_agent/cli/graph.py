"""Draw a graph from its own table."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from graph_agent.cli.exits import DONE, UsageError
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.graph import Graph
from graph_agent.view.drawing import dot, mermaid


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="repair, research, or module:NAME of your own")
    parser.add_argument("--format", choices=("mermaid", "dot"), default="mermaid")
    parser.add_argument(
        "--fallbacks", action="store_true", help="draw the edges of on_limit, on_error and on_doubt too"
    )


def run(options: argparse.Namespace) -> int:
    draw = {"mermaid": mermaid, "dot": dot}[options.format]
    print(draw(graph_of(options.graph), fallbacks=options.fallbacks).rstrip())
    return DONE


NAMED = {
    "repair": "graph_agent.workflows.repair.graph:GRAPH",
    "research": "graph_agent.workflows.research.graph:GRAPH",
}


def graph_of(name: str) -> Graph[Any]:
    """Import a graph. Raises `UsageError` for a name that leads to none."""
    module_name, colon, attribute = NAMED.get(name, name).partition(":")
    if not colon or not module_name or not attribute:
        known = ", ".join(NAMED)
        raise UsageError(f"there is no graph {name!r}{nearest(name, NAMED)}: give {known}, or module:NAME of your own")
    if "/" in module_name or module_name.endswith(".py"):
        raise UsageError(f"{name!r} names a file: give its module, as in package.module:NAME")
    module = imported(module_name)
    found = getattr(module, attribute, None)
    if not isinstance(found, Graph):
        there = [key for key, value in vars(module).items() if isinstance(value, Graph)]
        has = f"it has {', '.join(there)}" if there else "it has none"
        raise UsageError(f"{module_name} has no graph {attribute!r}{nearest(attribute, there)}: {has}")
    return found


def named_in(place: str, option: str) -> Any:
    """What `module:NAME` stands for. Raises `UsageError`."""
    module_name, colon, attribute = place.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"{option} {place!r}: give module:NAME")
    module = imported(module_name)
    if not hasattr(module, attribute):
        raise UsageError(f"{option}: {module_name} has no {attribute!r}{nearest(attribute, vars(module))}")
    return getattr(module, attribute)


def imported(name: str) -> ModuleType:
    """A module of the user's. Raises `UsageError`, caused by what the import raised."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    try:
        with redirect_stdout(sys.stderr):  # stdout is for the answer
            return import_module(name)
    except (Exception, SystemExit) as error:  # a user's module, which may raise anything
        raise UsageError(f"{name} can't be imported: {type(error).__name__}: {error}") from error
