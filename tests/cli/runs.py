"""Runs that are kept: a workspace that takes three attempts, and what two runs of it must have in common."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from graph_agent.runtime.compat import fitted
from graph_agent.runtime.reading import read_run
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import TaskState
from tests.cli.running import ENOUGH, UNITTEST, tree, variables, workspace

TOTAL = """\
def total(prices, limit):
    kept = 0
    for price in prices:
        if price < limit:
            kept = kept + price
    return kept
"""
TOTAL_TESTS = """\
import unittest

from calc import total


class TotalTest(unittest.TestCase):
    def test_a_price_at_the_limit_counts(self):
        self.assertEqual(total([1, 2, 3], 3), 6)

    def test_a_price_above_it_does_not(self):
        self.assertEqual(total([1, 2, 4], 3), 3)
        self.assertEqual(total([4, 8], 3), 0)
"""
STEPS = 11  # of a run on it, two retries among them


def shop(folder: Path, **more: str) -> Path:
    files = {"calc.py": TOTAL, "tests/__init__.py": "", "tests/test_calc.py": TOTAL_TESTS}
    return workspace(folder, {**files, **more})


def started(home: Path, *words: str, **more: str) -> subprocess.Popen[bytes]:
    """`graph_agent WORDS` in a process of its own, whose output is read by the test."""
    return subprocess.Popen(
        [sys.executable, "-m", "graph_agent", *words],
        cwd=home,
        env=variables(home, PYTHONUNBUFFERED="1", **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def killed_after(home: Path, line: int, *words: str) -> None:
    """The process is killed, with all that it started, once it has printed so many lines."""
    process = started(home, *words)
    assert process.stdout is not None
    for _ in range(line):
        assert process.stdout.readline()
    process.kill()
    process.communicate(timeout=ENOUGH)
    assert process.returncode in (-signal.SIGKILL, 0)  # a busy machine may let it end first


REPAIR = ("repair", "ws", "--test", UNITTEST, "--isolation", "none")


def only_run(home: Path) -> Path:
    (folder,) = (home / "kept" / "runs").iterdir()
    return folder


def state_of(folder: Path) -> TaskState:
    _, folded, _ = read_run(folder)
    state: TaskState = fitted(GRAPH, folded, folder.name).state
    return state


def same_in_all_runs(folder: Path) -> dict[str, Any]:
    """State, trace and files of a run, without its name and how long its tests took."""
    records, folded, _ = read_run(folder)
    trace = [[record[name] for name in ("stage", "to", "reason")] for record in records if record["type"] == "finished"]
    home = folder.parents[2]
    about: Any = records[0]["about"]
    names = {folder.name: "RUN", str(home): "HOME", about["policy_hash"]: "POLICY"}
    text = json.dumps([folded.raw, trace])
    for name, stands_for in names.items():
        text = text.replace(name, stands_for)
    files = {name: found for name, found in tree(folder / "workspace").items() if "__pycache__" not in name}
    return {"told": json.loads(re.sub(r"\d+\.\d+s", "T", text)), "files": files, "patch": patch_of(folder)}


def patch_of(folder: Path) -> str:
    return (folder / "patch.diff").read_text(encoding="utf-8")


def as_they_are(folder: Path) -> dict[str, tuple[str, int]]:
    """Each file below a folder: its bytes by their hash, and when they were written."""
    return {name: (found, (folder / name).stat().st_mtime_ns) for name, found in tree(folder).items()}


def typed(line: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of output verbatim in a shell, in which `python3` is the Python of these tests."""
    programs = home / "programs"
    programs.mkdir(exist_ok=True)
    python3 = programs / "python3"
    python3.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python3.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    env = variables(home, PATH=path)
    words = ["/bin/sh", "-c", line]
    return subprocess.run(words, cwd=home, env=env, capture_output=True, encoding="utf-8", timeout=ENOUGH, check=False)
