"""Small graphs to draw and to print."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from itertools import pairwise
from typing import Any

from graph_agent.runtime.graph import BACK, Graph, Node, Pause, Question, Route
from graph_agent.runtime.state import GraphState, appended


class Stage(StrEnum):
    DRAFT = "draft"
    REVIEW = "review"
    HUMAN = "human"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Essay(GraphState):
    stage: Stage = Stage.DRAFT
    topic: str = ""
    drafts: tuple[str, ...] = appended()
    score: int = 0
    note: str = ""
    give_up: bool = False


def draft(state: Essay, ctx: Any) -> dict[str, Any]:
    return {"drafts": ("x" * 10 * (len(state.drafts) + 1),), "note": ""}


def review(state: Essay, ctx: Any) -> dict[str, Any]:
    return {"score": len(state.drafts[-1])}


def route_after_review(state: Essay) -> Route:
    done = state.score >= 20
    return Route(Stage.DONE, "long enough") if done else Route(Stage.DRAFT, f"{state.score} letters are too few")


def route_after_human(state: Essay) -> Route:
    return Route(Stage.FAILED, "given up") if state.give_up else Route(BACK, "once more")


ESSAY = Graph(
    state=Essay,
    nodes={
        Stage.DRAFT: Node(
            draft, reads={"topic", "drafts"}, owns={"note", "drafts"}, tools=("spell",), model=True, to=Stage.REVIEW
        ),
        Stage.REVIEW: Node(
            review,
            owns={"score", "note"},
            metered=False,
            effects=True,
            retry=2,
            to=route_after_review,
            exits={Stage.DONE, Stage.HUMAN, Stage.DRAFT},
        ),
        Stage.HUMAN: Pause(
            owns={"max_turns", "give_up"},
            to=route_after_human,
            exits={BACK, Stage.FAILED},
            ask=lambda state: Question("Allow more drafts?"),
        ),
    },
    ends={Stage.DONE, Stage.FAILED},
    shared={"note"},
    on_limit=Stage.HUMAN,
    on_error=Stage.HUMAN,
)


def chain(names: list[str]) -> Graph[Any]:
    """A graph whose stages have these names and follow each other."""
    stages = list(Enum("Chain", {f"S{number}": name for number, name in enumerate(names)}))
    annotations = {"__annotations__": {"stage": type(stages[0])}, "stage": stages[0], "__module__": __name__}
    state = dataclass(frozen=True, kw_only=True)(type("ChainState", (GraphState,), annotations))
    nodes = {one: Node(lambda state, ctx: None, owns=(), to=after) for one, after in pairwise(stages)}
    return Graph(state=state, nodes=nodes, ends={stages[-1]})
