"""`stream`: the run as an iterator, one event a step, made when it is asked for."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from graph_agent import Context, NodeError, StateError, StepLimitReached, run_graph, stream
from graph_agent.runtime.errors import ArgumentError
from tests.runtime.counting import Count, Echo, Stage, ask_model, counting, start


def test_the_last_event_has_the_state_that_a_run_returns():
    events = list(stream(counting(), start(need=3)))
    assert events[-1].state == run_graph(counting(), start(need=3))
    assert [event.step for event in events] == [1, 2, 3, 4, 5, 6]


def test_a_step_is_taken_when_its_event_is_asked_for():
    calls: list[int] = []

    def node(state: Count, ctx: Any) -> dict[str, Any]:
        calls.append(state.count)
        return {"count": state.count + 1}

    events = stream(counting(node), start(need=5))
    assert calls == []
    assert next(events).stage == "work"
    assert calls == [0]
    assert [event.stage for event in islice(events, 2)] == ["check", "work"]
    assert calls == [0, 1]


def test_a_run_that_stands_still_yields_nothing():
    assert list(stream(counting(), start(stage=Stage.HUMAN))) == []


def test_the_event_of_a_failure_comes_before_its_error():
    def fails(state: Count, ctx: Any) -> None:
        raise OSError("disk full")

    told: list[Any] = []
    with pytest.raises(NodeError, match="disk full"):
        for event in stream(counting(fails), start()):
            told.append(event)
    assert [(event.kind, event.to) for event in told] == [("failed", None)]


def test_a_node_that_may_not_start_is_an_event_of_its_own():
    graph = counting(ask_model, model=True, on_limit=Stage.HUMAN)
    events = list(stream(graph, start(max_turns=1, need=9), Context(llm=Echo())))
    assert [(event.kind, event.stage, event.to) for event in events] == [
        ("finished", "work", "check"),
        ("finished", "check", "work"),
        ("limit", "work", "human"),
    ]


def test_the_fuse_ends_a_stream_after_that_many_events():
    told: list[Any] = []
    with pytest.raises(StepLimitReached) as error:
        for event in stream(counting(), start(need=9), max_steps=3):
            told.append(event)
    assert len(told) == 3
    assert error.value.state == told[-1].state


def test_what_is_no_use_is_refused_at_the_first_step():
    with pytest.raises(StateError):
        next(stream(counting(), "state"))
    with pytest.raises(ArgumentError):
        next(stream(counting(), start(), max_steps=-1))


def test_a_stream_that_is_given_up_leaves_the_run_where_it_was():
    events = stream(counting(), start(need=3))
    third = list(islice(events, 3))[-1]
    events.close()
    assert run_graph(counting(), third.state) == run_graph(counting(), start(need=3))
