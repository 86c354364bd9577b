"""The loop. A run is: while the state stands at a node, run the node and take the step.

All that decides is elsewhere: the table says which node (`graph.py`), `advance.py` what follows, `visit.py` what may
be spent. The rule: an event is handed to the journal before the next node starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import isawaitable
from typing import TypeVar

from graph_agent.protocols import Context
from graph_agent.runtime.advance import check_state
from graph_agent.runtime.errors import ArgumentError, RunError, StepLimitReached
from graph_agent.runtime.events import Event, Journal
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.state import GraphState
from graph_agent.runtime.texts import Texts
from graph_agent.runtime.visit import Visit

S = TypeVar("S", bound=GraphState)
Listener = Callable[[Event], None]

NO_CONTEXT = Context()


def run_graph(
    graph: Graph[S],
    state: S,
    ctx: Context = NO_CONTEXT,
    *,
    journal: Journal | None = None,
    on_event: Listener | None = None,
    max_steps: int = 10_000,
) -> S:
    """Run a graph until it stops, at an end or a pause, and return the state there.

    `max_steps` is a fuse, not a way to stop. Raises `RunError`s that carry the state: `StateError`, `PatchError`,
    `RouteError`, `NodeError` (no `on_error`), `LimitReached` (no `on_limit`), `StepLimitReached`.
    """
    check_state(graph, state)
    ctx, fuse, visit = keeping(ctx, journal), _fuse(max_steps), Visit(graph, journal, on_event)
    while step := graph.runs_on.get(state.stage):
        if not fuse:
            raise _burnt(state)
        fuse -= 1
        visit.begin(step, state)
        while visit.after is None:  # again while the node has retries left
            node = step.run
            try:
                patch = node(state, ctx.bind(step, visit.account, state))
            except BaseException as error:  # noqa: BLE001  # sorted out there
                visit.raised(error)
            else:
                visit.returned(patch)
        state = visit.after
    return state


async def arun_graph(
    graph: Graph[S],
    state: S,
    ctx: Context = NO_CONTEXT,
    *,
    journal: Journal | None = None,
    on_event: Listener | None = None,
    max_steps: int = 10_000,
) -> S:
    """`run_graph` for graphs with `async` nodes. Plain nodes may stand among them."""
    check_state(graph, state)
    ctx, fuse, visit = keeping(ctx, journal), _fuse(max_steps), Visit(graph, journal, on_event)
    while step := graph.runs_on.get(state.stage):
        if not fuse:
            raise _burnt(state)
        fuse -= 1
        visit.begin(step, state)
        while visit.after is None:
            node = step.run
            try:
                patch = node(state, ctx.bind(step, visit.account, state))
                if isawaitable(patch):
                    patch = await patch
            except BaseException as error:  # noqa: BLE001
                visit.raised(error)
            else:
                visit.returned(patch)
        state = visit.after
    return state


def stream(
    graph: Graph[S],
    state: S,
    ctx: Context = NO_CONTEXT,
    *,
    journal: Journal | None = None,
    max_steps: int = 10_000,
) -> Iterator[Event]:
    """The same run as an iterator: one event a step. The last `event.state` is the result."""
    check_state(graph, state)
    ctx, fuse = keeping(ctx, journal), _fuse(max_steps)
    while state.stage in graph.runs_on:
        if not fuse:
            raise _burnt(state)
        fuse -= 1
        events: list[Event] = []
        try:
            state = run_graph(graph, state, ctx, journal=journal, on_event=events.append, max_steps=1)
        except StepLimitReached as one_step:
            state = one_step.state
        except RunError:
            yield from events
            raise
        yield from events


def keeping(ctx: Context, journal: Journal | None) -> Context:
    """The context whose `keep` and `read` lead to the journal, unless its maker said where they lead."""
    if ctx.keep is not NO_CONTEXT.keep:
        return ctx
    if journal is None:
        texts = Texts()
        return replace(ctx, keep=texts.keep, read=texts.read)
    return replace(ctx, keep=lambda text: journal.keep(text), read=lambda ref: journal.read(ref))


def _fuse(max_steps: int) -> int:
    if type(max_steps) is not int or max_steps < 0:
        raise ArgumentError(f"max_steps is {max_steps!r}: give a number of visits, 0 or more")
    return max_steps


def _burnt(state: GraphState) -> StepLimitReached:
    text = f"max_steps of this call are made, before {stage_name(state.stage)} and after {state.steps} steps in all"
    return StepLimitReached(f"{text}; hand the error's state back to run_graph to go on", state=state)
