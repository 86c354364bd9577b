"""The graph of the trap tests: plan, act, check; back to plan until the check is content. Public names only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graph_agent import Event, Graph, GraphState, Node, Route


class Stage(StrEnum):
    PLAN = "plan"
    ACT = "act"
    CHECK = "check"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class State(GraphState):
    stage: Stage = Stage.PLAN
    plan: str = ""
    changes: tuple[str, ...] = ()
    tries: int = 0
    passed: bool = False


def plan(state: State, ctx: Any) -> dict[str, Any]:
    return {"plan": f"plan {state.tries + 1}", "tries": state.tries + 1}


def act(state: State, ctx: Any) -> dict[str, Any]:
    return {"changes": (*state.changes, state.plan)}


def check(state: State, ctx: Any) -> dict[str, Any]:
    return {"passed": state.tries >= 2}


def route_after_check(state: State) -> Route:
    return Route(Stage.DONE, "the check passed") if state.passed else Route(Stage.PLAN, "the check failed")


def loop(**changes: Any) -> Graph[State]:
    """The graph, with other functions for plan, act, check or the router after check."""
    given = {"plan": plan, "act": act, "check": check, "route": route_after_check, **changes}
    return Graph(
        state=State,
        nodes={
            Stage.PLAN: Node(given["plan"], owns={"plan", "tries"}, to=Stage.ACT),
            Stage.ACT: Node(given["act"], owns={"changes"}, to=Stage.CHECK),
            Stage.CHECK: Node(given["check"], owns={"passed"}, to=given["route"], exits={Stage.DONE, Stage.PLAN}),
        },
        ends={Stage.DONE},
    )


class Journal:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, event: Event, /) -> None:
        self.events.append(event)
