"""Which Python runs the tests of a workspace, and what it has installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.tools.environment import environment, search_path

_PLACES = (".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe", "venv/Scripts/python.exe")
_PATIENCE = 30.0  # seconds; the first start of an interpreter on a cold or busy machine has been seen to take ten


def interpreter_of(workspace: Path) -> str:
    """The interpreter of the workspace's own virtual environment where it has one, else the running one."""
    found = (workspace / place for place in _PLACES)
    return next((str(python.absolute()) for python in found if python.is_file()), sys.executable or "python3")


def has_module(python: str, name: str) -> bool:
    """Whether that interpreter finds a top-level module when it is started as a test command is.

    Asked of a child even for the running interpreter: that one has PYTHONPATH and a current folder, a command has not.
    """
    asked = [python, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)"]
    with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
        folder = Path(private)
        variables = environment(search_path(folder), folder)
        try:
            return (
                subprocess.run(
                    asked,
                    cwd=folder,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_PATIENCE,
                    check=False,
                ).returncode
                == 0
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
