"""Print who may read, call, write and lead to what: the permission table of a graph."""

from __future__ import annotations

import argparse
import shutil

from graph_agent.cli.exits import DONE
from graph_agent.cli.graph import graph_of
from graph_agent.cli.printing import print_json
from graph_agent.view.permissions import permissions, permissions_data


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="repair, or module:NAME of your own")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")


def run(options: argparse.Namespace) -> int:
    graph = graph_of(options.graph)
    if options.json:
        print_json({"stages": permissions_data(graph)})
    else:
        print(permissions(graph, width=shutil.get_terminal_size((120, 24)).columns).rstrip())
    return DONE
