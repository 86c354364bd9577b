"""Reading, listing and replacing files: never anything that is no plain file, never half a file.

A pipe or a device would block or act when it is opened, so its kind is looked at first, and again on what was opened.
The rule: a write replaces a file in one step, and a walk ends in an error, never in part of an answer.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graph_agent.protocols import ToolError
from graph_agent.runtime.checkpoint import replace_file
from graph_agent.tools.paths import UNTOUCHED, Place, Root, quoted

_FLAGS = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


@dataclass(frozen=True, kw_only=True)
class FileInfo:
    """A file as it stands: posix path from the root, SHA-256 of its bytes in hex, size in bytes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class FileText:
    """Text of a file, line ends as they are, without a byte-order mark; bytes that are no UTF-8 show as U+FFFD.

    `sha256` is of the whole file. `truncated`: the limit cut off some of the lines asked for.
    """

    path: str
    text: str
    sha256: str
    truncated: bool = False


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@contextmanager
def opened(place: Place) -> Iterator[io.BufferedReader]:
    """The plain file at a place, for reading bytes. Raises ToolError: not_found, not_a_file, io_error."""
    check_plain(place)
    with said(place.name, "read"), os.fdopen(os.open(place.file, os.O_RDONLY | _FLAGS), "rb") as file:
        check_plain(Place(name=place.name, file=place.file, status=os.fstat(file.fileno())))
        yield file


def check_plain(place: Place) -> None:
    """Raises ToolError: not_found, not_a_file."""
    if place.kind == "nothing":
        raise ToolError("not_found", f"There is no file {quoted(place.name)} in the workspace.")
    if place.kind != "file":
        message = f"{quoted(place.name or '.')} is no plain file ({place.kind})."
        raise ToolError("not_a_file", message, hint="list_files names the files there are.")


def read_bytes(place: Place, limit: int) -> bytes:
    """The whole content. Raises ToolError: too_large, and what `opened` raises."""
    with opened(place) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise ToolError("too_large", f"{quoted(place.name)} is larger than {limit} bytes, the limit for this.")
    return raw


def info(name: str, place: Place) -> FileInfo:
    """Hash and size of the file at a place, listed under `name`."""
    with opened(place) as file:
        return FileInfo(path=name, sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=file.tell())


def read_text(place: Place, raw: bytes, start: int, lines: int | None, limit: int) -> FileText:
    """`lines` lines from line `start` on, or all, at most `limit` bytes. Raises ToolError: bad_arguments, binary."""
    if b"\0" in raw:
        raise ToolError("binary", f"{quoted(place.name)} is no text file.")
    found = io.BytesIO(raw.removeprefix(BOM_UTF8)).readlines()
    if not 1 <= start <= max(1, len(found)) or (lines is not None and lines < 1):
        raise ToolError("bad_arguments", f"{quoted(place.name)} has {len(found)} lines; start and lines count from 1.")
    wanted = b"".join(found[start - 1 :][:lines])
    cut = len(wanted) > limit
    # The decoder drops the part of a character that the cut left at the end.
    text = getincrementaldecoder("utf-8")("replace").decode(wanted[:limit], final=not cut)
    return FileText(path=place.name, text=text, sha256=sha256(raw), truncated=cut)


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


def walk(folder: Path, *, limit: int, enter: Callable[[Place], bool] = lambda _: True) -> Iterator[Place]:
    """All entries below a folder but `UNTOUCHED`; links are not followed, nor a folder that `enter` says no to.

    A byte of a name that is no UTF-8 shows as an escape. Raises ToolError: too_large for more than `limit`, io_error.
    """
    waiting, seen = [(folder, "")], 0
    while waiting:
        for place in _entries(*waiting.pop()):
            seen += 1
            if seen > limit:
                raise ToolError("too_large", f"The workspace has more than {limit} files and folders, the limit.")
            if place.kind == "folder" and enter(place):
                waiting.append((place.file, f"{place.name}/"))
            yield place


def plain_files(root: Root, *, limit: int) -> list[tuple[str, Place]]:
    """The plain files, sorted by path. A link to a plain file inside counts as one, under its own path."""
    found = ((place.name, behind(root, place)) for place in walk(root.folder, limit=limit))
    return sorted(((path, place) for path, place in found if place.kind == "file"), key=lambda pair: pair[0])


def behind(root: Root, place: Place) -> Place:
    """What a link leads to; the place itself when it is no link, or one that leads out or nowhere."""
    if place.kind == "link":
        try:
            return root.resolve(place.name)
        except ToolError:
            return place
    return place


def _entries(folder: Path, prefix: str) -> Iterator[Place]:
    with said(prefix or ".", "listed"):
        names = sorted(entry.name for entry in folder.iterdir() if entry.name not in UNTOUCHED)
        for name in names:
            with suppress(FileNotFoundError):  # gone since it was listed
                status, shown = os.lstat(folder / name), os.fsencode(name).decode("utf-8", "backslashreplace")
                yield Place(name=prefix + shown, file=folder / name, status=status)
