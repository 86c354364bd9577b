"""Go on with a run that stopped, wherever it stopped: at a limit, at a pause, at Ctrl-C, at a power cut.

Finished steps are folded from the journal and never run again. The one thing a journal can't know is whether a node
with effects that had begun had also done its work; the rule is that nobody guesses: the node's own `on_interrupted`
says whether to run it again with the same key, to ask a person, or to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from graph_agent.protocols import Context, GraphAgentError
from graph_agent.runtime.advance import move_to, said, step_at, stop_at_error
from graph_agent.runtime.errors import InDoubt, RunError
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph, Look, Node, Seen
from graph_agent.runtime.journal import Run
from graph_agent.runtime.limits import Meter
from graph_agent.runtime.run import NO_CONTEXT, arun_graph, keeping, run_graph
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)
Listener = Callable[[Event], None]


class Interrupted(GraphAgentError):
    """A node was interrupted, and its `on_interrupted` is "fail"."""


def resume(run: Run[S], ctx: Context = NO_CONTEXT, *, on_event: Listener | None = None, max_steps: int = 10_000) -> S:
    """Settle what is open, then run on until the run stops by itself; returns the state there.

    A run that stands at an end or a pause is returned as it is. Raises what `settle` and `run_graph` raise.
    """
    settle(run, ctx)
    return run_graph(run.graph, run.state, ctx, journal=run, on_event=on_event, max_steps=max_steps)


async def aresume(
    run: Run[S], ctx: Context = NO_CONTEXT, *, on_event: Listener | None = None, max_steps: int = 10_000
) -> S:
    """`resume` for graphs with `async` nodes."""
    settle(run, ctx)
    return await arun_graph(run.graph, run.state, ctx, journal=run, on_event=on_event, max_steps=max_steps)


def settle(run: Run[S], ctx: Context = NO_CONTEXT, *, also_paused: bool = False) -> S:
    """Before a run goes on: look at the world, decide on a node that was interrupted; returns where it stands then.

    At an end nothing is done, and at a pause only with `also_paused`, for whoever is about to answer. Raises `InDoubt`
    when a node with effects was interrupted, asks for a person, and the graph has no `on_doubt`; `NodeError` for one
    that fails without `on_error`.
    """
    graph, state = run.graph, run.state
    if state.stage in graph.ends or (state.stage in graph.pauses and not also_paused):
        return state
    if run.in_flight is not None:
        state = _interrupted(run, graph, state, str(run.in_flight["key"]))
    if graph.look is not None and state.stage not in graph.ends:
        state = _look(run, graph, graph.look, state, ctx)
    return state


def _interrupted(run: Run[S], graph: Graph[S], state: S, key: str) -> S:
    step = step_at(graph, state)
    assert isinstance(step.entry, Node)
    what = f"{step.stage} was interrupted (key {key}): it can't be told whether its effects happened"
    if step.entry.on_interrupted == "fail":
        try:
            return run.moved(stop_at_error(graph, state, Interrupted(what)), "failed")
        except RunError as error:
            raise InDoubt(f"{error}; the graph has no on_error to go to", stage=step.stage, key=key) from error
    if step.entry.on_interrupted == "retry":
        return state
    if graph.on_doubt is None:
        way_out = "look whether they did; give the graph an on_doubt pause, or the node on_interrupted='retry'"
        raise InDoubt(f"{what}; {way_out}", stage=step.stage, key=key)
    return run.moved(move_to(graph, state, graph.on_doubt, what), "doubt")


def _look(run: Run[S], graph: Graph[S], look: Look, state: S, ctx: Context) -> S:
    """Each problem is put before a person once: what they let pass, they have seen."""
    last = run.checked["problem"] if run.checked else ""
    asked = state.stage in graph.pauses and state.route_reason == last  # who answers that has it before them
    seen = _seen(look, state, keeping(ctx, run))
    let_pass = bool(last) and (run.answered_since or asked) and seen.problem == last
    run.looked(seen.facts, seen.problem, let_pass=let_pass)
    if not seen.problem or let_pass:
        return state
    return run.moved(move_to(graph, state, graph.on_doubt, seen.problem), "doubt")


def _seen(look: Look, state: Any, ctx: Context) -> Seen:
    account = Meter(metered=False)
    try:
        seen: Any = look.run(state, ctx.bind(_Looking(look), account, state))
    except Exception as error:  # noqa: BLE001  # the workflow's own: what can't be looked at is a problem
        return Seen(problem=f"the world can't be looked at: {said(error)}")
    finally:
        account.close()
    return seen if isinstance(seen, Seen) else Seen(problem=f"the look returned {seen!r} and no Seen")


class _Looking:
    """What a look may use, as a node declares it."""

    stage, model = "look", False

    def __init__(self, look: Look) -> None:
        self.tools = tuple(look.tools)
