"""A repair on real files with real tests, killed at every point of every step: each edit is made once, and it ends.

The first plan edits two files and is wrong; the second takes one of them back and mends another. The model is scripted
and the test command is quick; all else is what a user runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, FakeLLM
from graph_agent.llm.edits import Edit
from graph_agent.testing.crash import Crash, check_every_crash, crash_at, run_to_end
from graph_agent.tools.workbench import Bench, workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Plan, Repair, TaskState

pytestmark = pytest.mark.slow

FILES = {
    "shop.py": "def total(a, b):\n    return a - b\n",
    "tax.py": "def tax(a):\n    return a // 10\n",
    "test_shop.py": (
        "import unittest\nfrom shop import total\nfrom tax import tax\n\n\nclass Tests(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total(1, 2) + tax(0), 3)\n\n"
        "    def test_tax(self):\n        self.assertEqual(tax(20), 2)\n"
    ),
}
TESTS = Command(argv=(sys.executable, "-S", "-B", "-m", "unittest", "test_shop"))


def plan(cites: tuple[str, ...], *edits: Edit) -> Plan:
    files = tuple(dict.fromkeys(edit.path for edit in edits))
    return Plan(hypothesis="a wrong sign", steps=("mend it",), files_to_change=files, cites=cites, edits=edits)


WRONG = plan(("O2",), Edit(path="shop.py", old="a - b", new="a * b"), Edit(path="tax.py", old="// 10", new="// 5"))
RIGHT = plan(("V1",), Edit(path="shop.py", old="a - b", new="a + b"))


def answers(request: Any) -> Any:
    """By what is asked, since a killed process takes a script's place along."""
    if "decision" in request.schema["properties"]:
        return Repair(decision="repair", why="it multiplies", cites=("V1",), plan=RIGHT)
    return WRONG


def make(folder: Path) -> Any:
    for place in ("workspace", "original"):
        (folder / place).mkdir(exist_ok=True)
        for name, text in FILES.items():
            if not (folder / place / name).exists():
                (folder / place / name).write_text(text, encoding="utf-8")
    policy = EvaluationPolicy(allowed_root="/shop", commands=(TESTS,), formats=("replace",))

    def context(run: Any) -> Context:
        bench = Bench(
            root=folder / "workspace",
            baseline=folder / "original",
            writable=policy.write,
            protected=policy.protect,
            commands=(TESTS.argv,),
            tests=(TESTS.argv,),
            timeout=30,
            isolation="none",
            keep=run.keep,
        )
        return Context(llm=FakeLLM(answers), tools=workbench(bench), policy=policy)

    return GRAPH, TaskState(task_id="shop", request="Mend it.", workspace="/shop", max_turns=30), context


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "workspace").iterdir()) if path.is_file()}


def test_a_repair_that_is_killed_anywhere_ends_as_one_that_is_not(tmp_path: Path) -> None:
    """Eight steps, two of them with effects: 8 * 3 points, 2 * 3 more; the header and the look; two snapshots."""
    killed = check_every_crash(make, tmp_path, probe=files, snapshots=(5,))
    assert killed == 8 * 3 + 2 * 3 + 2 * 2 + 2
    final = files(tmp_path / "undisturbed")
    assert final["shop.py"] == b"def total(a, b):\n    return a + b\n"
    assert final["tax.py"] == FILES["tax.py"].encode()


def test_a_repair_whose_resumes_are_killed_too_ends_the_same(tmp_path: Path) -> None:
    """Three in a row: the edits are made and not recorded, the world is looked at, the edits are found in place."""
    expected = run_to_end(make, tmp_path / "undisturbed", probe=files)
    stages = [stage for _, stage, *_ in expected.trace]
    for number, at in enumerate((at for at, stage in enumerate(stages, 1) if stage == "execute"), 1):
        place = tmp_path / f"edits-{number}"
        for crash in (Crash("after effect", at), Crash("after checked", 1), Crash("within record", 1)):
            crash_at(make, place, crash)
        assert run_to_end(make, place, probe=files) == expected
