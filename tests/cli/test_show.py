"""`show`: where a run stands, why, what it asks and who works on it; nothing on the disk is touched by looking."""

from __future__ import annotations

import os
import re
import signal
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest

from graph_agent import Graph, GraphState, Node, Pause, Question, Route, Run, run_graph
from tests.cli.running import cli, repair, workspace
from tests.cli.runs import REPAIR, as_they_are, killed_after, only_run, shop, started, typed


class Step(StrEnum):
    DRAFT = "draft"
    ASK = "ask"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Note(GraphState):
    stage: Step = Step.DRAFT
    text: str = ""
    fine: bool = False


MINE = Graph(
    state=Note,
    nodes={
        Step.DRAFT: Node(lambda state, ctx: {"text": "hello"}, owns={"text"}, to=Step.ASK),
        Step.ASK: Pause(
            owns={"fine"},
            to=lambda state: Route(Step.DONE, "fine"),
            exits={Step.DONE},
            ask=lambda state: Question("Is this fine?", shown=state.text),
        ),
    },
    ends={Step.DONE},
)


def test_a_run_that_waits_is_shown_with_its_question_and_the_command_that_answers_it(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    first = repair("ws", "--approve", "plan", home=tmp_path)
    folder = only_run(tmp_path)
    before = as_they_are(tmp_path)
    shown = cli("show", "last", home=tmp_path)
    assert shown.code == 0
    assert shown.err == ""
    assert shown.out.startswith(f"{folder.name}: waiting for a person, at human, entered from plan\n")
    assert "why: the plan waits for approval" in shown.out
    assert re.search(r"since: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d\n", shown.out)
    assert "spent: 3 steps, 6 of 1260 turns, 0 of 300 retries" in shown.out
    assert f"it asks (pause {folder.name}:3): " in shown.out
    assert "warning: no held-out tests" in shown.out
    assert shown.next_words == first.next_words
    assert as_they_are(tmp_path) == before


def test_a_question_that_was_not_yet_written_down_is_shown(tmp_path: Path) -> None:
    """A crash may come between the step that leads to a pause and the record of what is asked."""
    shop(tmp_path / "ws")
    repair("ws", "--approve", "plan", home=tmp_path)
    path = only_run(tmp_path) / "journal.jsonl"
    *lines, last = path.read_bytes().splitlines(keepends=True)
    assert b'"type":"asked"' in last
    path.write_bytes(b"".join(lines))
    shown = cli("show", "last", home=tmp_path)
    assert f"it asks (pause {only_run(tmp_path).name}:3): " in shown.out
    assert cli(*shown.next_words, home=tmp_path).code == 3


def test_in_json_it_is_one_document(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    repair("ws", "--approve", "plan", home=tmp_path)
    data = cli("show", "last", "--json", home=tmp_path).data
    name = only_run(tmp_path).name
    assert (data["run"], data["status"], data["stage"], data["steps"]) == (name, "waiting for a person", "human", 3)
    assert data["asks"]["pause"] == f"{name}:3"
    assert data["held_by"] is None
    assert all(way["command"].startswith("python3 -m graph_agent ") for way in data["next"])


def test_a_run_that_was_killed_is_shown_as_stopped_and_how_it_goes_on(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("a signal is sent")
    shop(tmp_path / "ws")
    killed_after(tmp_path, 3, *REPAIR)
    shown = cli("show", "last", home=tmp_path)
    assert ": stopped under way, at " in shown.out
    assert shown.next_words == ["resume", only_run(tmp_path).name]


@pytest.mark.skipif(os.name != "posix", reason="a process is stopped by a signal")
def test_who_works_on_a_run_is_named_and_no_command_is_offered_then(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    process = started(tmp_path, *REPAIR)
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        shown = cli("show", "last", home=tmp_path)
        assert f": running now, by process {process.pid} (" in shown.out
        assert "graph_agent resume" not in shown.out
    finally:
        process.kill()
        process.communicate()
    assert "running now" not in cli("show", "last", home=tmp_path).out


def test_held_out_tests_are_no_warning(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    workspace(tmp_path / "ws_holdout", {"test_more.py": "import unittest\nfrom calc import total\n"})
    ended = repair("ws", home=tmp_path)
    assert "warning" not in ended.out + cli("show", "last", home=tmp_path).out


def test_a_run_of_a_graph_of_ones_own_is_shown_by_its_records(tmp_path: Path) -> None:
    with Run.create(tmp_path / "kept" / "runs" / "mine", MINE, Note(task_id="mine")) as run:
        run_graph(MINE, run.state, journal=run)
    before = as_they_are(tmp_path)
    shown = cli("show", "mine", home=tmp_path)
    assert shown.code == 0
    assert shown.out.startswith("mine: waiting for a person, at ask, entered from draft\n")
    assert "it asks (pause mine:1): Is this fine?" in shown.out
    assert "go on with it in Python" in shown.out
    assert as_they_are(tmp_path) == before
    assert cli("resume", "mine", home=tmp_path).code == 2


def test_the_command_of_another_place_for_runs_leads_there(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("a line is run in a shell")
    shop(tmp_path / "ws")
    (tmp_path / "a place").mkdir()
    words = [sys.executable, "--run-dir", "a place"][1:]
    assert repair("ws", "--turns", "6", *words, home=tmp_path).code == 3
    shown = cli("show", "last", *words, home=tmp_path)
    assert "--run-dir 'a place'" in shown.last_command
    assert "no FIELD" not in typed(shown.last_command, tmp_path).stderr


def test_a_damaged_run_is_a_sentence_with_the_line(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    repair("ws", "--approve", "plan", home=tmp_path)
    path = only_run(tmp_path) / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1].replace(b"intake", b"intakE", 1), *lines[2:]]))
    ended = cli("show", "last", home=tmp_path)
    assert ended.code == 1
    assert "line 2" in ended.err
