"""A stage renamed or a field removed before the resume: refused, with the difference and the way out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Graph, GraphState, Node, Pause, Run, RunMisfit, migration, resume
from tests.traps.durable import GRAPH, Gate, start


class Stage(StrEnum):
    """As it is by now: GATE has another name."""

    SEND = "send"
    DOOR = "door"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Job(GraphState):
    stage: Stage = Stage.SEND
    delivered: bool = False


@migration("schema", 1, 2)
def renamed(raw: dict[str, Any]) -> dict[str, Any]:
    return {**{n: v for n, v in raw.items() if n != "sent"}, "delivered": raw["sent"], "stage": "door"}


def today(**rest: Any) -> Graph[Job]:
    nodes = {
        Stage.SEND: Node(
            lambda s, c: {"delivered": True}, owns={"delivered"}, to=lambda s: None, exits={Stage.DOOR, Stage.HUMAN}
        ),
        Stage.DOOR: Pause(owns=set(), to=Stage.DONE),
        Stage.HUMAN: Pause(owns=set(), to=Stage.DONE),
    }
    return Graph(state=Job, nodes=nodes, ends={Stage.DONE}, **rest)


def test_it_is_refused_with_the_difference_and_the_bytes_stay(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", Gate.GRAPH, start(Gate.State)) as run:
        resume(run)
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    with pytest.raises(RunMisfit) as error:
        Run.open(tmp_path / "run", today())
    assert error.value.differences == (
        "the field sent is gone from Job",
        "the run stands at the stage 'gate', which is gone",
    )
    assert "The way out: raise the graph's schema_version and give it a migration" in str(error.value)
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before
    with Run.open(tmp_path / "run", today(schema_version=2, migrations=(renamed,))) as run:
        assert (run.state.delivered, run.state.stage) == (True, Stage.DOOR)
        run.answer({})
        assert resume(run).stage is Stage.DONE
    assert GRAPH.schema_version == 1
