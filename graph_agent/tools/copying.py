"""A private copy of a workspace, so that an agent never works on the original, and the way back for what it changed.

The rule: nothing in the copy leads out of it, and what was left behind is in the answer (only what `paths.UNTOUCHED`
lists is left behind without a word); the way back brings all the files or none.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from graph_agent.protocols import ToolError
from graph_agent.tools import files
from graph_agent.tools.files import opened, read_bytes, said, sha256, walk
from graph_agent.tools.paths import UNTOUCHED, Place, Root, WorkspaceError, quoted

MAX_ENTRIES = 20_000
MAX_BYTES = 64 * 1024 * 1024  # of a file that is brought back


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
    root, into = Root(source), Path(os.path.realpath(target))
    if into.is_relative_to(root.folder) or root.folder.is_relative_to(into):
        raise WorkspaceError("the copy and the workspace lie in one another. Choose a folder outside the workspace.")
    if os.path.lexists(into) and not (into.is_dir() and not any(into.iterdir())):
        raise WorkspaceError(f"the target of the copy, {into.name!r}, is there already. Choose a new or empty folder.")
    with said(into.name, "made"):
        into.mkdir(parents=True, exist_ok=True)
    left = []
    for place in walk(root.folder, limit=MAX_ENTRIES, enter=lambda place: not _is_environment(place.file)):
        why = _copy(root, place, into)
        if why:
            left.append(LeftBehind(path=place.name, why=why))
    return tuple(sorted(left, key=lambda one: one.path))


def is_left_behind(folder: Path) -> bool:
    """Whether a folder directly in a workspace has no place in a copy: on the short list, or a virtual environment."""
    return folder.name in UNTOUCHED or _is_environment(folder)


def apply_files(workspace: Path, changed: Path, before: dict[str, str]) -> tuple[str, ...]:
    """Copy the files named in `before` (path -> SHA-256 that the workspace must still have) from `changed`.

    Returns the paths written. Raises ToolError: changed_meanwhile, io_error; the workspace is then as it was.
    """
    root, source = Root(workspace), Root(changed)
    writes = [(_unchanged(root, path, expected), source.resolve(path)) for path, expected in sorted(before.items())]
    contents = [read_bytes(new, MAX_BYTES) for _, new in writes]
    done: list[tuple[Place, bytes | None]] = []
    try:
        for ((place, old), new), raw in zip(writes, contents, strict=True):
            files.replace(place, raw, _mode(place, new))
            done.append((place, old))
    except BaseException:  # also a keyboard interrupt
        for place, old in done:
            if old is None:
                place.file.unlink()
            else:
                files.replace(place, old, _mode(place))
        raise
    return tuple(sorted(before))


def _is_environment(folder: Path) -> bool:
    return os.path.lexists(folder / "pyvenv.cfg")


def _copy(root: Root, place: Place, into: Path) -> str:
    """Copy one entry; why not, or ""."""
    to = into / place.file.relative_to(root.folder)
    if place.kind == "special":
        return "is a pipe, a socket or a device"
    if place.kind == "link":
        return _link(root, place, to, into)
    if place.kind == "folder" and _is_environment(place.file):
        return "is a virtual environment"
    with said(place.name, "copied"):
        if place.kind == "folder":
            to.mkdir()
        else:
            with opened(place) as old, to.open("xb") as new:
                shutil.copyfileobj(old, new)
            to.chmod(_mode(place) & 0o777)
    return ""


def _link(root: Root, place: Place, to: Path, into: Path) -> str:
    """Make the link anew, so that it points into the copy."""
    try:
        behind = root.resolve(place.name)
        to.symlink_to(os.path.relpath(into / behind.name, to.parent), target_is_directory=behind.file.is_dir())
    except ToolError as error:
        return f"is a link that cannot be followed here ({error.kind})"
    except OSError as error:
        return f"is a link that could not be made: {error.strerror}"
    return ""


def _unchanged(root: Root, path: str, expected: str) -> tuple[Place, bytes | None]:
    """The place of a file that a run started from, and its bytes; None where there is no file yet."""
    place = root.resolve(path)
    raw = None if place.kind == "nothing" else read_bytes(place, MAX_BYTES)
    if expected != ("" if raw is None else sha256(raw)):
        hint = "Nothing was applied. Apply the patch by hand, or run the repair again."
        raise ToolError("changed_meanwhile", f"{quoted(path)} changed while the run was under way.", hint=hint)
    return place, raw


def _mode(*places: Place) -> int:
    return next((place.status.st_mode for place in places if place.status), 0o644)
