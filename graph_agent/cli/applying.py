"""The way back: the patch of a run onto the workspace that it was made for.

The rule: all files or none, and only where each still is what it was when the run began; a patch that is there already
is left as it is.
"""

from __future__ import annotations

from graph_agent.cli.runfolder import RunFolder
from graph_agent.protocols import ToolError
from graph_agent.tools.files import read_bytes, sha256
from graph_agent.tools.paths import Root, WorkspaceError
from graph_agent.tools.workbench import MAX_BYTES, apply_files
from graph_agent.workflows.repair.state import TaskState


def apply_patch_of(folder: RunFolder, state: TaskState) -> tuple[str, ...]:
    """The paths of the patch, which is in the workspace then.

    Raises ToolError (changed_meanwhile, io_error), WorkspaceError; the workspace is then as it was.
    """
    if is_applied(folder, state):
        return tuple(sorted(hashes_before(state)))
    return apply_files(folder.source, folder.workspace, hashes_before(state))


def is_applied(folder: RunFolder, state: TaskState) -> bool:
    """Whether each file that the run changed is in the workspace as the run left it."""
    after = hashes_after(state)
    patched = hashes_before(state)
    try:
        root = Root(folder.source)
        return bool(patched) and all(
            sha256(read_bytes(root.resolve(path), MAX_BYTES)) == after[path] for path in patched
        )
    except (ToolError, WorkspaceError):
        return False


def hashes_before(state: TaskState) -> dict[str, str]:
    """The files that the run changed, with the hash that they had at first ("": there was none)."""
    first = {file.path: file.sha256 for file in state.baseline}
    return {path: first.get(path, "") for path, after in hashes_after(state).items() if after != first.get(path)}


def hashes_after(state: TaskState) -> dict[str, str]:
    """The files that the run wrote, with the hash that it left them with."""
    return {change.path: change.after for change in state.changes}
