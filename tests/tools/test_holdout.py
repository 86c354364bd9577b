"""Held-out tests run over a copy, once, and leave the workspace as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graph_agent import ToolError
from graph_agent.tools.workbench import Bench, workbench

UNITTEST = (sys.executable, "-m", "unittest", "discover")
CODE = "def total(prices):\n    return sum(prices)\n"
VISIBLE = """\
import unittest
from shop import total

class TotalTest(unittest.TestCase):
    def test_visible(self):
        self.assertEqual(total([1, 2]), 3)
"""
HELD_OUT = VISIBLE.replace("test_visible", "test_held_out").replace("[1, 2]), 3", "[5]), 5")


def put(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = put(tmp_path / "workspace", shop=CODE, tests__test_visible=VISIBLE)
    (root / "tests" / "__init__.py").touch()
    return root


def held_out(workspace: Path, tests: Path, timeout: float = 30) -> Bench:
    return Bench(
        root=workspace,
        baseline=workspace,
        writable=(),
        protected=(),
        commands=(UNITTEST,),
        tests=(UNITTEST,),
        timeout=timeout,
        holdout=tests,
    )


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_they_run_beside_the_visible_ones_and_the_workspace_stays_as_it_was(tmp_path: Path, workspace: Path) -> None:
    tests = put(tmp_path / "holdout", tests__test_secret=HELD_OUT)
    before = contents(workspace)
    run = held_out(workspace, tests).run_holdout()
    assert (run.added, run.replaced) == (1, 0)
    assert run.result.exit_code == 0, run.result.output
    assert "Ran 2 tests" in run.result.output
    assert contents(workspace) == before
    assert list(contents(tests)) == [str(Path("tests") / "test_secret.py")]


def test_they_see_the_workspace_as_it_is_now(tmp_path: Path, workspace: Path) -> None:
    runner = held_out(workspace, put(tmp_path / "holdout", tests__test_secret=HELD_OUT))
    put(workspace, shop=CODE.replace("sum(prices)", "3"))
    assert runner.run_holdout().result.exit_code == 1
    put(workspace, shop=CODE)
    assert runner.run_holdout().result.exit_code == 0


def test_one_that_stands_in_for_a_visible_file_is_counted(tmp_path: Path, workspace: Path) -> None:
    tests = put(tmp_path / "holdout", tests__test_visible=HELD_OUT, tests__test_more=HELD_OUT)
    run = held_out(workspace, tests).run_holdout()
    assert (run.added, run.replaced) == (1, 1)
    assert "Ran 2 tests" in run.result.output


def test_what_a_held_out_test_writes_is_gone_with_the_copy(tmp_path: Path, workspace: Path) -> None:
    writing = HELD_OUT + "    def test_write(self):\n        open('shop.py', 'w').write('x = 1')\n"
    held_out(workspace, put(tmp_path / "holdout", tests__test_secret=writing)).run_holdout()
    assert (workspace / "shop.py").read_text(encoding="utf-8") == CODE


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_in_the_workspace_does_not_lead_the_writing_elsewhere(tmp_path: Path, workspace: Path) -> None:
    (workspace / "tests" / "test_link.py").symlink_to("../shop.py")
    tests = put(tmp_path / "holdout", tests__test_link=HELD_OUT)
    run = held_out(workspace, tests).run_holdout()
    assert (run.replaced, run.result.exit_code) == (1, 0), run.result.output
    assert "Ran 2 tests" in run.result.output
    assert (workspace / "shop.py").read_text(encoding="utf-8") == CODE


def test_a_folder_without_files_holds_no_tests(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "holdout").mkdir()
    with pytest.raises(ToolError, match="no held-out tests"):
        held_out(workspace, tmp_path / "holdout").run_holdout()


def test_a_file_that_finds_a_folder_in_its_place_is_a_tool_error(tmp_path: Path, workspace: Path) -> None:
    (workspace / "tests" / "test_secret.py").mkdir()
    with pytest.raises(ToolError, match="could not be laid over the workspace"):
        held_out(workspace, put(tmp_path / "holdout", tests__test_secret=HELD_OUT)).run_holdout()


def test_a_run_that_hangs_is_stopped(tmp_path: Path, workspace: Path) -> None:
    hanging = "while True: pass\n"
    tests = put(tmp_path / "holdout", tests__test_secret=hanging)
    run = held_out(workspace, tests, timeout=0.8).run_holdout()
    assert run.result.timed_out


def test_the_tool_takes_no_arguments_and_executes(tmp_path: Path, workspace: Path) -> None:
    (tool,) = workbench(held_out(workspace, tmp_path)).only(["run_holdout"]).specs()
    assert (tool.effect, tool.schema["properties"]) == ("execute", {})


def test_no_file_of_them_lies_in_the_workspace_at_any_time(tmp_path: Path, workspace: Path) -> None:
    """The test itself looks where it runs, and what lies in the workspace while it does."""
    looking = (
        HELD_OUT
        + f"    def test_look(self):\n        import os\n        self.assertNotEqual(os.getcwd(), {str(workspace)!r})\n"
    )
    run = held_out(workspace, put(tmp_path / "holdout", tests__test_secret=looking)).run_holdout()
    assert run.result.exit_code == 0, run.result.output
    assert len(contents(workspace)) == 3
