"""Tasks of an evaluation: what `task.json` may say, read and checked before anything runs.

Every path in it starts from the task's own folder. The rule: a task that says something nobody reads, or names what is
not there, is an error with its file and field; so is a folder without tasks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from graph_agent.evals.forms import (
    OFFLINE,
    PROPERTIES,
    REPLAY,
    SCRIPT,
    AnswerHolds,
    Bound,
    NodeTask,
    RepairTask,
    ResearchTask,
    Said,
    Tier,
)
from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.runtime.jsontext import dumps

FILE = "task.json"


class TaskError(GraphAgentError):
    """A `task.json` that can't be used, or a folder in which there is none."""


_CLASSES: dict[str, type[Any]] = {"repair": RepairTask, "research": ResearchTask, "node": NodeTask}


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task and the folder that it was read from. `name`: workflow and folder, as in "repair/pager"."""

    name: str
    folder: Path
    said: Said

    @property
    def scripted(self) -> bool:
        return self.said.model != OFFLINE

    @property
    def fingerprint(self) -> str:
        """Of all that decides how a run of it ends, so that two evaluations compare like with like."""
        hashed = sha256(dumps(encode(self.said)).encode())
        for path in sorted({path for place in self._places() for path in files_of(place)}):
            hashed.update(f"\0{path.name}\0{path.parent.name}\0".encode("utf-8", "surrogateescape"))
            hashed.update(path.read_bytes())
        return hashed.hexdigest()[:16]

    def place(self, path: str) -> Path:
        return (self.folder / path).resolve()

    def _places(self) -> tuple[Path, ...]:
        return tuple(self.place(path) for _, path in _paths(self.said) if path)


def files_of(place: Path) -> list[Path]:
    """The files at a place, without what Python itself caches."""
    found = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def read_tasks(folder: Path, tiers: Iterable[int] = ()) -> tuple[Task, ...]:
    """All tasks below a folder, by name; of these tiers alone where some are given. Raises `TaskError`."""
    if not folder.is_dir():
        raise TaskError(f"there is no folder {folder}: give one with tasks, each a folder with a {FILE}")
    found = [read_task(path.parent) for path in sorted(folder.rglob(FILE))]
    if not found:
        raise TaskError(f"there is no {FILE} below {folder}: give a folder of tasks, each a folder with a {FILE}")
    twice = [name for name, count in Counter(task.name for task in found).items() if count > 1]
    if twice:
        raise TaskError(f"there are two tasks {twice[0]!r} below {folder}: give one of the folders another name")
    wanted = set(tiers) or set(get_args(Tier))
    kept = [task for task in found if task.said.tier in wanted]
    if not kept:
        there = ", ".join(str(tier) for tier in sorted({task.said.tier for task in found}))
        raise TaskError(f"none of the {len(found)} tasks below {folder} is of the tiers asked for: there are {there}")
    return tuple(sorted(kept, key=lambda task: task.name))


def read_task(folder: Path) -> Task:
    """Raises `TaskError`."""
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} can't be read: {error}") from error
    said = _said(path, data)
    task = Task(name=f"{said.workflow}/{folder.name}", folder=folder.resolve(), said=said)
    _check_places(path, task)
    _check_words(path, task)
    return task


def _said(path: Path, data: Any) -> Said:
    workflow = data.get("workflow") if isinstance(data, dict) else None
    if workflow not in _CLASSES:
        close = nearest(workflow, _CLASSES) if isinstance(workflow, str) else ""
        raise TaskError(f"{path}: workflow is {workflow!r}{close}: give one of {', '.join(_CLASSES)}")
    try:
        found: Said = decode(_CLASSES[workflow], data)
    except CodecError as error:
        raise TaskError(f"{path}: {error}") from error
    if isinstance(found, RepairTask):  # one spelling of a path, or a fingerprint would hang on it
        return replace(found, input=replace(found.input, workspace=found.input.workspace.rstrip("/")))
    return found


def _paths(said: Said) -> list[tuple[str, str]]:
    """Each field that names a file or a folder of the task."""
    held = [("holds.held_out", said.holds.held_out)]
    if said.model != OFFLINE:
        held.append(("model", said.model.partition(":")[2]))
    if isinstance(said, RepairTask):
        return [*held, ("input.workspace", said.input.workspace), ("input.holdout", said.input.holdout)]
    if isinstance(said, ResearchTask):
        return [*held, ("input.documents", said.input.documents)]
    given = said.input
    return [*held, ("input.state", given.state), ("input.texts", given.texts), ("input.documents", given.documents)]


_FOLDERS = ("holds.held_out", "input.workspace", "input.holdout", "input.documents")


def _check_places(path: Path, task: Task) -> None:
    model = task.said.model
    if model != OFFLINE and not (model.startswith((SCRIPT, REPLAY)) and model.partition(":")[2]):
        raise TaskError(f"{path}: model is {model!r}: give {OFFLINE!r}, '{SCRIPT}FILE' or '{REPLAY}FILE'")
    for name, given in _paths(task.said):
        place = task.place(given)
        right = place.is_dir() if name in _FOLDERS else place.is_file()
        if given and not right:
            what = "folder" if name in _FOLDERS else "file"
            raise TaskError(f"{path}: {name} names {given!r}, which is no {what}: paths start from the task's folder")


def _check_words(path: Path, task: Task) -> None:
    """What only some workflows can be held to, and numbers and words that no run could meet."""
    said, holds = task.said, task.said.holds
    repairs, researches, node = (isinstance(said, one) for one in (RepairTask, ResearchTask, NodeTask))
    wrong = {
        "holds.held_out": bool(holds.held_out) and not repairs,
        "holds.changes": bool(holds.changes) and not repairs,
        "holds.answer": holds.answer != AnswerHolds() and not researches,
        "holds.properties": bool(holds.properties) and not node,
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise TaskError(f"{path}: {name} is not for a task of the workflow {said.workflow!r}: leave it out")
    if node and not holds.properties:
        raise TaskError(f"{path}: holds.properties is empty: name what the node is held to, of {'; '.join(PROPERTIES)}")
    if not holds.outcome or not said.about.strip():
        raise TaskError(f"{path}: holds.outcome and about may not be empty")
    if not 0 < said.seconds <= 3600:
        raise TaskError(f"{path}: seconds is {said.seconds:g}: give more than 0 and at most 3600")
    stages = _stages(said)
    named = {"outcome": holds.outcome, "passes": holds.passes, "avoids": holds.avoids}
    for name, some in {**named, "by_default.passes": holds.by_default.passes}.items():
        for stage in some:
            if stage not in stages:
                near = nearest(stage, stages)
                raise TaskError(f"{path}: holds.{name} names {stage!r}, which is no stage{near}: {', '.join(stages)}")
    for name, bound in {**holds.fields, **holds.by_default.fields}.items():
        if bound == Bound():
            raise TaskError(f"{path}: holds.fields[{name!r}] asks for nothing: give equals, least, most or has")


def _stages(said: Said) -> list[str]:
    from graph_agent.workflows.repair.state import Stage as Repairing
    from graph_agent.workflows.research.state import Stage as Researching

    graph = said.input.graph if isinstance(said, NodeTask) else said.workflow
    return [stage.value for stage in (Repairing if graph == "repair" else Researching)]
