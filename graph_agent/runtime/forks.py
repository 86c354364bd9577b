"""Two things that make a new journal of an old one: a fork at an earlier step, and a shorter journal of the same run.

The rule: the old bytes are never written to. A fork has a folder and a name of its own and says whose child it is; a
compacted journal takes the old one's place in one rename.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from graph_agent.runtime.errors import JournalError
from graph_agent.runtime.fold import STEPS, fold
from graph_agent.runtime.journal import FILE, read_run, run_folder, versions_of
from graph_agent.runtime.lock import Lock
from graph_agent.runtime.records import Record, line_of
from graph_agent.runtime.replacing import replace_file


def fork(parent: Path, child: Path, *, at: int) -> Path:
    """A new run in the folder `child` that stands where `parent` stood after its record `at`. Returns `child`.

    `at` is a `seq`. Blobs are copied by link where the disk can. Raises `JournalError` for a seq that is not there or
    a child that is, `RunAbsent`, `JournalCorrupt`.
    """
    records, _, _ = read_run(parent)
    kept = [record for record in records if _seq(record) <= at]
    if not kept or _seq(kept[-1]) != at:
        first, last = _seq(records[0]), _seq(records[-1])
        raise JournalError(f"the run {parent.name} has no record {at}: give one from {first} to {last}")
    folder = run_folder(child)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / FILE).exists():
        raise JournalError(f"there is a run {folder.name} already: give the fork another name")
    _copy_blobs(parent / "blobs", folder / "blobs")
    origin: dict[str, Any] = {"run": parent.name, "seq": at}
    header = {**kept[0], "run": folder.name, "parent": origin, "trace": secrets.token_hex(16)}
    forked: Record = {"seq": at + 1, "type": "forked", "parent": origin, "time": kept[-1]["time"]}
    with Lock(folder / "lock"):
        _write(folder, [header, *kept[1:], forked])
    return folder


def compact(folder: Path, *, keep: int) -> tuple[int, int]:
    """Replace all but the last `keep` steps of a run's journal by the state before them; the sizes before and after.

    What a paused run waits for stays, since it comes after the last step. The run must not be held by anybody.
    Raises `JournalError` for a negative `keep`, `RunBusy`, `RunAbsent`, `JournalCorrupt`.
    """
    if type(keep) is not int or keep < 0:
        raise JournalError(f"keep={keep!r}: give the number of steps to keep, 0 or more")
    with Lock(folder / "lock"):
        records, _, _ = read_run(folder)
        before = (folder / FILE).stat().st_size
        steps = [at for at, record in enumerate(records) if record["type"] in STEPS]
        if len(steps) <= keep:
            return before, before
        last = steps[len(steps) - keep - 1]  # the latest step that goes into the snapshot
        folded = fold(records[: last + 1], folder.name)
        header: dict[str, Any] = {**records[0], "seq": folded.seq, "state": folded.raw, "compacted": folded.seq}
        versions = versions_of(records[: last + 1])
        header |= {"schema_version": versions["schema"], "workflow_version": versions["workflow"]}
        if any(record["type"] == "migrated" for record in records[: last + 1]):
            header["shape"] = next(r["shape"] for r in reversed(records[: last + 1]) if r["type"] == "migrated")
        _write(folder, [header, *records[last + 1 :]])
        return before, (folder / FILE).stat().st_size


def _seq(record: Record) -> int:
    seq = record["seq"]
    assert isinstance(seq, int)
    return seq


def _write(folder: Path, records: list[Record]) -> None:
    text = b"".join(map(line_of, records))
    replace_file(folder / FILE, text, beside=f".journal-{secrets.token_hex(8)}.tmp", mode=0o600)


def _copy_blobs(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    target.mkdir(exist_ok=True)
    for blob in source.iterdir():
        copy = target / blob.name
        if blob.name.startswith(".") or copy.exists():
            continue
        try:
            os.link(blob, copy)
        except OSError:  # another disk, or one that knows no links
            copy.write_bytes(blob.read_bytes())
