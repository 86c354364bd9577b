"""Draw a graph from its own table."""

from __future__ import annotations

import argparse

from graph_agent.cli.exits import DONE
from graph_agent.cli.graphs import graph_of
from graph_agent.view.drawing import dot, mermaid


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="repair, or module:NAME of your own")
    parser.add_argument("--format", choices=("mermaid", "dot"), default="mermaid")
    parser.add_argument("--fallbacks", action="store_true", help="draw the edges of on_limit and on_error too")


def run(options: argparse.Namespace) -> int:
    draw = {"mermaid": mermaid, "dot": dot}[options.format]
    print(draw(graph_of(options.graph), fallbacks=options.fallbacks).rstrip())
    return DONE
