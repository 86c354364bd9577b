"""Several jobs at once inside one node: `fan_out` on threads, `afan_out` on an event loop, with one contract.

Every job gets one `Outcome`, in the order of the jobs and not of their ends, and the caller's policy says what an
error or a timeout means for the others. A thread can't be killed: a job that has run past its time, or is no longer
wanted, is told by its `Token` and given up, and what it brings later is dropped. The rule kept here: a spent budget
or a denied tool is nobody's outcome, it ends the whole fan-out and is raised in the caller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextvars import copy_context
from inspect import Parameter, isawaitable, iscoroutine, iscoroutinefunction, signature
from threading import Lock, Thread
from time import monotonic
from typing import Generic, TypeVar, cast

from graph_agent.runtime.batch import Batch, Cancelled, Entry, FanOutError, OnError, OnTimeout, Outcome, Rules, Token

__all__ = ["Cancelled", "FanOutError", "Outcome", "Token", "afan_out", "fan_out"]

T = TypeVar("T")
R = TypeVar("R")

_UNWIND = 1.0  # seconds that cancelled tasks have for their `finally` blocks before `afan_out` leaves them behind


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

    A job that can be called without arguments is called so; one that needs exactly one gets its `Token` (a parameter
    with a default is not needed, so `lambda path=path: read(path)` works). Each runs in a copy of the caller's context.
    `timeout` is seconds for the whole, `job_timeout` seconds for each job from its own start. A job in timeout is
    given up and a fresh thread takes its place. With "fail_fast" the first error cancels all that has not ended, with
    "cancel_rest" the first timeout does; with "collect" the others go on. Running jobs are not waited for then.

    Raises `FanOutError` before anything runs for arguments or jobs that are of no use. A job's `ToolDenied`, or
    anything that is no `Exception` (a spent budget), cancels the rest and is raised here; of several that have
    arrived, that of the earliest job.
    """
    rules = Rules(workers=workers, timeout=timeout, job_timeout=job_timeout, on_error=on_error, on_timeout=on_timeout)
    calls = [_call_of(job, index, "fan_out") for index, job in enumerate(jobs)]
    batch: Batch[T] = Batch(len(calls), rules, monotonic())
    return _Threads(calls, batch).run()


async def afan_out(
    jobs: Iterable[Callable[[], Awaitable[T]] | Callable[[Token], Awaitable[T]]],
    *,
    workers: int,
    timeout: float | None = None,
    job_timeout: float | None = None,
    on_error: OnError = "collect",
    on_timeout: OnTimeout = "collect",
) -> tuple[Outcome[T], ...]:
    """`fan_out` for jobs that are awaited: at most `workers` tasks at a time on the running loop.

    A task can be cancelled, so a job that is given up is, besides its token. All tasks get up to a second for their
    clean-up before this returns or raises; one that refuses to end is left behind. A job that blocks the loop blocks
    the timeouts too.
    """
    rules = Rules(workers=workers, timeout=timeout, job_timeout=job_timeout, on_error=on_error, on_timeout=on_timeout)
    calls = [_call_of(job, index, "afan_out") for index, job in enumerate(jobs)]
    batch: Batch[T] = Batch(len(calls), rules, monotonic())
    await _run_tasks(calls, batch)
    return batch.outcomes()


class _Threads(Generic[T]):
    """Daemon threads that take jobs from a batch. Not an executor's: those are waited for when the program exits."""

    def __init__(self, calls: list[Callable[[Token], T]], batch: Batch[T]) -> None:
        self._calls, self._batch = calls, batch
        self._contexts = [copy_context() for _ in calls]
        self._hired = 0
        self._books = Lock()  # held by whoever looks at the batch
        self._unfinished = Lock()  # held until the batch is finished: unlike a Condition, safe to be interrupted in
        self._unfinished.acquire()

    def run(self) -> tuple[Outcome[T], ...]:
        try:
            while True:
                with self._books:
                    self._batch.expire(monotonic())
                    if self._batch.finished:
                        return self._batch.outcomes()
                    short_of_staff = self._hired - self._batch.given_up < self._batch.places
                    pause = self._batch.pause(monotonic())
                if short_of_staff:
                    self._hire()
                else:
                    self._unfinished.acquire(timeout=-1 if pause is None else pause)
        finally:
            with self._books:
                self._batch.stop("the caller was interrupted")

    def _hire(self) -> None:
        Thread(target=self._work, name=f"fan_out-{self._hired}", daemon=True).start()
        self._hired += 1

    def _work(self) -> None:
        with self._books:
            entry = self._batch.take(monotonic())
        while entry is not None:
            came = self._contexts[entry.index].run(_attempt, self._calls[entry.index], entry.token)
            with self._books:
                kept = self._batch.settle(entry, came, monotonic())
                entry = self._batch.take(monotonic()) if kept else None
                if self._batch.finished and self._unfinished.locked():
                    self._unfinished.release()


def _attempt(call: Callable[[Token], T], token: Token) -> Outcome[T] | BaseException:
    try:
        value = call(token)
        if iscoroutine(value):
            value.close()
            raise FanOutError("a job returned a coroutine, which nobody awaits here: use afan_out")
    except BaseException as raised:  # noqa: BLE001 - the batch decides, and raises what is not the job's own
        return raised
    return Outcome(status="ok", value=value)


async def _run_tasks(calls: list[Callable[[Token], Awaitable[T]]], batch: Batch[T]) -> None:
    import asyncio  # the threads do without

    tasks: dict[asyncio.Task[Outcome[T] | BaseException], Entry[T]] = {}
    try:
        while not batch.finished:
            while (entry := batch.take(monotonic())) is not None:
                attempt = _attempt_task(calls[entry.index], entry.token)
                task = asyncio.create_task(attempt, name=f"fan_out-{entry.index}")
                tasks[task], entry.halt = entry, task.cancel
            if batch.finished:  # the time was up before the next job could start
                break
            pause = batch.pause(monotonic())
            ended, _ = await asyncio.wait(tasks, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(ended, key=lambda task: tasks[task].index):
                came: Outcome[T] | BaseException = Outcome(status="cancelled")
                batch.settle(tasks.pop(task), came if task.cancelled() else task.result(), monotonic())
            batch.expire(monotonic())
    finally:
        batch.stop("the caller was interrupted")
        if tasks:
            await asyncio.wait(tasks, timeout=_UNWIND)


async def _attempt_task(call: Callable[[Token], Awaitable[T]], token: Token) -> Outcome[T] | BaseException:
    from asyncio import CancelledError

    try:
        coming = call(token)
        if not isawaitable(coming):
            raise FanOutError(f"a job returned {type(coming).__name__}, which cannot be awaited: use fan_out")
        return Outcome(status="ok", value=await coming)
    except CancelledError:
        return Outcome(status="cancelled")
    except BaseException as raised:  # noqa: BLE001 - the batch decides, and raises what is not the job's own
        return raised


def _call_of(job: Callable[[], R] | Callable[[Token], R], index: int, caller: str) -> Callable[[Token], R]:
    if isawaitable(job):
        raise FanOutError(f"jobs[{index}] has been called already: give {caller} the function and not its coroutine")
    if not callable(job):
        raise FanOutError(f"jobs[{index}] is {job!r}, which cannot be called: give a function without calling it")
    if caller == "fan_out" and iscoroutinefunction(job):
        raise FanOutError(f"jobs[{index}] is async, and fan_out runs threads: await afan_out(...) instead")
    if _needs_token(job, index):
        return cast("Callable[[Token], R]", job)
    plain = cast("Callable[[], R]", job)
    return lambda _: plain()


def _needs_token(job: Callable[..., object], index: int) -> bool:
    try:
        parameters = signature(job).parameters.values()
    except ValueError:  # some built-in callables publish no signature
        return False
    starred = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    needed = [each for each in parameters if each.default is Parameter.empty and each.kind not in starred]
    if len(needed) > 1 or any(each.kind is Parameter.KEYWORD_ONLY for each in needed):
        names = ", ".join(each.name for each in needed)
        raise FanOutError(
            f"jobs[{index}] needs {names}: a job takes nothing, or one positional argument, its Token; "
            "bind the rest with functools.partial or defaults"
        )
    return bool(needed)
