"""A run that is kept: one folder, one append-only journal, one owner at a time.

`Run.create` and `Run.open` take the run's lock before they read anything; `run_graph(..., journal=run)` then writes
each step before the next one starts. The rule: a record that was written is never changed, and what a crash left half
written is dropped and said, so the run goes on from the last step that is whole.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Literal, NoReturn, TypeVar, get_args

from graph_agent.protocols import Json, blob_ref
from graph_agent.runtime import answer as asking
from graph_agent.runtime import recording
from graph_agent.runtime.advance import check_state
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.checkpoint import sync_folder
from graph_agent.runtime.codec import encode
from graph_agent.runtime.compat import fitted, shape_of_graph
from graph_agent.runtime.errors import ArgumentError, JournalError, StateError
from graph_agent.runtime.events import Event
from graph_agent.runtime.fold import changed
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.linefile import LineFile
from graph_agent.runtime.lock import Lock
from graph_agent.runtime.reading import FILE, FORMAT, absent, folded_of, run_folder
from graph_agent.runtime.records import Record, line_of, read_records
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)
Durability = Literal["fsync", "flush"]


class Run(Generic[S]):
    """A kept run and its owner, made by `create` or `open`. `state` is where it stands.

    `notes` says what was found when it was opened; `in_flight` is the `started` record of a node with effects that
    never ended, or None: see `resume`. `header["about"]` is what `create` was given.
    """

    def __init__(self, folder: Path, graph: Graph[S], durability: Durability) -> None:
        self.folder, self.graph = folder, graph
        self.blobs = Blobs(folder / "blobs")
        self.notes: tuple[str, ...] = ()
        self.header: dict[str, Any] = {}
        self.in_flight: dict[str, Any] | None = None
        self.checked: dict[str, Any] | None = None
        self.answered_since = False
        self.state: S
        self.seq = -1
        self._sync = durability == "fsync"
        self._recording = os.environ.get("GRAPH_AGENT_RECORD", "") not in ("", "0")
        self._kept: list[Json] = []
        self._file: LineFile | None = None
        self._lock = Lock(folder / "lock")

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        graph: Graph[S],
        state: S,
        *,
        about: Mapping[str, Json] | None = None,
        durability: Durability = "fsync",
    ) -> Run[S]:
        """Begin a run in `folder`, whose name is the run's id. `about`: what a resume needs to make its context again.

        `durability="flush"` hands each record to the system without waiting for the disk: a killed process loses
        nothing then, a power cut may lose the last steps. Raises `JournalError` when there is a run already, or the
        name is none; `StateError`; OSError when the disk refuses.
        """
        path = run_folder(folder)
        check_state(graph, state)
        _check_durability(durability)
        new = not path.is_dir()
        path.mkdir(parents=True, exist_ok=True)
        if new:
            sync_folder(path.parent)
        run = cls(path, graph, durability)
        return run._opened(lambda: run._begin(state, dict(about or {})))

    @classmethod
    def open(cls, folder: str | os.PathLike[str], graph: Graph[S], *, durability: Durability = "fsync") -> Run[S]:
        """Take over a run: lock, read, mend the tail, check that it fits, fold.

        Raises `RunAbsent`, `RunBusy`, `JournalCorrupt`, `RunMisfit`; nothing on the disk has changed then.
        """
        path = run_folder(folder)
        if not (path / FILE).is_file():
            raise absent(path)
        _check_durability(durability)
        run = cls(path, graph, durability)
        return run._opened(run._continue)

    @property
    def id(self) -> str:
        return self.folder.name

    def started(self, stage: str, state: Any, key: str, /) -> None:
        """A node with effects is about to run."""
        if state != self.state:
            self._refuse(state)
        self._append(self._record("started", stage=stage, step=state.steps + 1, key=key))

    def write(self, event: Event, /) -> None:
        """One step. Raises `JournalError` when it can't be written; the records before it are whole."""
        before, after, to = self.state, event.state, event.to
        if after.task_id != before.task_id or not 0 <= after.steps - before.steps <= 1:
            self._refuse(after)
        record: Record = {"seq": self.seq + 1, "type": event.kind, "stage": event.stage}
        if to is None:
            changed(record, before, after)
            record["reason"], record["stopped"] = event.reason, True
        elif event.before is before and not self.graph.invariants:
            changed(record, before, after, to, event.patch or ())
        else:  # the class of the state may set more than the patch did, and so may who handed in another state
            changed(record, before, after, to)
        if event.attempts != 1:
            record["attempts"] = event.attempts
        if event.turns:
            record["turns"] = event.turns
        if event.model_uses or event.tool_uses or event.notes:
            record |= _used(event)
        if self._recording:
            record["recorded"] = self.keep(recording.visit(self.state, event))
        if self._kept:
            record["blobs"], self._kept = self._kept, []
        record["seconds"] = int(1e6 * event.seconds) / 1e6
        self._step(record, after)

    def keep(self, content: str | bytes, /) -> str:
        """Put a text, or bytes, beside the journal and return its reference; the next step's record names it."""
        self._opened_file()
        try:
            ref = self.blobs.put(content)
        except OSError as error:
            raise JournalError(f"the run {self.id} can't keep a text: {error.strerror}; {self._so_far()}") from error
        if ref not in self._kept:
            self._kept.append(ref)
        return ref

    def read(self, ref: str) -> str:
        """The text that was kept under a reference. Raises `BlobError` when it is gone or altered."""
        return self.blobs.read(ref)

    def answer(self, patch: Mapping[str, Any] | None, *, pause_id: str | None = None) -> S:
        """A person's answer, checked, then recorded. Raises `AnswerError` or `PatchError`; nothing has changed then."""
        after = asking.answer(self.graph, self.state, patch, pause_id=pause_id)
        stage, pause = stage_name(self.state.stage), asking.pause_id(self.state)
        record = self._record("answered", stage=stage, pause=pause)
        self._step(changed(record, self.state, after), after)
        self.answered_since = True
        return after

    def raise_limit(self, max_turns: int | None) -> S:
        """Allow more turns (None: any number) where no pause asks for it. Raises `AnswerError` for too few."""
        after = asking.raised_limit(self.graph, self.state, max_turns)
        self._step(changed(self._record("limit_raised"), self.state, after), after)
        return after

    def moved(self, state: S, kind: Literal["doubt", "failed"]) -> S:
        """The run was sent elsewhere by a resume, and by no node."""
        record = self._record(kind, stage=stage_name(self.state.stage))
        self._step(changed(record, self.state, state), state)
        return state

    def looked(self, facts: tuple[str, ...], problem: str, *, let_pass: bool) -> None:
        """The world was looked at: a fact for the reader, outside of steps and turns. `let_pass`: a person knows it."""
        record = self._record("checked", facts=list(facts), problem=problem, **({"let_pass": True} if let_pass else {}))
        self._append(record)
        self.checked, self.answered_since = record, let_pass

    def close(self) -> None:
        """Give the run back. Closing twice does nothing."""
        if self._file is not None:
            self._file.close()
        self._lock.release()

    def __enter__(self) -> Run[S]:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def _opened(self, begin: Any) -> Run[S]:
        try:
            begin()
        except BaseException:
            self.close()
            raise
        return self

    def _begin(self, state: S, about: dict[str, Json]) -> None:
        path = self.folder / FILE
        if path.exists() and b"\n" in path.read_bytes():
            raise JournalError(f"there is a run {self.id} already: open it, or give another name")
        path.unlink(missing_ok=True)  # a header that was never whole began no run
        self.header = {
            "seq": 0,
            "type": "header",
            "format": FORMAT,
            "run": self.id,
            "trace": secrets.token_hex(16),
            "workflow": self.graph.state.__name__,
            "schema_version": self.graph.schema_version,
            "workflow_version": self.graph.workflow_version,
            "shape": shape_of_graph(self.graph),
            "state": encode(state),
            "about": about,
        }
        self.state = state
        self._file = LineFile(path, size=None, sync=self._sync)
        try:
            self._append(self.header)
        except BaseException:
            path.unlink()
            raise
        sync_folder(self.folder)
        self._stand_at(state)

    def _continue(self) -> None:
        path = self.folder / FILE
        reading = read_records(path.read_bytes(), self.id)
        folded = folded_of(reading.records, self.id)
        fit = fitted(self.graph, folded, self.id)
        self.header, self.seq, self.state = folded.header, folded.seq, fit.state
        self.in_flight, self.checked, self.answered_since = folded.in_flight, folded.checked, folded.answered_since
        self._file = LineFile(path, size=reading.good, sync=self._sync)
        if reading.dropped:
            self.notes += (f"dropped: {reading.dropped}",)
        if fit.migrated:
            self._note_migration(fit.migrated)
        if folded.in_flight is None and folded.asked is None and fit.state.stage in self.graph.pauses:
            self._ask()

    def _note_migration(self, steps: tuple[str, ...]) -> None:
        self.notes += tuple(f"migrated: {step}" for step in steps)
        versions: Json = {"schema": self.graph.schema_version, "workflow": self.graph.workflow_version}
        shape = shape_of_graph(self.graph)
        migrated = self._record("migrated", steps=list(steps), versions=versions, shape=shape, state=encode(self.state))
        self._append(migrated)

    def _stand_at(self, state: S) -> None:
        self.state, self.in_flight = state, None
        if state.stage in self.graph.pauses:
            self._ask()

    def _ask(self) -> None:
        """Record what the pause asks, and a fingerprint of what it shows, which an approval is for."""
        asked = asking.question(self.graph, self.state)
        shown = blob_ref(repr(asked.shown))
        stage, pause = stage_name(self.state.stage), asking.pause_id(self.state)
        record = self._record("asked", stage=stage, pause=pause, text=asked.text, shown=shown)
        if asked.choices:
            record["choices"] = {name: [repr(value) for value in values] for name, values in asked.choices.items()}
        self._append(record)

    def _record(self, kind: str, **facts: Json) -> Record:
        return {"seq": self.seq + 1, "type": kind, **facts}

    def _refuse(self, state: Any) -> NoReturn:
        """A step from another place than where the run stands: its record would make another state."""
        here = self.state
        raise StateError(
            f"the run {self.id} stands after {here.steps} steps of {here.task_id!r}, this is step {state.steps} of "
            f"{state.task_id!r}: hand run_graph the run's own state",
            state=here,
        )

    def _step(self, record: Record, after: S) -> None:
        """Write it and stand there. Ctrl-C between the two leaves an object that is behind its file: it is closed."""
        try:
            self._append(record)
            self._stand_at(after)
        except BaseException as error:
            if not isinstance(error, Exception):
                self.close()
            raise

    def _append(self, record: Record) -> None:
        """Write one line and see it safe."""
        file = self._opened_file()
        record["time"] = time.time_ns() // 1_000_000 / 1_000
        line = line_of(record)
        try:
            file.append(line)
        except OSError as error:
            self.close()
            raise JournalError(f"the run {self.id} can't be written: {error.strerror}; {self._so_far()}") from error
        self.seq += 1

    def _opened_file(self) -> LineFile:
        if self._file is None or not self._file.is_open:
            raise JournalError(f"the run {self.id} is closed: open it to go on")
        if not self._lock.held:
            raise JournalError(f"the run {self.id} is its parent process's: a forked process can't write it")
        return self._file

    def _so_far(self) -> str:
        return f"its {self.seq + 1} records are whole, resume it when that is mended"


def _check_durability(given: str) -> None:
    if given not in get_args(Durability):
        raise ArgumentError(f"durability is {given!r}: give 'fsync', or 'flush' to not wait for the disk")


def _used(event: Event) -> Record:
    """What a step asked of models and tools, and what its node noted."""
    used: Record = {}
    if event.model_uses:
        used |= {"model_calls": event.model_calls, "tokens": [event.tokens_in, event.tokens_out]}
    if event.tool_uses:
        used["tools"] = [[use.tool, use.verdict, _ended(use.result)] for use in event.tool_uses]
    if event.notes:
        used["notes"] = list(event.notes)
    return used


def _ended(result: Any) -> Json:
    """ "" for a call that went well, else the kind of its error."""
    return "" if result is None or result.error is None else str(result.error.kind)
