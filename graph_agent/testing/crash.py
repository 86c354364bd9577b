"""Pull the plug: a real process is killed at a named point of a durable run, and the run is resumed.

    def make(folder):                       # the same job each time, on files below `folder`
        return GRAPH, State(task_id="t"), Context(...)

    def test_it_survives(tmp_path):
        check_every_crash(make, tmp_path, probe=lambda folder: (folder / "outbox").read_text())

The rule: what comes of a run that was killed and resumed is what comes of one that was not: its state, its trace, its
counters, and whatever `probe` finds in the folder.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from graph_agent.protocols import Context
from graph_agent.runtime import checkpoint, linefile
from graph_agent.runtime.errors import StepLimitReached
from graph_agent.runtime.events import Event
from graph_agent.runtime.fold import STEPS
from graph_agent.runtime.forks import compact
from graph_agent.runtime.graph import Graph
from graph_agent.runtime.journal import Run
from graph_agent.runtime.reading import FILE, read_run
from graph_agent.runtime.records import Record
from graph_agent.runtime.resume import resume

Made: TypeAlias = "tuple[Graph[Any], Any, Context | Callable[[Run[Any]], Context]]"
Make: TypeAlias = Callable[[Path], Made]

OF_A_STEP = ("before started", "after started", "after effect", "within record", "after record")
OF_A_SNAPSHOT = ("within snapshot", "after snapshot")
RUN = "run"  # the folder of the run, below the one that a job is made in
AT_ONCE = os.cpu_count() or 1


@dataclass(frozen=True)
class Crash:
    """Where the plug is pulled: a point, and the how-manieth step of the run it belongs to.

    "before started" and "after started" are there for nodes with effects; "after effect" is when the node has returned
    and nothing is recorded; "within record" leaves half of its bytes; the snapshot is that of `compact`, made there.
    """

    point: str
    step: int

    def __str__(self) -> str:
        return f"{self.point} of step {self.step}"


@dataclass(frozen=True)
class Ended:
    """What came of a run: where it stood at last, each step (kind, stage, to, reason), what the probe found."""

    state: Any
    trace: tuple[tuple[str, ...], ...]
    found: Any


class CrashedDifferently(AssertionError):
    """A run that was killed and resumed did not end as one that was not; `crash` says where it was killed."""

    def __init__(self, crash: Crash, text: str) -> None:
        super().__init__(f"killed {crash}: {text}")
        self.crash = crash


def check_every_crash(
    make: Make,
    folder: Path,
    *,
    probe: Callable[[Path], Any] = lambda _: None,
    snapshots: Iterable[int] | None = None,
    kept_busy: int = AT_ONCE,
) -> int:
    """Kill the run at each point of each step, resume it, and compare; returns how many times it was killed.

    `make(folder)` gives the graph, the first state and the context (or a function of the `Run` that gives it), and is
    called anew in each process; what it puts into `folder` must not be there twice. `snapshots`: the steps after which
    a compaction is killed (None: all). `kept_busy`: how many processes at once. Raises `CrashedDifferently`.
    """
    whole = folder / "undisturbed"
    points, expected = _undisturbed(make, whole, probe)
    last = max(crash.step for crash in points)
    cuts = range(1, last + 1) if snapshots is None else snapshots
    crashes = [*points, *(Crash(point, step) for step in cuts for point in OF_A_SNAPSHOT)]
    for some in _by(kept_busy, crashes):
        places = [folder / f"{crash.point} {crash.step}".replace(" ", "-") for crash in some]
        children = [_started(make, place, crash) for place, crash in zip(places, some, strict=True)]
        for child, place, crash in zip(children, places, some, strict=True):
            child.join()
            _was_killed(child, crash)
            _compare(crash, expected, _to_the_end(make, place, probe))
    return len(crashes)


def crash_at(make: Make, folder: Path, crash: Crash) -> None:
    """Run the job below `folder` in a process of its own that is killed there. Raises `CrashedDifferently` if it lived.

    Windows has no SIGKILL; its processes are terminated, which they notice as little.
    """
    child = _started(make, folder, crash)
    child.join()
    _was_killed(child, crash)


def run_to_end(make: Make, folder: Path, *, probe: Callable[[Path], Any] = lambda _: None) -> Ended:
    """Begin the job below `folder`, or go on with it where its journal says."""
    return _to_the_end(make, folder, probe)


def _undisturbed(make: Make, folder: Path, probe: Callable[[Path], Any]) -> tuple[list[Crash], Ended]:
    ended = _to_the_end(make, folder, probe)
    records, _, _ = read_run(folder / RUN)
    points: list[Crash] = []
    for record in records:
        step = len({point.step for point in points if point.point == "after record"}) + 1
        if record["type"] == "started":
            points += [Crash(point, step) for point in OF_A_STEP[:2]]
        elif record["type"] in STEPS:
            points += [Crash(point, step) for point in OF_A_STEP[2:]]
    return points, ended


def _to_the_end(make: Make, folder: Path, probe: Callable[[Path], Any]) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    with _opened(make, folder, Run) as (run, ctx):
        state = resume(run, ctx)
    records, _, _ = read_run(folder / RUN)
    names = ("type", "stage", "to", "reason")
    trace = [tuple(str(one[name]) for name in names) for one in records if one["type"] in STEPS]
    return Ended(state=state, trace=tuple(trace), found=probe(folder))


class _opened:
    """The run of a job, begun or opened, and its context."""

    def __init__(self, make: Make, folder: Path, kind: type[Run[Any]]) -> None:
        graph, state, ctx = make(folder)
        place = folder / RUN
        begun = (place / FILE).exists()
        self._run = kind.open(place, graph) if begun else kind.create(place, graph, state)
        self._ctx = ctx(self._run) if callable(ctx) else ctx

    def __enter__(self) -> tuple[Run[Any], Context]:
        return self._run, self._ctx

    def __exit__(self, *_: object) -> None:
        self._run.close()


def _started(make: Make, folder: Path, crash: Crash) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    child = context.Process(target=_doomed, args=(make, folder, crash))
    child.start()
    return child


def _was_killed(child: Any, crash: Crash) -> None:
    if child.exitcode == 0:
        raise CrashedDifferently(crash, "the run does not come by there")
    if child.exitcode not in (-getattr(signal, "SIGKILL", signal.SIGTERM), signal.SIGTERM):
        raise CrashedDifferently(crash, f"its process ended by itself with {child.exitcode}; its output says why")


def _compare(crash: Crash, expected: Ended, ended: Ended) -> None:
    if ended.state != expected.state:
        raise CrashedDifferently(crash, f"it ended otherwise: {'; '.join(_differences(ended.state, expected.state))}")
    kept = expected.trace[len(expected.trace) - len(ended.trace) :]  # a compaction drops the first steps
    if ended.trace != kept or (crash.point not in OF_A_SNAPSHOT and kept != expected.trace):
        raise CrashedDifferently(crash, f"it went\n  {ended.trace}\nand not\n  {expected.trace}")
    if ended.found != expected.found:
        raise CrashedDifferently(crash, f"the probe found\n  {ended.found}\nand not\n  {expected.found}")


def _differences(ended: Any, expected: Any) -> Iterator[str]:
    """Field by field."""
    for name in type(expected).__dataclass_fields__:
        one, other = getattr(ended, name), getattr(expected, name)
        if one != other:
            yield f"{name} is {one!r} and not {other!r}"


def _doomed(make: Make, folder: Path, crash: Crash) -> None:
    """In the child."""
    _Doomed.crash = crash
    with _opened(make, folder, _Doomed) as (run, ctx):
        if crash.point in OF_A_SNAPSHOT:
            with suppress(StepLimitReached):
                resume(run, ctx, max_steps=crash.step)
        else:
            resume(run, ctx)
    if crash.point in OF_A_SNAPSHOT:
        _compact(folder / RUN, crash.point)


def _compact(folder: Path, point: str) -> None:
    if point == "within snapshot":
        setattr(checkpoint, "_write", _half_a_file)  # noqa: B010  # for this process, which ends in it
    compact(folder, keep=0)
    if point == "after snapshot":
        _die()


def _half_a_file(path: Path, content: bytes, _: int | None) -> NoReturn:
    path.write_bytes(content[: len(content) // 2])
    _die()


class _Doomed(Run[Any]):
    """A run that ends its process at one point."""

    crash: Crash
    _steps = 0

    def started(self, stage: str, state: Any, key: str, /) -> None:
        self._at("before started")
        super().started(stage, state, key)
        self._at("after started")

    def write(self, event: Event, /) -> None:
        self._at("after effect")
        super().write(event)

    def _append(self, record: Record) -> None:
        if record["type"] in STEPS:
            self._at("within record")
        super()._append(record)
        if record["type"] in STEPS:
            self._at("after record")
            self._steps += 1

    def _at(self, point: str) -> None:
        if point != self.crash.point or self._steps + 1 != self.crash.step:
            return
        if point != "within record":
            _die()
        setattr(linefile, "write_all", _half_a_record)  # noqa: B010  # for this process, which ends in it


def _half_a_record(descriptor: int, data: bytes) -> NoReturn:
    os.write(descriptor, data[: len(data) // 2])
    _die()


def _die() -> NoReturn:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    raise AssertionError("a killed process goes on")


def _by(count: int, crashes: list[Crash]) -> Iterator[list[Crash]]:
    for first in range(0, len(crashes), count):
        yield crashes[first : first + count]
