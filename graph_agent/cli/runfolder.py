"""Where a run is kept: a private folder of the user's, with its journal and the copy that is worked on."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

from graph_agent.cli.exits import UsageError
from graph_agent.protocols import ToolError
from graph_agent.runtime.checkpoint import replace_file
from graph_agent.tools.paths import WorkspaceError
from graph_agent.tools.workbench import LeftBehind, copy_workspace

MOST_NAME = 60  # characters


def runs_folder(given: str | None) -> Path:
    """`--run-dir`, else GRAPH_AGENT_HOME, else the user's state folder."""
    if given is not None:
        if not given:
            raise UsageError("--run-dir is empty: give the folder in which runs are to be kept")
        return Path(given).absolute()
    home = os.environ.get("GRAPH_AGENT_HOME")
    return ((Path(home) if home else _state_folder() / "graph_agent") / "runs").absolute()


def new_run(runs: Path, source: Path) -> Path:
    """A fresh folder, whose name is the run's id. Raises `UsageError`."""
    if Path(os.path.realpath(runs)).is_relative_to(source):
        raise UsageError(f"{runs}, for runs, lies in the workspace: give a folder outside of it with --run-dir")
    plain = re.sub(r"[^\w.-]+", "-", source.name, flags=re.ASCII)[:MOST_NAME].strip("-._") or "run"
    folder = runs / f"{plain}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise UsageError(
            f"no run can be kept in {runs}: {error.strerror}; give another folder with --run-dir"
        ) from error
    return folder


def _state_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local")
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    return given if given.is_absolute() else _home() / ".local" / "state"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise UsageError("you have no home folder to keep runs in: give one with --run-dir") from error


class RunFolder:
    """Of a repair: `workspace/` is worked on, `original/` is what it was, `patch.diff` what lies between them."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder, self.source = folder, source
        self.workspace, self.original = folder / "workspace", folder / "original"
        self.patch = folder / "patch.diff"

    @property
    def name(self) -> str:
        return self.folder.name

    def fill(self) -> tuple[LeftBehind, ...]:
        """Copy the workspace; returns what was left out. Raises `UsageError` for one that can't be copied."""
        try:
            left_behind = copy_workspace(self.source, self.workspace)
            copy_workspace(self.source, self.original)
        except (WorkspaceError, ToolError) as error:
            raise UsageError(f"{self.source} can't be copied: {error}") from error
        return left_behind

    def remove(self) -> None:
        """What is there is no run yet."""
        rmtree(self.folder, ignore_errors=True)

    def kept_patch(self, made: Callable[[], str]) -> str:
        """The text of `patch.diff`, which is made where it is not there. Raises OSError."""
        if not self.patch.is_file():
            raw = made().encode("utf-8", "surrogateescape")
            if not raw:
                return ""
            replace_file(self.patch, raw, beside=f".patch-{secrets.token_hex(4)}.tmp")
        return self.patch.read_bytes().decode("utf-8", "surrogateescape")
