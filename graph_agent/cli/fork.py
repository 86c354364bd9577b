"""Begin a new run from a step of another: its state, its files and its journal up to there; the other stays as it is.

Step 0 is how it began. The last line is the command that goes on with the new run.
"""

from __future__ import annotations

import argparse
import secrets
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

from graph_agent.cli.applying import hashes_after
from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.kept import WORKFLOWS, Kept, add_run_options, command_line, kept_run
from graph_agent.cli.report import print_json
from graph_agent.cli.runfolder import MOST_NAME, RunFolder
from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import BlobError, CodecError
from graph_agent.runtime.fold import at_step
from graph_agent.runtime.forks import fork
from graph_agent.runtime.reading import run_folder
from graph_agent.tools.paths import WorkspaceError
from graph_agent.tools.workbench import copy_workspace
from graph_agent.workflows.repair.state import TaskState


class NotForked(GraphAgentError):
    """No new run was made."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--at", type=int, required=True, metavar="N", help="the step after which the new run begins")
    parser.add_argument("--name", metavar="NAME", help="of the new run (default: made from the other's)")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    seq, raw = at_step(kept.records, kept.folder.name, options.at)
    name = options.name or _name(kept.folder.name)
    child = run_folder(kept.folder.parent / name)
    if child.name != name or child.exists():
        raise UsageError(f"--name {name!r} is taken, or is no name: give another one")
    child.mkdir(mode=0o700)
    try:
        if kept.folded.header["workflow"] in WORKFLOWS:
            _fill(kept, raw, child)
        fork(kept.folder, at=seq, new_id=name)
    except BaseException:
        rmtree(child, ignore_errors=True)
        raise
    on = command_line(options, "resume", name)
    if options.json:
        print_json({"run": name, "folder": str(child), "parent": kept.folder.name, "step": options.at, "next": on})
    else:
        print(f"{name} begins after step {options.at} of {kept.folder.name}; to go on:\n  {on}")
    return DONE


def _name(parent: str) -> str:
    return f"{parent[:MOST_NAME].rstrip('-.')}-fork-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _fill(kept: Kept, raw: dict[str, Any], child: Path) -> None:
    """The workspace as it was at that step: the original, and what the run had written by then, from its blobs."""
    try:
        state: TaskState = decode(kept.graph.state, raw, "state")
    except CodecError as error:
        raise NotForked(f"the state at that step does not fit the code of today: {error}") from error
    old, new = RunFolder(kept.folder, child), RunFolder(child, child)
    blobs = Blobs(kept.folder / "blobs")
    first = {file.path: file.sha256 for file in state.baseline}
    try:
        copy_workspace(old.original, new.original)
        copy_workspace(old.original, new.workspace)
        for path, after in hashes_after(state).items():
            if after != first.get(path):
                (new.workspace / path).write_bytes(blobs.read_bytes(after))
    except (WorkspaceError, ToolError, BlobError) as error:
        raise NotForked(f"the workspace can't be made as it was: {error}") from error
