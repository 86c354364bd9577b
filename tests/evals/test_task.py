"""A task says all that is read and nothing else; what is wrong with one is told by file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graph_agent.evals.task import TaskError, read_task, read_tasks
from tests.evals.making import QUESTION, research_task, written


def test_a_task_is_read_with_its_name_and_its_places(tmp_path: Path) -> None:
    (task,) = read_tasks(research_task(tmp_path / "deep" / "hoist").parent)
    assert task.name == "research/hoist"
    assert task.said.tier == 1 and not task.scripted
    assert task.place("documents").is_dir()


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"workflow": "reserach"}, "workflow is 'reserach', did you mean 'research'?: give one of repair, research, node"),
    ({"tier": 4}, "tier: expected one of 1, 2, 3"),
    ({"tiers": 1}, "not a field of ResearchTask"),
    ({"input": {"question": QUESTION, "documents": "docs"}}, "input.documents names 'docs', which is no folder"),
    ({"model": "gpt"}, "give 'offline', 'script:FILE' or 'replay:FILE'"),
    ({"model": "script:none.json"}, "model names 'none.json', which is no file"),
    ({"holds": {"outcome": ["finished"]}}, "holds.outcome names 'finished', which is no stage"),
    ({"holds": {"outcome": []}}, "holds.outcome and about may not be empty"),
    ({"holds": {"outcome": ["done"], "fields": {"rounds": {}}}}, "holds.fields['rounds'] asks for nothing"),
    (
        {"holds": {"outcome": ["done"], "changes": ["a.py"]}},
        "holds.changes is not for a task of the workflow 'research'",
    ),
    ({"seconds": 0}, "seconds is 0: give more than 0"),
)


@pytest.mark.parametrize(("more", "said"), WRONG, ids=lambda value: str(value)[:30])
def test_what_is_wrong_is_said_with_its_file(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    folder = research_task(tmp_path / "hoist", **more)
    with pytest.raises(TaskError) as caught:
        read_task(folder)
    assert said in str(caught.value)
    assert str(folder / "task.json") in str(caught.value)


def test_no_json_is_said(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text("{", encoding="utf-8")
    with pytest.raises(TaskError, match="can't be read"):
        read_task(tmp_path)


def test_a_node_task_names_what_the_node_is_held_to(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{}", encoding="utf-8")
    given = {"graph": "repair", "state": "state.json"}
    told = {"workflow": "node", "tier": 1, "about": "x", "input": given, "holds": {"outcome": ["execute"]}}
    with pytest.raises(TaskError, match=r"holds\.properties is empty: name what the node is held to"):
        read_task(written(tmp_path, told))


def test_a_folder_without_tasks_and_a_tier_without_any_are_errors(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"there is no task\.json below"):
        read_tasks(tmp_path)
    with pytest.raises(TaskError, match="there is no folder"):
        read_tasks(tmp_path / "none")
    research_task(tmp_path / "hoist")
    with pytest.raises(TaskError, match=r"none of the 1 tasks .* there are 1"):
        read_tasks(tmp_path, [3])


def test_two_tasks_of_one_name_are_an_error(tmp_path: Path) -> None:
    research_task(tmp_path / "one" / "hoist")
    research_task(tmp_path / "two" / "hoist")
    with pytest.raises(TaskError, match="two tasks 'research/hoist'"):
        read_tasks(tmp_path)


def test_the_fingerprint_is_of_all_that_decides_a_run(tmp_path: Path) -> None:
    folder = research_task(tmp_path / "hoist")
    first = read_task(folder).fingerprint
    (folder / "notes.txt").write_text("of no task", encoding="utf-8")
    assert read_task(folder).fingerprint == first
    (folder / "documents" / "hoist.md").write_text("The hoist may carry 300 kilograms.\n", encoding="utf-8")
    second = read_task(folder).fingerprint
    assert second != first
    told = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    written(folder, {**told, "tier": 2})
    assert read_task(folder).fingerprint not in (first, second)
