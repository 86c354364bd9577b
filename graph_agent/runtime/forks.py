"""Two things that make a new journal of an old one: a fork at an earlier step, and a shorter journal of the same run.

The rule: the old bytes are never written to. A fork has a folder and a name of its own and says whose child it is; a
compacted journal takes the old one's place in one rename.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

from graph_agent.runtime.checkpoint import replace_file, sync_folder
from graph_agent.runtime.errors import JournalError
from graph_agent.runtime.fold import STEPS, fold
from graph_agent.runtime.lock import Lock
from graph_agent.runtime.reading import FILE, absent, read_run, run_folder
from graph_agent.runtime.records import Record, line_of


def fork(folder: str | os.PathLike[str], *, at: int, new_id: str) -> Path:
    """A new run beside `folder` that stands where that run stood after its record `at`, a `seq`; returns its folder.

    Its state's `task_id` is `new_id`, so pauses and idempotency keys are its own. What was in flight at `at` is not in
    the fork, which runs that node anew. Raises `JournalError` for a seq that is not there or a name that is taken,
    `RunAbsent`, `JournalCorrupt`; the parent is only read.
    """
    parent = run_folder(folder)
    records, _, _ = read_run(parent)
    first, last = _seq(records[0]), _seq(records[-1])
    if type(at) is not int or not first <= at <= last:
        raise JournalError(f"the run {parent.name} has no record {at!r}: give one from {first} to {last}")
    child = run_folder(parent.parent / new_id)
    if child.parent != parent.parent or child.name != new_id:
        raise JournalError(f"{new_id!r} is no name for a run: it becomes a folder beside {parent.name}")
    if child.exists() and not child.is_dir():
        raise JournalError(f"{new_id!r} is a file in {child.parent}: give the fork another name")
    child.mkdir(exist_ok=True)
    with Lock(child / "lock"):
        if (child / FILE).exists():
            raise JournalError(f"there is a run {new_id} already: give the fork another name")
        _copy_blobs(parent / "blobs", child / "blobs")
        origin: dict[str, Any] = {"run": parent.name, "seq": at}
        now = round(time.time(), 3)
        header = {**records[0], "run": new_id, "parent": origin, "trace": secrets.token_hex(16), "time": now}
        kept = [header, *records[1 : at - first + 1]]
        _write(child, [*kept, {"seq": at + 1, "type": "forked", "task_id": new_id, "time": now}])
    sync_folder(child.parent)
    return child


def compact(folder: str | os.PathLike[str], *, keep: int) -> tuple[int, int]:
    """Replace all but the last `keep` steps of a run's journal by the state before them; the sizes before and after.

    What a run in flight or at a pause needs comes after its last step and stays, as do the blobs. Raises `JournalError`
    for a negative `keep`, `RunBusy`, `RunAbsent`, `JournalCorrupt`; the journal is as it was then.
    """
    if type(keep) is not int or keep < 0:
        raise JournalError(f"keep={keep!r}: give the number of steps to keep, 0 or more")
    path = run_folder(folder)
    if not (path / FILE).is_file():
        raise absent(path)
    with Lock(path / "lock"):
        records, _, _ = read_run(path)
        before = (path / FILE).stat().st_size
        steps = [at for at, record in enumerate(records) if record["type"] in STEPS]
        if len(steps) <= keep:
            return before, before
        cut = steps[len(steps) - keep - 1] + 1
        folded = fold(records[:cut], path.name)
        snapshot: dict[str, Any] = {**records[0], "seq": folded.seq, "state": folded.raw, "shape": folded.shape}
        snapshot |= {f"{of}_version": number for of, number in folded.versions.items()}
        snapshot["compacted"] = {"records": len(records[:cut]), "time": round(time.time(), 3)}
        if named := sorted(blobs_named(records[:cut])):
            snapshot["blobs"] = named
        if folded.checked is not None:
            snapshot |= {"checked": folded.checked, "answered_since": folded.answered_since}
        _write(path, [snapshot, *records[cut:]])
        return before, (path / FILE).stat().st_size


def blobs_named(records: Iterable[Record]) -> set[str]:
    """The references of all blobs that the records name."""
    found: set[str] = set()
    for record in records:
        listed: Any = record.get("blobs", [])
        found.update(listed)
    return found


def _seq(record: Record) -> int:
    seq = record["seq"]
    assert isinstance(seq, int)
    return seq


def _write(folder: Path, records: Sequence[Record]) -> None:
    text = b"".join(map(line_of, records))
    replace_file(folder / FILE, text, beside=f".journal-{secrets.token_hex(8)}.tmp", mode=0o600)


def _copy_blobs(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    target.mkdir(mode=0o700, exist_ok=True)
    for blob in source.iterdir():
        copy = target / blob.name
        if blob.name.startswith(".") or copy.exists():
            continue
        try:
            os.link(blob, copy)
        except OSError:  # another disk, or one that knows no links
            copyfile(blob, copy)
    sync_folder(target)
