"""Tasks and runs made by hand, for tests of the evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graph_agent.evals.ran import Ran
from graph_agent.evals.report import Evaluated

QUESTION = "What may the hoist carry?"


def research_task(folder: Path, **more: Any) -> Path:
    """A task of one document; `more` replaces fields of its task.json."""
    documents = folder / "documents"
    documents.mkdir(parents=True)
    (documents / "hoist.md").write_text("# Hoist\n\nThe hoist may carry 450 kilograms.\n", encoding="utf-8")
    told = {
        "workflow": "research",
        "tier": 1,
        "about": "One fact.",
        "input": {"question": QUESTION, "documents": "documents"},
        "holds": {"outcome": ["done"], "answer": {"has": ["450 kilograms"], "cites": ["hoist.md"]}},
    }
    return written(folder, {**told, **more})


def written(folder: Path, told: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def ran(task: str = "repair/pager", repeat: int = 1, **more: Any) -> Ran:
    known = {"workflow": task.split("/")[0], "tier": 1, "outcome": "done", "steps": 5, "turns": 7, "tokens": 100}
    named = f"{task.replace('/', '-')}-{repeat}"
    return Ran(task=task, repeat=repeat, **{**known, "run": named, **more})


def missed(task: str = "repair/pager", repeat: int = 1, **more: Any) -> Ran:
    return ran(task, repeat, **{"outcome": "human", "missed": ("it ended at human, not at done",), **more})


def evaluated(*runs: Ran, **more: Any) -> Evaluated:
    tasks = {one.task: "f" * 16 for one in runs}
    return Evaluated(**{"model": "offline", "repeat": 1, "tasks": tasks, "runs": runs, **more})
