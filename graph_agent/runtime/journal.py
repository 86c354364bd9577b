"""A run that is kept: one folder, one append-only journal, one owner at a time.

`Run.create` and `Run.open` take the run's lock before they read anything; `run_graph(..., journal=run)` then writes
each step before the next one starts. The rule: a record that was written is never changed, and what a crash left half
written is dropped and said, so the run goes on from the last step that is whole.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

from graph_agent.protocols import Json
from graph_agent.runtime.answer import answer, pause_id, question
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.codec import encode
from graph_agent.runtime.compat import fitted, shape_of
from graph_agent.runtime.errors import JournalError, RunAbsent
from graph_agent.runtime.events import Event
from graph_agent.runtime.fold import Folded, appended_fields, changes, fold
from graph_agent.runtime.graph import Graph
from graph_agent.runtime.lock import Lock
from graph_agent.runtime.records import Record, line_of, read_records
from graph_agent.runtime.replacing import sync_folder
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)
Durability = Literal["fsync", "flush"]

FORMAT = 1
FORMATS = {1: "the first: header, steps, answers, facts; a checksum a line"}
FILE = "journal.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,119}")


class Run(Generic[S]):
    """A kept run and its owner. `state` is where it stands; `notes` says what was found when it was opened.

    `in_flight` is the `started` record of a node with effects that never ended, or None: see `resume`.
    """

    def __init__(self, folder: Path, graph: Graph[S], lock: Lock, durability: Durability) -> None:
        """Not to be called: `create` and `open` are."""
        self.folder, self.graph = folder, graph
        self.blobs = Blobs(folder / "blobs")
        self.notes: tuple[str, ...] = ()
        self.header: Record = {}
        self.in_flight: Record | None = None
        self.state: S
        self.seq = -1
        self._lock, self._sync = lock, durability == "fsync"
        self._file = -1
        self._size = 0

    @classmethod
    def create(
        cls,
        folder: Path,
        graph: Graph[S],
        state: S,
        *,
        about: Mapping[str, Json] | None = None,
        parent: Mapping[str, Json] | None = None,
        durability: Durability = "fsync",
    ) -> Run[S]:
        """Begin a run in `folder`, whose name is the run's id. `about`: what a resume needs to make its context again.

        Raises `JournalError` when there is a run already, or the name is none; OSError when the disk refuses.
        """
        folder = run_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        run = cls(folder, graph, Lock(folder / "lock"), durability)
        try:
            run._begin(state, dict(about or {}), dict(parent) if parent else None)
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def open(cls, folder: Path, graph: Graph[S], *, durability: Durability = "fsync") -> Run[S]:
        """Take over a run: lock, read, mend the tail, check that it fits, fold.

        Raises `RunAbsent`, `RunBusy`, `JournalCorrupt`, `RunMisfit`; nothing on the disk has changed then.
        """
        if not (folder / FILE).is_file():
            raise RunAbsent(f"there is no run {folder.name} in {folder.parent}")
        run = cls(folder, graph, Lock(folder / "lock"), durability)
        try:
            run._continue()
        except BaseException:
            run.close()
            raise
        return run

    @property
    def id(self) -> str:
        return self.folder.name

    def started(self, stage: str, step: int, key: str) -> None:
        """A node with effects is about to run."""
        self._append({"type": "started", "stage": stage, "step": step, "key": key})

    def write(self, event: Event, /) -> None:
        """One step. Raises `JournalError` when it can't be written; the records before it are whole."""
        stopped = event.to is None
        record = {
            "type": event.kind,
            "stage": event.stage,
            **changes(self.graph, self.state, event.state),
            **({"reason": event.reason, "stopped": True} if stopped else {}),
            "turns": event.turns,
            "model_calls": event.model_calls,
            "tokens": [event.tokens_in, event.tokens_out],
            "tools": [[use.tool, use.verdict] for use in event.tool_uses],
            "notes": list(event.notes),
            "attempts": event.attempts,
            "seconds": round(event.seconds, 6),
            "trace": self.header["trace"],
        }
        self._append(record)
        self._stand_at(event.state)

    def answer(self, patch: Mapping[str, Any] | None, *, pause_id: str | None = None) -> S:
        """A person's answer, checked, then recorded. Raises `AnswerError` or `PatchError`; nothing has changed then."""
        after = answer(self.graph, self.state, patch, pause_id=pause_id)
        pause = self.state.stage
        record = {"type": "answered", "stage": str(getattr(pause, "value", pause)), "pause": _pause_of(self.state)}
        self._append({**record, **changes(self.graph, self.state, after)})
        self._stand_at(after)
        return after

    def moved(self, state: S, kind: Literal["doubt", "failed"], stage: str) -> S:
        """The run was sent somewhere without a node having finished: after an interruption, say."""
        self._append({"type": kind, "stage": stage, **changes(self.graph, self.state, state)})
        self._stand_at(state)
        return state

    def checked(self, facts: Mapping[str, Json]) -> None:
        """The world was looked at: a fact for the reader, outside of steps and turns."""
        self._append({"type": "checked", "facts": dict(facts)})

    def close(self) -> None:
        """Give the run back. Closing twice does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._lock.release()

    def __enter__(self) -> Run[S]:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def _begin(self, state: S, about: dict[str, Json], parent: dict[str, Json] | None) -> None:
        path = self.folder / FILE
        if path.exists():
            raise JournalError(f"there is a run {self.id} already: open it, or give another name")
        header: Record = {
            "type": "header",
            "format": FORMAT,
            "run": self.id,
            "trace": secrets.token_hex(16),
            "workflow": self.graph.state.__name__,
            "schema_version": self.graph.schema_version,
            "workflow_version": self.graph.workflow_version,
            "shape": shape_of(self.graph),
            "state": encode(state),
            "about": about,
            "parent": parent,
        }
        self.state, self.header = state, header
        self._file = _open(path, os.O_CREAT | os.O_EXCL)
        self._append(header)
        sync_folder(self.folder)
        self._stand_at(state)

    def _continue(self) -> None:
        path = self.folder / FILE
        raw = path.read_bytes()
        reading = read_records(raw, self.id)
        folded = fold(reading.records, self.id)
        self.header, self.seq = folded.header, folded.seq
        fit = fitted(self.graph, folded, versions_of(reading.records), self.id)
        self._file = _open(path, 0)
        self._size = reading.good
        if reading.dropped:
            os.ftruncate(self._file, reading.good)
            self.notes += (f"dropped: {reading.dropped}",)
        self.state, self.in_flight = fit.state, folded.in_flight
        if fit.migrated:
            self._note_migration(fit.raw, fit.migrated)
        if folded.in_flight is None and folded.asked is None:
            self._ask()

    def _note_migration(self, raw: dict[str, Any], steps: tuple[str, ...]) -> None:
        self.notes += tuple(f"migrated: {step}" for step in steps)
        versions: Record = {"schema": self.graph.schema_version, "workflow": self.graph.workflow_version}
        record: Record = {"type": "migrated", "steps": list(steps), "versions": versions, "state": encode(self.state)}
        self._append({**record, "appended": appended_fields(self.graph), "shape": shape_of(self.graph)})

    def _stand_at(self, state: S) -> None:
        self.state, self.in_flight = state, None
        self._ask()

    def _ask(self) -> None:
        """At a pause: record what is asked, and a fingerprint of what is shown, which an approval is for."""
        if self.state.stage not in self.graph.pauses:
            return
        asked = question(self.graph, self.state)
        record: Record = {"type": "asked", "pause": _pause_of(self.state), "text": asked.text}
        choices: Json = {name: [str(value) for value in values] for name, values in asked.choices.items()}
        shown = sha256(repr(asked.shown).encode("utf-8", "backslashreplace")).hexdigest()
        self._append({**record, "choices": choices, "shown": shown})

    def _append(self, record: Record) -> None:
        """Write one line and see it safe. A line that could not be written whole is taken back."""
        if self._file < 0:
            raise JournalError(f"the run {self.id} is closed: open it to go on")
        line = line_of({"seq": self.seq + 1, **record, "time": datetime.now(UTC).isoformat(timespec="milliseconds")})
        try:
            _write_all(self._file, line)
            if self._sync:
                _datasync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            text = f"the run {self.id} can't be written: {error.strerror}"
            raise JournalError(
                f"{text}; its {self.seq + 1} records are whole, resume it when that is mended"
            ) from error
        self.seq += 1
        self._size += len(line)


def versions_of(records: tuple[Record, ...]) -> dict[str, int]:
    """The schema and the workflow version that the stored state has now: the header's, or the latest migration's."""
    header: Any = records[0]
    versions = {"schema": header["schema_version"], "workflow": header["workflow_version"]}
    for record in records[1:]:
        if record["type"] == "migrated":
            versions = dict(record["versions"])  # type: ignore[arg-type]
    return versions


def read_run(folder: Path) -> tuple[tuple[Record, ...], Folded, str]:
    """The records of a run, where it stands, and what was dropped; for looking only: no lock, no change.

    Raises `RunAbsent`, `JournalCorrupt`.
    """
    try:
        raw = (folder / FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise RunAbsent(f"there is no run {folder.name} in {folder.parent}") from None
    reading = read_records(raw, folder.name)
    return reading.records, fold(reading.records, folder.name), reading.dropped


def run_folder(folder: Path) -> Path:
    """The folder of a run by that name. Raises `JournalError` for a name that is none: a path, say."""
    if not _NAME.fullmatch(folder.name):
        raise JournalError(f"{folder.name!r} is no name for a run: letters, digits, '.', '_' and '-', at most 120")
    return folder


def _pause_of(state: GraphState) -> str:
    return pause_id(state)


def _open(path: Path, more: int) -> int:
    return os.open(
        path, os.O_RDWR | os.O_APPEND | more | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), 0o600
    )


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


_datasync = getattr(os, "fdatasync", os.fsync)
