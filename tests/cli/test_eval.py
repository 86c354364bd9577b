"""`eval` as a user runs it: real tasks in processes of their own, what it prints, saves and compares."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import FIXTURES, Ended, cli, tree
from tests.evals.making import research_task, written

pytestmark = pytest.mark.slow

EVALS = FIXTURES / "evals"


def evaluate(folder: Path, *words: str | Path, home: Path) -> Ended:
    given = [] if "--repeat" in words else ["--repeat", "1"]
    return cli("eval", folder, *given, *words, home=home)


def less_times(data: dict[str, Any]) -> dict[str, Any]:
    """What must not hang on the machine, the place and the number of workers."""
    runs = [{**one, "seconds": 0} for one in data["runs"]]
    return {**data, "runs": runs, "kept_in": ""}


@pytest.fixture
def some(tmp_path: Path) -> Path:
    """A research, a node, and one whose answer is not what the documents say."""
    folder = tmp_path / "tasks"
    research_task(folder / "hoist")
    research_task(folder / "wrong", holds={"outcome": ["done"], "answer": {"has": ["900 kilograms"]}}, tier=2)
    for name in ("plan_edits_a_test",):
        shutil.copytree(EVALS / "nodes" / name, folder / name)
    return folder


def test_what_holds_and_what_does_not_is_told_with_the_runs_to_look_at(some: Path, tmp_path: Path) -> None:
    before = tree(some)
    ended = evaluate(some, home=tmp_path)
    assert ended.code == 1
    assert "2 of 3 runs end as they must: 3 tasks, each run once, model: offline" in ended.out
    rows = [line.split() for line in ended.out.splitlines()]
    assert ["research", "1", "1", "1/1", "(100%)"] in [row[:5] for row in rows]
    assert ["research", "2", "1", "0/1", "(0%)"] in [row[:5] for row in rows]
    assert ["refuses", "a", "path", "outside", "of", "the", "policy", "1/1"] in [row[:8] for row in rows]
    assert "missed: research-wrong-1: the answer does not say '900 kilograms'" in ended.out
    assert "[3/3] research/" in ended.err
    assert tree(some) == before
    place = ended.out.partition("the runs are kept in ")[2].splitlines()[0]
    shown = cli("show", "research-wrong-1", "--run-dir", place, home=tmp_path)
    assert shown.code == 0 and "done" in shown.out


def test_the_result_is_the_same_for_any_number_of_workers(some: Path, tmp_path: Path) -> None:
    one = evaluate(some, "--repeat", "2", "--workers", "1", "--json", home=tmp_path)
    three = evaluate(some, "--repeat", "2", "--workers", "3", "--json", "--quiet", home=tmp_path)
    assert one.code == three.code == 1
    assert less_times(one.data) == less_times(three.data)
    assert [(run["task"], run["repeat"]) for run in one.data["runs"]][:2] == [
        ("node/plan_edits_a_test", 1),
        ("node/plan_edits_a_test", 2),
    ]
    assert one.err and not three.err


def test_nothing_worse_than_the_baseline_is_0_and_something_worse_1(some: Path, tmp_path: Path) -> None:
    saved = tmp_path / "then.json"
    shutil.rmtree(some / "plan_edits_a_test")
    assert evaluate(some, "--save", saved, "--quiet", home=tmp_path).code == 1
    same = evaluate(some, "--baseline", saved, "--quiet", home=tmp_path)
    assert same.code == 0
    assert f"against {saved}: 0 better, 0 worse, 2 tasks the same" in same.out
    then = json.loads(saved.read_text(encoding="utf-8"))
    for run in then["runs"]:
        run["missed"] = ["it was so"] if run["task"] == "research/hoist" else []
    saved.write_text(json.dumps(then), encoding="utf-8")
    moved = evaluate(some, "--baseline", saved, "--quiet", home=tmp_path)
    assert moved.code == 1
    assert "better: research/hoist: success 0 of 1 -> 1 of 1" in moved.out
    assert "worse: research/wrong: success 1 of 1 -> 0 of 1 (the answer does not say" in moved.out
    assert "look at research-wrong-1" in moved.out
    told = evaluate(some, "--baseline", saved, "--json", home=tmp_path).data["comparison"]
    assert [(one["task"], one["moved"]) for one in told["changes"]] == [
        ("research/hoist", "better"),
        ("research/wrong", "worse"),
    ]


KILLS = """\
import os
import signal
import unittest


class Kills(unittest.TestCase):
    def test_it_ends_who_runs_it(self):
        os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_run_that_is_killed_is_a_result_and_the_others_are_made(some: Path, tmp_path: Path) -> None:
    workspace = some / "kills" / "workspace"
    (workspace / "tests").mkdir(parents=True)
    for name, text in (("tests/__init__.py", ""), ("tests/test_kills.py", KILLS), ("calc.py", "A = 1\n")):
        (workspace / name).write_text(text, encoding="utf-8")
    told = {"workflow": "repair", "tier": 3, "about": "It kills.", "holds": {"outcome": ["done"]}}
    written(some / "kills", {**told, "input": {"workspace": "workspace", "isolation": "none"}})
    data = evaluate(some, "--json", "--workers", "2", home=tmp_path).data
    killed = next(one for one in data["runs"] if one["task"] == "repair/kills")
    assert (killed["outcome"], killed["reason"]) == ("crashed", "its process was ended by SIGKILL")
    assert len(data["runs"]) == 4 and sum(not one["missed"] for one in data["runs"]) == 2
    (row,) = (one for one in data["tiers"] if one["workflow"] == "repair")
    assert (row["held"], row["runs"], row["broken"]) == (0, 1, 1)


def test_a_task_that_can_not_be_set_up_says_what_to_mend(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "node"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text('{"stage": "plan"}', encoding="utf-8")
    holds = {"outcome": ["execute"], "properties": ["chooses an allowed route"]}
    given = {"graph": "repair", "state": "state.json"}
    written(folder, {"workflow": "node", "tier": 1, "about": "x", "input": given, "holds": holds})
    ended = evaluate(folder, home=tmp_path)
    assert ended.code == 1
    assert "broken: it can't be set up: state.json.task_id: missing" in ended.out


def test_a_repair_is_measured_by_tests_that_it_never_saw(tmp_path: Path) -> None:
    """A patch that only fits what is visible: the run ends well, the evaluation says that it does not."""
    folder = tmp_path / "overfit"
    shutil.copytree(EVALS / "repair" / "discount_trap", folder)
    told = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    del told["input"]["holdout"], told["holds"]["by_default"]
    written(folder, told)
    data = evaluate(folder, "--json", home=tmp_path).data
    (run,) = data["runs"]
    assert (run["outcome"], run["visible"], run["held_out"]) == ("done", "pass", "fail")
    assert run["missed"] == ["the held-out tests: fail"]
    (row,) = data["tiers"]
    assert (row["visible"], row["held_out"]) == ([1, 1], [0, 1])


def test_another_model_answers_in_place_of_the_scripts(tmp_path: Path) -> None:
    folder = tmp_path / "scripted"
    shutil.copytree(EVALS / "nodes" / "plan_edits_a_test", folder)
    recording = tmp_path / "empty.jsonl"
    recording.write_text("", encoding="utf-8")
    data = evaluate(folder, "--model", f"replay:{recording}", "--json", home=tmp_path).data
    (run,) = data["runs"]
    assert run["outcome"] == "human" and "empty.jsonl has no reply to this request" in run["reason"]
    assert (data["model"], data["scripted"]) == (f"replay:{recording}", [])


def test_only_the_tiers_asked_for_are_run(some: Path, tmp_path: Path) -> None:
    data = evaluate(some, "--tier", "1", "--json", home=tmp_path).data
    assert [one["task"] for one in data["runs"]] == ["research/hoist"]
    assert (data["exit_code"], data["status"]) == (0, "done")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repeat", "0"], "--repeat 0: give a number from 1 to 100"),
        (["--workers", "0"], "--workers 0: give a number from 1 to 64"),
        (["--baseline", "none.json"], "--baseline none.json can't be used"),
        (["--save", "no/such/folder/x.json"], "--save 'no/such/folder/x.json' can't be written"),
        (["--model", "http://127.0.0.1:9/v1"], "say which with --model-name"),
        (["--model-name", "m"], "--model-name is for a model that is asked"),
        (["--tier", "3"], "none of the 3 tasks"),
    ],
    ids=str,
)
def test_what_can_not_be_used_is_said_before_anything_runs(
    some: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    shutil.rmtree(some / "plan_edits_a_test")
    research_task(some / "third")
    ended = evaluate(some, *words, home=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not (tmp_path / "kept").exists()


def test_a_folder_without_tasks_is_a_usage_error(tmp_path: Path) -> None:
    ended = evaluate(tmp_path, home=tmp_path)
    assert ended.code == 2 and "there is no task.json below" in ended.err
