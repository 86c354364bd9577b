"""Trap 1: a router returns a target that nobody declared. An error; the state is unchanged; the journal has it."""

from __future__ import annotations

import pytest

from graph_agent import Route, RouteError, run_graph
from tests.traps.loop import Journal, Stage, State, loop

TARGETS = [Route(Stage.ACT, "not among check's exits"), Route("plan", "a text"), "plan", "nowhere", None, Stage.PLAN]


@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_the_run_stops_with_an_error_that_names_the_answer_and_the_declared_exits(target):
    with pytest.raises(RouteError) as error:
        run_graph(loop(route=lambda state: target), State(task_id="t"))
    assert repr(target)[:60] in str(error.value)
    assert "it may return a Route to done, plan" in str(error.value)


@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_the_state_is_the_one_before_the_step_and_the_journal_has_the_failure(target):
    journal = Journal()
    with pytest.raises(RouteError) as error:
        run_graph(loop(route=lambda state: target), State(task_id="t"), journal=journal)
    *done, last = journal.events
    assert [event.kind for event in done] == ["finished", "finished"]
    assert (last.kind, last.stage, last.to, last.error) == ("failed", "check", None, error.value)
    assert error.value.state == last.state == done[-1].state
    assert (error.value.state.stage, error.value.state.passed) == (Stage.CHECK, False)


def test_the_run_goes_on_from_there_once_the_router_is_mended():
    with pytest.raises(RouteError) as error:
        run_graph(loop(route=lambda state: None), State(task_id="t"))
    assert run_graph(loop(), error.value.state) == run_graph(loop(), State(task_id="t"))


def test_a_router_that_raises_is_no_end_of_the_run():
    with pytest.raises(RouteError, match="the router after check failed: ZeroDivisionError"):
        run_graph(loop(route=lambda state: 1 / 0), State(task_id="t"))
