"""A stored run, looked at: its name, its records, and where it stands by them. No lock, and no change.

The rule: a run is a folder whose name is its id; what is in it is a run of a format that is known, or an error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from graph_agent.runtime.errors import JournalError, RunAbsent
from graph_agent.runtime.fold import Folded, fold
from graph_agent.runtime.records import Record, read_records

FORMAT = 1
FORMATS = {1: "the first: a header, steps, answers and facts, each with a checksum"}
FILE = "journal.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,119}", re.ASCII)


def folded_of(records: tuple[Record, ...], where: str) -> Folded:
    """The fold of a journal of a format that is known. Raises `JournalError` for a newer one, `JournalCorrupt`."""
    number = records[0].get("format") if records else FORMAT
    if isinstance(number, int) and number > FORMAT:
        text = f"the run {where} is of format {number}, this version reads up to {FORMAT}: update graph_agent"
        raise JournalError(text)
    return fold(records, where)


def read_run(folder: str | os.PathLike[str]) -> tuple[tuple[Record, ...], Folded, str]:
    """The records of a run, where it stands, and what was dropped; for looking only: no lock, no change.

    Raises `RunAbsent`, `JournalCorrupt`.
    """
    path = run_folder(folder)
    try:
        raw = (path / FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise absent(path) from None
    reading = read_records(raw, path.name)
    return reading.records, folded_of(reading.records, path.name), reading.dropped


def run_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder of a run by that name. Raises `JournalError` for a name that is none: a path, say."""
    path = Path(folder)
    if not _NAME.fullmatch(path.name):
        raise JournalError(f"{path.name!r} is no name for a run: letters, digits, '.', '_' and '-', at most 120")
    return path


def absent(folder: Path) -> RunAbsent:
    return RunAbsent(f"there is no run {folder.name} in {folder.parent}")
