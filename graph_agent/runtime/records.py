"""The lines of a journal: one JSON object a line, each with a checksum, appended and never changed.

The rule: what a reader gets is either whole or an error with its line number. Only the very last line may be damaged,
since a process that dies while it writes leaves exactly that; it is dropped, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from json import JSONDecoder, JSONEncoder, encoder
from typing import Any, TypeAlias
from zlib import crc32

from graph_agent.protocols import Json
from graph_agent.runtime.errors import CodecError, JournalCorrupt

Record: TypeAlias = "dict[str, Json]"

_SUM = b',"crc":"'
_TAIL = len(_SUM) + len('00000000"}\n')
# The checksum says that a line is what was written, so what is read needs none of the strictness of `jsontext`.
_decode = JSONDecoder().decode


def _encoder() -> Callable[[Any], str]:
    """Made once: what json.dumps makes anew for each call costs more than the line."""
    plain = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:  # another Python than CPython
        return plain.encode
    chunks = make(None, plain.default, encoder.encode_basestring, None, ":", ",", False, False, False)
    return lambda record: "".join(chunks(record, 0))


_encode = _encoder()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The records of a file in order, how many bytes they take, and what was dropped after them ("" for nothing)."""

    records: tuple[Record, ...]
    good: int
    dropped: str


def line_of(record: Record) -> bytes:
    """A record as it is written. Raises `CodecError` for data that JSON can't hold."""
    try:
        body = _encode(record).encode("utf-8")[:-1]
    except (TypeError, ValueError, RecursionError) as error:  # NaN, a lone surrogate, a foreign type
        raise CodecError("", f"cannot be written as JSON: {error}") from error
    return b'%s%s%08x"}\n' % (body, _SUM, crc32(body))


def read_records(raw: bytes, where: str) -> Reading:
    """All records of a journal's bytes. Raises `JournalCorrupt` for damage anywhere but in the last line."""
    lines = raw.split(b"\n")
    records: list[Record] = []
    good = 0
    for number, line in enumerate(lines[:-1], 1):
        record = _record(line)
        if isinstance(record, str):
            if number == len(lines) - 1 and not lines[-1] and not _runs_on(line):
                return Reading(records=tuple(records), good=good, dropped=_dropped(line, record))
            raise JournalCorrupt(f"{where}, line {number}: {record}; the lines before it are whole", line=number)
        records.append(record)
        good += len(line) + 1
    unfinished = lines[-1]
    if _runs_on(unfinished):  # which no write of one record leaves behind
        raise JournalCorrupt(f"{where}, line {len(lines)}: a line end is gone", line=len(lines))
    dropped = _dropped(unfinished, "it has no end, its writer was stopped in the middle") if unfinished else ""
    return Reading(records=tuple(records), good=good, dropped=dropped)


def _runs_on(line: bytes) -> bool:
    """Is it a whole record with more behind it than the zeros that a power cut leaves?"""
    at = line.find(_SUM)
    while at >= 0:
        end = at + _TAIL  # with the byte in the place of its line end
        if line[end:].strip(b"\0") and line[at : end - 1] == b'%s%08x"}' % (_SUM, crc32(line[:at])):
            return True
        at = line.find(_SUM, at + 1)
    return False


def _dropped(line: bytes, why: str) -> str:
    return f"the last line ({len(line)} bytes): {why}"


def _record(line: bytes) -> Record | str:
    """The record, or why the line is none."""
    body, tail = line[: 1 - _TAIL], line[1 - _TAIL :]
    if tail != b'%s%08x"}' % (_SUM, crc32(body)):
        return "its checksum does not fit"
    record: Any = _decode(body.decode("utf-8") + "}")
    return record if isinstance(record, dict) else "it is no object"
