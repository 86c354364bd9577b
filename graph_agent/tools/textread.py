"""Read some lines of a file as text, in bounded memory however large the file or a line of it is.

The rule: the text keeps its line ends, the hash is of the whole file, and what the limit cut off is said.
"""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from graph_agent.protocols import ToolError
from graph_agent.tools.files import BOM, CHUNK, opened
from graph_agent.tools.paths import Place, quoted


@dataclass(frozen=True, kw_only=True)
class FileText:
    """Text of a file, line ends as they are, without a byte-order mark; bytes that are no UTF-8 show as U+FFFD.

    `sha256` is of the whole file. `truncated`: the limit cut off some of the lines asked for.
    """

    path: str
    text: str
    sha256: str
    truncated: bool = False


def read_text(place: Place, start: int, lines: int | None, limit: int) -> FileText:
    """`lines` lines from line `start` (from 1), or all to the end; at most `limit` bytes of them.

    Raises ToolError: bad_arguments, binary, not_found, not_a_file, io_error.
    """
    if start < 1 or (lines is not None and lines < 1):
        raise ToolError("bad_arguments", "start and lines count from 1.", hint="Leave them out to read the whole file.")
    with opened(place) as file:
        taken = _take(file, start, lines, limit)
    if b"\0" in taken.kept:
        raise ToolError("binary", f"{quoted(place.name)} is no text file.")
    if start > max(1, taken.count):
        raise ToolError("bad_arguments", f"{quoted(place.name)} has {taken.count} lines, so none from {start} on.")
    cut = len(taken.kept) > limit
    raw = taken.kept[:limit].removeprefix(BOM) if start == 1 else taken.kept[:limit]
    # The decoder drops the part of a character that the cut left at the end.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=not cut)
    return FileText(path=place.name, text=text, sha256=taken.sha256, truncated=cut)


@dataclass(frozen=True, kw_only=True)
class _Taken:
    kept: bytes
    count: int
    sha256: str


def _take(file: BinaryIO, start: int, lines: int | None, limit: int) -> _Taken:
    """The bytes of the lines, up to one more than the limit or a chunk; how many lines the file has; its hash."""
    kept, digest, number = bytearray(), hashlib.sha256(), 1
    inside = False
    while piece := file.readline(CHUNK):
        digest.update(piece)
        if number >= start and (lines is None or number < start + lines) and len(kept) <= limit:
            kept += piece
        inside = not piece.endswith(b"\n")
        number += not inside
    return _Taken(kept=bytes(kept), count=number if inside else number - 1, sha256=digest.hexdigest())
