"""Where runs are kept: a private folder of the user's, never the current one, and never the workspace."""

from __future__ import annotations

import os
import re
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from graph_agent.cli.exits import UsageError

MOST_NAME = 60  # characters of a run's name: a file system takes 255 bytes at most


def runs_folder(given: str | None) -> Path:
    """`--run-dir`, else GRAPH_AGENT_HOME, else the user's state folder as XDG (or Windows) has it."""
    if given is not None:
        if not given:
            raise UsageError("--run-dir is empty: give the folder in which runs are to be kept")
        return Path(given).absolute()
    home = os.environ.get("GRAPH_AGENT_HOME")
    return ((Path(home) if home else _state_folder() / "graph_agent") / "runs").absolute()


def new_run(runs: Path, source: Path) -> Path:
    """A fresh, empty folder for a run on the workspace `source`; its name is the run's id. Raises `UsageError`."""
    if Path(os.path.realpath(runs)).is_relative_to(source):
        raise UsageError(
            f"runs would be kept in {runs}, which lies in the workspace; give a folder outside of it with --run-dir"
        )
    plain = re.sub(r"[^\w.-]+", "-", source.name)[:MOST_NAME].strip("-.") or "run"
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
