"""Small graphs to explore: a job that is tried, checked and, when it fails too often, put before a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graph_agent import BACK, Graph, GraphState, Node, Pause, Question, Route, appended


class Stage(StrEnum):
    WORK = "work"
    CHECK = "check"
    HUMAN = "human"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Job(GraphState):
    stage: Stage = Stage.WORK
    tries: int = 0
    max_tries: int = 2
    good: bool = False
    log: tuple[str, ...] = appended()
    give_up: bool = False


def nothing(state: Job, ctx: Any) -> None:
    """What a node really does is of no matter to an exploration."""


def after_check(state: Job) -> Route:
    if state.good:
        return Route(Stage.DONE, "good")
    if state.tries >= state.max_tries:
        return Route(Stage.HUMAN, f"{state.tries} tries are spent")
    return Route(Stage.WORK, "not yet")


def after_human(state: Job) -> Route:
    return Route(Stage.FAILED, "given up") if state.give_up else Route(BACK, "once more")


def refuse(state: Job) -> str | None:
    spent = not state.give_up and state.tries >= state.max_tries
    return f"{state.tries} tries are spent: raise max_tries" if spent else None


def job_graph(check: Any = after_check, **changes: Any) -> Graph[Job]:
    table: dict[str, Any] = {
        "state": Job,
        "nodes": {
            Stage.WORK: Node(nothing, owns={"tries", "log"}, tools=("hammer",), to=Stage.CHECK),
            Stage.CHECK: Node(nothing, owns={"good"}, to=check, exits={Stage.DONE, Stage.HUMAN, Stage.WORK}),
            Stage.HUMAN: Pause(
                owns={"max_tries", "max_turns", "give_up"},
                to=after_human,
                exits={BACK, Stage.FAILED},
                check=refuse,
                ask=lambda state: Question("Go on?"),
            ),
        },
        "ends": {Stage.DONE, Stage.FAILED},
        "on_limit": Stage.HUMAN,
        "on_error": Stage.HUMAN,
    }
    return Graph(**{**table, **changes})


GRAPH = job_graph()
START = Job(task_id="j")


def work(state: Job) -> list[Any]:
    return [{"tries": state.tries + 1}]


def answers(state: Job) -> list[Any]:
    """A person gives up, or allows one more try than at first."""
    return [{"give_up": True}, {"max_tries": 3}] if state.max_tries < 3 else [{"give_up": True}]


OUTCOMES: dict[Any, Any] = {
    Stage.WORK: work,
    Stage.CHECK: [{"good": True}, {"good": False}],
    Stage.HUMAN: answers,
}
