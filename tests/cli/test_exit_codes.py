"""Exit codes: one for each way to end, each with a sentence on stderr that says what to do next."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import graph_agent
from graph_agent.cli import main
from graph_agent.cli.options import most_steps
from graph_agent.workflows.repair.state import TaskState
from tests.cli.running import RIGHT, TESTS, UNITTEST, WRONG, cli, repair, tree, workspace


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a workspace `ws` in it."""
    home = tmp_path_factory.mktemp("home")
    workspace(home / "ws")
    (home / "empty").mkdir()
    (home / "a file").write_text("x", encoding="utf-8")
    return home


def test_an_empty_request_fails_with_1(place: Path) -> None:
    ended = repair("ws", "--request", " ", home=place)
    assert ended.code == 1
    assert "the request is empty" in ended.err
    assert "--request TEXT" in ended.out


SERVER = ["repair", "ws", "--model", "http://127.0.0.1:9/v1", "--model-name", "small"]
USAGE = {
    "no command": ([], "COMMAND"),
    "a command that is none": (["reapir", "ws"], "did you mean 'repair'"),
    "a workspace that is not there": (["repair", "nowhere"], "'nowhere' is not there: give the folder of a project"),
    "a workspace that is a file": (["repair", "a file"], "'a file' is no folder"),
    "a workspace without a name": (["repair", ""], "give the folder"),
    "no workspace": (["repair"], "WORKSPACE"),
    "two workspaces": (["repair", "ws", "more"], "'more'"),
    "an option that is none": (["repair", "ws", "--retrys", "3"], "did you mean '--retries'"),
    "an option cut short": (["repair", "ws", "--retr", "3"], "did you mean '--retries'"),
    "a choice that is none": (["repair", "ws", "--isolation", "jail"], "bubblewrap"),
    "a glob that leads out": (["repair", "ws", "--allow", "../**"], "--allow: the pattern '../**'"),
    "an absolute glob": (["repair", "ws", "--protect", "/etc/*"], "--protect: the pattern '/etc/*'"),
    "an operator of a shell": (["repair", "ws", "--test", "pytest && rm x"], "'&' is for a shell"),
    "a pipe in a check": (["repair", "ws", "--check", "cat x | sort"], "--check"),
    "a command of no words": (["repair", "ws", "--test", ""], "it names no program"),
    "a model that is none": (["repair", "ws", "--model", "ofline"], "did you mean 'offline'"),
    "a server without a model": (["repair", "ws", "--model", "http://127.0.0.1:9/v1"], "--model-name"),
    "a server without a host": (["repair", "ws", "--model", "http://", "--model-name", "m"], "host"),
    "a recording that is not there": (["repair", "ws", "--model", "replay:none.jsonl"], "none.jsonl cannot be read"),
    "a recording nobody can write": ([*SERVER, "--record", "nowhere/r.jsonl"], "r.jsonl cannot be written"),
    "a recording of no model": (["repair", "ws", "--record", "r.jsonl"], "give --model URL too"),
    "a name for no model": (["repair", "ws", "--model-name", "small"], "give --model URL too"),
    "a way to write for no model": (["repair", "ws", "--edit-format", "file"], "give --model URL too"),
    "a review without a model": (["repair", "ws", "--review"], "--review needs a model"),
    "rules without a review": (["repair", "ws", "--rules", "a file"], "give --review too"),
    "negative retries": (["repair", "ws", "--retries", "-1"], "--retries -1: give a number from 0"),
    "negative turns": (["repair", "ws", "--turns", "-5"], "--turns -5: give a number from 0"),
    "retries that are no number": (["repair", "ws", "--retries", "many"], "invalid int value: 'many'"),
    "more retries than there is time": (["repair", "ws", "--retries", "9" * 30], "--retries"),
    "no time": (["repair", "ws", "--timeout", "0"], "--timeout 0.0: give seconds, more than 0"),
    "a time that is no number": (["repair", "ws", "--timeout", "nan"], "--timeout nan"),
    "held-out tests that are not there": (["repair", "ws", "--holdout", "nowhere"], "--holdout 'nowhere'"),
    "held-out tests that are none": (["repair", "ws", "--holdout", "empty"], "--holdout 'empty'"),
    "held-out tests in the workspace": (["repair", "ws", "--holdout", "ws/tests"], "lies in the workspace"),
    "runs in the workspace": (["repair", "ws", "--run-dir", "ws/runs"], "lies in the workspace"),
    "runs without a place": (["repair", "ws", "--run-dir", ""], "--run-dir is empty"),
    "runs below a file": (["repair", "ws", "--run-dir", "a file"], "give another folder with --run-dir"),
    "a graph that is none": (["graph", "repare"], "did you mean 'repair'"),
    "a table of no graph": (["permissions", "repare"], "did you mean 'repair'"),
}


@pytest.mark.parametrize("words, said", USAGE.values(), ids=USAGE)
def test_what_nobody_could_run_is_2(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("GRAPH_AGENT_HOME", str(place / "kept"))
    monkeypatch.delenv("GRAPH_AGENT_LLM_MODEL", raising=False)
    before = tree(place)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err.splitlines()[-1]
    assert "graph_agent: " in err.splitlines()[-1]
    assert tree(place) == before


def test_a_usage_error_is_2_in_a_process_of_its_own_too(place: Path) -> None:
    ended = cli("repair", "nowhere", home=place)
    assert (ended.code, ended.out) == (2, "")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_runs_in_a_folder_that_is_closed_are_2(place: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        ended = repair(place / "ws", "--run-dir", tmp_path, home=place)
    finally:
        tmp_path.chmod(0o700)
    assert ended.code == 2
    assert "Permission denied" in ended.err
    assert "--run-dir" in ended.err


HOPELESS = {
    "calc.py": "def add(a, b):\n    return str(a) + str(b)\n",
    "tests/test_calc.py": TESTS.replace("add(2, 3), 5", "[add(2, 3), add(40, -7), add(0, 9)], [5, 33, 9]"),
}
WAITS = {
    "nothing fails": ({"calc.py": RIGHT}, [], "nothing fails", "--test"),
    "there is no test": ({"tests/test_calc.py": ""}, [], "no test runs", "--test CMD"),
    "the test command is not there": ({}, ["--test", "no-such-program-anywhere"], "command not found", "--test CMD"),
    "no retry is left": (
        HOPELESS,
        ["--retries", "1"],
        "1 of 1 retries are spent",
        "max_retries=",
    ),
    "no retry was given": (
        HOPELESS,
        ["--retries", "0"],
        "0 of 0 retries are spent",
        "max_retries=",
    ),
    "no turn is left": ({}, ["--turns", "6"], "turns", "max_turns="),
    "a forbidden word": ({}, ["--request", "Fix it and deploy it."], "'deploy'", "request=TEXT"),
    "no file may be changed": ({}, ["--allow", "nothing.py"], "no file may be changed", "--allow GLOB"),
    "no candidate is left": ({"calc.py": "def add(a, b):\n    pass\n"}, [], "human_review", "--model URL"),
}


@pytest.mark.parametrize("files, words, said, do_next", WAITS.values(), ids=WAITS)
def test_what_needs_a_person_is_3(
    tmp_path: Path, files: dict[str, str], words: list[str], said: str, do_next: str
) -> None:
    ws = workspace(tmp_path / "ws", {"calc.py": WRONG, "tests/__init__.py": "", "tests/test_calc.py": TESTS, **files})
    ended = repair("ws", *words, home=tmp_path)
    assert ended.code == 3
    assert ended.err.startswith("graph_agent: waiting for a person: ")
    assert said in ended.err
    assert do_next in ended.out
    assert "waiting for a person at " in ended.out
    assert ended.folder.name in ended.out
    assert (ended.folder / "journal.jsonl").is_file()
    assert ended.next_words[:2] == ["answer", ended.folder.name]
    assert (ws / "calc.py").read_text(encoding="utf-8") == files.get("calc.py", WRONG)


def test_the_last_fuse_is_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fuse follows from the retries, so that only a fault in the graph could burn it: here it is set by hand."""
    workspace(tmp_path / "ws")
    monkeypatch.setattr("graph_agent.cli.repair_desk.most_steps", lambda state: 3)
    words = ["--test", UNITTEST, "--isolation", "none", "--run-dir", str(tmp_path / "kept")]
    assert main(["repair", str(tmp_path / "ws"), *words]) == 4
    out, err = capsys.readouterr()
    assert "max_steps" in err
    assert "stopped by the last fuse" in out


def test_no_run_with_all_its_retries_burns_the_fuse(tmp_path: Path) -> None:
    """11,000 retries are more visits than the runtime's own default would allow."""
    for retries in (0, 2, 300, 11_000):
        state = TaskState(task_id="x", request="x", workspace="x", max_retries=retries)
        assert most_steps(state) > 6 + 3 * retries


def test_the_version_is_the_packages(place: Path) -> None:
    assert cli("--version", home=place).out == f"{graph_agent.__version__}\n"


@pytest.mark.parametrize(
    "words", [["--help"], *([name, "--help"] for name in ("repair", "resume", "answer", "show", "demo", "graph"))]
)
def test_help_is_0(place: Path, words: list[str]) -> None:
    ended = cli(*words, home=place, python=(sys.executable, "-W", "error"))
    assert ended.code == 0
    assert ended.out.startswith("usage: graph_agent")
