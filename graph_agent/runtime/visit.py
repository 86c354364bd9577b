"""One visit of one node: what it may use, how often it is tried, and what becomes of what it returns or raises.

The plain loop and the asynchronous one hold the call and nothing else, so they share all of this but the `await`. The
rule: a visit ends in a next state, or in one typed error that carries the state.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Generic, TypeVar

from graph_agent.protocols import visit_key
from graph_agent.runtime.advance import may_start, stop_at_error, stop_at_limit, take
from graph_agent.runtime.errors import RunError
from graph_agent.runtime.events import Event, Journal, Kind, event_of
from graph_agent.runtime.graph import Graph, Step, stage_name
from graph_agent.runtime.limits import BudgetSpent, Meter
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)
Listener = Callable[[Event], None]


class Visit(Generic[S]):
    """A node's turn at the state. `after` is the state that follows, None until it is known.

    One object serves a whole run, because making one costs as much as a step. A node that may call something gets an
    account of its own, the others share a spare one until it is used.
    """

    def __init__(self, graph: Graph[S], journal: Journal | None, on_event: Listener | None) -> None:
        self.graph, self.journal, self.tell = graph, journal, _teller(journal, on_event)
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
                return
        if step.effects and self.journal is not None:
            self.journal.started(step.stage, state, visit_key(state, step.stage))

    def returned(self, patch: Any) -> None:
        """The node returned: take the step. Raises `PatchError` or `RouteError`."""
        if self.account.refused:  # the node caught the signal: it is stopped all the same
            self._stop(started=True, wanted=self.account.refused)
            return
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
        if isinstance(error, BudgetSpent) or (self.account.refused and isinstance(error, Exception)):
            self._stop(started=True, wanted=self.account.refused)
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
        told: dict[str, Any] = {
            "kind": kind,
            "step": state.steps,
            "stage": self.step.stage,
            "to": None if ended else stage_name(state.stage),
            "reason": str(ended) if ended else state.route_reason,
            "state": state,
            "before": self.state,
            "patch": None if patch is None else {**patch},
            "turns": account.turns,
            "attempts": self.attempts,
            "seconds": perf_counter() - self.started,
        }
        if error is not None:
            told["error"] = error
        if account.used:
            told |= {name: getattr(account, name) for name in _USED}
        self.tell(event_of(told))


_USED = ("model_calls", "tokens_in", "tokens_out", "model_uses", "tool_uses", "notes")


def _teller(journal: Journal | None, on_event: Listener | None) -> Listener | None:
    """Who is told of each step: the journal, then the listener."""
    if journal is None:
        return on_event
    if on_event is None:
        return journal.write

    def tell(event: Event) -> None:
        journal.write(event)
        on_event(event)

    return tell
