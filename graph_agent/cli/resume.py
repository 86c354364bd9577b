"""Go on with a run that stopped: at Ctrl-C, at a crash, at a limit, at the last fuse.

Finished steps are not run again. A run that is over is told once more, and one that waits for a person is not moved:
what it asks is printed with the commands that answer it; --turns, --retries, --rounds and --replans are such an
answer. The policy is the one that the run began with. Exit codes as of repair and research.
"""

from __future__ import annotations

import argparse
from typing import Any

from graph_agent.cli.kept import add_run_options, kept_run
from graph_agent.cli.models import add_model_options
from graph_agent.cli.session import Session, session_of
from graph_agent.cli.ways import model_failed
from graph_agent.protocols import Context
from graph_agent.runtime.answer import pause_id
from graph_agent.runtime.journal import Run


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--turns", type=int, metavar="N", help="allow so many calls in all")
    for name in ("retries", "rounds", "replans"):
        kind = "a repair" if name == "retries" else "a research"
        parser.add_argument(
            f"--{name}", type=int, metavar="N", help=f"of {kind}: allow so many, where a person is asked"
        )
    add_ways_of_going_on(parser)


def add_ways_of_going_on(parser: argparse.ArgumentParser) -> None:
    add_model_options(parser, default=None)
    parser.add_argument("--apply", action="store_true", help="bring a verified patch back to the workspace")
    parser.add_argument("--quiet", action="store_true", help="no line a step")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    session, state = session_of(options, kept)
    graph = session.desk.graph
    patch = _patch(options, session, state)
    if patch is None and (state.stage in graph.ends or state.stage in graph.pauses):
        return session.stay(state, kept.dropped)
    llm = session.desk.model(state)

    def begin(run: Run[Any], ctx: Context) -> None:
        if state.stage in graph.pauses:
            session.answer(run, ctx, patch or {}, pause_id(state))
            return
        if patch:
            session.raise_limit(run, patch)
        session.settle(run, ctx)

    return session.go_on(Run.open(kept.folder, graph), llm, begin)


def _patch(options: argparse.Namespace, session: Session, state: Any) -> dict[str, Any] | None:
    """The answer that the options are at a pause; None for none, {} where only the model is to be asked again."""
    patch = session.desk.limits()
    again = model_failed(session.desk.graph, state) and bool(options.model or options.model_name)
    return patch if patch or again else None
