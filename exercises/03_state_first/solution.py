"""The same mending as a graph, state first: which fields there are, and who may write each."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Graph, GraphState, Node, Pause, Route, run_graph

RIGHT = "sum(prices) * (100 - discount) / 100"


class Stage(StrEnum):
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Mending(GraphState):
    stage: Stage = Stage.PLAN
    request: str = "Make the failing test pass."  # what a person wants; no node owns it
    max_tries: int = 3  # a constant of the run; no node owns it
    plan: str = ""  # what is to be written
    tries: int = 0  # how many plans were made
    code: str = "sum(prices) - discount"  # what is written
    passed: bool | None = None  # what the test said; None: it did not run yet


def plan(state, ctx):
    return {"plan": RIGHT if state.tries else "sum(prices) * discount", "tries": state.tries + 1}


def execute(state, ctx):
    return {"code": state.plan}


def verify(state, ctx):
    total = eval(state.code, {"prices": [100, 100], "discount": 10, "sum": sum})
    return {"passed": total == 180}


def route_after_verify(state):
    if state.passed:
        return Route(Stage.DONE, "the test passed")
    if state.tries >= state.max_tries:
        return Route(Stage.HUMAN, f"{state.tries} of {state.max_tries} tries are spent")
    return Route(Stage.PLAN, "the test failed")


GRAPH = Graph(
    state=Mending,
    nodes={
        Stage.PLAN: Node(plan, owns={"plan", "tries"}, to=Stage.EXECUTE),
        Stage.EXECUTE: Node(execute, owns={"code"}, to=Stage.VERIFY),
        Stage.VERIFY: Node(verify, owns={"passed"}, to=route_after_verify, exits={Stage.DONE, Stage.HUMAN, Stage.PLAN}),
        Stage.HUMAN: Pause(owns={"max_tries"}, to=Stage.PLAN),
    },
    ends={Stage.DONE},
)


if __name__ == "__main__":
    final = run_graph(GRAPH, Mending(task_id="shop"))
    print(f"{final.stage}: {final.route_reason}")
    print(f"the code is now: {final.code}")
