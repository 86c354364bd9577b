"""Bring the files that a run changed back to the workspace that they were copied from.

The rule: all of them or none. A file that is no longer what the run started from stops it before anything is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graph_agent.protocols import ToolError
from graph_agent.tools import files
from graph_agent.tools.files import read_bytes, sha256
from graph_agent.tools.paths import Place, Root, quoted

MOST_BYTES = 64 * 1024 * 1024


def apply_files(workspace: Path, changed: Path, before: dict[str, str]) -> tuple[str, ...]:
    """Copy the files named in `before` (path -> SHA-256 that the workspace must still have) from `changed`.

    Returns the paths written. Raises ToolError: changed_meanwhile, io_error; the workspace is then as it was.
    """
    root, source = Root(workspace), Root(changed)
    writes = [_write(root, source, path, expected) for path, expected in sorted(before.items())]
    done: list[_Write] = []
    try:
        for write in writes:
            files.replace(write.place, write.new, write.mode)
            done.append(write)
    except BaseException:
        for write in done:
            _undo(write)
        raise
    return tuple(sorted(before))


@dataclass(frozen=True, kw_only=True)
class _Write:
    """`old` is None where there is no file yet."""

    place: Place
    old: bytes | None
    new: bytes
    mode: int


def _write(root: Root, source: Root, path: str, expected: str) -> _Write:
    place, made = root.resolve(path), source.resolve(path)
    old = None if place.status is None else read_bytes(place, MOST_BYTES)
    if ("" if old is None else sha256(old)) != expected:
        hint = "Nothing was applied. Apply the patch by hand, or run the repair again."
        raise ToolError("changed_meanwhile", f"{quoted(path)} changed while the run was under way.", hint=hint)
    status = place.status or made.status
    return _Write(
        place=place, old=old, new=read_bytes(made, MOST_BYTES), mode=0o644 if status is None else status.st_mode
    )


def _undo(write: _Write) -> None:
    if write.old is None:
        write.place.file.unlink()
    else:
        files.replace(write.place, write.old, write.mode)
