"""Make the tests fail three times, and see where the run stops."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import (
    BACK,
    Context,
    FakeLLM,
    Graph,
    GraphState,
    Node,
    Pause,
    Request,
    Route,
    StepLimitReached,
    appended,
    run_graph,
    trace_line,
)

RIGHT = "sum(prices) * (100 - discount) / 100"

# Three answers, wrong in three ways.
SCRIPT = ("sum(prices) * discount", "sum(prices) / discount", "sum(prices) + discount")

WHY_NOT_FOR_EVER = {
    "the field that grows": "retries",
    "the stage that owns it": "repair",
    "the stage whose route compares it": "verify",
    "the field that it is compared with": "max_retries",
    "how many stages that do work may write that one": 0,
}

# Only a person may raise the limit.
ANSWER = {"max_retries": 3}


class Stage(StrEnum):
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    REPAIR = "repair"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Mending(GraphState):
    stage: Stage = Stage.PLAN
    plan: str = ""
    code: str = "sum(prices) - discount"
    verdicts: tuple[str, ...] = appended()  # a patch adds to it; nobody can take one away
    retries: int = 0
    max_retries: int = 2


def plan(state, ctx):
    return {"plan": ctx.llm.complete(Request(instructions="Mend it.", context={"code": state.code})).text}


def execute(state, ctx):
    return {"code": state.plan}


def verify(state, ctx):
    total = eval(state.code, {"prices": [100, 100], "discount": 10, "sum": sum})
    return {"verdicts": ("pass" if total == 180 else f"fail: {total} is not 180",)}


def repair(state, ctx):
    context = {"code": state.code, "verdict": state.verdicts[-1]}
    reply = ctx.llm.complete(Request(instructions="That was wrong. Mend it.", context=context))
    return {"plan": reply.text, "retries": state.retries + 1}


def route_after_verify(state):
    if state.verdicts[-1] == "pass":
        return Route(Stage.DONE, "the test passed")
    if state.retries >= state.max_retries:
        return Route(Stage.HUMAN, f"{state.retries} of {state.max_retries} retries are spent; {state.verdicts[-1]}")
    return Route(Stage.REPAIR, state.verdicts[-1])


def route_after_human(state):
    return Route(BACK, "a person has looked at it")


GRAPH = Graph(
    state=Mending,
    nodes={
        Stage.PLAN: Node(plan, owns={"plan"}, to=Stage.EXECUTE, model=True),
        Stage.EXECUTE: Node(execute, owns={"code"}, to=Stage.VERIFY),
        Stage.VERIFY: Node(
            verify, owns={"verdicts"}, to=route_after_verify, exits={Stage.DONE, Stage.HUMAN, Stage.REPAIR}
        ),
        Stage.REPAIR: Node(repair, owns={"plan", "retries"}, to=Stage.EXECUTE, model=True),
        Stage.HUMAN: Pause(owns={"max_retries"}, to=route_after_human, exits={BACK}),
    },
    ends={Stage.DONE},
    shared={"plan"},  # two stages write it, and this line says so
)


def scripted(script):
    answers = iter(script)
    return Context(llm=FakeLLM(lambda request: next(answers, script[-1])))


def show(event):
    print(trace_line(event))


def main():
    print("step  from -> to  | turns | why")
    try:
        run_graph(GRAPH, Mending(task_id="shop"), scripted(SCRIPT), on_event=show, max_steps=30)
    except StepLimitReached:
        print("30 steps are made, and it would go on. Only the fuse of run_graph has stopped it.")


if __name__ == "__main__":
    main()
