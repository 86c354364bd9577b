"""The same loop on comparable libraries. One that is not installed costs nothing but its row.

A peer is imported when its loop is built. Each is written the way its own documentation does it, with no more in its
state than the loop needs.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

Loop = Callable[[], None]


def pocketflow(repairs: int) -> Loop:
    from pocketflow import Flow, Node

    class Verify(Node):
        def post(self, shared: Any, prep_res: Any, exec_res: Any) -> str:
            shared["exit_code"] = 0 if shared["retries"] >= repairs else 1
            return "done" if shared["exit_code"] == 0 else "repair"

    class Repair(Node):
        def post(self, shared: Any, prep_res: Any, exec_res: Any) -> str:
            shared["retries"] += 1
            shared["plan"] = "p"
            return "verify"

    verify, repair, done = Verify(), Repair(), Node()
    verify.next(repair, "repair")
    verify.next(done, "done")
    repair.next(verify, "verify")
    flow = Flow(start=verify)

    def run() -> None:
        shared = {"retries": 0, "plan": None, "exit_code": None}
        flow.run(shared)
        assert shared["retries"] == repairs

    return run


def transitions(repairs: int) -> Loop:
    from transitions import Machine

    class Model:
        state: str
        go: Callable[[], bool]

        def __init__(self) -> None:
            self.retries, self.plan = 0, ""

        def passed(self) -> bool:
            return self.retries >= repairs

        def on_enter_repair(self) -> None:
            self.retries += 1
            self.plan = "p"

    edges = [
        {"trigger": "go", "source": "verify", "dest": "done", "conditions": "passed"},
        {"trigger": "go", "source": "verify", "dest": "repair"},
        {"trigger": "go", "source": "repair", "dest": "verify"},
    ]

    def run() -> None:
        model = Model()
        Machine(model, states=["verify", "repair", "done"], initial="verify", transitions=edges)
        while model.state != "done":
            model.go()
        assert model.retries == repairs

    return run


def statemachine(repairs: int) -> Loop:
    from statemachine import State, StateMachine

    class Machine(StateMachine):
        verify = State(initial=True)
        repair = State()
        done = State(final=True)
        go = verify.to(done, cond="passed") | verify.to(repair) | repair.to(verify)

        def __init__(self) -> None:
            self.retries, self.plan = 0, ""
            super().__init__()

        def passed(self) -> bool:
            return self.retries >= repairs

        def on_enter_repair(self) -> None:
            self.retries += 1
            self.plan = "p"

    def run() -> None:
        machine = Machine()
        while not machine.done.is_active:
            machine.go()
        assert machine.retries == repairs

    return run


def burr(repairs: int) -> Loop:
    from burr.core import ApplicationBuilder, State, action, when

    @action(reads=["retries"], writes=["exit_code"])
    def verify(state: State) -> State:
        return state.update(exit_code=0 if state["retries"] >= repairs else 1)

    @action(reads=["retries"], writes=["retries", "plan"])
    def repair(state: State) -> State:
        return state.update(retries=state["retries"] + 1, plan="p")

    @action(reads=[], writes=[])
    def done(state: State) -> State:
        return state

    builder = (
        ApplicationBuilder()
        .with_actions(verify=verify, repair=repair, done=done)
        .with_transitions(("verify", "done", when(exit_code=0)), ("verify", "repair"), ("repair", "verify"))
        .with_entrypoint("verify")
    )

    def run() -> None:
        app = builder.with_state(retries=0, plan="", exit_code=1).build()
        _, _, state = app.run(halt_after=["done"])
        assert state["retries"] == repairs

    return run


def pydantic_graph(repairs: int) -> Loop:
    from pydantic_graph import GraphBuilder, TypeExpression

    @dataclass
    class State:
        retries: int = 0
        plan: str = ""

    builder = GraphBuilder(state_type=State, input_type=type(None), output_type=int)

    async def verify(ctx):
        return "done" if ctx.state.retries >= repairs else "repair"

    async def repair(ctx):
        ctx.state.retries += 1
        ctx.state.plan = "p"

    async def finish(ctx):
        return ctx.state.retries

    step = {call: builder.step(call) for call in (verify, repair, finish)}
    branches = builder.decision()
    branches = branches.branch(builder.match(TypeExpression[Literal["done"]]).to(step[finish]))
    branches = branches.branch(builder.match(TypeExpression[Literal["repair"]]).to(step[repair]))
    builder.add(
        builder.edge_from(builder.start_node).to(step[verify]),
        builder.edge_from(step[verify]).to(branches),
        builder.edge_from(step[repair]).to(step[verify]),
        builder.edge_from(step[finish]).to(builder.end_node),
    )
    graph = builder.build()

    def run() -> None:
        state = State()
        asyncio.run(graph.run(state=state, inputs=None))
        assert state.retries == repairs

    return run


def workflows(repairs: int) -> Loop:
    from workflows import Workflow, step
    from workflows.events import Event, StartEvent, StopEvent

    class Fix(Event):
        retries: int

    class Again(Event):
        retries: int

    def verified(retries: int) -> Any:
        return StopEvent(result=retries) if retries >= repairs else Fix(retries=retries)

    class Flow(Workflow):
        @step
        async def begin(self, ev: StartEvent) -> Fix | StopEvent:
            return verified(0)

        @step
        async def verify(self, ev: Again) -> Fix | StopEvent:
            return verified(ev.retries)

        @step
        async def repair(self, ev: Fix) -> Again:
            return Again(retries=ev.retries + 1)

    async def main() -> None:
        assert await Flow(timeout=600).run() == repairs

    return lambda: asyncio.run(main())


def langgraph(repairs: int) -> Loop:
    return _langgraph(repairs, lambda: None)


def langgraph_memory(repairs: int) -> Loop:
    """With a checkpoint in memory after each step."""
    from langgraph.checkpoint.memory import InMemorySaver

    return _langgraph(repairs, InMemorySaver)


def _langgraph(repairs: int, saver: Callable[[], Any]) -> Loop:
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        retries: int
        plan: str
        exit_code: int
        done: Annotated[list[str], operator.add]

    builder = StateGraph(State)
    builder.add_node("verify", lambda state: {"exit_code": 0 if state["retries"] >= repairs else 1})
    builder.add_node("repair", lambda state: {"retries": state["retries"] + 1, "plan": "p"})
    builder.add_edge(START, "verify")
    builder.add_conditional_edges("verify", lambda state: END if state["exit_code"] == 0 else "repair")
    builder.add_edge("repair", "verify")
    config = {"recursion_limit": 10 * repairs + 10, "configurable": {"thread_id": "bench"}}

    def run() -> None:
        graph = builder.compile(checkpointer=saver())
        final = graph.invoke({"retries": 0, "plan": "", "exit_code": 1, "done": []}, config)
        assert final["retries"] == repairs

    return run


PEERS: dict[str, Callable[[int], Loop]] = {
    "pocketflow": pocketflow,
    "transitions": transitions,
    "statemachine": statemachine,
    "burr": burr,
    "pydantic-graph": pydantic_graph,
    "langgraph": langgraph,
    "langgraph-memory": langgraph_memory,
    "workflows": workflows,
}
