"""What a resume builds a run's context from: the setup in the header, which no option replaces but for the model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_agent.cli import main
from graph_agent.runtime.journal import Run
from graph_agent.runtime.reading import read_run
from graph_agent.runtime.records import line_of
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState
from tests.cli.running import cli, repair, variables, workspace
from tests.cli.runs import REPAIR, killed_after, only_run, shop, state_of
from tests.llm.chat_server import answer as http_answer
from tests.llm.chat_server import says, serve

posix = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's here")


def rewritten(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the header says of the setup, by a hand that knows how to make the checksum fit."""
    path = folder / "journal.jsonl"
    head, *rest = path.read_bytes().splitlines(keepends=True)
    header = read_run(folder)[0][0]
    change(header["about"])  # type: ignore[arg-type]
    path.write_bytes(line_of(header) + b"".join(rest))
    assert path.read_bytes().splitlines()[0] != head.rstrip()


@posix
def test_a_policy_that_was_changed_in_the_journal_is_refused(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    killed_after(tmp_path, 3, *REPAIR)
    folder = only_run(tmp_path)

    def allow_the_tests(about: dict[str, Any]) -> None:
        about["policy"]["protect"] = []

    rewritten(folder, allow_the_tests)
    before = (folder / "journal.jsonl").read_bytes()
    ended = cli("resume", "last", home=tmp_path)
    assert ended.code == 1
    assert "is not the one that it began with" in ended.err
    assert (folder / "journal.jsonl").read_bytes() == before
    shown = cli("show", "last", home=tmp_path)
    assert shown.code == 0
    assert "is not the one that it began with" in shown.out


def test_no_option_of_a_resume_brings_another_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--approve", "plan", home=tmp_path).code == 3
    for word in ("--allow", "--protect", "--test", "--check", "--holdout", "--timeout", "--isolation"):
        assert main(["resume", "last", "--run-dir", str(tmp_path / "kept" / "runs"), word, "x"]) == 2
        assert f"does not know '{word}'" in capsys.readouterr().err


@posix
def test_held_out_tests_that_changed_since_are_refused_and_those_that_are_back_are_not(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    held = workspace(tmp_path / "ws_holdout", {"test_more.py": "import unittest\n"}) / "test_more.py"
    killed_after(tmp_path, 4, *REPAIR)
    held.write_text("# easier\n", encoding="utf-8")
    ended = cli("resume", "last", home=tmp_path)
    assert ended.code == 1
    assert "are no longer those that the run began with" in ended.err
    held.write_text("import unittest\n", encoding="utf-8")
    assert cli("resume", "last", home=tmp_path).code in (0, 3)


MENDED = (
    "The limit counts.\n\n```python\ndef total(prices, limit):\n    return sum(p for p in prices if p <= limit)\n```\n"
)


def test_a_server_that_moved_is_asked_at_its_new_place(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    key = "zz-CANARY-42"
    env = variables(tmp_path, GRAPH_AGENT_LLM_KEY=key)
    with serve(http_answer(401, "{}")) as dead:
        words = ["--model", dead.url + "?key=" + key, "--model-name", "small"]
        first = repair("ws", *words, home=tmp_path, env=env)
    assert first.code == 3
    assert first.next_words == ["resume", only_run(tmp_path).name, "--model", dead.url, "--model-name", "small"]
    assert key.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    lost = cli("answer", "last", home=tmp_path, env=env)
    assert lost.code == 2
    assert "had a query, which is not kept" in lost.err
    with serve(says(MENDED)) as live:
        ended = cli("resume", "last", "--model", live.url, home=tmp_path, env=env)
        assert json.dumps(live.bodies[0]).count('"small"') == 1
    assert ended.code == 0, ended.err
    assert state_of(only_run(tmp_path)).stage is Stage.DONE


def test_a_run_that_was_begun_in_python_is_gone_on_with_there(tmp_path: Path) -> None:
    folder = tmp_path / "kept" / "runs" / "mine"
    Run.create(folder, GRAPH, TaskState(task_id="mine", request="x", workspace="x")).close()
    ended = cli("resume", "mine", home=tmp_path)
    assert ended.code == 1
    assert "does not say what it was set up with" in ended.err
    assert cli("show", "mine", home=tmp_path).code == 0
