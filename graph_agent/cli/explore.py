"""Walk every run of a graph of yours, and hold it to laws: each node may return any of the outcomes that you list.

OUTCOMES is a dict `stage -> outcomes`, START a state, LAWS a list of laws: see `graph_agent.testing.explore`.
Exit codes: 0 no law is broken, 1 one is, or not all could be explored.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.graph import graph_of, named_in
from graph_agent.cli.printing import print_json
from graph_agent.runtime.errors import StateError
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.testing.exploring import explore
from graph_agent.testing.laws import pauses_are_left, reason_given, terminates
from graph_agent.testing.outcomes import ExplorationError, start_of
from graph_agent.testing.report import Report

USUAL = (terminates(), reason_given(), pauses_are_left())


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("graph", metavar="GRAPH", help="module:NAME of your graph")
    add("--outcomes", required=True, metavar="module:NAME", help="what each node may return")
    add("--start", metavar="module:NAME", help="the state at which runs begin (default: one with a task_id alone)")
    add("--laws", metavar="module:NAME", help="the laws (default: it ends, each step says why, each pause can be left)")
    add("--max-states", type=int, default=100_000, metavar="N", help="how many states at most (100000)")
    add("--max-depth", type=int, metavar="N", help="how many steps at most")
    add("--json", action="store_true", help="one JSON object on stdout, nothing else")


def run(options: argparse.Namespace) -> int:
    graph = graph_of(options.graph)
    outcomes = named_in(options.outcomes, "--outcomes")
    if not isinstance(outcomes, Mapping):
        raise UsageError(f"--outcomes {options.outcomes} is {outcomes!r}: give a dict of stage -> outcomes")
    laws = USUAL if options.laws is None else named_in(options.laws, "--laws")
    if not isinstance(laws, list | tuple):
        raise UsageError(f"--laws {options.laws} is {laws!r}: give a list of laws")
    bounds = {"max_states": options.max_states, "max_depth": options.max_depth}
    try:
        report = explore(graph, _start(options, graph), outcomes, laws=laws, **bounds)
    except (ExplorationError, StateError) as error:
        raise UsageError(str(error)) from error
    if options.json:
        print_json(_data(report))
    else:
        print(report)
    return DONE if report.ok else FAILED


def _start(options: argparse.Namespace, graph: Graph[Any]) -> Any:
    return start_of(graph) if options.start is None else named_in(options.start, "--start")


def _data(report: Report) -> dict[str, Any]:
    edges = report.edges_taken
    return {
        "states": report.states,
        "transitions": report.transitions,
        "depth": report.depth,
        "longest": report.longest,
        "complete": report.complete,
        "stages_missed": [stage_name(stage) for stage in report.stages_missed],
        "edges": [[stage_name(a), stage_name(b), kind, count] for (a, b, kind), count in edges.items()],
        "edges_missed": [[stage_name(a), stage_name(b), kind] for a, b, kind in report.edges_missed],
        "violations": [
            {"law": one.name, "text": one.text, "story": one.story(), "test": one.test(report.space)}
            for one in report.violations
        ],
    }
