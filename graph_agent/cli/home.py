"""Where runs are kept: a folder of the user's, never the current one."""

from __future__ import annotations

import os
import re
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from graph_agent.cli.exits import UsageError


def runs_folder(given: str | None) -> Path:
    """`--run-dir`, else GRAPH_AGENT_HOME, else the user's state folder as XDG (or Windows) has it."""
    if given:
        return Path(given)
    home = os.environ.get("GRAPH_AGENT_HOME")
    return (Path(home) if home else _state_folder() / "graph_agent") / "runs"


def new_run(runs: Path, name: str) -> Path:
    """A fresh, empty folder for one run; its name is the run's id."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    folder = runs / f"{plain}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"no run can be kept in {runs}: {error.strerror}; give another folder with --run-dir"
        ) from error
    return folder


def _state_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".local" / "state"
