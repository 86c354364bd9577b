"""All shipped evaluation tasks, each on its own model: `python -m tests.benchmarks --only evals`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def evals(repeat: int = 1, workers: int = 2, *words: str) -> str:
    """The tables of `eval fixtures/evals`, and how long the whole took."""
    with tempfile.TemporaryDirectory(prefix="graph-agent-evals-", ignore_cleanup_errors=True) as place:
        given = ["--repeat", str(repeat), "--workers", str(workers), "--run-dir", place, "--quiet", *words]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "graph_agent", "eval", str(ROOT / "fixtures" / "evals"), *given],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        took = time.perf_counter() - began
    told = done.stdout.partition("\nthe runs are kept in")[0].rstrip() or done.stderr.strip()
    return f"{told}\n\n{took:.0f} seconds with {workers} workers; exit code {done.returncode}"
