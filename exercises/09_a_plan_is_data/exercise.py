"""9. A plan is data: what a model answers is read, checked, sent back once, and never obeyed."""

import json
from dataclasses import dataclass
from enum import StrEnum

from graph_agent import (
    Context,
    FakeLLM,
    FakeTools,
    Graph,
    GraphState,
    Node,
    Pause,
    Request,
    Route,
    described,
    run_graph,
)


class Stage(StrEnum):
    PLAN = "plan"
    EXECUTE = "execute"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True)
class Policy:
    may_write: tuple[str, ...] = ("shop.py",)


@dataclass(frozen=True)
class Plan:
    """What a model may say. `described` texts go to the model, with the schema."""

    hypothesis: str = described("why the test fails")
    path: str = described("the file to be changed")
    old: str = described("text that stands there once")
    new: str = described("what shall stand there instead")
    next: str = described("execute, or done")  # your turn (1): is this a model's business?


@dataclass(frozen=True, kw_only=True)
class Fix(GraphState):
    stage: Stage = Stage.PLAN
    request: str
    plan: Plan | None = None
    blocked: str = ""  # why there is no plan
    written: str = ""


def refusal(plan: Plan, policy: Policy) -> str | None:
    """What is wrong with a plan that fits its schema, as a sentence for the model; None when it may be tried."""
    # your turn (2): a path that is not in policy.may_write, and an edit that changes nothing
    return None


def plan(state, ctx):
    # your turn (3): `ask` for a Plan, with `refusal` as its check; when there is none (LLMError), `blocked` says why
    request = Request(instructions="Plan one edit that makes the test pass.", context={"request": state.request})
    return {"plan": Plan(**json.loads(ctx.llm.complete(request).text))}


def route_after_plan(state) -> Route:
    # your turn (4): only what we know decides: there is a plan, or there is none. DONE is none of its exits
    return Route(Stage(state.plan.next), "the model says so")


def execute(state, ctx):
    ctx.tools.call("edit_file", path=state.plan.path, old=state.plan.old, new=state.plan.new)
    return {"written": state.plan.path}


GRAPH = Graph(
    state=Fix,
    nodes={
        Stage.PLAN: Node(
            plan,
            reads={"request"},
            owns={"plan", "blocked"},
            model=True,
            to=route_after_plan,
            exits={Stage.EXECUTE, Stage.HUMAN, Stage.DONE},
        ),
        Stage.EXECUTE: Node(execute, reads={"plan"}, owns={"written"}, tools=("edit_file",), to=Stage.DONE),
        Stage.HUMAN: Pause(owns={"request"}, to=Stage.PLAN),
    },
    ends={Stage.DONE},
)

if __name__ == "__main__":
    reply = {"hypothesis": "180 is wrong", "path": "test_shop.py", "old": "180", "new": "190", "next": "done"}
    world = Context(llm=FakeLLM([reply, reply]), tools=FakeTools({"edit_file": None}), policy=Policy())
    final = run_graph(GRAPH, Fix(task_id="t9", request="Make the failing test pass."), world)
    print(f"{final.stage}: {final.route_reason}\nplan: {final.plan}\nwritten: {final.written or 'nothing'}")
