"""`--json`: stdout has one JSON document and nothing else, however the command ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph_agent.cli import main, permissions
from tests.cli.running import FIXTURES, ROOT, cli, repair, variables, workspace


def test_a_run_that_is_done_tells_the_evidence(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    ended = repair("ws", "--json", home=tmp_path)
    data = ended.data
    assert (ended.code, ended.err) == (0, "")
    assert (data["status"], data["exit_code"], data["stage"]) == ("done", 0, "done")
    assert data["verification"]["verdict"] == "pass"
    assert data["verification"]["checks"][0]["exit_code"] == 0
    assert data["verification"]["held_out"] == "none"
    assert data["verification"]["guard"] == []
    assert data["verification"]["isolation"] == "none"
    assert data["diff"].startswith("diff --git a/calc.py b/calc.py\n")
    assert (Path(data["folder"]) / "patch.diff").read_text(encoding="utf-8") == data["diff"]


ENDS = {
    "human": (["repair", "ws", "--retries", "0", "--turns", "1"], 3, "human"),
    "failed": (["repair", "ws", "--request", ""], 1, "failed"),
    "usage": (["repair", "nowhere"], 2, "usage"),
    "an option that is none": (["repair", "ws", "--frobnicate"], 2, "usage"),
    "a value that is none": (["repair", "ws", "--retries", "many"], 2, "usage"),
    "no workspace": (["repair"], 2, "usage"),
    "a command that is none": (["frobnicate"], 2, "usage"),
    "no graph": (["permissions", "nothing"], 2, "usage"),
}


@pytest.mark.parametrize("words, code, status", ENDS.values(), ids=ENDS)
def test_every_other_end_is_one_document_too_and_a_sentence_on_stderr(
    tmp_path: Path, words: list[str], code: int, status: str
) -> None:
    workspace(tmp_path / "ws")
    ended = cli(*words, "--json", home=tmp_path)
    assert ended.code == code
    assert (ended.data["status"], ended.data["exit_code"]) == (status, code)
    assert ended.err.startswith("graph_agent: ")
    assert len(ended.err.splitlines()) == 1


def test_a_fault_of_ours_is_a_document_and_its_traceback_goes_to_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(_: str) -> None:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(permissions, "graph_of", fault)
    assert main(["permissions", "repair", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == {"status": "failed", "exit_code": 1, "error": "ZeroDivisionError: by nought"}
    assert "Traceback" in err
    with pytest.raises(ZeroDivisionError):
        main(["permissions", "repair"])


def test_what_is_left_out_of_the_copy_goes_to_stderr(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "ws")
    (ws / "away").symlink_to("/")
    ended = repair("ws", "--json", home=tmp_path)
    assert ended.data["left_out"] == ["away"]
    assert "left out of the copy: away" in ended.err


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode there")
def test_a_folder_whose_name_is_no_text_is_shown_in_valid_unicode(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    home = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    data = repair("ws", "--json", home=tmp_path, env=variables(tmp_path, GRAPH_AGENT_HOME=home)).data
    json.dumps(data, ensure_ascii=False).encode("utf-8")
    assert "/\\xff/runs/" in data["folder"]


def test_quiet_prints_the_report_and_no_line_a_step(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    ended = repair("ws", "--quiet", home=tmp_path)
    assert " | intake -> " not in ended.out
    assert "Evidence (V1, pass):" in ended.out


def test_permissions_are_one_document(tmp_path: Path) -> None:
    stages = {row["stage"]: row for row in cli("permissions", "repair", "--json", home=tmp_path).data["stages"]}
    assert stages["execute"]["tools"] == ["edit_file", "restore_file"]
    writers = [name for name, row in stages.items() if {"edit_file", "restore_file"} & set(row["tools"])]
    assert writers == ["execute"]


def test_what_a_users_module_prints_is_no_part_of_the_document(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "print('hello')\nfrom graph_agent.workflows.repair.graph import GRAPH\n", encoding="utf-8"
    )
    ended = cli("permissions", "mine:GRAPH", "--json", home=tmp_path)
    assert ended.data["stages"]
    assert ended.err == "hello\n"


def test_a_run_with_a_closed_stderr_still_prints_one_document(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("the way to close a stream is a shell's")
    command = [sys.executable, "-m", "graph_agent", "repair", str(FIXTURES / "nowhere"), "--json"]
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *command],
        env=variables(tmp_path),
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["status"] == "usage"
