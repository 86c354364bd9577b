"""Runs every task so many times, each run in a process of its own, some of them side by side.

The rule: how a run ends never ends the evaluation (a crash, a signal, one that takes too long are results), and the
results come in one order, whatever number of workers made them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from graph_agent.evals.ran import BROKEN, CRASHED, LATE, Ran
from graph_agent.evals.task import Task
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError

_PATIENCE = 5.0  # seconds for a process that was told to end, to end its own commands
_TICK = 0.2
MOST_TOLD = 300  # characters of what a process said last


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One run to be made: it leaves its result, a `Ran` as JSON, in the file `out`."""

    task: Task
    repeat: int
    out: Path


Command = Callable[[Wanted], Sequence[str]]
"""The words of the process that makes a run."""
Told = Callable[[int, int, Ran], None]
"""Called with how many are done, how many there are, and the latest."""


@dataclass
class _Children:
    """The processes that are on: all are ended when the evaluation is left."""

    running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    closed: bool = False
    lock: Lock = field(default_factory=Lock)


def run_tasks(
    tasks: Sequence[Task], command: Command, *, repeat: int, workers: int, tell: Told = lambda *_: None
) -> tuple[Ran, ...]:
    """All runs, by task and repeat."""
    children = _Children()
    with TemporaryDirectory(prefix="graph-agent-eval-", ignore_cleanup_errors=True) as private:
        wanted = [
            Wanted(task=task, repeat=number, out=Path(private) / f"{at}-{number}.json")
            for at, task in enumerate(tasks)
            for number in range(1, repeat + 1)
        ]
        pool = ThreadPoolExecutor(workers, thread_name_prefix="evaluation")
        try:
            coming = {pool.submit(_made, one, command, children): at for at, one in enumerate(wanted)}
            found: dict[int, Ran] = {}
            for done in _as_done(coming):
                found[coming[done]] = done.result()
                tell(len(found), len(wanted), done.result())
        finally:
            _end_all(children)
            pool.shutdown(cancel_futures=True)
    return tuple(found[at] for at in range(len(wanted)))


def _as_done(coming: dict[Future[Ran], int]) -> Iterator[Future[Ran]]:
    """With a pause now and then, in which a signal reaches the main thread on every system."""
    left = set(coming)
    while left:
        done, left = wait(left, timeout=_TICK, return_when=FIRST_COMPLETED)
        yield from sorted(done, key=coming.__getitem__)


def _made(wanted: Wanted, command: Command, children: _Children) -> Ran:
    said, began = wanted.task.said, time.monotonic()
    blank = Ran(task=wanted.task.name, workflow=said.workflow, tier=said.tier, repeat=wanted.repeat, outcome=BROKEN)
    errors = wanted.out.with_suffix(".err")
    try:
        ended = _process(wanted, command, children, errors)
    except OSError as error:
        made = _not_held(blank, BROKEN, f"its process can't be started: {error}")
    else:
        made = _read(wanted, blank, ended, errors)
    return replace(made, seconds=round(time.monotonic() - began, 3))


def _process(wanted: Wanted, command: Command, children: _Children, errors: Path) -> int | None:
    """The exit code; None for one that took too long."""
    environment = {**os.environ, "PYTHONHASHSEED": str(wanted.repeat), "PYTHONUTF8": "1"}
    with errors.open("wb") as said:
        with children.lock:
            if children.closed:
                raise OSError("the evaluation is over")
            process = subprocess.Popen(
                [*command(wanted)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # Ctrl-C is told once, by the evaluation
            )
            children.running.add(process)
        try:
            return process.wait(wanted.task.said.seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)
            children.running.discard(process)


def _read(wanted: Wanted, blank: Ran, code: int | None, errors: Path) -> Ran:
    if code is None:
        return _not_held(blank, LATE, f"it took more than {wanted.task.said.seconds:g} seconds")
    try:
        data: Any = json.loads(wanted.out.read_text(encoding="utf-8")) if code == 0 else None
        if data is not None:
            ran: Ran = decode(Ran, data)
            return ran
    except (OSError, ValueError, CodecError) as error:
        return _not_held(blank, CRASHED, f"it left no result that can be read: {error}")
    return _not_held(blank, CRASHED, f"{_how(code)}{_last_words(errors)}")


def _not_held(blank: Ran, outcome: str, why: str) -> Ran:
    return replace(blank, outcome=outcome, reason=why, missed=(f"{outcome}: {why}",))


def _how(code: int) -> str:
    if code >= 0:
        return f"its process ended with {code}"
    with suppress(ValueError):
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process was ended by signal {-code}"


def _last_words(errors: Path) -> str:
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f": {lines[-1].strip()[:MOST_TOLD]}" if lines else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Politely first, so that it ends its own commands; then it and all that is left of its group."""
    if process.poll() is not None:
        return
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _end_all(children: _Children) -> None:
    with children.lock:
        children.closed = True
        left = list(children.running)
    for process in left:
        if process.poll() is None:
            process.terminate()
