"""`trace_tests` runs a test command of the policy under the tracer, and no other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graph_agent import ToolError
from graph_agent.tools.workbench import Bench, workbench

UNITTEST = (sys.executable, "-m", "unittest", "discover")
CODE = """\
def total(prices):
    if not prices:
        return 1
    return sum(prices)
"""
TESTS = """\
import unittest
from shop import total

class TotalTest(unittest.TestCase):
    def test_some(self):
        self.assertEqual(total([1, 2]), 3)

    def test_none(self):
        self.assertEqual(total([]), 0)
"""


def bench_of(root: Path, argv: tuple[str, ...] = UNITTEST, timeout: float = 30) -> Bench:
    return Bench(root=root, baseline=root, writable=(), protected=(), commands=(argv,), tests=(argv,), timeout=timeout)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "shop.py").write_text(CODE, encoding="utf-8")
    (root / "test_shop.py").write_text(TESTS, encoding="utf-8")
    return root


def test_the_lines_of_failing_and_passing_tests(workspace: Path) -> None:
    trace = bench_of(workspace).trace_tests(UNITTEST)
    assert trace.failing["shop.py"] == (2, 3)
    assert trace.passing["shop.py"] == (2, 4)
    assert trace.traceback == {"test_shop.py": (9,)}
    assert sorted(outcome for _, outcome in trace.tests) == ["failed", "passed"]


def test_nothing_is_left_in_the_workspace(workspace: Path) -> None:
    bench_of(workspace).trace_tests(UNITTEST)
    assert sorted(path.name for path in workspace.iterdir()) == ["shop.py", "test_shop.py"]


def test_a_test_that_hangs_is_named_as_unfinished(workspace: Path) -> None:
    (workspace / "shop.py").write_text(CODE.replace("return 1", "\n        while True: pass"), encoding="utf-8")
    trace = bench_of(workspace, timeout=2).trace_tests(UNITTEST)
    assert [name.rpartition(".")[2] for name, outcome in trace.tests if outcome == "unfinished"] == ["test_none"]
    assert 4 in trace.failing["shop.py"]


@pytest.mark.parametrize("argv", [(), ("ls",), UNITTEST[:-1], (*UNITTEST, "-v"), (sys.executable, "-c", "print(1)")])
def test_what_is_no_test_command_of_the_policy_is_not_run(workspace: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(ToolError) as refused:
        bench_of(workspace).trace_tests(argv)
    assert refused.value.kind == "not_allowed"


@pytest.mark.parametrize("argv", [("make", "test"), (sys.executable, "-c", "print(1)")])
def test_a_command_that_cannot_be_traced_says_so(workspace: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(ToolError) as none:
        bench_of(workspace, argv).trace_tests(argv)
    assert none.value.kind == "no_trace"


def test_a_command_that_ends_before_the_tracer_starts_says_so(workspace: Path) -> None:
    argv = (sys.executable, "-X", "frozen_modules=nonsense", "-m", "unittest")
    with pytest.raises(ToolError) as none:
        bench_of(workspace, argv).trace_tests(argv)
    assert none.value.kind == "no_trace"
    assert "ended with" in none.value.hint


def test_the_tool_executes(workspace: Path) -> None:
    (tool,) = workbench(bench_of(workspace)).only(["trace_tests"]).specs()
    assert (tool.effect, list(tool.schema["properties"])) == ("execute", ["argv"])
