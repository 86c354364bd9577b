"""Bring the files that a run changed back to the workspace that they were copied from.

The rule: all of them or none. A file that is no longer what the run started from stops it before anything is written.
"""

from __future__ import annotations

from pathlib import Path

from graph_agent.protocols import ToolError
from graph_agent.tools import files
from graph_agent.tools.files import read_bytes, sha256
from graph_agent.tools.paths import Root, quoted

MOST_BYTES = 64 * 1024 * 1024


def apply_files(workspace: Path, changed: Path, before: dict[str, str]) -> tuple[str, ...]:
    """Copy the files named in `before` (path -> SHA-256 that the workspace must still have) from `changed`.

    Returns the paths written. Raises ToolError `changed_meanwhile` with nothing written, or io_error.
    """
    root, source = Root(workspace), Root(changed)
    writes = []
    for path, expected in sorted(before.items()):
        place = root.resolve(path)
        now = "" if place.status is None else sha256(read_bytes(place, MOST_BYTES))
        if now != expected:
            hint = "Nothing was applied. Apply the patch by hand, or run the repair again."
            raise ToolError("changed_meanwhile", f"{quoted(path)} changed while the run was under way.", hint=hint)
        made = source.resolve(path)
        status = place.status or made.status
        writes.append((place, read_bytes(made, MOST_BYTES), 0o644 if status is None else status.st_mode))
    for place, raw, mode in writes:
        files.replace(place, raw, mode)
    return tuple(sorted(before))
