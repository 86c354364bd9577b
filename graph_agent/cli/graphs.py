"""The graphs that a command can be asked about: ours by name, a user's as `module:NAME`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import UsageError
from graph_agent.runtime.errors import GraphError, nearest
from graph_agent.runtime.graph import Graph

NAMED = {"repair": "graph_agent.workflows.repair.graph:GRAPH"}


def graph_of(name: str) -> Graph[Any]:
    """Import a graph. Raises `UsageError` for a name that leads to none."""
    where = NAMED.get(name, name)
    module_name, colon, attribute = where.partition(":")
    if not colon:
        known = ", ".join(NAMED)
        raise UsageError(f"there is no graph {name!r}{nearest(name, NAMED)}: give one of {known}, or module:NAME")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a user's module is looked for where they stand, as `python -m` does
    try:
        found = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name!r} can't be had: {error}") from error
    except GraphError as error:
        raise UsageError(str(error)) from error
    if not isinstance(found, Graph):
        raise UsageError(f"{name!r} is a {type(found).__name__}, not a Graph")
    return found
