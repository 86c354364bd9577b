"""A pause: what is asked, under which id, and what an answer makes of the state. A refused answer changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent import (
    AnswerError,
    Graph,
    PatchError,
    Pause,
    Question,
    Route,
    answer,
    pause_id,
    question,
    run_graph,
)
from tests.runtime.counting import Count, Stage, counting, start


def paused(**fields: Any) -> Count:
    return start(**{"stage": Stage.HUMAN, "came_from": Stage.CHECK, "steps": 4, "spent_turns": 2, **fields})


def test_a_pause_stops_the_run_and_is_no_error_and_no_event_of_its_own():
    def asks(state: Count) -> Route:
        return Route(Stage.HUMAN, "may I?")

    told: list[Any] = []
    state = run_graph(counting(to=asks, exits={Stage.HUMAN}), start(), on_event=told.append)
    assert (state.stage, state.came_from, state.route_reason) == (Stage.HUMAN, Stage.WORK, "may I?")
    assert [(event.kind, event.to, event.error) for event in told] == [("finished", "human", None)]


def test_a_node_that_catches_everything_can_not_swallow_a_pause():
    def greedy(state: Count, ctx: Any) -> dict[str, Any]:
        try:
            return {"count": state.count + 1}
        except BaseException:
            return {"answer": "swallowed"}

    state = run_graph(counting(greedy, to=lambda s: Route(Stage.HUMAN, "ask"), exits={Stage.HUMAN}), start())
    assert (state.stage, state.answer) == (Stage.HUMAN, None)


def test_what_is_asked_is_the_pauses_own_question():
    assert question(counting(), paused(log=("a",))) == Question("Go on?", choices={"need": (1, 2, 3)}, shown=("a",))


def test_a_pause_without_a_question_shows_why_it_was_entered():
    entries = {**counting().nodes, Stage.HUMAN: Pause(owns={"need"}, to=Stage.DONE)}
    graph = Graph(state=Count, nodes=entries, ends={Stage.DONE, Stage.FAILED}, on_error=Stage.FAILED)
    assert question(graph, paused(route_reason="two tries were not enough")) == Question("two tries were not enough")
    assert answer(graph, paused(), None).stage is Stage.DONE


def test_an_answer_writes_what_the_pause_owns_counts_as_a_visit_and_routes():
    state = answer(counting(), paused(), {"need": 3})
    assert state == paused(need=3, stage=Stage.CHECK, came_from=None, steps=5, route_reason="a person says go on")
    state = answer(counting(), paused(), {"give_up": True})
    assert (state.stage, state.route_reason) == (Stage.FAILED, "given up")


@pytest.mark.parametrize("nothing", [None, {}])
def test_an_answer_may_change_nothing(nothing):
    assert answer(counting(), paused(), nothing).stage is Stage.CHECK


@pytest.mark.parametrize(("field", "value"), [("give_up", False), ("need", 1)])
def test_false_and_small_numbers_are_real_answers(field, value):
    assert getattr(answer(counting(), paused(), {field: value}), field) == value


def test_a_budget_may_be_taken_away_by_none():
    assert answer(counting(), paused(max_turns=2), {"max_turns": None}).max_turns is None


@pytest.mark.parametrize(
    ("patch", "kind", "said"),
    [
        ({"need": "abc"}, PatchError, "need: expected int, got 'abc'"),
        ({"need": None}, PatchError, "need: expected int, got None"),
        ({"need": [1]}, PatchError, "need: expected int, got"),
        ({"need": True}, PatchError, "need: expected int, got True"),
        ({"need": -1}, AnswerError, "need=-1 is not among the choices: 1, 2, 3"),
        ({"give_up": ""}, PatchError, "give_up: expected bool"),
        ({"count": 3}, PatchError, "count is not human's to write but work's: human owns give_up, max_turns, need"),
        ({"nede": 3}, PatchError, "did you mean 'need'?"),
        ({"stage": Stage.DONE}, PatchError, "stage is not human's to write but the runtime's"),
        ("yes", PatchError, "human returned 'yes' (str)"),
        ({"max_turns": 2}, AnswerError, "human refuses this answer: max_turns=2 is no more than the 2 that are spent"),
        (
            {"max_turns": -1},
            AnswerError,
            "human refuses this answer: max_turns=-1 is no more than the 2 that are spent",
        ),
    ],
    ids=str,
)
def test_a_wrong_answer_is_refused_and_the_pause_is_still_open(patch, kind, said):
    state = paused()
    with pytest.raises(kind) as error:
        answer(counting(), state, patch, pause_id="t:4")
    assert said in str(error.value)
    assert error.value.state is state
    assert (state, pause_id(state)) == (paused(), "t:4")
    assert answer(counting(), state, {"need": 3}, pause_id="t:4").need == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("t:3", "pause t:3 was answered before: the run waits at t:4"),
        ("t:5", "pause t:5 is not of this run: the run waits at t:4"),
        ("other:4", "pause other:4 is not of this run"),
        ("", "is not of this run"),
        ("t:x", "is not of this run"),
    ],
)
def test_a_late_or_foreign_answer_is_refused(given, said):
    with pytest.raises(AnswerError) as error:
        answer(counting(), paused(), {"need": 3}, pause_id=given)
    assert said in str(error.value)


def test_a_second_answer_is_refused_because_nothing_is_asked_any_more():
    once = answer(counting(), paused(), {"need": 3}, pause_id="t:4")
    with pytest.raises(AnswerError, match="nothing is asked: the run stands at check, which is no pause"):
        answer(counting(), once, {"need": 3}, pause_id="t:4")


def test_the_next_pause_of_a_run_has_another_id():
    graph = counting(lambda s, c: 1 / 0, on_error=Stage.HUMAN)
    first = run_graph(graph, start())
    second = run_graph(graph, answer(graph, first, None, pause_id=pause_id(first)))
    assert (pause_id(first), pause_id(second)) == ("t:1", "t:3")
    with pytest.raises(AnswerError, match="t:1 was answered before"):
        answer(graph, second, None, pause_id=pause_id(first))


def test_nothing_is_asked_at_an_end_or_a_node():
    for stage in (Stage.DONE, Stage.WORK):
        with pytest.raises(AnswerError, match="nothing is asked"):
            question(counting(), start(stage=stage))


def test_an_answer_runs_no_node():
    def never(state: Count, ctx: Any) -> None:
        raise AssertionError("a pause is not entered by running its node again")

    assert answer(counting(never), paused(came_from=Stage.WORK), {"need": 1}).stage is Stage.WORK


def test_the_choices_of_an_appended_field_are_those_of_its_items():
    from dataclasses import replace as changed

    from tests.runtime.kept import with_changes

    graph = counting()
    human = graph.nodes[Stage.HUMAN]
    asks = changed(human, owns={"log", "give_up"}, ask=lambda s: Question("Which?", choices={"log": ("a", "b")}))
    graph = with_changes(graph, nodes={**graph.nodes, Stage.HUMAN: asks}, shared={"log"}, on_limit=Stage.HUMAN)
    state = changed(paused(), max_turns=None)
    assert answer(graph, state, {"log": ("b", "a")}).log == (*state.log, "b", "a")
    assert answer(graph, state, {"log": ()}).log == state.log
    with pytest.raises(AnswerError, match="log='c' is not among the choices: 'a', 'b'"):
        answer(graph, state, {"log": ("a", "c")})
