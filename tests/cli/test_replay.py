"""`replay`: each step of a recorded repair is the same, and nothing is asked, called or written for that."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.running import cli, variables
from tests.cli.runs import REPAIR, STEPS, as_they_are, only_run, shop


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    shop(home / "ws")
    assert cli(*REPAIR, home=home, env=variables(home, GRAPH_AGENT_RECORD="1")).code == 0
    return home


def test_each_step_is_the_same_and_nothing_is_touched(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graph_agent.cli import main

    before = as_they_are(home)
    for step in range(1, STEPS + 1):
        code = main(["replay", "last", "--at", str(step), "--run-dir", str(home / "kept" / "runs")])
        assert (code, capsys.readouterr().out.partition(": ")[2]) == (0, "the same\n"), step
    assert as_they_are(home) == before


def test_as_json_and_from_the_shell(home: Path) -> None:
    ended = cli("replay", "last", "--at", "3", "--json", home=home)
    expected = {"step": 3, "stage": "plan", "same": True, "differences": []}
    assert (ended.code, ended.data) == (0, {"run": only_run(home).name, **expected})


def test_what_differs_is_said_and_the_exit_code_is_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graph_agent.cli import main

    words = ["replay", "last", "--at", "3", "--run-dir", str(home / "kept" / "runs")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["graph_agent.workflows.repair.nodes.plan"], "TO_PLAN", "Guess.")
        assert main(words) == 1
        told = capsys.readouterr().out.splitlines()
        assert told[0] == "step 3, plan, is no longer the same:"
        assert "instructions of request 1 is 'Guess." in told[1] and "recorded: 'A test of" in told[1]
        assert main([*words, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["same"], len(data["differences"])) == (False, 1)


def test_a_step_that_is_not_there_is_said(home: Path) -> None:
    ended = cli("replay", "last", "--at", str(STEPS + 1), home=home)
    assert ended.code == 1
    assert f"has no step {STEPS + 1}: its journal has 0 to {STEPS}" in ended.err


def test_a_recording_that_is_gone_is_said(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    shutil.rmtree(only_run(copy) / "blobs")
    ended = cli("replay", "last", "--at", "3", home=copy)
    assert ended.code == 1
    assert "is gone from blobs" in ended.err


def test_a_run_that_was_not_recorded_says_how_to(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert cli(*REPAIR, home=tmp_path).code == 0
    ended = cli("replay", "last", "--at", "3", home=tmp_path)
    assert ended.code == 1
    assert "GRAPH_AGENT_RECORD=1" in ended.err
