"""A small graph for the tests of the runtime: work, check, work ... until enough was done; a person may be asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graph_agent import BACK, Context, Graph, GraphState, Node, Pause, Question, Reply, Route, appended


class Stage(StrEnum):
    WORK = "work"
    CHECK = "check"
    HUMAN = "human"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    name: str
    line: int = 0


@dataclass(frozen=True, kw_only=True)
class Count(GraphState):
    """`count` goes up by one a visit of WORK; CHECK is content at `need`."""

    stage: Stage = Stage.WORK
    count: int = 0
    need: int = 2
    score: float = 0.0
    log: tuple[str, ...] = appended()
    findings: tuple[Finding, ...] = appended(key="name")
    answer: str | None = None
    give_up: bool = False


def work(state: Count, ctx: Context) -> dict[str, Any]:
    return {"count": state.count + 1, "log": (f"visit {state.count + 1}",)}


def ask_model(state: Count, ctx: Context) -> dict[str, Any]:
    reply = ctx.llm.complete({"count": state.count})
    return {"count": state.count + 1, "log": (reply.text,)}


def check(state: Count, ctx: Context) -> dict[str, Any]:
    return {"score": state.count / state.need}


def route_after_check(state: Count) -> Route:
    if state.score >= 1:
        return Route(Stage.DONE, f"{state.count} of {state.need}")
    return Route(Stage.WORK, "more is needed")


def route_after_human(state: Count) -> Route:
    return Route(Stage.FAILED, "given up") if state.give_up else Route(BACK, "a person says go on")


def refuse(state: Count) -> str | None:
    if state.max_turns is not None and state.max_turns <= state.spent_turns:
        return f"max_turns={state.max_turns} is no more than the {state.spent_turns} that are spent"
    return None


def counting(run: Any = work, *, on_limit: Any = None, on_error: Any = None, **node: Any) -> Graph[Count]:
    """The graph, with another WORK. HUMAN is among its stages however it is entered."""
    return Graph(
        state=Count,
        nodes={
            Stage.WORK: Node(run, **{"owns": {"count", "log", "findings", "answer"}, "to": Stage.CHECK, **node}),
            Stage.CHECK: Node(check, owns={"score"}, to=route_after_check, exits={Stage.DONE, Stage.WORK, Stage.HUMAN}),
            Stage.HUMAN: Pause(
                owns={"need", "max_turns", "give_up"},
                to=route_after_human,
                exits={BACK, Stage.FAILED},
                ask=lambda s: Question("Go on?", choices={"need": (1, 2, 3)}, shown=s.log),
                check=refuse,
            ),
        },
        ends={Stage.DONE, Stage.FAILED},
        on_limit=on_limit,
        on_error=on_error,
    )


def start(**fields: Any) -> Count:
    return Count(**{"task_id": "t", **fields})


class Echo:
    """A model that answers each request, and counts them."""

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, request: Any, /) -> Reply:
        self.asked += 1
        return Reply(text=f"answer {self.asked}", tokens_in=3, tokens_out=5)


class Two(StrEnum):
    WORK = "work"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Ruled(GraphState):
    stage: Two = Two.WORK
    count: int = 0

    def __post_init__(self) -> None:
        if self.count > 9:
            raise ValueError("never more than 9")


RULED = Graph(state=Ruled, nodes={Two.WORK: Node(lambda s, c: None, owns={"count"}, to=Two.DONE)}, ends={Two.DONE})
