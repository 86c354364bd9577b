"""Walking a workspace: every entry below a folder, in one order, with an end.

Folders are entered, links are reported and never followed, and what version control and test tools keep is left out by
the short list in `paths.UNTOUCHED`. The rule: the walk ends in an error, never in part of an answer.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graph_agent.protocols import ToolError
from graph_agent.tools.files import said
from graph_agent.tools.paths import UNTOUCHED, Place, Root, is_link

Kind = Literal["file", "folder", "link", "special"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Something found. `path` is posix from the folder walked; a byte that is no UTF-8 shows as a backslash escape."""

    path: str
    kind: Kind
    place: Place


def walk(folder: Path, *, limit: int, enter: Callable[[Entry], bool] = lambda _: True) -> Iterator[Entry]:
    """All entries below a folder; a folder that `enter` says no to is given, and what lies in it is not.

    Raises ToolError: too_large when there are more than `limit`, io_error.
    """
    waiting, seen = [(folder, "")], 0
    while waiting:
        here, prefix = waiting.pop()
        for entry in _entries(here, prefix):
            seen += 1
            if seen > limit:
                raise ToolError("too_large", f"The workspace has more than {limit} files and folders, the limit.")
            if entry.kind == "folder" and enter(entry):
                waiting.append((entry.place.file, f"{entry.path}/"))
            yield entry


def plain_files(root: Root, *, limit: int) -> list[tuple[str, Place]]:
    """The plain files, sorted by path. A link to a plain file inside counts as one, under its own path."""
    found = [(entry.path, _behind(root, entry)) for entry in walk(root.folder, limit=limit)]
    return sorted(((path, place) for path, place in found if place and _is_plain(place)), key=lambda pair: pair[0])


def links_inside(root: Root, *, limit: int) -> list[tuple[str, str]]:
    """(path of a link, path of what is behind it) for the links that stay inside."""
    links = [entry for entry in walk(root.folder, limit=limit) if entry.kind == "link"]
    return [(link.path, behind.name) for link in links if (behind := _behind(root, link))]


def _behind(root: Root, entry: Entry) -> Place | None:
    if entry.kind != "link":
        return entry.place
    try:
        return root.resolve(entry.path)
    except ToolError:
        return None


def _is_plain(place: Place) -> bool:
    return place.status is not None and stat.S_ISREG(place.status.st_mode)


def _entries(folder: Path, prefix: str) -> Iterator[Entry]:
    with said(prefix or ".", "listed"):
        names = sorted(entry.name for entry in folder.iterdir() if entry.name not in UNTOUCHED)
    for name in names:
        shown, file = prefix + os.fsencode(name).decode("utf-8", "backslashreplace"), folder / name
        status = _status(file, shown)
        if status is not None:
            yield Entry(path=shown, kind=_kind(status), place=Place(name=shown, file=file, status=status))


def _status(file: Path, shown: str) -> os.stat_result | None:
    with said(shown, "looked at"):
        try:
            return os.lstat(file)
        except FileNotFoundError:  # gone since it was listed, so it is not there
            return None


def _kind(status: os.stat_result) -> Kind:
    if is_link(status):
        return "link"
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return "file" if stat.S_ISREG(status.st_mode) else "special"
