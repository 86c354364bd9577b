"""A repair that is killed at random instants, and resumed until it is done: `python -m tests.benchmarks --only kills`.

Each kill is a SIGKILL to a real `python -m graph_agent`, after a time that a seed makes up. What counts is not how long
it takes but that each run ends as the one that nobody touched: the same state, the same trace, the same files.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from graph_agent.runtime.fold import STEPS
from graph_agent.runtime.reading import read_run
from tests.benchmarks.timing import table

ROOT = Path(__file__).parents[2]
FILES = {
    "calc.py": "def total(prices, limit):\n    kept = 0\n    for price in prices:\n        if price < limit:\n"
    "            kept = kept + price\n    return kept\n",
    "test_calc.py": "import unittest\nfrom calc import total\n\n\nclass Tests(unittest.TestCase):\n"
    "    def test_at_the_limit(self):\n        self.assertEqual(total([1, 2, 3], 3), 6)\n\n"
    "    def test_above(self):\n        self.assertEqual(total([4, 8], 3), 0)\n",
}


def kills(count: int, seed: int = 1) -> str:
    """A table of how many kills hit which stage, and whether all runs ended the same."""
    chance, hits, runs, different = random.Random(seed), dict[str, int](), 0, 0
    with tempfile.TemporaryDirectory(prefix="graph-agent-kills-") as place:
        started = time.perf_counter()
        expected = _ended(_whole(Path(place) / "undisturbed"))
        takes = time.perf_counter() - started
        while sum(hits.values()) < count:
            home = Path(place) / f"run{runs}"
            runs += 1
            _killed_until_done(home, chance, takes, hits, count)
            different += _ended(home) != expected
    rows = [(stage, str(number)) for stage, number in sorted(hits.items())]
    verdict = "all ended as the undisturbed one" if not different else f"{different} ENDED DIFFERENTLY"
    return f"{table(('killed at', 'times'), rows)}\n{sum(hits.values())} kills (seed {seed}), {runs} runs: {verdict}"


def _whole(home: Path) -> Path:
    _prepare(home)
    subprocess.run(_repair(), cwd=home, env=_variables(home), check=True, capture_output=True)
    return home


def _killed_until_done(home: Path, chance: random.Random, takes: float, hits: dict[str, int], count: int) -> None:
    _prepare(home)
    words = _repair()
    while True:
        process = subprocess.Popen(
            words, cwd=home, env=_variables(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=chance.uniform(0.1, takes) if sum(hits.values()) < count else None)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        runs = home / "kept" / "runs"
        begun = [folder for folder in runs.iterdir() if (folder / "journal.jsonl").exists()] if runs.is_dir() else []
        if process.returncode == -signal.SIGKILL:
            stage = str(read_run(begun[0])[1].raw["stage"]) if begun else "before it began"
            hits[stage] = hits.get(stage, 0) + 1
        elif process.returncode == 0:
            return
        else:
            raise AssertionError(f"{' '.join(words)} ended with {process.returncode} in {home}")
        words = _command("resume", "last", "--quiet") if begun else _repair()


def _prepare(home: Path) -> None:
    (home / "ws").mkdir(parents=True)
    for name, text in FILES.items():
        (home / "ws" / name).write_text(text, encoding="utf-8")


def _repair() -> list[str]:
    test = f"{sys.executable} -S -B -m unittest test_calc"
    return _command("repair", "ws", "--quiet", "--isolation", "none", "--test", test)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "graph_agent", *words]


def _variables(home: Path) -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "HOME": str(home), "GRAPH_AGENT_HOME": str(home / "kept"), "PYTHONPATH": str(ROOT)}


def _ended(home: Path) -> Any:
    """The state, the trace and the files of the run that came to its end; a run that never began has no journal."""
    (folder,) = (one for one in (home / "kept" / "runs").iterdir() if (one / "journal.jsonl").exists())
    records, folded, _ = read_run(folder)
    trace = [[str(one[name]) for name in ("type", "stage", "to", "reason")] for one in records if one["type"] in STEPS]
    counted = {name: folded.raw[name] for name in ("stage", "steps", "spent_turns", "retries")}
    return counted, trace, {name: (folder / "workspace" / name).read_bytes() for name in FILES}
