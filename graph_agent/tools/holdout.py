"""Held-out tests: they lie outside of the workspace, and are laid over a copy of it for the time of one run.

Nobody who edits the workspace can see or change them there. The rule: what is returned says how the run ended and how
many test files were laid over; it is for whoever judges, never for whoever proposes.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.protocols import ToolError
from graph_agent.tools.command import CommandResult, Commands
from graph_agent.tools.copying import copy_workspace
from graph_agent.tools.files import plain_files, said
from graph_agent.tools.isolation import Isolation
from graph_agent.tools.paths import Place, Root
from graph_agent.tools.toolbox import FunctionTool

MOST_FILES = 2_000


@dataclass(frozen=True, kw_only=True)
class HeldOutRun:
    """How it ended. `replaced` counts files of the workspace that a held-out one of the same path stood in for."""

    result: CommandResult
    added: int
    replaced: int


class HeldOutTests:
    """The tests in the folder `tests`, and the command that runs them in a copy of the workspace `root`."""

    def __init__(
        self, root: Path, tests: Path, argv: tuple[str, ...], *, timeout: float, isolation: Isolation = "auto"
    ) -> None:
        self._root, self._tests, self._argv = root, tests, argv
        self._timeout, self._isolation = timeout, isolation

    def run_holdout(self) -> HeldOutRun:
        """Run the held-out tests once, in a copy that is gone afterwards."""
        files = plain_files(Root(self._tests), limit=MOST_FILES)
        if not files:
            raise ToolError("not_found", "There are no held-out tests.", hint="Give a folder that holds some.")
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            copy = Path(private) / "workspace"
            copy_workspace(self._root, copy)
            replaced = 0
            for name, place in files:
                replaced += _laid_over(place, copy / name)
            commands = Commands(copy, [self._argv], timeout=self._timeout, isolation=self._isolation)
            return HeldOutRun(result=commands.run_command(self._argv), added=len(files) - replaced, replaced=replaced)

    def tools(self) -> tuple[FunctionTool, ...]:
        """`run_holdout` for a Toolbox."""
        return (FunctionTool(self.run_holdout, effect="execute"),)


def _laid_over(place: Place, target: Path) -> bool:
    """Put a held-out file where the copy has room for it, or in the place of another, and return which of the two."""
    with said(place.name, "laid over the workspace"):
        there = os.path.lexists(target)
        if target.is_symlink():
            target.unlink()  # or what it points at would be written
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place.file, target)
        return there
