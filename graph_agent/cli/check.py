"""Check the table of a graph: all problems at once, each with how to mend it, before anything runs on it.

Exit codes: 0 no problem, 1 there are some.
"""

from __future__ import annotations

import argparse

from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.graph import graph_of
from graph_agent.cli.printing import print_json
from graph_agent.runtime.errors import GraphError


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="module:NAME of your graph")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")


def run(options: argparse.Namespace) -> int:
    problems: tuple[str, ...] = ()
    said = ""
    try:
        graph = graph_of(options.graph)
    except UsageError as error:
        if not isinstance(error.__cause__, GraphError):
            raise
        problems, said = error.__cause__.problems, str(error.__cause__)  # its table is why it can't be imported
    else:
        said = f"no problem: {len(graph.stages)} stages, {len(graph.edges)} edges"
    if options.json:
        print_json({"problems": list(problems)})
    else:
        print(said)
    return FAILED if problems else DONE
