"""Which Python runs the tests of a workspace, and what it has installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

_PLACES = (".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe", "venv/Scripts/python.exe")


def interpreter_of(workspace: Path) -> str:
    """The interpreter of the workspace's own virtual environment where it has one, else the running one."""
    found = (workspace / place for place in _PLACES)
    return next((str(python.absolute()) for python in found if python.is_file()), sys.executable)


def has_module(python: str, name: str) -> bool:
    """Whether that interpreter can import a top-level module, without regard to the current folder."""
    if python == sys.executable:
        return importlib.util.find_spec(name) is not None
    try:
        asked = [python, "-I", "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)"]
        return subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
