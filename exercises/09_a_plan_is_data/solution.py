"""9. A plan is data: what a model answers is read, checked, sent back once, and never obeyed."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import (
    Context,
    FakeLLM,
    FakeTools,
    Graph,
    GraphState,
    LLMError,
    Node,
    Pause,
    Request,
    Route,
    ask,
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


@dataclass(frozen=True, kw_only=True)
class Fix(GraphState):
    stage: Stage = Stage.PLAN
    request: str
    plan: Plan | None = None
    blocked: str = ""  # why there is no plan
    written: str = ""


def refusal(plan: Plan, policy: Policy) -> str | None:
    """What is wrong with a plan that fits its schema, as a sentence for the model; None when it may be tried."""
    if plan.path not in policy.may_write:
        return f"{plan.path!r} may not be changed; may be changed: {', '.join(policy.may_write)}"
    if plan.old == plan.new:
        return "old and new are the same: the edit changes nothing"
    return None


def plan(state, ctx):
    request = Request(instructions="Plan one edit that makes the test pass.", context={"request": state.request})
    try:
        found = ask(ctx.llm, request, Plan, check=lambda plan: refusal(plan, ctx.policy))
    except LLMError as error:
        return {"plan": None, "blocked": str(error)}
    return {"plan": found, "blocked": ""}


def route_after_plan(state) -> Route:
    if state.plan is None:
        return Route(Stage.HUMAN, state.blocked)
    return Route(Stage.EXECUTE, f"a valid plan: {state.plan.hypothesis}")


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
            exits={Stage.EXECUTE, Stage.HUMAN},
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
