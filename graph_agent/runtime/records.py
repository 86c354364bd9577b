"""The lines of a journal: one JSON object a line, each with a checksum, appended and never changed.

The rule: what a reader gets is either whole or an error with its line number. Only the very last line may be damaged,
since a process that dies while it writes leaves exactly that; it is dropped, and said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from zlib import crc32

from graph_agent.protocols import Json
from graph_agent.runtime import jsontext
from graph_agent.runtime.errors import CodecError, JournalCorrupt

Record: TypeAlias = "dict[str, Json]"

_SUM = b',"crc":"'
_TAIL = len(_SUM) + len('00000000"}')


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The records of a file in order, how many bytes they take, and what was dropped after them ("" for nothing)."""

    records: tuple[Record, ...]
    good: int
    dropped: str


def line_of(record: Record) -> bytes:
    """A record as it is written. Raises `CodecError` for data that JSON can't hold."""
    body = jsontext.dumps(record).encode("utf-8")[:-1]
    return b'%s%s%08x"}\n' % (body, _SUM, crc32(body))


def read_records(raw: bytes, where: str) -> Reading:
    """All records of a journal's bytes. Raises `JournalCorrupt` for damage anywhere but in the last line."""
    records: list[Record] = []
    at = 0
    for number, line in enumerate(raw.splitlines(keepends=True) if b"\r" not in raw else _lines(raw), 1):
        wrong = _problem(line, records)
        if wrong:
            if at + len(line) < len(raw):
                raise JournalCorrupt(f"{where}, line {number}: {wrong}; the lines before it are whole", line=number)
            return Reading(records=tuple(records), good=at, dropped=f"the last line ({len(line)} bytes): {wrong}")
        at += len(line)
    return Reading(records=tuple(records), good=at, dropped="")


def _lines(raw: bytes) -> list[bytes]:
    """Lines that end in \\n alone: a carriage return may stand in none of ours, so one is damage and no line end."""
    return [line + b"\n" for line in raw.split(b"\n")[:-1]] + ([raw.rsplit(b"\n", 1)[-1]] if raw[-1:] != b"\n" else [])


def _problem(line: bytes, records: list[Record]) -> str:
    """Why a line is no record; "" when it is one, and it is then added."""
    if not line.endswith(b"\n"):
        return "it has no end, its writer was stopped in the middle"
    body, tail = line[: -_TAIL - 1], line[-_TAIL - 1 :]
    if not tail.startswith(_SUM) or tail[len(_SUM) :] != b'%08x"}\n' % crc32(body):
        return "its checksum does not fit"
    try:
        record = jsontext.loads(body + b"}")
    except CodecError as error:
        return str(error)
    if not isinstance(record, dict):
        return "it is no object"
    records.append(record)
    return ""
