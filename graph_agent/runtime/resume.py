"""Go on with a run that stopped, wherever it stopped: at a limit, at a pause, at Ctrl-C, at a power cut.

Finished steps are folded from the journal and never run again. The one thing a journal can't know is whether a node
with effects that had begun had also done its work; the rule is that nobody guesses: the node's own `on_interrupted`
says whether to run it again with the same key, to ask a person, or to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from graph_agent.protocols import Context, GraphAgentError
from graph_agent.runtime.advance import move_to, step_at, stop_at_error
from graph_agent.runtime.errors import InDoubt
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph, Node, Route
from graph_agent.runtime.journal import Run
from graph_agent.runtime.run import NO_CONTEXT, run_graph
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)


class Interrupted(GraphAgentError):
    """A node was interrupted, and its `on_interrupted` is "fail"."""


def resume(
    run: Run[S],
    ctx: Context = NO_CONTEXT,
    *,
    on_event: Callable[[Event], None] | None = None,
    max_steps: int = 10_000,
) -> S:
    """Settle what was in flight, then run on until the run stops by itself; returns the state there.

    A run that stands at an end or a pause is returned as it is. Raises `InDoubt` when a node with effects was
    interrupted, asks for a person, and the graph has no `on_doubt`; else what `run_graph` raises.
    """
    settle_doubt(run)
    return run_graph(run.graph, run.state, ctx, journal=run, on_event=on_event, max_steps=max_steps)


def settle_doubt(run: Run[S]) -> S:
    """Decide on a node that was interrupted, by the policy it declares. Returns where the run stands then."""
    flight, graph, state = run.in_flight, run.graph, run.state
    if flight is None:
        return state
    step = step_at(graph, state)
    assert isinstance(step.entry, Node)
    what = f"{step.stage} was interrupted (key {flight['key']}): it can't be told whether its effects happened"
    if step.entry.on_interrupted == "ask":
        return _ask(run, graph, state, step.stage, what, str(flight["key"]))
    if step.entry.on_interrupted == "fail":
        return run.moved(stop_at_error(graph, state, Interrupted(what)), "failed", step.stage)
    return state


def _ask(run: Run[S], graph: Graph[Any], state: S, stage: str, what: str, key: str) -> S:
    if graph.on_doubt is None:
        way_out = "look whether they did; give the graph an on_doubt pause, or the node on_interrupted='retry'"
        raise InDoubt(f"{what}; {way_out}", stage=stage, key=key)
    return run.moved(move_to(graph, state, Route(graph.on_doubt, what)), "doubt", stage)
