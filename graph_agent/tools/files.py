"""Reading and replacing one file: never anything that is no plain file, never half a file.

A FIFO or a device would block or act when it is opened, so the kind of an entry is looked at first and again on what
was opened. The rule: a write goes to a new file beside the old one, which takes its place in one step, so that a crash
leaves the old content or the new; the mode bits are kept, and a hard link elsewhere keeps the old content.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from graph_agent.protocols import ToolError
from graph_agent.runtime.replacing import replace_file
from graph_agent.tools.paths import Place, quoted

CHUNK = 1 << 16
BOM = b"\xef\xbb\xbf"

_OPEN = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


@dataclass(frozen=True, kw_only=True)
class FileInfo:
    """A file as it stands: posix path from the root, SHA-256 of its bytes in hex, size in bytes."""

    path: str
    sha256: str
    size: int


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@contextmanager
def opened(place: Place) -> Iterator[BinaryIO]:
    """The plain file at a place, for reading bytes. Raises ToolError: not_found, not_a_file, io_error."""
    check_plain(place)
    with said(place.name, "read"):
        number = os.open(place.file, _OPEN)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise _no_file(place.name, "changed into something that is no plain file")
            yield file


def check_plain(place: Place) -> os.stat_result:
    """What is known of the plain file at a place. Raises ToolError: not_found, not_a_file."""
    if place.status is None:
        raise ToolError("not_found", f"There is no file {quoted(place.name)} in the workspace.")
    if stat.S_ISDIR(place.status.st_mode):
        raise _no_file(place.name, "is a folder")
    if not stat.S_ISREG(place.status.st_mode):
        raise _no_file(place.name, "is no plain file but a pipe, a socket or a device")
    return place.status


def read_bytes(place: Place, limit: int) -> bytes:
    """The whole content. Raises ToolError: too_large, and what `opened` raises."""
    with opened(place) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise too_large(place.name, limit)
    return raw


def too_large(name: str, limit: int) -> ToolError:
    return ToolError("too_large", f"{quoted(name)} is larger than {limit} bytes, the limit for this.")


def info(name: str, place: Place) -> FileInfo:
    """Hash and size of the file at a place, listed under `name`. Reads it in pieces."""
    digest, size = hashlib.sha256(), 0
    with opened(place) as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
            size += len(piece)
    return FileInfo(path=name, sha256=digest.hexdigest(), size=size)


def replace(place: Place, raw: bytes, mode: int) -> None:
    """Give the file at a place new content in one step. The folder must exist. Raises ToolError io_error."""
    # A name of its own for each target: what a crash leaves behind, the next try clears away.
    beside = f".edit-{sha256(place.file.name.encode('utf-8'))[:16]}.tmp"
    with said(place.name, "written"):
        place.file.with_name(beside).unlink(missing_ok=True)
        replace_file(place.file, raw, beside=beside, mode=stat.S_IMODE(mode) & 0o777)


@contextmanager
def said(name: str, done: str) -> Iterator[None]:
    """Turn an error of the system into one that a model may see: the name from the root, and no other path."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolError("io_error", f"{quoted(name)} could not be {done}: {reason}.") from error


def _no_file(name: str, why: str) -> ToolError:
    return ToolError("not_a_file", f"{quoted(name or '.')} {why}.", hint="list_files names the files there are.")
