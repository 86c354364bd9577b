"""14. Plans that go in circles: a planner that has forgotten what failed, and what stops it."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Context, FakeLLM, Graph, GraphState, Node, Request, Route, appended, ask, run_graph, trace_line


class Stage(StrEnum):
    PLAN = "plan"
    TRY = "try"
    DONE = "done"
    PARTIAL = "partial"


@dataclass(frozen=True, kw_only=True)
class Step:
    goal: str
    tool: str = "edit"


@dataclass(frozen=True, kw_only=True)
class Plan:
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class Mending(GraphState):
    stage: Stage = Stage.PLAN
    plan: Plan = Plan(steps=())
    plan_no: int = 0
    unmet: tuple[str, ...] = ()  # what the last try left failing
    unmet_before: tuple[str, ...] = ()  # and the try before it
    dead_ends: tuple[str, ...] = appended()  # the fingerprints of plans that failed
    max_plans: int = 4


def fingerprint(plan: Plan) -> str:
    """Equal for plans that say the same. As it stands: equal for plans that are written the same."""
    # your turn (1)
    return str(plan)


def make_plan(state, ctx):
    hint = ""
    # your turn (2): a plan that is a dead end is asked for again, once, with a hint
    context = {"unmet": list(state.unmet), "hint": hint}
    plan = ask(ctx.llm, Request(instructions="Plan how to mend the failing tests.", context=context), into=Plan)
    return {"plan": plan, "plan_no": state.plan_no + 1}


def try_plan(state, ctx):
    unmet = ctx.tools.call("carry_out", plan=state.plan).value
    failed = (fingerprint(state.plan),) if unmet else ()
    return {"unmet": tuple(unmet), "unmet_before": state.unmet, "dead_ends": failed}


def route_after_plan(state) -> Route:
    # your turn (3), fuse 1: the plan is a dead end all the same
    return Route(Stage.TRY, f"plan {state.plan_no} is new")


def route_after_try(state) -> Route:
    if not state.unmet:
        return Route(Stage.DONE, f"plan {state.plan_no} left nothing unmet")
    # your turn (3), fuse 2: the plans are spent; fuse 3: another plan, and nothing that failed before is mended
    return Route(Stage.PLAN, f"plan {state.plan_no} left {', '.join(state.unmet)}")


GRAPH = Graph(
    state=Mending,
    nodes={
        Stage.PLAN: Node(
            make_plan, owns={"plan", "plan_no"}, to=route_after_plan, exits={Stage.TRY, Stage.PARTIAL}, model=True
        ),
        Stage.TRY: Node(
            try_plan,
            owns={"unmet", "unmet_before", "dead_ends"},
            to=route_after_try,
            exits={Stage.DONE, Stage.PLAN, Stage.PARTIAL},
            tools=("carry_out",),
        ),
    },
    ends={Stage.DONE, Stage.PARTIAL},
    on_error=Stage.PARTIAL,
)


def main() -> None:
    from graph_agent import FakeTools, StepLimitReached

    words = ["Multiply by the discount.", "multiply  by the DISCOUNT", "Multiply by the discount!"]
    plans = [Plan(steps=(Step(goal=text),)) for text in words * 4]
    ctx = Context(llm=FakeLLM(plans), tools=FakeTools({"carry_out": lambda plan: ("total is 180",)}))
    try:
        run_graph(GRAPH, Mending(task_id="m1"), ctx, on_event=lambda event: print(trace_line(event)), max_steps=12)
    except StepLimitReached:
        print("... and so on for ever")


if __name__ == "__main__":
    main()
