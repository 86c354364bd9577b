"""What a run reports: one event a step, to the journal before the listener, and both before the next node starts."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent import (
    Context,
    Event,
    FakeTools,
    LimitReached,
    NodeError,
    PatchError,
    Route,
    RouteError,
    advance,
    answer,
    run_graph,
    trace_line,
)
from graph_agent.protocols import ToolUse
from tests.runtime.counting import Count, Echo, Stage, ask_model, counting, start


def told_by(graph: Any, state: Any, ctx: Context | None = None) -> tuple[list[Event], Any]:
    """The events of a run, and what it raised or returned."""
    events: list[Event] = []
    try:
        return events, run_graph(graph, state, ctx or Context(), on_event=events.append)
    except Exception as error:
        return events, error


def test_an_event_tells_the_whole_step():
    graph = counting(ask_model, model=True)
    events, final = told_by(graph, start(need=1), Context(llm=Echo()))
    first, second = events
    assert (first.kind, first.step, first.stage, first.to) == ("finished", 1, "work", "check")
    assert first.patch == {"count": 1, "log": ("answer 1",)}
    assert (first.turns, first.model_calls, first.tokens_in, first.tokens_out, first.attempts) == (1, 1, 3, 5, 1)
    assert (first.reason, first.error, first.state.spent_turns) == ("work is followed by check", None, 1)
    assert 0 <= first.seconds < 60
    assert (second.stage, second.to, second.patch, second.state) == ("check", "done", {"score": 1.0}, final)
    assert second.model_calls == second.turns == 0


def test_the_fold_of_the_patches_is_the_run():
    graph = counting()
    events, final = told_by(graph, start(need=4))
    state = start(need=4)
    for event in events:
        state = advance(graph, state, event.patch, turns=event.turns)
        assert state == event.state
    assert state == final


def test_a_patch_that_its_node_changes_later_is_told_as_it_was_applied():
    kept: dict[str, Any] = {}

    def node(state: Count, ctx: Any) -> dict[str, Any]:
        kept["count"] = state.count + 1
        return kept

    events, _ = told_by(counting(node), start(need=2))
    assert [event.patch["count"] for event in events[::2]] == [1, 2]


def test_notes_tools_and_attempts_are_told_with_their_step():
    tries: list[int] = []

    def node(state: Count, ctx: Context) -> dict[str, Any]:
        tries.append(1)
        ctx.note(f"attempt {len(tries)}")
        ctx.tools.call("look", path="a.py")
        if len(tries) == 1:
            raise OSError("not yet")
        return {"count": 2}

    events, _ = told_by(counting(node, tools=("look",), retry=1), start(), Context(tools=FakeTools({"look": "seen"})))
    assert events[0].notes == ("attempt 1", "attempt 2")
    assert events[0].tool_uses == (ToolUse(tool="look", verdict="allowed: read tool"),) * 2
    assert (events[0].attempts, events[0].turns) == (2, 2)
    assert events[1].notes == ()


def test_a_failure_is_told_before_its_error_is_raised():
    def fails(state: Count, ctx: Context) -> None:
        ctx.llm.complete({})
        raise OSError("disk full")

    events, error = told_by(counting(fails, model=True), start(), Context(llm=Echo()))
    assert isinstance(error, NodeError)
    (event,) = events
    assert (event.kind, event.to, event.error, event.turns) == ("failed", None, error, 1)
    assert event.state == error.state == start(spent_turns=1)
    assert event.reason == str(error) == "work failed: OSError: disk full"


def test_a_failure_that_goes_to_on_error_is_told_with_what_was_raised():
    cause = OSError("disk full")

    def fails(state: Count, ctx: Context) -> None:
        raise cause

    events, final = told_by(counting(fails, on_error=Stage.FAILED), start())
    assert [(event.kind, event.to, event.error) for event in events] == [("failed", "failed", cause)]
    assert events[0].state == final
    assert events[0].patch is None


@pytest.mark.parametrize(
    ("graph", "kind"),
    [
        (counting(lambda s, c: {"nope": 1}), PatchError),
        (counting(to=lambda s: Route(Stage.DONE, "undeclared"), exits={Stage.CHECK}), RouteError),
    ],
)
def test_a_refused_patch_or_route_is_told_as_a_failure(graph, kind):
    events, error = told_by(graph, start())
    assert isinstance(error, kind)
    assert [(event.kind, event.to, event.error, event.patch) for event in events] == [("failed", None, error, None)]


def test_a_limit_is_told_whether_the_node_was_begun_or_not():
    graph = counting(ask_model, model=True, on_limit=Stage.HUMAN)
    events, _ = told_by(graph, start(max_turns=0), Context(llm=Echo()))
    assert [(event.kind, event.to, event.attempts, event.step) for event in events] == [("limit", "human", 0, 0)]
    events, error = told_by(counting(ask_model, model=True), start(max_turns=0), Context(llm=Echo()))
    assert isinstance(error, LimitReached)
    assert [(event.kind, event.to, event.error) for event in events] == [("limit", None, error)]


def test_an_answer_to_a_pause_is_no_event():
    graph = counting(lambda s, c: 1 / 0, on_error=Stage.HUMAN)
    _, stopped = told_by(graph, start())
    events, _ = told_by(graph, answer(graph, stopped, None))
    assert [event.step for event in events] == [3]


class Order:
    """A journal and a listener that keep who was told of what, and when."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def write(self, event: Event, /) -> None:
        self.seen.append(f"journal {event.stage} {event.kind}")

    def listen(self, event: Event) -> None:
        self.seen.append(f"listener {event.stage} {event.kind}")

    def node(self, state: Count, ctx: Any) -> dict[str, Any]:
        self.seen.append("work runs")
        if state.count == 1:
            raise OSError("disk full")
        return {"count": 1}


def test_the_journal_has_a_step_before_the_listener_and_both_before_the_next_node():
    order = Order()
    with pytest.raises(NodeError):
        run_graph(counting(order.node), start(), journal=order, on_event=order.listen)
    assert order.seen == [
        "work runs",
        "journal work finished",
        "listener work finished",
        "journal check finished",
        "listener check finished",
        "work runs",
        "journal work failed",
        "listener work failed",
    ]


def test_a_journal_alone_is_told_too():
    order = Order()
    run_graph(counting(), start(need=1), journal=order)
    assert order.seen == ["journal work finished", "journal check finished"]


def test_a_journal_that_can_not_write_stops_the_run_before_the_next_node():
    calls: list[int] = []

    class Full:
        def write(self, event: Event, /) -> None:
            raise OSError("no space left")

    def node(state: Count, ctx: Any) -> dict[str, Any]:
        calls.append(1)
        return {"count": 1}

    with pytest.raises(OSError, match="no space left"):
        run_graph(counting(node, on_error=Stage.FAILED, retry=2), start(), journal=Full())
    assert calls == [1]


def test_ctrl_c_is_no_event():
    def stops(state: Count, ctx: Any) -> None:
        raise KeyboardInterrupt

    events: list[Event] = []
    with pytest.raises(KeyboardInterrupt):
        run_graph(counting(stops), start(), on_event=events.append)
    assert events == []


def test_one_line_says_what_a_step_was():
    events, _ = told_by(counting(ask_model, model=True), start(need=1), Context(llm=Echo()))
    assert trace_line(events[0]) == "  1 | work -> check | 1 turn | work is followed by check"
    assert trace_line(events[1]) == "  2 | check -> done | 0 turns | 1 of 1"
    (failed,), _ = told_by(counting(lambda s, c: 1 / 0), start())
    assert trace_line(failed) == "  0 | work -> stopped | 0 turns | work failed: ZeroDivisionError: division by zero"
