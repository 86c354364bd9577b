"""Watch a graph run on a scripted model and pretended tools: no disk, no network, no test is run.

The graph, the routes, the policy and all checks are the real ones; only what the model answers and the tools return is
written down. In the repair the first correction is wrong; in the research a result without a citation is tried again,
a plan fails as a whole, and the next one answers.
"""

from __future__ import annotations

import argparse
from typing import Any

from graph_agent.cli.exits import DONE, WAITING
from graph_agent.cli.repair_demo import simulated_repair
from graph_agent.cli.research_demo import simulated_research
from graph_agent.cli.research_desk import answer_text
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.run import run_graph
from graph_agent.view.rounds import round_line
from graph_agent.view.steps import steps_table
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.research.graph import GRAPH as RESEARCH


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workflow", nargs="?", choices=("repair", "research"), default="repair", help="which graph (repair)")


def run(options: argparse.Namespace) -> int:
    if options.workflow == "research":
        final, events = _ran(RESEARCH, *simulated_research())
        print("\n".join(map(round_line, events)))
        print(f"\n{answer_text(final.answer)}")
    else:
        state, ctx = simulated_repair()
        final, events = _ran(REPAIR, state, ctx)
        print(steps_table(events, before=state))
    print(f"\n{final.stage}: {final.route_reason}")
    return DONE if stage_name(final.stage) == "done" else WAITING


def _ran(graph: Graph[Any], state: Any, ctx: Any) -> tuple[Any, list[Event]]:
    events: list[Event] = []
    with ctx.llm:
        return run_graph(graph, state, ctx, on_event=events.append), events
