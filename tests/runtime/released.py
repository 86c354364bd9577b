"""`python -m tests.runtime.released`: makes the files of the present formats for `fixtures/checkpoints`.

It makes those that are not there and leaves the others alone: a released file is never made again. Each has a
neighbour `NAME.expected.json` with the state that it must be read as.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from graph_agent import Context, FakeLLM, Run, encode, resume, run_graph, save_checkpoint
from graph_agent.cli.demo import simulated_repair
from graph_agent.runtime.checkpoint import FORMAT as CHECKPOINT
from graph_agent.runtime.reading import FORMAT as JOURNAL
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from tests.runtime.essay import GRAPH, Essay

FOLDER = Path(__file__).parents[2] / "fixtures" / "checkpoints"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    state, ctx = simulated_repair()
    essay = run_graph(GRAPH, Essay(task_id="essay", topic="tides", max_turns=1), Context(llm=FakeLLM(["Short."])))
    _checkpoint("essay", essay)
    _checkpoint("repair", run_graph(REPAIR, state, ctx))
    _journal("essay", _essay)
    _journal("repair", _repair)
    _journal("recorded", _recorded)


def _checkpoint(name: str, state: Any) -> None:
    path = FOLDER / f"checkpoint-{CHECKPOINT}-{name}.json"
    if not path.exists():
        save_checkpoint(state, path)
        _expect(path, state)


def _journal(name: str, make: Any) -> None:
    path = FOLDER / f"journal-{JOURNAL}-{name}.jsonl"
    if path.exists():
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / name
        _expect(path, make(folder))
        shutil.copy(folder / "journal.jsonl", path)
        for blob in (folder / "blobs").iterdir() if (folder / "blobs").is_dir() else ():
            (FOLDER / "blobs").mkdir(exist_ok=True)
            shutil.copy(blob, FOLDER / "blobs" / blob.name)


def _essay(folder: Path) -> Any:
    """With a limit, a question, an answer, and an end."""
    with Run.create(folder, GRAPH, Essay(task_id=folder.name, topic="tides", max_turns=1)) as run:
        resume(run, Context(llm=FakeLLM(["Short."])))
        run.answer({"max_turns": 2})
        return resume(run, Context(llm=FakeLLM(["Twice a day the sea comes and goes."])))


def _repair(folder: Path) -> Any:
    state, ctx = simulated_repair()
    with Run.create(folder, REPAIR, state, about={"command": "none: a simulated repair"}) as run:
        run.keep("a text beside it")
        return resume(run, ctx)


def _recorded(folder: Path) -> Any:
    """With GRAPH_AGENT_RECORD=1, so that its steps can be replayed."""
    state, ctx = simulated_repair()
    with mock.patch.dict(os.environ, GRAPH_AGENT_RECORD="1"), Run.create(folder, REPAIR, state) as run:
        return resume(run, ctx)


def _expect(path: Path, state: Any) -> None:
    text = json.dumps(encode(state), indent=1, ensure_ascii=False) + "\n"
    path.with_name(f"{path.stem}.expected.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
