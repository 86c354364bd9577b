"""One loop for this package and for each peer: verify -> repair -> verify ... -> done, with trivial nodes.

Each function takes the number of repairs and returns a callable that makes one whole run: `2 * repairs + 1` visits of a
node. All do the same: a verification fails until enough repairs were made, a repair counts itself and leaves a plan.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graph_agent import Graph, GraphState, Node, Route, run_graph
from tests.benchmarks.peers import PEERS, Loop


class Stage(StrEnum):
    VERIFY = "verify"
    REPAIR = "repair"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Job(GraphState):
    """Fifteen fields, the seven that every state has among them."""

    stage: Stage = Stage.VERIFY
    retries: int = 0
    max_retries: int = 0
    plan: str | None = None
    exit_code: int | None = None
    request: str = "mend it"
    paths: tuple[str, ...] = ("a.py", "b.py")
    risk: float = 0.0
    approved: bool = False


def _verify(state: Job, ctx: Any) -> dict[str, Any]:
    return {"exit_code": 0 if state.retries >= state.max_retries else 1}


def _repair(state: Job, ctx: Any) -> dict[str, Any]:
    return {"retries": state.retries + 1, "plan": "p"}


def _route_after_verify(state: Job) -> Route:
    if state.exit_code == 0:
        return Route(Stage.DONE, "the checks passed")
    return Route(Stage.REPAIR, "the checks failed")


GRAPH = Graph(
    state=Job,
    nodes={
        Stage.VERIFY: Node(_verify, owns={"exit_code"}, to=_route_after_verify, exits={Stage.REPAIR, Stage.DONE}),
        Stage.REPAIR: Node(_repair, owns={"retries", "plan"}, to=Stage.VERIFY),
    },
    ends={Stage.DONE},
)


def graph_agent(repairs: int, *, told: bool = False) -> Loop:
    start = Job(task_id="bench", max_retries=repairs)
    events: list[Any] = []

    def run() -> None:
        events.clear()
        final = run_graph(GRAPH, start, on_event=events.append if told else None, max_steps=10**9)
        assert (final.stage, final.retries) == (Stage.DONE, repairs)

    return run


def graph_agent_with_events(repairs: int) -> Loop:
    return graph_agent(repairs, told=True)


def bare(repairs: int) -> Loop:
    """The floor: a `while` loop over an object that is changed in place, with nothing checked."""

    @dataclass
    class State:
        stage: str = "verify"
        retries: int = 0
        plan: str | None = None
        exit_code: int | None = None

    def verify(state: State) -> None:
        state.exit_code = 0 if state.retries >= repairs else 1

    def repair(state: State) -> None:
        state.retries += 1
        state.plan = "p"

    def run() -> None:
        state = State()
        while state.stage != "done":
            if state.stage == "verify":
                verify(state)
                state.stage = "done" if state.exit_code == 0 else "repair"
            else:
                repair(state)
                state.stage = "verify"
        assert state.retries == repairs

    return run


LOOPS: dict[str, Callable[[int], Loop]] = {
    "bare": bare,
    "graph_agent": graph_agent,
    "graph_agent-events": graph_agent_with_events,
    **PEERS,
}


def built(name: str, repairs: int) -> Loop:
    """A loop, tried out once. Raises `ImportError` when its library is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer's own
        loop = LOOPS[name](repairs)
        loop()
    return loop
