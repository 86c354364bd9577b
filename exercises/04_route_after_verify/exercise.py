"""The rule after the test: a pure function of the state, and the only place where it is decided what comes next."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from graph_agent import GraphState, Route


class Stage(StrEnum):
    VERIFY = "verify"
    REPAIR = "repair"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Verified(GraphState):
    """What is known after the tests. `spent_turns` and `max_turns` come with GraphState: what the run may cost."""

    stage: Stage = Stage.VERIFY
    verdict: Literal["pass", "fail", "unknown"] | None = None  # unknown: the tests could not run; None: nobody tried
    forbidden: str = ""  # what no edit can mend: "the tests need a file that may not be read"
    retries: int = 0
    max_retries: int = 2


# your turn: the rules are all here, and their order is wrong. The first one that fits decides.
def route_after_verify(state):
    if state.verdict == "fail":
        return Route(Stage.REPAIR, "the test failed, try again")
    if state.retries >= state.max_retries:
        return Route(Stage.HUMAN, f"{state.retries} of {state.max_retries} retries are spent")
    if state.max_turns is not None and state.spent_turns >= state.max_turns:
        return Route(Stage.HUMAN, f"{state.spent_turns} of {state.max_turns} turns are spent")
    if state.forbidden:
        return Route(Stage.HUMAN, f"no edit can mend this: {state.forbidden}")
    if state.verdict == "pass":
        return Route(Stage.DONE, "the tests passed")
    return Route(Stage.REPAIR, "perhaps it helps")


if __name__ == "__main__":
    for retries in (0, 1, 2, 3):
        for verdict in ("pass", "fail", "unknown", None):
            state = Verified(task_id="shop", verdict=verdict, retries=retries)
            route = route_after_verify(state)
            print(f"{retries} retries, {verdict!s:7} -> {route.stage:6} | {route.reason}")
