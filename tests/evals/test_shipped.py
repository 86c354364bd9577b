"""The shipped tasks: as many as are promised, sound, and met by the shipped default but for those named here.

All of them run only where GRAPH_AGENT_EVALS=1 says so (`pytest -m evals`), which takes some minutes; a few always do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from graph_agent.cli.eval import add_options, words_of
from graph_agent.evals.forms import PROPERTIES, RepairTask
from graph_agent.evals.ran import Ran
from graph_agent.evals.runner import Wanted, run_tasks
from graph_agent.evals.task import Task, read_tasks

EVALS = Path(__file__).parents[2] / "fixtures" / "evals"
TASKS = read_tasks(EVALS)
BY_NAME = {task.name: task for task in TASKS}

BEYOND_OFFLINE = {"research/electrician", "research/roof_hatch"}
"""What the offline model can't do: the question names neither of the two documents that it takes."""

A_FEW = ("node/plan_edits_a_test", "node/verify_altered_number", "repair/guest_list", "research/misleading_terms")

slow = [
    pytest.mark.evals,
    pytest.mark.skipif(os.environ.get("GRAPH_AGENT_EVALS") != "1", reason="GRAPH_AGENT_EVALS=1 is not set"),
]


def made(tasks: tuple[Task, ...], place: Path, *, workers: int = 2) -> dict[str, Ran]:
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args([str(EVALS)])

    def words(wanted: Wanted) -> list[str]:
        return [*words_of(wanted, place, options)]

    return {one.task: one for one in run_tasks(tasks, words, repeat=1, workers=workers)}


def test_each_tier_of_each_workflow_has_at_least_ten_tasks_and_there_are_nodes() -> None:
    counts = Counter((task.said.workflow, task.said.tier) for task in TASKS)
    for workflow in ("repair", "research"):
        assert min(counts[workflow, tier] for tier in (1, 2, 3)) >= 10, counts
    assert sum(count for (workflow, _), count in counts.items() if workflow == "node") >= 6
    asked = {name for task in TASKS for name in task.said.holds.properties}
    assert asked == set(PROPERTIES)


def test_each_task_is_fit_for_any_model() -> None:
    for task in TASKS:
        holds = task.said.holds
        assert not holds.passes or "repair" not in holds.passes, "a good model needs no repair"
        assert holds.held_out or task.said.workflow != "repair", f"{task.name} proves nothing unseen"
        assert holds.answer.has or task.said.workflow != "research", f"{task.name} asks for no answer"
        assert task.said.tier != 3 or task.said.workflow != "repair" or holds.by_default.passes == ("repair",)


def test_the_names_of_folders_are_those_of_their_workflows() -> None:
    folders = {"repair": "repair", "research": "research", "node": "nodes"}
    assert all(task.folder.parent.name == folders[task.said.workflow] for task in TASKS)


@pytest.mark.parametrize("name", A_FEW)
def test_some_tasks_are_met_by_the_shipped_default(name: str, tmp_path: Path) -> None:
    one = made((BY_NAME[name],), tmp_path)[name]
    assert one.held, one.missed


@pytest.mark.parametrize("case", [pytest.param("all", marks=slow)])
def test_each_task_is_met_by_the_shipped_default_but_for_those_beyond_it(case: str, tmp_path: Path) -> None:
    runs = made(TASKS, tmp_path)
    missed = {name: one.missed for name, one in runs.items() if not one.held}
    assert missed.keys() == BEYOND_OFFLINE, missed
    assert {runs[name].outcome for name in BEYOND_OFFLINE} == {"partial"}, "what can't be told is not made up"


REPAIRS = [task for task in TASKS if isinstance(task.said, RepairTask)]


@pytest.mark.parametrize("task", [pytest.param(one, marks=slow, id=one.name) for one in REPAIRS])
def test_the_fault_of_a_workspace_fails_visible_and_held_out_tests(task: Task, tmp_path: Path) -> None:
    assert isinstance(task.said, RepairTask)
    root = tmp_path / "copy"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(task.place(task.said.input.workspace), root, ignore=skipped)
    shutil.copytree(task.place(task.said.holds.held_out), root, ignore=skipped, dirs_exist_ok=True)
    words = [sys.executable, "-B", "-m", "unittest", "discover", "-v"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    failing = [line for line in done.stderr.splitlines() if line.startswith(("FAIL: ", "ERROR: "))]
    assert any("holdout" in line for line in failing), done.stderr
    assert any("holdout" not in line for line in failing), done.stderr
