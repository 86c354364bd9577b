"""Reading, listing, searching and replacing plain files; a pipe or a device would block or act when it is opened.

The rule: a write replaces a file in one step, a walk ends in an error, never in part of an answer, and a search is
bounded in hits, bytes and time (in a child process, as nothing can interrupt `re`) and says what it left out.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import sys
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent.protocols import ToolError
from graph_agent.runtime.checkpoint import replace_file
from graph_agent.tools.paths import UNTOUCHED, Place, Root, quoted

MAX_PATTERN = 1000
MAX_BYTES = 20_000_000  # of all files together
SHOWN = 300  # characters of a line
_FLAGS = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


@dataclass(frozen=True, kw_only=True)
class FileInfo:
    """A file as it stands: posix path from the root, SHA-256 in hex, size in bytes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class FileText:
    """Text without a byte-order mark, U+FFFD for what is no UTF-8, and the SHA-256 of the whole file.

    `truncated`: the limit cut off some of the lines asked for.
    """

    path: str
    text: str
    sha256: str
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class Hit:
    path: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """`more`: there may be others. `skipped`: files too large, or not readable."""

    hits: tuple[Hit, ...]
    more: bool = False
    skipped: tuple[str, ...] = ()


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@contextmanager
def opened(place: Place) -> Iterator[io.BufferedReader]:
    """Raises ToolError: not_found, not_a_file, io_error."""
    check_plain(place)
    with said(place.name, "read"), os.fdopen(os.open(place.file, os.O_RDONLY | _FLAGS), "rb") as file:
        check_plain(Place(name=place.name, file=place.file, status=os.fstat(file.fileno())))
        yield file


def check_plain(place: Place) -> None:
    """Raises ToolError: not_found, not_a_file."""
    if place.kind == "nothing":
        raise ToolError("not_found", f"There is no file {quoted(place.name)} in the workspace.")
    if place.kind != "file":
        raise ToolError(
            "not_a_file", f"{quoted(place.name or '.')} is no plain file ({place.kind}).", hint="See list_files."
        )


def read_bytes(place: Place, limit: int) -> bytes:
    """Raises ToolError: too_large, and what `opened` raises."""
    with opened(place) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise ToolError("too_large", f"{quoted(place.name)} is larger than {limit} bytes.")
    return raw


def info(name: str, place: Place) -> FileInfo:
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
    # The decoder drops half a character at the end.
    text = getincrementaldecoder("utf-8")("replace").decode(wanted[:limit], final=not cut)
    return FileText(path=place.name, text=text, sha256=sha256(raw), truncated=cut)


def replace(place: Place, raw: bytes, mode: int) -> None:
    """Give a file new content. The folder must exist. Raises ToolError io_error."""
    # What a crash leaves behind, the next try clears away.
    beside = f".edit-{sha256(place.file.name.encode('utf-8'))[:16]}.tmp"
    with said(place.name, "written"):
        place.file.with_name(beside).unlink(missing_ok=True)
        replace_file(place.file, raw, beside=beside, mode=stat.S_IMODE(mode) & 0o777)


@contextmanager
def said(name: str, done: str) -> Iterator[None]:
    """Turn an OSError into one that a model may see: with no other path than `name`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolError("io_error", f"{quoted(name)} could not be {done}: {reason}.") from error


def walk(folder: Path, *, limit: int, enter: Callable[[Place], bool] = lambda _: True) -> Iterator[Place]:
    """All entries but `UNTOUCHED`; links are not followed. Raises ToolError: too_large, io_error."""
    waiting, seen = [(folder, "")], 0
    while waiting:
        for place in _entries(*waiting.pop()):
            seen += 1
            if seen > limit:
                raise ToolError("too_large", f"The workspace has more than {limit} files and folders.")
            if place.kind == "folder" and enter(place):
                waiting.append((place.file, f"{place.name}/"))
            yield place


def plain_files(root: Root, *, limit: int) -> list[tuple[str, Place]]:
    """By path; a link to a plain file inside counts as one."""
    found = ((place.name, behind(root, place)) for place in walk(root.folder, limit=limit))
    return sorted(((path, place) for path, place in found if place.kind == "file"), key=lambda pair: pair[0])


def behind(root: Root, place: Place) -> Place:
    """What a link leads to; the place itself when it is none, or leads out or nowhere."""
    if place.kind == "link":
        try:
            return root.resolve(place.name)
        except ToolError:
            return place
    return place


def search_files(
    places: Iterable[Place], wanted: str, *, regex: bool, limit: int, max_size: int, seconds: float
) -> Found:
    """Raises ToolError: bad_pattern, timeout."""
    if not 0 < len(wanted) <= MAX_PATTERN or "\n" in wanted:
        hint = f"Give 1 to {MAX_PATTERN} characters of one line."
        raise ToolError("bad_pattern", f"{quoted(wanted)} cannot be searched for.", hint=hint)
    texts, skipped, left = [], [], MAX_BYTES
    for place in places:
        try:
            raw = read_bytes(place, min(max_size, left))
        except ToolError:
            skipped.append(place.name)
            continue
        left -= len(raw)
        if b"\0" not in raw:
            texts.append((place.name, raw.decode("utf-8-sig", "replace")))
    if regex:
        found = _in_a_process(texts, wanted, limit + 1, seconds)
    else:
        found = matching_lines(texts, re.escape(wanted), limit + 1)
    hits = tuple(Hit(path=path, line=line, text=text) for path, line, text in found[:limit])
    return Found(hits=hits, more=len(found) > limit, skipped=tuple(skipped))


def matching_lines(texts: Iterable[Sequence[str]], pattern: str, limit: int) -> Sequence[tuple[str, int, str]]:
    """(path, line number, line), from (path, text)."""
    matcher = re.compile(pattern)
    found: list[tuple[str, int, str]] = []
    for path, text in texts:
        for number, line in enumerate(text.replace("\r\n", "\n").removesuffix("\n").split("\n"), 1):
            if match := matcher.search(line):
                found.append((path, number, around(line, match.start())))
                if len(found) == limit:
                    return found
    return found


def around(line: str, start: int) -> str:
    first = max(0, min(start - SHOWN // 2, len(line) - SHOWN))
    last = first + SHOWN
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"


def answer() -> None:
    """What the child process does: `matching_lines` from stdin to stdout."""
    try:
        found: object = {"lines": matching_lines(**json.load(sys.stdin))}
    except re.error as error:
        found = {"error": f"{error.msg} at character {1 + (error.pos or 0)}"}
    except (OverflowError, RecursionError, MemoryError) as error:
        found = {"error": f"it is too large ({type(error).__name__})"}
    json.dump(found, sys.stdout)


def _entries(folder: Path, prefix: str) -> Iterator[Place]:
    with said(prefix or ".", "listed"):
        names = sorted(entry.name for entry in folder.iterdir() if entry.name not in UNTOUCHED)
        for name in names:
            with suppress(FileNotFoundError):  # gone meanwhile
                status, shown = os.lstat(folder / name), os.fsencode(name).decode("utf-8", "backslashreplace")
                yield Place(name=prefix + shown, file=folder / name, status=status)


def _in_a_process(
    texts: Sequence[tuple[str, str]], pattern: str, limit: int, seconds: float
) -> Sequence[tuple[str, int, str]]:
    import subprocess  # few runs need it

    asked = json.dumps({"texts": texts, "pattern": pattern, "limit": limit}).encode("ascii")
    program = f"import sys; sys.path[:] = {sys.path}; from {__name__} import answer; answer()"
    try:
        done = subprocess.run([sys.executable, "-Ic", program], input=asked, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        hint = "Search without regex, or without repeats inside repeats."
        raise ToolError("timeout", f"{quoted(pattern)} was given up after {seconds:g} s.", hint=hint) from None
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"error": "the search broke off"}
    if "error" in found:
        message = f"{quoted(pattern)} is no usable regular expression: {found['error']}."
        raise ToolError("bad_pattern", message, hint="Search without regex.")
    lines: Sequence[tuple[str, int, str]] = found["lines"]
    return lines
