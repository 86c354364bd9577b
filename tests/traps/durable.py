"""A job that sends something, for the traps about runs that are killed; and one that waits at a gate afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from graph_agent import BACK, Graph, GraphState, Node, Pause


class Stage(StrEnum):
    SEND = "send"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class State(GraphState):
    stage: Stage = Stage.SEND
    sent: bool = False


def graph_that(run: Any, *, doubt: bool = True, **node: Any) -> Graph[State]:
    nodes = {
        Stage.SEND: Node(
            run, owns={"sent"}, to=lambda s: _done(), exits={Stage.DONE, Stage.HUMAN}, effects=True, **node
        ),
        Stage.HUMAN: Pause(owns=set(), to=lambda s: _done(), exits={BACK, Stage.DONE}),
    }
    return Graph(state=State, nodes=nodes, ends={Stage.DONE}, on_doubt=Stage.HUMAN if doubt else None)


def _done() -> Any:
    from graph_agent import Route

    return Route(Stage.DONE, "it is sent")


GRAPH = graph_that(lambda state, ctx: {"sent": True})


def start(cls: Any = State) -> Any:
    return cls(task_id="job")


def outbox(folder: Path, key: str) -> None:
    with (folder / "outbox").open("a", encoding="utf-8") as file:
        file.write(f"{key}\n")


class Gate:
    """The same, with a gate behind."""

    class Stage(StrEnum):
        SEND = "send"
        GATE = "gate"
        DONE = "done"

    State: Any
    GRAPH: Any


@dataclass(frozen=True, kw_only=True)
class GateState(GraphState):
    stage: Gate.Stage = Gate.Stage.SEND
    sent: bool = False


Gate.State = GateState
Gate.GRAPH = Graph(
    state=GateState,
    nodes={
        Gate.Stage.SEND: Node(lambda s, c: {"sent": True}, owns={"sent"}, to=Gate.Stage.GATE),
        Gate.Stage.GATE: Pause(owns=set(), to=Gate.Stage.DONE),
    },
    ends={Gate.Stage.DONE},
)
