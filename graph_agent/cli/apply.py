"""Bring the verified patch of a run to the workspace that it was made for: all its files or none.

Refused where a file there is no longer what it was when the run began, and for a run that is not done.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from graph_agent.cli.applying import apply_patch_of, hashes_before, is_applied
from graph_agent.cli.bench import kept_setup
from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.kept import add_run_options, command_line, kept_run
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.runfolder import RunFolder
from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.tools.paths import WorkspaceError
from graph_agent.workflows.repair.state import Stage, TaskState


class NotApplied(GraphAgentError):
    """The patch was not brought back, and nothing has changed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    if kept.workflow != "repair":
        raise UsageError(f"{kept.folder.name} is a run of {kept.workflow}: only a repair has a patch")
    state: TaskState = kept.state
    if state.stage is not Stage.DONE:
        why = f"{kept.folder.name} is at {state.stage.value}: only the verified patch of a run that is done is applied"
        raise NotApplied(f"{why}; see how it goes on: {command_line(options, 'show', kept.folder.name)}")
    source = Path(kept_setup(kept).source)
    folder = RunFolder(kept.folder, source)
    there = is_applied(folder, state)
    paths = tuple(hashes_before(state)) if there else _applied(folder, state)
    if options.json:
        print_json({"run": kept.folder.name, "workspace": str(source), "files": list(paths), "already": there})
    else:
        what = "the patch is there already" if there else "applied"
        print(visible(f"{what}: {', '.join(paths) or 'no file differs'}, in {source}"))
    return DONE


def _applied(folder: RunFolder, state: TaskState) -> tuple[str, ...]:
    try:
        return apply_patch_of(folder, state)
    except (ToolError, WorkspaceError) as error:
        raise NotApplied(f"nothing was applied: {error} The patch is in {folder.patch}.") from error
