"""What a run may spend: a turn is taken before its call is made, and no node can stretch the budget."""

from __future__ import annotations

from contextlib import suppress
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent import (
    Context,
    GraphAgentError,
    LimitReached,
    NodeError,
    Toolbox,
    ToolDenied,
    answer,
    fan_out,
    run_graph,
)
from graph_agent.runtime.errors import ArgumentError
from graph_agent.runtime.limits import BudgetSpent, Meter
from graph_agent.tools.toolbox import FunctionTool
from tests.runtime.counting import Count, Echo, Stage, ask_model, counting, start


def calls(times: int, *, reserve: int = 0, swallow: tuple[type[BaseException], ...] = ()):
    """A node that asks the model so often; what is in `swallow` is caught there."""

    def node(state: Count, ctx: Context) -> dict[str, Any]:
        if reserve:
            ctx.reserve(reserve)
        for _ in range(times):
            with suppress(*swallow):
                ctx.llm.complete({})
        return {"count": state.count + 1}

    return node


def test_a_run_without_a_limit_counts_what_it_spends():
    final = run_graph(counting(calls(5), model=True), start(), Context(llm=Echo()))
    assert (final.stage, final.spent_turns) == (Stage.DONE, 10)


@pytest.mark.parametrize("most", range(6))
def test_no_more_calls_are_made_than_the_limit_allows(most):
    model = Echo()
    final = run_graph(counting(calls(2), model=True, on_limit=Stage.HUMAN), start(max_turns=most), Context(llm=model))
    assert model.asked == final.spent_turns == min(most, 4)
    assert (final.stage is Stage.DONE) == (most >= 4)


def test_a_limit_of_zero_lets_no_call_be_made_and_a_node_that_can_not_spend_run():
    model = Echo()
    final = run_graph(counting(ask_model, model=True, on_limit=Stage.HUMAN), start(max_turns=0), Context(llm=model))
    assert (final.stage, final.steps, model.asked) == (Stage.HUMAN, 0, 0)
    assert final.route_reason == "0 of 0 turns are spent: work did not start"
    assert run_graph(counting(), start(max_turns=0)).stage is Stage.DONE


def test_a_node_stopped_in_the_middle_loses_its_patch_and_keeps_its_turns():
    final = run_graph(counting(calls(3), model=True, on_limit=Stage.HUMAN), start(max_turns=2), Context(llm=Echo()))
    assert (final.stage, final.count, final.spent_turns, final.steps) == (Stage.HUMAN, 0, 2, 1)
    assert final.route_reason == "2 of 2 turns are spent: work stopped before a call that needed 1"
    assert final.came_from is Stage.WORK


def test_without_on_limit_the_error_carries_the_state_and_says_what_to_do():
    with pytest.raises(LimitReached, match="work did not start; raise max_turns to go on") as error:
        run_graph(counting(ask_model, model=True), start(need=9, max_turns=2), Context(llm=Echo()))
    assert (error.value.state.count, error.value.state.spent_turns) == (2, 2)
    assert error.value.__cause__ is None


def test_a_raised_limit_goes_on_and_pays_for_nothing_twice():
    model, graph = Echo(), counting(ask_model, model=True, on_limit=Stage.HUMAN)
    stopped = run_graph(graph, start(need=3, max_turns=2), Context(llm=model))
    assert (stopped.stage, model.asked) == (Stage.HUMAN, 2)
    with pytest.raises(GraphAgentError, match="is no more than the 2 that are spent"):
        answer(graph, stopped, {"max_turns": 2})
    final = run_graph(graph, answer(graph, stopped, {"max_turns": 3}), Context(llm=model))
    assert (final.stage, model.asked, final.spent_turns) == (Stage.DONE, 3, 3)


def test_the_last_edit_still_gets_verified_when_the_turns_are_spent():
    final = run_graph(
        counting(ask_model, model=True, on_limit=Stage.HUMAN), start(need=1, max_turns=1), Context(llm=Echo())
    )
    assert (final.stage, final.steps) == (Stage.DONE, 2)


def test_a_node_that_catches_every_exception_can_not_swallow_the_budget():
    model = Echo()
    graph = counting(calls(50, swallow=(Exception,)), model=True, on_limit=Stage.HUMAN, retry=3, on_error=Stage.FAILED)
    final = run_graph(graph, start(max_turns=2), Context(llm=model))
    assert (final.stage, final.spent_turns, model.asked) == (Stage.HUMAN, 2, 2)


@pytest.mark.parametrize("swallow", [(BaseException,), (BudgetSpent,)])
def test_a_node_that_swallows_even_the_signal_is_stopped_all_the_same(swallow):
    graph = counting(calls(5, swallow=swallow), model=True, on_limit=Stage.HUMAN)
    final = run_graph(graph, start(max_turns=2), Context(llm=Echo()))
    assert (final.stage, final.spent_turns, final.count) == (Stage.HUMAN, 2, 0)
    assert "turns are spent" in final.route_reason


def test_what_attempts_that_failed_spent_stays_spent():
    tries: list[int] = []

    def flaky(state: Count, ctx: Context) -> dict[str, Any]:
        tries.append(ctx.llm.complete({}) and 1)
        if len(tries) < 3:
            raise OSError("not yet")
        return {"count": 2}

    final = run_graph(counting(flaky, model=True, retry=2), start(), Context(llm=Echo()))
    assert (final.spent_turns, final.steps) == (3, 2)
    tries.clear()
    with pytest.raises(NodeError) as error:
        run_graph(counting(flaky, model=True, retry=1), start(), Context(llm=Echo()))
    assert error.value.state.spent_turns == 2


def test_a_node_whose_calls_are_not_the_agents_spending_costs_no_turns():
    told: list[Any] = []
    graph = counting(calls(3), model=True, metered=False)
    final = run_graph(graph, start(max_turns=0, need=1), Context(llm=Echo()), on_event=told.append)
    assert (final.stage, final.spent_turns) == (Stage.DONE, 0)
    assert (told[0].turns, told[0].model_calls) == (0, 3)


def test_a_node_that_is_not_metered_may_reserve_what_it_likes():
    for options in ({"model": True}, {}):
        graph = counting(lambda s, ctx: ctx.reserve(9), metered=False, on_limit=None, **options)
        assert run_graph(graph, start(count=2, max_turns=1), Context(llm=Echo())).stage is Stage.DONE


def test_a_tool_that_is_not_metered_costs_no_turn_and_one_that_is_costs_one():
    def look(path: str) -> str:
        """Cheap."""
        return path

    def ponder(path: str) -> str:
        """Dear."""
        return path

    def uses(state: Count, ctx: Context) -> dict[str, Any]:
        for _ in range(3):
            ctx.tools.call("look", path="a")
        ctx.tools.call("ponder", path="a")
        return {"count": 2}

    tools = Toolbox([FunctionTool(look, metered=False), ponder])
    told: list[Any] = []
    run_graph(counting(uses, tools=("look", "ponder")), start(), Context(tools=tools), on_event=told.append)
    assert (told[0].turns, [use.tool for use in told[0].tool_uses]) == (1, ["look", "look", "look", "ponder"])


def test_turns_that_are_reserved_and_not_used_are_not_spent():
    final = run_graph(counting(calls(1, reserve=3), model=True), start(need=1, max_turns=3), Context(llm=Echo()))
    assert (final.stage, final.spent_turns) == (Stage.DONE, 1)


def test_a_node_that_can_not_reserve_what_it_needs_does_not_begin():
    model = Echo()
    graph = counting(calls(1, reserve=4), model=True, on_limit=Stage.HUMAN)
    final = run_graph(graph, start(max_turns=3), Context(llm=model))
    assert (final.stage, final.spent_turns, model.asked) == (Stage.HUMAN, 0, 0)
    assert "before a call that needed 4" in final.route_reason


def test_calls_beyond_what_was_reserved_need_turns_of_their_own():
    model = Echo()
    graph = counting(calls(4, reserve=2), model=True, on_limit=Stage.HUMAN)
    assert run_graph(graph, start(max_turns=3), Context(llm=model)).stage is Stage.HUMAN
    assert model.asked == 3


def test_a_node_that_is_tried_again_may_reserve_again():
    tries: list[int] = []

    def flaky(state: Count, ctx: Context) -> dict[str, Any]:
        ctx.reserve(3)
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        ctx.llm.complete({})
        return {"count": 2}

    final = run_graph(counting(flaky, model=True, retry=2), start(max_turns=3), Context(llm=Echo()))
    assert (final.stage, final.spent_turns) == (Stage.DONE, 1)


@pytest.mark.parametrize("turns", [-1, True, 1.5, "2", None])
def test_a_reservation_that_is_no_number_of_turns_is_refused(turns):
    with pytest.raises(ArgumentError, match="reserve"):
        Meter(5).reserve(turns)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_threads_that_spend_together_never_spend_more_than_the_limit(workers):
    model = Echo()

    def fans(state: Count, ctx: Context) -> dict[str, Any]:
        fan_out([lambda: ctx.llm.complete({}) for _ in range(30)], workers=workers)
        return {"count": 9}

    graph = counting(fans, model=True, on_limit=Stage.HUMAN)
    final = run_graph(graph, start(max_turns=7), Context(llm=model))
    assert (final.stage, final.spent_turns, model.asked, final.count) == (Stage.HUMAN, 7, 7, 0)


def test_a_meter_gives_out_each_turn_once_however_many_threads_ask_at_the_same_moment():
    meter, gate, taken = Meter(50), Barrier(8), []

    def spend() -> None:
        gate.wait(20)
        for _ in range(20):
            try:
                meter.charge()
            except BudgetSpent:
                return
            taken.append(1)

    threads = [Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(taken) == meter.turns == meter.close() == 50


def test_a_thread_that_its_visit_left_behind_can_spend_nothing_more():
    model, go, ended, said = Echo(), Event(), Event(), []

    def leaves_a_thread(state: Count, ctx: Context) -> dict[str, Any]:
        def late() -> None:
            go.wait(20)
            try:
                ctx.llm.complete({})
            except ToolDenied as error:
                said.append(str(error))
            ended.set()

        Thread(target=late, daemon=True).start()
        return {"count": 2}

    final = run_graph(counting(leaves_a_thread, model=True), start(), Context(llm=model))
    go.set()
    assert ended.wait(20)
    assert (final.stage, final.spent_turns, model.asked) == (Stage.DONE, 0, 0)
    assert "the visit that this context belongs to is over" in said[0]


def test_what_a_late_thread_notes_is_in_no_later_event():
    contexts: list[Context] = []

    def keeps(state: Count, ctx: Context) -> dict[str, Any]:
        ctx.note(f"visit {state.count + 1}")
        for old in contexts:
            old.note("late")
        contexts.append(ctx)
        return {"count": state.count + 1}

    told: list[Any] = []
    run_graph(counting(keeps), start(need=3), on_event=told.append)
    assert [event.notes for event in told] == [("visit 1",), (), ("visit 2",), (), ("visit 3",), ()]


@settings(max_examples=200)
@given(st.none() | st.integers(0, 8), st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=12))
def test_a_meter_never_gives_more_than_it_has_and_reserving_alone_spends_nothing(left, script):
    meter, spent, free = Meter(left), 0, left
    reserved = 0
    for reserves, turns in script:
        fresh = turns if reserves else max(0, turns - reserved)
        fits = free is None or fresh <= free
        try:
            (meter.reserve if reserves else meter.charge)(turns)
        except BudgetSpent as stop:
            assert not fits
            assert stop.wanted == turns
            continue
        assert fits
        free = None if free is None else free - fresh
        reserved += turns if reserves else fresh - turns
        spent += 0 if reserves else turns
    assert meter.close() == spent
    assert left is None or spent <= left


def test_the_signal_that_ends_a_node_is_no_exception():
    assert not issubclass(BudgetSpent, Exception)
