"""The meter: it counts what a visit calls, and ends a node that would spend more turns than the run has left.

One turn is one call of a model or of a metered tool, taken before the call is made, under a lock. The signal that ends
a node is no `Exception`: a node that catches everything it can doesn't catch this, so none can stretch its budget.
"""

from __future__ import annotations

from threading import Lock

from graph_agent.protocols import ModelUse, ToolDenied, ToolUse
from graph_agent.runtime.errors import ArgumentError


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
    refused = 0
    model_uses: tuple[ModelUse, ...] = ()
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
            self._check(fresh, turns)
            self.reserved -= turns - fresh
            self._take(fresh)
            self.turns += turns

    def reserve(self, turns: int) -> None:
        """Set turns aside; what is not used is not spent. Raises `BudgetSpent`."""
        if type(turns) is not int or turns < 0:
            raise ArgumentError(f"reserve({turns!r}): give a number of turns, 0 or more")
        with self._lock:
            self._use()
            self._check(turns, turns)
            self._take(turns)
            self.reserved += turns

    def release(self) -> None:
        """Give back what was reserved and not used, before another attempt."""
        with self._lock:
            self._take(-self.reserved)
            self.reserved = 0

    def asked_model(self, use: ModelUse) -> None:
        with self._lock:
            self.used = True
            self.model_uses = (*self.model_uses, use)
            if use.reply is not None:
                self.model_calls += 1
                self.tokens_in += use.reply.tokens_in
                self.tokens_out += use.reply.tokens_out

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

    def _check(self, fresh: int, wanted: int) -> None:
        if self.left is not None and fresh > self.left:
            self.refused = wanted  # remembered, should a node swallow the signal
            raise BudgetSpent(wanted)

    def _take(self, turns: int) -> None:
        if self.left is not None:
            self.left -= turns

    def _use(self) -> None:
        self.used = True
        if not self._open:
            raise ToolDenied("the visit that this context belongs to is over")
