"""The books of a fan-out: which job waits, which runs, what is due, and what became of each.

`Batch` has no thread, no lock and no clock of its own: `fanout.py` drives it, once with threads and once with tasks,
and tells it the time. The rule kept here: a job's outcome is final once it is closed, so whatever comes later is
dropped, and whoever looks at the books first closes what is due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from sys import float_info
from threading import TIMEOUT_MAX
from time import monotonic
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

from graph_agent.protocols import GraphAgentError, ToolDenied
from graph_agent.runtime.errors import nearest

__all__ = ["Batch", "Cancelled", "Entry", "FanOutError", "OnError", "OnTimeout", "Outcome", "Rules", "Token"]

T = TypeVar("T")
Status: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
OnError: TypeAlias = Literal["collect", "fail_fast"]
OnTimeout: TypeAlias = Literal["collect", "cancel_rest"]


class FanOutError(GraphAgentError, ValueError):
    """A fan-out that cannot be started as it was asked for. No job has run."""


class Cancelled(GraphAgentError):
    """Raised by `Token.raise_if_cancelled`: nobody waits for this job any more."""


class Token:
    """What a job looks at now and then to learn whether it is still wanted, and how long it may take."""

    def __init__(self) -> None:
        self._deadline = inf
        self._why = ""

    @property
    def cancelled(self) -> bool:
        return bool(self._why) or monotonic() >= self._deadline

    @property
    def time_left(self) -> float | None:
        """Seconds until the job is given up, 0.0 when it has been, None when nothing limits it."""
        if self._why:
            return 0.0
        return None if self._deadline == inf else max(0.0, self._deadline - monotonic())

    def raise_if_cancelled(self) -> None:
        if self.cancelled:
            raise Cancelled(f"this job is to stop: {self._why or 'it ran past its time'}")

    def _cancel(self, why: str) -> None:
        self._why = self._why or why


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[T]):
    """What came of one job: a `value` when ok, the `error` that it raised, or neither.

    "timeout": it was running when its time, or that of the whole, was up. "cancelled": it was not started, or was
    given up, because of what happened to others; or it raised `Cancelled` itself.
    """

    status: Status
    value: T | None = None
    error: Exception | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the caller asked for, checked. Times are in seconds; None is no limit."""

    workers: int
    timeout: float | None
    job_timeout: float | None
    on_error: OnError
    on_timeout: OnTimeout

    def __post_init__(self) -> None:
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 1:
            raise FanOutError(f"workers is {self.workers!r}: give a whole number, 1 or more")
        for name, seconds in (("timeout", self.timeout), ("job_timeout", self.job_timeout)):
            if seconds is not None and not _is_span(seconds):
                raise FanOutError(
                    f"{name} is {seconds!r}: give a finite number of seconds above 0, or None for no limit"
                )
        for name, word, allowed in (
            ("on_error", self.on_error, get_args(OnError)),
            ("on_timeout", self.on_timeout, get_args(OnTimeout)),
        ):
            if word not in allowed:
                raise FanOutError(f"{name} is {word!r}{nearest(word, allowed)}; it may be {' or '.join(allowed)}")


def _is_span(seconds: object) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= float_info.max


@dataclass(eq=False, slots=True)
class Entry(Generic[T]):
    """One job on its way. `outcome` is "cancelled" until something better is known, and final once not `open`."""

    index: int
    token: Token = field(default_factory=Token)
    outcome: Outcome[T] = field(default_factory=lambda: Outcome(status="cancelled"))
    open: bool = True
    halt: Callable[[], object] | None = None  # how to interrupt it; a thread has no way

    def close(self, outcome: Outcome[T], why: str = "") -> None:
        self.open, self.outcome = False, outcome
        if why:
            self.token._cancel(why)
            if self.halt is not None:
                self.halt()


class Batch(Generic[T]):
    """The books of one fan-out: what waits, what runs, what is due. No thread, no lock, and no clock of its own."""

    def __init__(self, jobs: int, rules: Rules, now: float) -> None:
        self._entries: list[Entry[T]] = [Entry(index) for index in range(jobs)]
        self._rules = rules
        self._waiting = deque(self._entries)
        self._running: dict[int, Entry[T]] = {}  # in the order of their starts, so of their deadlines too
        self._deadline = inf if rules.timeout is None else now + rules.timeout
        self._signals: dict[int, BaseException] = {}
        self.given_up = 0

    @property
    def places(self) -> int:
        """How many workers there is work for."""
        return min(self._rules.workers, len(self._running) + len(self._waiting))

    @property
    def finished(self) -> bool:
        return not self._waiting and not self._running

    def take(self, now: float) -> Entry[T] | None:
        """The next job, counted as running from now; None when none waits or there is no room."""
        self.expire(now)
        if not self._waiting or len(self._running) >= self._rules.workers:
            return None
        entry = self._waiting.popleft()
        entry.token._deadline = self._due(now)
        self._running[entry.index] = entry
        return entry

    def settle(self, entry: Entry[T], came: Outcome[T] | BaseException, now: float) -> bool:
        """Note what a job brought. False when the job had been given up, or has ended the whole."""
        self.expire(now)
        if isinstance(came, BaseException) and (isinstance(came, ToolDenied) or not isinstance(came, Exception)):
            self._signals[entry.index] = came
            self.stop("another job ended the whole fan-out")
        if not entry.open:
            return False
        del self._running[entry.index]
        entry.close(_outcome_of(came))
        if entry.outcome.status == "error" and self._rules.on_error == "fail_fast":
            self.stop("another job failed")
        return True

    def expire(self, now: float) -> None:
        """Give up what is due. Whoever looks at the books first does it, so that only the clock decides."""
        late = [entry for entry in self._running.values() if entry.token._deadline <= now]
        for entry in late:
            del self._running[entry.index]
            entry.close(Outcome(status="timeout"), "it ran past its time")
        self.given_up += len(late)
        if now >= self._deadline:
            self.stop("the time for the whole fan-out is up")
        elif late and self._rules.on_timeout == "cancel_rest":
            self.stop("another job ran past its time")

    def stop(self, why: str) -> None:
        """Cancel all that has not ended."""
        for entry in (*self._running.values(), *self._waiting):
            entry.close(entry.outcome, why)
        self._running.clear()
        self._waiting.clear()

    def pause(self, now: float) -> float | None:
        """Seconds until something can fall due: a job that starts meanwhile is due later than what runs now."""
        first = next(iter(self._running.values()), None)
        due = self._due(now) if first is None else first.token._deadline
        return None if due == inf else min(max(0.0, due - now), TIMEOUT_MAX)

    def outcomes(self) -> tuple[Outcome[T], ...]:
        if self._signals:
            raise self._signals[min(self._signals)]
        return tuple(entry.outcome for entry in self._entries)

    def _due(self, now: float) -> float:
        return self._deadline if self._rules.job_timeout is None else min(self._deadline, now + self._rules.job_timeout)


def _outcome_of(came: Outcome[T] | BaseException) -> Outcome[T]:
    if isinstance(came, Cancelled):
        return Outcome(status="cancelled")
    if isinstance(came, Exception):
        return Outcome(status="error", error=came)
    assert isinstance(came, Outcome)  # a signal has closed its entry
    return came
