"""`audits.jsonl`, beside the runs: who looked at which run when, and what they said of it; appended, never changed.

The rule: a line that can't be read is left out and said, and never glued to the one that comes after.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.linefile import datasync, write_all
from graph_agent.verify.audit import Entry

FILE = "audits.jsonl"


@dataclass(frozen=True, kw_only=True)
class Log:
    """`unread`: a sentence for each line that is none."""

    entries: tuple[Entry, ...] = ()
    unread: tuple[str, ...] = ()


def read_log(runs: Path) -> Log:
    """What is kept beside these runs; nothing where there is no file yet."""
    path = runs / FILE
    raw = path.read_bytes() if path.is_file() else b""
    entries: list[Entry] = []
    unread: list[str] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entries.append(decode(Entry, json.loads(line.decode("utf-8")), "entry"))
        except (CodecError, ValueError, RecursionError) as error:
            unread.append(f"{path.name}, line {number} is left out: {error}")
    return Log(entries=tuple(entries), unread=tuple(unread))


def add_to_log(runs: Path, entry: Entry) -> None:
    """One line, on the disk when this returns. Raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(runs / FILE, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        os.lseek(descriptor, max(0, size - 1), os.SEEK_SET)
        torn = size > 0 and os.read(descriptor, 1) != b"\n"  # its writer was stopped in the middle
        line = json.dumps(encode(entry), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        write_all(descriptor, b"\n" * torn + line.encode() + b"\n")
        datasync(descriptor)
    finally:
        os.close(descriptor)
