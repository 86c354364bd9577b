"""Pull the plug: a real process is killed at a named point of a durable run, and the run is resumed.

    def make(folder):                       # the same job each time, on files below `folder`
        return GRAPH, State(task_id="t"), Context(...)

    def test_it_survives(tmp_path):
        check_every_crash(make, tmp_path, probe=lambda folder: (folder / "outbox").read_text())

A run that waits for a person is answered by `answer`, and killed while it waits and while it is answered. The rule:
what comes of a run that was killed and resumed is what comes of one that was not: its state, its trace, its counters,
and whatever `probe` finds in the folder.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from graph_agent.protocols import Context
from graph_agent.runtime import checkpoint, linefile
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
Answer: TypeAlias = Callable[[Any], Mapping[str, Any] | None]

OF_A_SNAPSHOT = ("within snapshot", "after snapshot")
RUN = "run"  # the folder of the run, below the one that a job is made in
AT_ONCE = os.cpu_count() or 1

_BEFORE = {"started": "before started", **dict.fromkeys(("finished", "limit", "failed"), "after effect")}


def _nobody(_: Any) -> None:
    """Answers nothing; a function with a name, since a process that is not forked is sent it by name."""


@dataclass(frozen=True)
class Crash:
    """Where the plug is pulled: a point, and the how-manieth step of the process it belongs to, an answer being one.

    "after effect" is when the node has returned and nothing is recorded; "within record" leaves half of the bytes of
    the step's record, "after record" all of them. Other records have such points too, by their type: "within header",
    "after checked" (the world was looked at), "after asked" (it waits for the person whose answer is the step). Nodes
    with effects have "before started", "within started" and "after started". The snapshot is that of `compact`, made
    after the step.
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
    answer: Answer = _nobody,
    snapshots: Iterable[int] | None = None,
    kept_busy: int = AT_ONCE,
) -> int:
    """Kill the run at each point of each step, resume it, and compare; returns how many times it was killed.

    `make(folder)` gives the graph, the first state and the context (or a function of the `Run` that gives it), and is
    called anew in each process; what it puts into `folder` must not be there twice. `answer(state)` answers a pause
    (None: the run is left there). `snapshots`: the steps after which a compaction is killed (None: all). `kept_busy`:
    how many processes at once. A node whose `on_interrupted` asks or fails ends otherwise, as it should: look at that
    with `crash_at`. Raises `CrashedDifferently`.
    """
    whole = folder / "undisturbed"
    expected = run_to_end(make, whole, probe=probe, answer=answer)
    cuts = range(1, len(expected.trace) + 1) if snapshots is None else snapshots
    crashes = [*_points(whole), *(Crash(point, step) for step in cuts for point in OF_A_SNAPSHOT)]
    for some in _by(kept_busy, crashes):
        places = [folder / f"{crash.point} {crash.step}".replace(" ", "-") for crash in some]
        children = [_begun(make, place, crash, answer) for place, crash in zip(places, some, strict=True)]
        for child, place, crash in zip(children, places, some, strict=True):
            _await_death(child, crash)
            _compare(crash, expected, run_to_end(make, place, probe=probe, answer=answer))
    return len(crashes)


def crash_at(make: Make, folder: Path, crash: Crash, *, answer: Answer = _nobody) -> None:
    """Run the job below `folder` in a process of its own that is killed there. Raises `CrashedDifferently` if it lived.

    Windows has no SIGKILL; its processes are terminated, which they notice as little.
    """
    _await_death(_begun(make, folder, crash, answer), crash)


def run_to_end(
    make: Make, folder: Path, *, probe: Callable[[Path], Any] = lambda _: None, answer: Answer = _nobody
) -> Ended:
    """Begin the job below `folder`, or go on with it where its journal says."""
    folder.mkdir(parents=True, exist_ok=True)
    with _opened(make, folder, Run) as (run, ctx):
        state = _run_on(run, ctx, answer)
    records, _, _ = read_run(folder / RUN)
    names = ("type", "stage", "to", "reason")
    trace = [tuple(str(one[name]) for name in names) for one in records if one["type"] in STEPS]
    return Ended(state=state, trace=tuple(trace), found=probe(folder))


def _run_on(run: Run[Any], ctx: Context, answer: Answer) -> Any:
    """Until it is over, or nobody answers."""
    while True:
        state = resume(run, ctx)
        patch = answer(state) if state.stage in run.graph.pauses else None
        if patch is None:
            return state
        run.answer(patch)


def _points(folder: Path) -> list[Crash]:
    """All that an undisturbed run came by."""
    points: list[Crash] = []
    step = 1
    for record in read_run(folder / RUN)[0]:
        kind, name = str(record["type"]), _name(record)
        names = [_BEFORE[kind]] if kind in _BEFORE else []
        points += [Crash(point, step) for point in (*names, f"within {name}", f"after {name}")]
        step += kind in STEPS
    return list(dict.fromkeys(points))


def _name(record: Record) -> str:
    return "record" if record["type"] in STEPS else str(record["type"])


class _opened:
    """The run of a job, begun or opened, and its context."""

    def __init__(self, make: Make, folder: Path, kind: type[Run[Any]]) -> None:
        graph, state, ctx = make(folder)
        place = folder / RUN
        begun = (place / FILE).exists() and b"\n" in (place / FILE).read_bytes()  # half a header began no run
        self._run = kind.open(place, graph) if begun else kind.create(place, graph, state)
        self._ctx = ctx(self._run) if callable(ctx) else ctx

    def __enter__(self) -> tuple[Run[Any], Context]:
        return self._run, self._ctx

    def __exit__(self, *_: object) -> None:
        self._run.close()


def _begun(make: Make, folder: Path, crash: Crash, answer: Answer) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    child = context.Process(target=_doomed, args=(make, folder, crash, answer))
    child.start()
    return child


def _await_death(child: Any, crash: Crash) -> None:
    child.join()
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


def _doomed(make: Make, folder: Path, crash: Crash, answer: Answer) -> None:
    """In the child."""
    _Doomed.crash = crash
    with _opened(make, folder, _Doomed) as (run, ctx):
        _run_on(run, ctx, answer)


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

    def write(self, event: Event, /) -> None:
        self._at("after effect")
        super().write(event)

    def _append(self, record: Record) -> None:
        self._at(f"within {_name(record)}")
        super()._append(record)
        self._at(f"after {_name(record)}")
        self._steps += record["type"] in STEPS

    def _stand_at(self, state: Any) -> None:
        super()._stand_at(state)
        if self.crash.point in OF_A_SNAPSHOT and self._steps == self.crash.step:
            self._snapshot()

    def _snapshot(self) -> None:
        if self.crash.point == "within snapshot":
            setattr(checkpoint, "_write", _half_a_file)  # noqa: B010  # for this process, which ends in it
        self.close()
        compact(self.folder, keep=0)
        _die()

    def _at(self, point: str) -> None:
        if point != self.crash.point or self._steps + 1 != self.crash.step:
            return
        if not point.startswith("within"):
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
