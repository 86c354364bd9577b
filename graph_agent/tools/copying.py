"""A private copy of a workspace, so that an agent never works on the original.

Plain files are copied with their mode, links inside are made anew so that they point into the copy. The rule: nothing
in the copy leads out of it, and what was left behind is in the answer (a virtual environment by any name, a pipe); only
what `paths.UNTOUCHED` lists is left behind without a word.
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from graph_agent.protocols import ToolError
from graph_agent.tools.files import opened, said
from graph_agent.tools.paths import UNTOUCHED, Place, Root, WorkspaceError
from graph_agent.tools.tree import Entry, walk

MAX_ENTRIES = 20_000


@dataclass(frozen=True, kw_only=True)
class LeftBehind:
    """Something of the source that the copy does not have, and why."""

    path: str
    why: str


def copy_workspace(source: Path, target: Path) -> tuple[LeftBehind, ...]:
    """Copy the folder `source` to `target`, which must be empty or not exist. What was left behind, by path.

    Raises WorkspaceError when either is unusable or one lies in the other, ToolError (too_large, io_error) when the
    copy cannot be finished; what is there by then is the caller's to remove.
    """
    root = Root(source)
    into = _empty_folder(root.folder, target)
    left: list[LeftBehind] = []
    for entry in walk(root.folder, limit=MAX_ENTRIES, enter=_enters):
        why = _copy(root, entry, into)
        if why:
            left.append(LeftBehind(path=entry.path, why=why))
    return tuple(sorted(left, key=lambda one: one.path))


def is_left_behind(folder: Path) -> bool:
    """Whether a folder directly in a workspace has no place in a copy: on the short list, or a virtual environment."""
    return folder.name in UNTOUCHED or _is_environment(folder)


def _is_environment(folder: Path) -> bool:
    return os.path.lexists(folder / "pyvenv.cfg")


def _enters(entry: Entry) -> bool:
    return not _is_environment(entry.place.file)


def _empty_folder(source: Path, target: Path) -> Path:
    into = Path(os.path.realpath(target))
    if into.is_relative_to(source) or source.is_relative_to(into):
        raise WorkspaceError("the copy and the workspace lie in one another. Choose a folder outside the workspace.")
    if os.path.lexists(into) and not (into.is_dir() and not any(into.iterdir())):
        raise WorkspaceError(f"the target of the copy, {into.name!r}, is there already. Choose a new or empty folder.")
    with said(into.name, "made"):
        into.mkdir(parents=True, exist_ok=True)
    return into


def _copy(root: Root, entry: Entry, into: Path) -> str:
    """Copy one entry; why not, or ""."""
    to = into / entry.place.file.relative_to(root.folder)
    if entry.kind == "special":
        return "is no plain file but a pipe, a socket or a device"
    if entry.kind == "link":
        return _link(root, entry.place, to, into)
    if entry.kind == "folder" and not _enters(entry):
        return "is a virtual environment"
    with said(entry.path, "copied"):
        if entry.kind == "folder":
            to.mkdir()
        else:
            _copy_file(entry.place, to)
    return ""


def _copy_file(place: Place, to: Path) -> None:
    with opened(place) as old, to.open("xb") as new:
        shutil.copyfileobj(old, new)
        mode = os.fstat(old.fileno()).st_mode
    to.chmod(stat.S_IMODE(mode) & 0o777)


def _link(root: Root, place: Place, to: Path, into: Path) -> str:
    try:
        behind = root.resolve(place.name)
    except ToolError as error:
        return f"is a link that cannot be followed here ({error.kind})"
    meant = into / behind.name
    try:
        to.symlink_to(os.path.relpath(meant, to.parent), target_is_directory=behind.file.is_dir())
    except OSError as error:
        return f"is a link that could not be made: {error.strerror}"
    return ""
