"""Run the node of one step again, on the state that it had and with what models and tools had answered, and compare.

Nothing outside is touched: no model is asked and no tool is called. For steps that asked any, the run must have been
made with GRAPH_AGENT_RECORD=1. Exit codes: 0 the same, 1 something differs.
"""

from __future__ import annotations

import argparse
from typing import Any

from graph_agent.cli.desk import desk_of
from graph_agent.cli.exits import DONE, FAILED
from graph_agent.cli.kept import add_run_options, kept_run
from graph_agent.cli.printing import print_json, visible
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.replay import replay_step


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--at", type=int, required=True, metavar="N", help="the step")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    graph, policy = kept.graph, desk_of(options, kept).policy
    found = replay_step(kept.records, Blobs(kept.folder / "blobs"), graph, options.at, policy=policy)
    if options.json:
        data: dict[str, Any] = {"run": kept.folder.name, "step": found.step, "stage": found.stage}
        print_json(data | {"same": not found.differences, "differences": list(found.differences)})
    elif found.differences:
        print(visible(f"step {found.step}, {found.stage}, is no longer the same:"))
        print(visible("\n".join(f"  {one}" for one in found.differences)))
    else:
        print(f"step {found.step}, {found.stage}: the same")
    return FAILED if found.differences else DONE
