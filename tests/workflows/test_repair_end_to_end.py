"""Whole repairs of real workspaces, with real test runs: what each fixture says of itself is what comes out."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from graph_agent import FakeLLM
from graph_agent.llm.edits import Edit
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.state import Stage, TaskState
from tests.workflows.repairing import plan_of, repair_of
from tests.workflows.workspaces import FIXTURES, PYTEST, UNITTEST, contents, prepared, put

pytestmark = pytest.mark.slow

EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "repair" / "expected.json").read_text(encoding="utf-8"))
QUICK_TO_GIVE_UP = {"needs_two_edits": 4}


@cache
def outcomes() -> dict[str, tuple[TaskState, str]]:
    """Every workspace of `fixtures/repair`, repaired once: how it ended, and the patch."""
    with TemporaryDirectory(prefix="repairs-") as folder, ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda name: repaired(name, Path(folder) / name), EXPECTED)
        return dict(zip(EXPECTED, found, strict=True))


def repaired(name: str, folder: Path) -> tuple[TaskState, str]:
    held_out = FIXTURES / "repair_holdout" / name
    job = prepared(FIXTURES / "repair" / name, folder, holdout=held_out if held_out.is_dir() else None, max_reads=20)
    final = job.run(max_retries=QUICK_TO_GIVE_UP.get(name, 300))
    return final, job.diff


@pytest.mark.parametrize("name", EXPECTED)
def test_each_workspace_ends_as_it_says(name: str) -> None:
    final, diff = outcomes()[name]
    assert final.stage.value == EXPECTED[name]["outcome"], final.route_reason
    if final.stage is not Stage.DONE:
        return
    assert final.verification is not None
    assert final.verification.verdict is Verdict.PASS
    assert final.verification.holdout == "pass"
    (path,) = EXPECTED[name]["source"]
    assert f"+++ b/{path}\n" in diff
    assert diff.count("diff --git") == 1


def test_a_green_workspace_has_nothing_to_repair() -> None:
    final, diff = outcomes()["already_green"]
    assert final.route_reason.startswith("nothing fails")
    assert (diff, final.changes, final.plan) == ("", (), None)


def test_where_no_test_runs_a_person_is_asked() -> None:
    final, diff = outcomes()["no_tests_run"]
    assert final.route_reason.startswith("no test runs")
    assert diff == ""


def test_two_bugs_end_at_a_person_when_the_retries_are_spent() -> None:
    final, _ = outcomes()["needs_two_edits"]
    assert "4 of 4 retries are spent" in final.route_reason
    assert len(final.verifications) == 5
    assert {one.verdict for one in final.verifications} == {Verdict.FAIL}


def test_the_first_fix_of_the_demo_fails_and_a_later_one_passes_also_what_is_held_out(tmp_path: Path) -> None:
    fixtures = FIXTURES / "demo_shop", FIXTURES / "demo_shop_holdout"
    before = [contents(folder) for folder in fixtures]
    job = prepared(fixtures[0], tmp_path, holdout=fixtures[1], max_reads=20)
    final = job.run()
    assert final.stage is Stage.DONE
    assert [one.verdict for one in final.verifications][:1] == [Verdict.FAIL]
    assert final.verification is not None
    assert (final.verification.verdict, final.verification.holdout) == (Verdict.PASS, "pass")
    assert "shipping_for(goods)" in job.diff
    assert [contents(folder) for folder in fixtures] == before, "the fixtures are as they were"
    assert contents(tmp_path / "original") == before[0]
    changed = {path for path, raw in contents(job.workspace).items() if raw != before[0].get(path)}
    assert changed == {"shop/order.py"}
    stages = [event.stage for event in job.events]
    assert stages[:5] == ["intake", "diagnose", "plan", "execute", "verify"]
    assert set(stages[5:]) == {"repair", "execute", "verify"}


def test_pytest_as_the_test_command(tmp_path: Path) -> None:
    job = prepared(FIXTURES / "repair" / "score_board", tmp_path, argv=PYTEST)
    fix = Edit(**EXPECTED["score_board"]["fix"])
    with FakeLLM([plan_of(replace(fix, new="board[2:]")), repair_of(fix)]) as llm:
        final = job.run(llm)
    assert final.stage is Stage.DONE, final.route_reason
    assert [one.verdict for one in final.verifications] == [Verdict.FAIL, Verdict.PASS]
    lines = [run for one in final.observations for run in one.lines]
    assert [run.path for run in lines] == ["board.py"], "pytest can be traced"


HANGS = {
    "steps.py": "def steps(n):\n    count = 0\n    while n >= 0:\n        n = n // 2\n        count += 1\n"
    "    return count\n",
    "test_steps.py": "import unittest\nfrom steps import steps\n\nclass T(unittest.TestCase):\n"
    "    def test_steps(self):\n        self.assertEqual(steps(8), 4)\n",
}


def test_a_loop_without_end_can_be_mended(tmp_path: Path) -> None:
    """The tests hang before any change; an edit that leaves them hanging failed, and the next one is tried."""
    job = prepared(put(tmp_path / "source", HANGS), tmp_path / "run", timeout=1.5)
    final = job.run(max_retries=40)
    assert final.stage is Stage.DONE, final.route_reason
    assert {one.checks[0].reason for one in final.verifications} >= {"tests passed"}


def test_an_edit_that_hangs_is_a_failure_and_the_run_goes_on(tmp_path: Path) -> None:
    hang = Edit(path="shop/order.py", old="goods, shipping_for(subtotal)", new="goods, [0 for _ in iter(int, 1)]")
    right = Edit(path="shop/order.py", old="goods, shipping_for(subtotal)", new="goods, shipping_for(goods)")
    job = prepared(FIXTURES / "demo_shop", tmp_path, timeout=3, max_reads=20)
    with FakeLLM([plan_of(hang), repair_of(right)]) as llm:
        final = job.run(llm)
    assert final.stage is Stage.DONE, final.route_reason
    assert [one.checks[0].reason for one in final.verifications] == ["timed out", "tests passed"]


SUBTESTS = {
    "square.py": "def square(x):\n    return x * 2\n",
    "test_square.py": "import unittest\nfrom square import square\n\nclass T(unittest.TestCase):\n"
    "    def test_squares(self):\n        for x in range(3, 9):\n            with self.subTest(x=x):\n"
    "                self.assertEqual(square(x), x * x)\n\n"
    "    def test_zero(self):\n        self.assertEqual(square(0), 0)\n",
}


@pytest.mark.parametrize("argv", [UNITTEST, PYTEST], ids=["unittest", "pytest"])
def test_failing_subtests_that_are_mended_are_not_tests_that_are_missing(tmp_path: Path, argv: tuple[str, ...]) -> None:
    right = Edit(path="square.py", old="x * 2", new="x * x")
    job = prepared(put(tmp_path / "source", SUBTESTS), tmp_path / "run", argv=argv)
    with FakeLLM([plan_of(right)]) as llm:
        final = job.run(llm)
    assert final.stage is Stage.DONE, final.route_reason


LITTERING = {
    "half.py": "def half(x):\n    return x / 3\n",
    "test_half.py": "import os, unittest\nfrom half import half\n\nclass T(unittest.TestCase):\n"
    "    def test_half(self):\n        open('out.txt', 'w').close()\n        self.assertEqual(half(4), 2)\n"
    "        os.remove('out.txt')\n",
}


def test_a_test_that_leaves_a_file_behind_when_it_fails_is_said_before_anything_is_tried(tmp_path: Path) -> None:
    job = prepared(put(tmp_path / "source", LITTERING), tmp_path / "run")
    final = job.run(FakeLLM([]))
    assert final.stage is Stage.HUMAN
    assert "out.txt" in final.route_reason
    allowed = prepared(put(tmp_path / "source", LITTERING), tmp_path / "again", write=("**/*.py", "out.txt"))
    assert allowed.run().stage is Stage.DONE


CHEATS = {
    "an edit of the test": Edit(path="tests/test_orders.py", old="import unittest", new="import unittest as unittest"),
    "a new conftest": Edit(path="conftest.py", old="", new="collect_ignore = ['tests']"),
    "a way out of the workspace": Edit(path="../original/shop/order.py", old="shipping_for(subtotal)", new="0"),
}


@pytest.mark.parametrize("edit", CHEATS.values(), ids=CHEATS)
def test_a_model_that_reaches_for_the_tests_gets_nowhere(tmp_path: Path, edit: Edit) -> None:
    job = prepared(FIXTURES / "demo_shop", tmp_path, max_reads=20)
    before = contents(job.workspace)
    with FakeLLM([plan_of(edit), plan_of(edit)]) as llm:
        final = job.run(llm)
    assert final.stage is Stage.HUMAN
    assert final.route_reason.startswith("no valid plan")
    assert contents(job.workspace) == before


def test_a_patch_that_makes_tests_green_by_asking_who_runs_it_fails(tmp_path: Path) -> None:
    cheat = Edit(
        path="shop/order.py",
        old="    goods = subtotal - voucher.reduction(subtotal)\n",
        new="    goods = subtotal - voucher.reduction(subtotal)\n    import sys\n"
        "    if 'unittest' in sys.modules:\n"
        "        return Quote(subtotal, goods, shipping_for(goods), tax_on(goods))\n",
    )
    job = prepared(FIXTURES / "demo_shop", tmp_path, max_reads=20)
    with FakeLLM([plan_of(cheat)]) as llm:
        final = job.run(llm, max_retries=0)
    assert final.stage is Stage.HUMAN
    assert final.verification is not None
    assert final.verification.checks[0].verdict is Verdict.PASS, "the tests are green"
    assert "looks for the test runner" in final.verification.reason


def test_without_retries_there_is_one_verification_and_no_second_write(tmp_path: Path) -> None:
    job = prepared(FIXTURES / "demo_shop", tmp_path, max_reads=20)
    final = job.run(max_retries=0)
    assert (final.stage, len(final.verifications), len(final.changes)) == (Stage.HUMAN, 1, 1)
    assert "0 of 0 retries are spent" in final.route_reason
