"""The pure step: check, merge, count, route; taken whole or not at all."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from graph_agent import BACK, GraphAgentError, PatchError, Route, RouteError, StateError, advance, run_graph
from graph_agent.runtime.advance import may_start, stop_at_error, stop_at_limit
from graph_agent.runtime.errors import ArgumentError, LimitReached, NodeError
from tests.runtime.counting import Count, Ruled, Stage, counting, start


class Foreign(StrEnum):
    DONE = "done"


def test_a_step_merges_counts_and_goes_where_the_table_says():
    state = advance(counting(), start(), {"count": 1}, turns=3)
    assert state == start(count=1, stage=Stage.CHECK, steps=1, spent_turns=3, route_reason="work is followed by check")


def test_a_step_with_a_router_goes_where_the_router_says_and_keeps_its_reason():
    state = advance(counting(), start(stage=Stage.CHECK, count=1), {"score": 0.5})
    assert (state.stage, state.route_reason) == (Stage.WORK, "more is needed")
    state = advance(counting(), start(stage=Stage.CHECK, count=2), {"score": 1.0})
    assert (state.stage, state.route_reason) == (Stage.DONE, "2 of 2")


def test_a_step_leaves_the_state_that_it_was_given():
    before = start(count=3)
    advance(counting(), before, {"count": 4})
    assert before == start(count=3)


def test_the_same_step_taken_twice_gives_equal_states():
    assert advance(counting(), start(), {"count": 1}) == advance(counting(), start(), {"count": 1})


def test_a_router_sees_the_merged_state_where_it_stands_before_the_move_and_it_never_changes():
    seen: list[Count] = []

    def route(state: Count) -> Route:
        seen.append(state)
        return Route(Stage.CHECK, "looked")

    after = advance(counting(to=route, exits={Stage.CHECK}), start(), {"count": 1})
    assert seen == [start(count=1, steps=1)]
    assert after == start(count=1, steps=1, stage=Stage.CHECK, route_reason="looked")


def routed(answer: Any) -> RouteError:
    """The error of a run whose first router answers so."""
    graph = counting(to=lambda s: answer, exits={Stage.CHECK})
    with pytest.raises(RouteError) as error:
        run_graph(graph, start(count=4))
    assert error.value.state == start(count=4)
    return error.value


@pytest.mark.parametrize(
    "answer",
    [
        "", "check", "N ", None, 0, ["a"], "verify\n", Stage.CHECK, ("check", "why"), {"stage": Stage.CHECK},
        Route(Stage.DONE, "declared by another node"), Route("check", "a text"), Route(None, "nothing"),
        Route(["a"], "a list"), Route(Foreign.DONE, "another enum"), Route(BACK, "only a pause goes back"),
        Route(Stage.CHECK, None), Route(Stage.CHECK, 5), Route,
    ],
    ids=repr,
)  # fmt: skip
def test_an_answer_that_is_no_declared_route_is_an_error_that_names_it_and_what_was_allowed(answer):
    error = routed(answer)
    assert repr(answer)[:70] in str(error)
    assert "the router after work returned" in str(error)
    assert str(error).endswith("it may return a Route to check")


def test_a_router_that_fails_is_an_error_with_its_cause():
    graph = counting(to=lambda s: s.nothing, exits={Stage.CHECK})
    with pytest.raises(RouteError, match="the router after work failed: AttributeError: ") as error:
        advance(graph, start(), {"count": 9}, turns=2)
    assert isinstance(error.value.__cause__, AttributeError)
    assert error.value.state == start(spent_turns=2)


def test_a_patch_that_is_refused_keeps_its_turns_and_nothing_else():
    with pytest.raises(PatchError) as error:
        advance(counting(), start(count=1), {"count": "2"}, turns=2)
    assert error.value.state == start(count=1, spent_turns=2)


@pytest.mark.parametrize("turns", [-1, True, 1.0, "1", None])
def test_turns_that_can_not_be_counted_are_refused(turns):
    with pytest.raises(ArgumentError, match="turns="):
        advance(counting(), start(), None, turns=turns)


def test_no_step_leads_away_from_an_end():
    with pytest.raises(StateError, match="no node at done: the graph has work, check, human"):
        advance(counting(), start(stage=Stage.DONE), None)


def test_a_state_of_another_graph_is_refused():
    with pytest.raises(StateError, match="this graph runs on Count"):
        advance(counting(), Ruled(task_id="t"), None)


def test_a_pause_is_left_by_an_answer_and_goes_back_where_it_was_entered_from():
    at_pause = start(stage=Stage.HUMAN, came_from=Stage.CHECK, steps=4)
    state = advance(counting(), at_pause, {"need": 3})
    assert (state.stage, state.came_from, state.steps, state.need) == (Stage.CHECK, None, 5, 3)


def test_going_back_from_nowhere_is_an_error():
    with pytest.raises(RouteError, match="human goes BACK, but nothing says where from"):
        advance(counting(), start(stage=Stage.HUMAN), {"need": 3})


def test_came_from_is_set_where_a_pause_is_entered_and_nowhere_else():
    def route(state: Count) -> Route:
        return Route(Stage.HUMAN, "ask") if state.count else Route(Stage.CHECK, "go on")

    graph = counting(to=route, exits={Stage.HUMAN, Stage.CHECK})
    assert advance(graph, start(), {"count": 1}).came_from is Stage.WORK
    assert advance(graph, start(), {"count": 0}).came_from is None


def test_a_limit_sends_the_run_to_on_limit_with_its_turns_and_without_the_patch():
    graph = counting(on_limit=Stage.HUMAN, model=True)
    stopped = stop_at_limit(graph, start(max_turns=2, spent_turns=1), turns=1)
    assert (stopped.stage, stopped.spent_turns, stopped.steps, stopped.came_from) == (Stage.HUMAN, 2, 1, Stage.WORK)
    assert "2 of 2 turns are spent: work stopped before a call" in stopped.route_reason
    unbegun = stop_at_limit(graph, start(max_turns=2, spent_turns=2), started=False)
    assert (unbegun.stage, unbegun.steps) == (Stage.HUMAN, 0)
    assert "work did not start" in unbegun.route_reason


def test_a_limit_without_on_limit_is_an_error_that_carries_the_state():
    with pytest.raises(LimitReached, match="raise max_turns to go on") as error:
        stop_at_limit(counting(model=True), start(max_turns=2, spent_turns=1), turns=1)
    assert error.value.state == start(max_turns=2, spent_turns=2)


def test_an_error_sends_the_run_to_on_error_or_is_raised_with_its_cause():
    cause = OSError("disk full")
    stopped = stop_at_error(counting(on_error=Stage.FAILED), start(), cause, turns=1)
    assert (stopped.stage, stopped.spent_turns, stopped.steps) == (Stage.FAILED, 1, 1)
    assert stopped.route_reason == "work failed: OSError: disk full"
    with pytest.raises(NodeError, match="work failed: OSError: disk full") as error:
        stop_at_error(counting(), start(), cause, turns=1)
    assert (error.value.error, error.value.__cause__, error.value.state) == (cause, cause, start(spent_turns=1))


@pytest.mark.parametrize(
    ("node", "limits", "may"),
    [
        ({"model": True}, {"max_turns": 1, "spent_turns": 1}, False),
        ({"model": True}, {"max_turns": 0}, False),
        ({"tools": ("read",)}, {"max_turns": 0}, False),
        ({"model": True}, {"max_turns": 2, "spent_turns": 1}, True),
        ({"model": True}, {"max_turns": None, "spent_turns": 99}, True),
        ({"model": True, "metered": False}, {"max_turns": 0}, True),
        ({}, {"max_turns": 0}, True),
    ],
)
def test_only_a_node_that_could_spend_may_not_start_once_all_turns_are_spent(node, limits, may):
    assert may_start(counting(**node), start(**limits)) is may


def test_every_error_of_the_step_is_of_one_family():
    for kind in (PatchError, RouteError, StateError, NodeError, LimitReached, ArgumentError):
        assert issubclass(kind, GraphAgentError)
