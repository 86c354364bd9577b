"""One visit of one node: what it may use, how often it is tried, and what becomes of what it returns or raises.

The plain loop and the asynchronous one hold the call and nothing else, so they share all of this but the `await`. A
node may raise what it likes; what comes out of a visit is either a next state or one typed error that carries the state.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Generic, TypeVar

from graph_agent.protocols import Context
from graph_agent.runtime.advance import advance, may_start, stop_at_error, stop_at_limit
from graph_agent.runtime.errors import RunError
from graph_agent.runtime.events import Event, Journal, Kind
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.limits import BudgetSpent, Meter, Unmetered
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)


class Visit(Generic[S]):
    """A node's turn at the state. `open` until it is decided how the visit ends; `settle` then gives the next state."""

    open = True
    attempts = 1
    kind: Kind = "finished"
    error: BaseException | None = None
    patch: Any = None

    def __init__(self, graph: Graph[S], state: S, ctx: Context, tell: Callable[[Event], None] | None) -> None:
        step = graph.steps[state.stage]
        limit = state.max_turns
        self.graph, self.state, self.step, self.tell = graph, state, step, tell
        self.run: Callable[[S, Context], Any] = step.run  # type: ignore[assignment]  # the loop visits nodes only
        self.after = state
        self.meter = meter = (
            Meter(None if limit is None else limit - state.spent_turns) if step.metered else Unmetered()
        )
        self.ctx = ctx.bind(step, meter, f"{state.task_id}:{step.stage}:{state.steps + 1}")
        self.started = perf_counter() if tell else 0.0
        if limit is not None and not may_start(graph, state):
            self.attempts = 0
            self._stop(started=False, wanted=1)

    def returned(self, patch: Any) -> None:
        """The node returned: take the step."""
        self.open, self.patch = False, patch
        try:
            self.after = advance(self.graph, self.state, patch, turns=self.meter.close())
        except RunError as error:
            self._end("failed", error)

    def raised(self, error: BaseException) -> None:
        """The node raised: try again, go where the table says, or end with a typed error.

        What is neither an error of the node nor the budget's signal (Ctrl-C, say) is raised again as it is.
        """
        if isinstance(error, BudgetSpent):
            self._stop(started=True, wanted=error.wanted)
        elif not isinstance(error, Exception):
            self.meter.close()
            raise error
        elif self.attempts <= self.step.retry:
            self.attempts += 1
        else:
            self._fail(error)

    def settle(self) -> S:
        """Report the step, then give the next state, or raise what the visit ended with."""
        if self.tell is not None:
            self.tell(self._event())
        if self.error is not None and isinstance(self.error, RunError):
            raise self.error
        return self.after

    def _stop(self, *, started: bool, wanted: int) -> None:
        try:
            self.after = stop_at_limit(self.graph, self.state, turns=self.meter.close(), started=started, wanted=wanted)
        except RunError as error:
            self._end("limit", error)
        else:
            self._end("limit", None)

    def _fail(self, error: Exception) -> None:
        try:
            self.after = stop_at_error(self.graph, self.state, error, turns=self.meter.close())
        except RunError as raised:
            self._end("failed", raised)
        else:
            self._end("failed", error)

    def _end(self, kind: Kind, error: BaseException | None) -> None:
        self.open, self.kind, self.error = False, kind, error
        if isinstance(error, RunError):
            self.after = error.state

    def _event(self) -> Event:
        meter, stopped = self.meter, isinstance(self.error, RunError)
        return Event(
            kind=self.kind,
            step=self.after.steps,
            stage=self.step.stage,
            to=None if stopped else stage_name(self.after.stage),
            reason=str(self.error) if stopped else self.after.route_reason,
            state=self.after,
            patch=self.patch if self.kind == "finished" else None,
            turns=meter.turns,
            model_calls=meter.model_calls,
            tokens_in=meter.tokens_in,
            tokens_out=meter.tokens_out,
            tool_uses=meter.tool_uses,
            notes=meter.notes,
            attempts=self.attempts,
            seconds=perf_counter() - self.started,
            error=self.error,
        )


def teller(journal: Journal | None, on_event: Callable[[Event], None] | None) -> Callable[[Event], None] | None:
    """Who is told of each step: the journal first, then the listener; None when nobody listens."""
    if journal is None:
        return on_event
    if on_event is None:
        return journal.write

    def tell(event: Event) -> None:
        journal.write(event)
        on_event(event)

    return tell
