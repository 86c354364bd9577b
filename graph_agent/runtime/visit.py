"""One visit of one node: what it may use, how often it is tried, and what becomes of what it returns or raises.

A `Visit` is used in a `with` block that holds the call and nothing else, so that the plain loop and the asynchronous one
share everything but the `await`. Inside the block a node may raise anything; outside of it there is either a next
state or one typed error that carries the state.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from types import TracebackType
from typing import Any, Generic, TypeVar

from graph_agent.protocols import Context
from graph_agent.runtime.advance import advance, may_start, step_at, stop_at_error, stop_at_limit
from graph_agent.runtime.errors import ContextError, RunError
from graph_agent.runtime.events import Event, Journal, Kind
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.limits import BudgetSpent, Meter, Unmetered
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)


class Visit(Generic[S]):
    """A node's turn at the state. `open` until it is decided how the visit ends; `settle` then gives the next state."""

    __slots__ = (
        "after",
        "attempts",
        "ctx",
        "error",
        "graph",
        "journal",
        "kind",
        "meter",
        "on_event",
        "open",
        "patch",
        "run",
        "started",
        "state",
        "step",
    )

    def __init__(
        self,
        graph: Graph[S],
        state: S,
        ctx: Context,
        journal: Journal | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.graph, self.state, self.journal, self.on_event = graph, state, journal, on_event
        self.step = step = step_at(graph, state)
        self.run: Callable[[S, Context], Any] = step.run  # type: ignore[assignment]  # the loop visits nodes only
        self.patch: Any = None
        self.after: S = state
        self.error: BaseException | None = None
        self.kind: Kind = "finished"
        self.attempts = 1
        self.meter = _meter(step.entry.metered, state)  # type: ignore[union-attr]
        self.started = perf_counter()
        self.open = may_start(graph, state)
        if self.open:
            self._bind(ctx)
        else:
            self.attempts = 0
            self._stop(started=False, wanted=1)

    def __enter__(self) -> Visit[S]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        """Decide what the attempt came to. What is neither an error of the node nor the budget's signal goes through."""
        if error is None:
            self._finish()
        elif isinstance(error, BudgetSpent):
            self._stop(started=True, wanted=error.wanted)
        elif not isinstance(error, Exception):
            self.meter.close()
            return False
        elif self.attempts <= self.step.retry:
            self.attempts += 1
        else:
            self._fail(error)
        return True

    def settle(self) -> S:
        """Report the step, then give the next state, or raise what the visit ended with."""
        self.meter.close()
        if self.journal is not None or self.on_event is not None:
            event = self._event()
            if self.journal is not None:
                self.journal.write(event)
            if self.on_event is not None:
                self.on_event(event)
        if isinstance(self.error, RunError):
            raise self.error
        return self.after

    def _bind(self, ctx: Context) -> None:
        try:
            self.ctx = ctx.bind(self.step, self.meter, f"{self.state.task_id}:{self.step.stage}:{self.state.steps + 1}")
        except ContextError as error:
            self._fail(error)

    def _finish(self) -> None:
        self.open = False
        try:
            self.after = advance(self.graph, self.state, self.patch, turns=self.meter.turns)
        except RunError as error:
            self._end("failed", error)

    def _stop(self, *, started: bool, wanted: int) -> None:
        try:
            self.after = stop_at_limit(self.graph, self.state, turns=self.meter.turns, started=started, wanted=wanted)
        except RunError as error:
            self._end("limit", error)
        else:
            self._end("limit", None)

    def _fail(self, error: Exception) -> None:
        try:
            self.after = stop_at_error(self.graph, self.state, error, turns=self.meter.turns)
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
            tool_uses=tuple(meter.tool_uses),
            notes=tuple(meter.notes),
            attempts=self.attempts,
            seconds=perf_counter() - self.started,
            error=self.error,
        )


def _meter(metered: bool, state: GraphState) -> Meter:
    if not metered:
        return Unmetered()
    return Meter(None if state.max_turns is None else max(0, state.max_turns - state.spent_turns))
