"""One visit of one node: what it may spend, how often it is tried, and what becomes of what it returns or raises.

One turn is one call of a model or of a metered tool, taken before the call is made. The signal that ends a node without
turns is no `Exception`, so no node can stretch its budget: a visit ends in a next state, or in one typed error.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import perf_counter
from typing import Any, Generic, TypeVar

from graph_agent.protocols import Reply, ToolDenied, ToolUse
from graph_agent.runtime.advance import may_start, stop_at_error, stop_at_limit, take
from graph_agent.runtime.errors import ArgumentError, RunError
from graph_agent.runtime.events import Event, Journal, Kind
from graph_agent.runtime.graph import Graph, Step, stage_name
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)
Listener = Callable[[Event], None]


class BudgetSpent(BaseException):
    """The run has too few turns left for the next call. Caught by the loop alone."""

    def __init__(self, wanted: int) -> None:
        super().__init__(f"{wanted} turns wanted")
        self.wanted = wanted


class Meter:
    """The account of one visit: what it may still spend (`left`, None: anything), and what it did. Thread-safe.

    With `metered=False` calls are counted and take no turns.
    """

    left: int | None = None
    metered = True
    turns = 0
    reserved = 0
    model_calls = 0
    tokens_in = 0
    tokens_out = 0
    tool_uses: tuple[ToolUse, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, left: int | None = None, *, metered: bool = True) -> None:
        self.left, self.metered = left, metered
        self.used = False
        self._open = True
        self._lock = Lock()

    def charge(self, turns: int = 1) -> None:
        """First from what was reserved. Raises `BudgetSpent`."""
        with self._lock:
            self._use()
            if not self.metered:
                return
            fresh = max(0, turns - self.reserved)
            if self.left is not None and fresh > self.left:
                raise BudgetSpent(turns)
            self.reserved -= turns - fresh
            self._take(fresh)
            self.turns += turns

    def reserve(self, turns: int) -> None:
        """Set turns aside; what is not used is not spent. Raises `BudgetSpent`."""
        if type(turns) is not int or turns < 0:
            raise ArgumentError(f"reserve({turns!r}): give a number of turns, 0 or more")
        with self._lock:
            self._use()
            if self.left is not None and turns > self.left:
                raise BudgetSpent(turns)
            self._take(turns)
            self.reserved += turns

    def release(self) -> None:
        """Give back what was reserved and not used, before another attempt."""
        with self._lock:
            self._take(-self.reserved)
            self.reserved = 0

    def asked_model(self, reply: Reply) -> None:
        with self._lock:
            self.used = True
            self.model_calls += 1
            self.tokens_in += reply.tokens_in
            self.tokens_out += reply.tokens_out

    def called_tool(self, use: ToolUse) -> None:
        with self._lock:
            self.used = True
            self.tool_uses = (*self.tool_uses, use)

    def note(self, text: str) -> None:
        with self._lock:
            self.used = True
            self.notes = (*self.notes, text)

    def close(self) -> int:
        """End the visit: a thread left behind can spend nothing more. Returns the turns spent."""
        with self._lock:
            self._open = False
            return self.turns

    def _take(self, turns: int) -> None:
        if self.left is not None:
            self.left -= turns

    def _use(self) -> None:
        self.used = True
        if not self._open:
            raise ToolDenied("the visit that this context belongs to is over")


class Visit(Generic[S]):
    """A node's turn at the state. `after` is the state that follows, None until it is known.

    One object serves a whole run, because making one costs as much as a step. A node that may call something gets an
    account of its own, the others share a spare one until it is used.
    """

    def __init__(self, graph: Graph[S], tell: Listener | None) -> None:
        self.graph, self.tell = graph, tell
        self.started = 0.0
        self.account = self._spare = Meter()

    def begin(self, step: Step, state: S) -> None:
        """The next node's turn: over at once, no visit, when it could spend and all turns are spent."""
        self.step = step
        self.state = state
        self.after: S | None = None
        self.attempts = 1
        self.account = self._spare if step.metered and not step.calls else Meter(metered=step.metered)
        if self.tell is not None:
            self.started = perf_counter()
        if state.max_turns is not None and step.metered:
            self.account.left = state.max_turns - state.spent_turns
            if not may_start(self.graph, state):
                self.attempts = 0
                self._stop(started=False, wanted=1)

    def returned(self, patch: Any) -> None:
        """The node returned: take the step. Raises `PatchError` or `RouteError`."""
        turns = self._close() if self.step.calls or self.account.used else 0
        try:
            self.after = take(self.graph, self.step, self.state, patch, turns)
        except RunError as error:
            self._report("failed", error)
            raise
        if self.tell is not None:
            self._report("finished", None, patch)

    def raised(self, error: BaseException) -> None:
        """Try again, go where the table says, or raise `NodeError` or `LimitReached`; Ctrl-C is raised as it is."""
        if isinstance(error, BudgetSpent):
            self._stop(started=True, wanted=error.wanted)
        elif not isinstance(error, Exception):
            self._close()
            raise error
        elif self.attempts <= self.step.retry:
            self.attempts += 1
            self.account.release()
        else:
            self._fail(error)

    def _stop(self, *, started: bool, wanted: int) -> None:
        turns = self._close()
        try:
            self.after = stop_at_limit(self.graph, self.state, turns=turns, started=started, wanted=wanted)
        except RunError as error:
            self._report("limit", error)
            raise error from None
        self._report("limit", None)

    def _fail(self, error: Exception) -> None:
        try:
            self.after = stop_at_error(self.graph, self.state, error, turns=self._close())
        except RunError as raised:
            self._report("failed", raised)
            raise
        self._report("failed", error)

    def _close(self) -> int:
        if self.account is self._spare:
            self._spare = Meter()
        return self.account.close()

    def _report(self, kind: Kind, error: Exception | None, patch: Any = None) -> None:
        if self.tell is None:
            return
        ended = error if isinstance(error, RunError) else None
        state: Any = ended.state if ended else self.after
        account = self.account
        self.tell(
            Event(
                kind=kind,
                step=state.steps,
                stage=self.step.stage,
                to=None if ended else stage_name(state.stage),
                reason=str(ended) if ended else state.route_reason,
                state=state,
                patch=None if patch is None else dict(patch),
                turns=account.turns,
                model_calls=account.model_calls,
                tokens_in=account.tokens_in,
                tokens_out=account.tokens_out,
                tool_uses=account.tool_uses,
                notes=account.notes,
                attempts=self.attempts,
                seconds=perf_counter() - self.started,
                error=error,
            )
        )


def teller(journal: Journal | None, on_event: Listener | None) -> Listener | None:
    """Who is told of each step: the journal, then the listener."""
    if journal is None:
        return on_event
    if on_event is None:
        return journal.write

    def tell(event: Event) -> None:
        journal.write(event)
        on_event(event)

    return tell
