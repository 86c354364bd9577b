"""The commands that only print: `demo`, `graph`, `permissions`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from graph_agent.cli import main
from graph_agent.view.drawing import dot, mermaid
from graph_agent.workflows.repair.graph import GRAPH
from tests.cli.running import Ended, cli, tree

STAGES = ["intake", "diagnose", "plan", "execute", "verify", "repair", "execute", "verify", "done"]

MINE = """\
from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Graph, GraphState, Node


class Stage(StrEnum):
    WORK = "work"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Task(GraphState):
    stage: Stage = Stage.WORK


WORKING = Graph(
    state=Task, nodes={Stage.WORK: Node(lambda state, ctx: None, owns=set(), to=Stage.DONE)}, ends={Stage.DONE}
)
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    home = tmp_path_factory.mktemp("home")
    return cli("demo", home=home), home


def rows(out: str) -> list[list[str]]:
    cells = (re.split(r"\s{2,}", line.strip()) for line in out.splitlines())
    return [row for row in cells if row[0].isdigit()]


def test_the_demo_ends_at_done(demo: tuple[Ended, Path]) -> None:
    assert (demo[0].code, demo[0].err) == (0, "")


def test_the_demo_goes_through_the_nine_stages_in_order(demo: tuple[Ended, Path]) -> None:
    steps = rows(demo[0].out)
    assert [row[1] for row in steps] == STAGES[:-1]
    assert [row[4] for row in steps] == STAGES[1:]


def test_the_demo_says_which_fields_changed_and_why_it_could_go_on(demo: tuple[Ended, Path]) -> None:
    changed = {row[1]: row[2] for row in rows(demo[0].out)}
    assert changed["plan"] == "plan"
    assert changed["execute"] == "changes"
    assert changed["verify"] == "verifications"
    assert changed["repair"] == "retries, repairs"
    assert all(len(row) == 6 and row[5] for row in rows(demo[0].out))
    assert "V1 is fail" in demo[0].out
    assert "done: V2 passed" in demo[0].out


def test_the_demo_writes_no_file(demo: tuple[Ended, Path]) -> None:
    assert list(demo[1].iterdir()) == []


@pytest.mark.parametrize("format, draw", [("mermaid", mermaid), ("dot", dot)])
def test_a_graph_is_drawn_from_its_own_table(tmp_path: Path, format: str, draw: object) -> None:
    assert callable(draw)
    assert cli("graph", "repair", "--format", format, home=tmp_path).out.rstrip() == draw(GRAPH).rstrip()


def test_fallbacks_are_drawn_when_asked_for(tmp_path: Path) -> None:
    plain, all_edges = (cli("graph", "repair", *more, home=tmp_path).out for more in ([], ["--fallbacks"]))
    assert len(all_edges.splitlines()) > len(plain.splitlines())


def test_a_graph_of_ones_own_is_found_where_one_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    assert "work" in cli("graph", "mine:WORKING", home=tmp_path).out
    assert "work" in cli("permissions", "mine:WORKING", home=tmp_path).out
    assert cli("permissions", "mine:WORKING", "--json", home=tmp_path).data["stages"][0]["stage"] == "work"


def test_permissions_name_every_stage_and_who_may_write(tmp_path: Path) -> None:
    out = cli("permissions", "repair", home=tmp_path).out
    for stage in GRAPH.stages:
        assert str(stage.value) in out
    assert "edit_file" in out


WRONG_NAMES = {
    "mine:WORKNG": "did you mean 'WORKING'",
    "mine:nothing": "it has WORKING",
    "mine": "module:NAME",
    "mine:": "module:NAME",
    ":WORKING": "module:NAME",
    "not_there:GRAPH": "No module named 'not_there'",
    "mine.py:WORKING": "give its module",
    "folder/mine:WORKING": "give its module",
    "broken:G": "broken can't be imported: SyntaxError",
    "raises:G": "raises can't be imported: ZeroDivisionError",
    "leaves:G": "leaves can't be imported: SystemExit",
    "bad_table:G": "bad_table can't be imported: GraphError",
    "mine:Task": "has no graph 'Task'",
}


def test_a_name_that_leads_to_no_graph_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "mine": MINE,
        "broken": "def (\n",
        "raises": "1 / 0\n",
        "leaves": "raise SystemExit(0)\n",
        "bad_table": MINE.replace("ends={Stage.DONE}", "ends=set()"),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = tree(tmp_path)
    try:
        for name, said in WRONG_NAMES.items():
            assert main(["graph", name]) == 2, name
            out, err = capsys.readouterr()
            assert out == ""
            assert said in err, name
    finally:
        for module in files:
            sys.modules.pop(module, None)
    assert tree(tmp_path) == before
