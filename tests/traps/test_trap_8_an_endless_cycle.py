"""Trap 8: an endless cycle. It stops at a limit, with the state, and the run can be gone on with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import Context, FakeLLM, Graph, LimitReached, Node, Request, StepLimitReached, run_graph
from tests.traps.loop import Stage, State, check, loop, route_after_check


def never(state: State, ctx: Any) -> dict[str, Any]:
    return {"passed": False}


def test_the_fuse_stops_it_with_all_that_was_done_and_says_how_to_go_on():
    with pytest.raises(StepLimitReached) as error:
        run_graph(loop(check=never), State(task_id="t"), max_steps=31)
    state = error.value.state
    assert (state.steps, state.tries, len(state.changes)) == (31, 11, 10)
    for said in ("max_steps", "act", "31 steps", "run_graph"):
        assert said in str(error.value)
    assert run_graph(loop(), state).stage is Stage.DONE


def test_there_is_a_fuse_when_none_is_given():
    with pytest.raises(StepLimitReached) as error:
        run_graph(loop(check=never, act=lambda state, ctx: None), State(task_id="t"))
    assert error.value.state.steps == 10_000


def asks(state: State, ctx: Context) -> dict[str, Any]:
    return {"plan": ctx.llm.complete(Request(instructions="plan")).text, "tries": state.tries + 1}


def test_the_budget_stops_it_before_a_call_too_many_and_a_raised_one_goes_on():
    nodes = {
        Stage.PLAN: Node(asks, owns={"plan", "tries"}, to=Stage.ACT, model=True),
        Stage.ACT: Node(lambda state, ctx: None, owns={"changes"}, to=Stage.CHECK),
        Stage.CHECK: Node(never, owns={"passed"}, to=route_after_check, exits={Stage.DONE, Stage.PLAN}),
    }
    model = FakeLLM(lambda request: "a plan")
    with pytest.raises(LimitReached) as error:
        run_graph(
            Graph(state=State, nodes=nodes, ends={Stage.DONE}), State(task_id="t", max_turns=4), Context(llm=model)
        )
    stopped = error.value.state
    assert (stopped.stage, stopped.tries, stopped.spent_turns, len(model.requests)) == (Stage.PLAN, 4, 4, 4)
    assert "4 of 4 turns are spent" in str(error.value)
    nodes[Stage.CHECK] = replace(nodes[Stage.CHECK], run=check)
    graph = Graph(state=State, nodes=nodes, ends={Stage.DONE})
    final = run_graph(graph, replace(stopped, max_turns=5), Context(llm=model))
    assert (final.stage, final.spent_turns, len(model.requests)) == (Stage.DONE, 5, 5)
