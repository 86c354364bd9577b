"""Several jobs at once inside one node: `fan_out` on threads, `afan_out` on an event loop, with one contract.

A thread can't be killed: a job past its time, or no longer wanted, is told by its `Token` and given up, and what it
brings later is dropped. The rule: a spent budget or a denied tool is nobody's outcome, it is raised in the caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, iscoroutine, signature
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, get_args

from graph_agent.protocols import GraphAgentError, ToolDenied
from graph_agent.runtime.jsontext import quote

if TYPE_CHECKING:
    from asyncio import Task

T = TypeVar("T")
Status: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
OnError: TypeAlias = Literal["collect", "fail_fast"]
OnTimeout: TypeAlias = Literal["collect", "cancel_rest"]

_UNWIND = 1.0  # seconds that cancelled tasks have for their clean-up
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class FanOutError(GraphAgentError, ValueError):
    """A fan-out that cannot be started as asked. No job has run."""


class Token:
    """Tells a job whether it is still wanted, and how long it may take."""

    def __init__(self) -> None:
        self._deadline = inf

    @property
    def time_left(self) -> float:
        """Seconds until the job is given up: 0.0 when it has been, infinity without a limit."""
        return max(0.0, self._deadline - monotonic())

    @property
    def cancelled(self) -> bool:
        return self.time_left == 0


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[T]):
    """What came of one job: a `value` when ok, the `error` that it raised, or neither.

    "timeout": its time, or that of the whole, was up. "cancelled": not started, or given up because of others.
    """

    status: Status
    value: T | None = None
    error: Exception | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def fan_out(
    jobs: Iterable[Callable[[], T] | Callable[[Token], T]],
    *,
    workers: int,
    timeout: float | None = None,
    job_timeout: float | None = None,
    on_error: OnError = "collect",
    on_timeout: OnTimeout = "collect",
) -> tuple[Outcome[T], ...]:
    """Run the jobs on at most `workers` threads and return one outcome a job, in the order of `jobs`.

    A job that needs an argument gets its `Token`. `timeout` is seconds for the whole, `job_timeout` for each job from
    its own start. With "fail_fast" the first error cancels all that has not ended, with "cancel_rest" the first timeout
    does; with "collect" the others go on.

    Raises `FanOutError` before anything runs. A job's `ToolDenied`, or what is no `Exception` (a spent budget), cancels
    the rest and is raised here.
    """
    batch: _Batch[T] = _Batch([_Job(job) for job in jobs], workers, timeout, job_timeout, on_error, on_timeout)
    ended: SimpleQueue[tuple[_Job[T], Outcome[T] | BaseException, float]] = SimpleQueue()

    def work(job: _Job[T]) -> None:
        ended.put((job, _attempt(job), monotonic()))

    try:
        while batch.open():
            for job in batch.take():  # daemons: an executor's threads are waited for at exit
                Thread(target=copy_context().run, args=(work, job), name="fan_out", daemon=True).start()
            with suppress(Empty):
                batch.settle(*ended.get(timeout=batch.pause()))
    finally:
        batch.stop()
    return tuple(job.outcome for job in batch.jobs)


async def afan_out(
    jobs: Iterable[Callable[[], Awaitable[T]] | Callable[[Token], Awaitable[T]]],
    *,
    workers: int,
    timeout: float | None = None,
    job_timeout: float | None = None,
    on_error: OnError = "collect",
    on_timeout: OnTimeout = "collect",
) -> tuple[Outcome[T], ...]:
    """`fan_out` for jobs that are awaited. One that is given up is cancelled, with a second for its clean-up."""
    import asyncio  # the threads do without

    batch: _Batch[T] = _Batch([_Job(job) for job in jobs], workers, timeout, job_timeout, on_error, on_timeout)
    tasks: dict[Task[Outcome[T] | BaseException], _Job[T]] = {}
    try:
        while batch.open():
            tasks.update({asyncio.create_task(_attempt_task(job)): job for job in batch.take()})
            ended, _ = await asyncio.wait(tasks, timeout=batch.pause(), return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in tasks if task in ended]:
                batch.settle(tasks.pop(task), task.result(), monotonic())
            batch.expire(monotonic())
            _cancel_given_up(tasks)
    finally:
        batch.stop()
        _cancel_given_up(tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=_UNWIND)
    return tuple(job.outcome for job in batch.jobs)


class _Job(Generic[T]):
    def __init__(self, job: Callable[..., Any]) -> None:
        self.token = Token()
        self.call = partial(job, self.token) if _needs_token(job) else job
        self.outcome: Outcome[T] = Outcome(status="cancelled")


@dataclass(eq=False)
class _Batch(Generic[T]):
    """The books of one fan-out, kept by the caller's thread alone."""

    jobs: list[_Job[T]]
    workers: int
    timeout: float | None
    job_timeout: float | None
    on_error: OnError
    on_timeout: OnTimeout

    def __post_init__(self) -> None:
        if type(self.workers) is not int or self.workers < 1:
            raise FanOutError(f"workers is {self.workers!r}: give a whole number, 1 or more")
        for seconds in (self.timeout, self.job_timeout):
            if seconds is not None and (type(seconds) not in (int, float) or not 0 < seconds < inf):
                raise FanOutError(f"a timeout is {seconds!r}: give seconds above 0, or None for no limit")
        for word, allowed in ((self.on_error, get_args(OnError)), (self.on_timeout, get_args(OnTimeout))):
            if word not in allowed:
                raise FanOutError(f"no policy is {word!r}: use {' or '.join(allowed)}")
        self.deadline = monotonic() + (self.timeout or inf)
        self.waiting, self.running = deque(self.jobs), list[_Job[T]]()

    def open(self) -> bool:
        self.expire(monotonic())
        return bool(self.waiting or self.running)

    def take(self) -> Iterator[_Job[T]]:
        while self.waiting and len(self.running) < self.workers:
            job = self.waiting.popleft()
            job.token._deadline = min(self.deadline, monotonic() + (self.job_timeout or inf))
            self.running.append(job)
            yield job

    def pause(self) -> float:
        due = min(job.token._deadline for job in self.running)
        return min(max(0.0, due - monotonic()), 3600.0)  # no lock takes infinity

    def settle(self, job: _Job[T], came: Outcome[T] | BaseException, when: float) -> None:
        """Note what a job brought, unless it was given up. A signal is raised all the same."""
        if isinstance(came, ToolDenied) or not isinstance(came, Outcome | Exception):
            raise came
        self.expire(when)
        if job not in self.running:
            return
        self.running.remove(job)
        job.outcome = came if isinstance(came, Outcome) else Outcome(status="error", error=came)
        if job.outcome.error is not None and self.on_error == "fail_fast":
            self.stop()

    def expire(self, now: float) -> None:
        """Give up what is due."""
        late = [job for job in self.running if job.token._deadline <= now]
        for job in late:
            self.running.remove(job)
            job.outcome = Outcome(status="timeout")
        if now >= self.deadline or (late and self.on_timeout == "cancel_rest"):
            self.stop()

    def stop(self) -> None:
        for job in self.running:
            job.token._deadline = -inf
        self.running.clear()
        self.waiting.clear()


def _attempt(job: _Job[T]) -> Outcome[T] | BaseException:
    try:
        value = job.call()
        if iscoroutine(value):
            value.close()
            raise FanOutError("a job returned a coroutine, which nobody awaits here: use afan_out")
    except BaseException as raised:  # noqa: BLE001 - the batch decides, and raises what is not the job's own
        return raised
    return Outcome(status="ok", value=value)


async def _attempt_task(job: _Job[T]) -> Outcome[T] | BaseException:
    from asyncio import CancelledError

    try:
        return Outcome(status="ok", value=await job.call())
    except CancelledError:
        return Outcome(status="cancelled")
    except BaseException as raised:  # noqa: BLE001  # as above
        return raised


def _cancel_given_up(tasks: Mapping[Task[Any], _Job[Any]]) -> None:
    for task, job in tasks.items():
        if job.token.cancelled and not task.cancelling():  # a second time would break its clean-up
            task.cancel()


def _needs_token(job: Callable[..., object]) -> bool:
    try:
        parameters = signature(job).parameters.values()
    except TypeError:
        raise FanOutError(f"{quote(job)} cannot be called: give a function, and do not call it") from None
    except ValueError:  # some built-in callables publish no signature
        return False
    return any(each.default is each.empty and each.kind in _POSITIONAL for each in parameters)
