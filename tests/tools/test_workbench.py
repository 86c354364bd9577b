"""The workbench: which tools there are, what each may do, and that nothing asked of them widens it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Node, Toolbox
from graph_agent.tools.workbench import Bench, copy_workspace, workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.policy import PROTECTED, SOURCES

UNITTEST = (sys.executable, "-m", "unittest", "discover")
LINT = (sys.executable, "-c", "print('clean')")
FILES = {
    "shop.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "",
    "tests/test_shop.py": "import unittest\nimport shop\n\nclass T(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(shop.total([1, 2]), 3)\n",
    "pyproject.toml": "",
    "notes.txt": "x = 1\n",
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name, text in FILES.items():
        path = tmp_path / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    copy_workspace(tmp_path / "workspace", tmp_path / "original")
    return Bench(
        root=tmp_path / "workspace",
        baseline=tmp_path / "original",
        writable=SOURCES,
        protected=PROTECTED,
        commands=(UNITTEST, LINT),
        tests=(UNITTEST,),
        timeout=30,
    )


def kind(tools: Toolbox, tool: str, **arguments: Any) -> str:
    """What kind of refusal a call meets; "" when it is let through."""
    result = tools.call(tool, **arguments)
    return result.error.kind if result.error else ""


def edit(path: str, old: str = "x = 1", new: str = "x = 2") -> dict[str, Any]:
    return {"path": path, "edits": [{"old": old, "new": new}]}


def test_it_holds_what_the_stages_of_a_repair_ask_for(bench: Bench) -> None:
    held = {tool.name for tool in workbench(bench).specs()}
    wanted = {name for entry in GRAPH.nodes.values() if isinstance(entry, Node) for name in entry.tools}
    assert held == wanted


def test_each_tool_says_what_it_does_and_which_effect_it_has(bench: Bench) -> None:
    effects = {tool.name: tool.effect for tool in workbench(bench).specs()}
    assert {name for name, effect in effects.items() if effect == "write"} == {"edit_file", "restore_file"}
    assert {name for name, effect in effects.items() if effect == "execute"} == {
        "run_command",
        "trace_tests",
        "run_holdout",
    }
    assert all(tool.description for tool in workbench(bench).specs())


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("tests/test_shop.py", "protected"),
        ("conftest.py", "protected"),
        ("pyproject.toml", "protected"),
        ("sitecustomize.py", "protected"),
        ("notes.txt", "not_allowed"),
        ("../workspace/shop.py", "outside_workspace"),
        ("../original/shop.py", "outside_workspace"),
        ("/etc/passwd", "outside_workspace"),
    ],
)
def test_only_source_files_may_be_written(bench: Bench, path: str, refused: str) -> None:
    tools = workbench(bench)
    before = {name: (bench.root / name).read_bytes() for name in FILES}
    assert kind(tools, "edit_file", **edit(path)) in (refused, "bad_path")
    assert kind(tools, "restore_file", path=path) in (refused, "bad_path")
    assert {name: (bench.root / name).read_bytes() for name in FILES} == before


def test_an_edit_shows_in_the_diff_and_can_be_taken_back(bench: Bench) -> None:
    tools = workbench(bench)
    assert kind(tools, "edit_file", **edit("shop.py", "sum(prices)", "0")) == ""
    assert "+    return 0" in tools.call("diff").value
    assert kind(tools, "restore_file", path="shop.py") == ""
    assert tools.call("diff").value == ""


def test_only_the_commands_of_the_policy_run_whole(bench: Bench) -> None:
    tools = workbench(bench)
    assert tools.call("run_command", argv=UNITTEST).value.exit_code == 0
    assert tools.call("run_command", argv=LINT).value.output == "clean\n"
    for argv in ((sys.executable,), (*UNITTEST, "-q"), (sys.executable, "-c", "print('dirty')"), ("sh",)):
        assert kind(tools, "run_command", argv=argv) == "not_allowed"


def test_only_test_commands_are_traced(bench: Bench) -> None:
    tools = workbench(bench)
    assert tools.call("trace_tests", argv=UNITTEST).value.passing["shop.py"] == (2,)
    assert kind(tools, "trace_tests", argv=LINT) == "not_allowed"


def test_held_out_tests_run_where_there_are_some(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "holdout" / "tests").mkdir(parents=True)
    text = FILES["tests/test_shop.py"].replace("[1, 2]), 3", "[5]), 5")
    (tmp_path / "holdout" / "tests" / "test_more.py").write_text(text, encoding="utf-8")
    run = workbench(replace(bench, holdout=tmp_path / "holdout")).call("run_holdout").value
    assert (run.added, run.replaced, run.result.exit_code) == (1, 0, 0), run.result.output


def test_without_held_out_tests_the_tool_says_so(bench: Bench) -> None:
    assert kind(workbench(bench), "run_holdout") == "not_found"


def test_no_tool_lets_the_caller_choose_a_time_or_an_isolation(bench: Bench) -> None:
    taken = {tool.name: set(tool.schema.get("properties", {})) for tool in workbench(bench).specs()}
    assert not {"timeout", "isolation", "environment", "cwd"} & set().union(*taken.values())
    assert kind(workbench(bench), "run_command", argv=UNITTEST, timeout=1) == "bad_arguments"
