"""Exploring: every run by the real rules, each state once, the shortest bad run first, nothing left out in silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import LimitReached, NodeError, PatchError, Route, RouteError, StateError
from graph_agent.testing.exploring import explore
from graph_agent.testing.laws import never, terminates
from graph_agent.testing.outcomes import ExplorationError, Fails, HitsLimit, Took
from graph_agent.testing.report import LawBroken
from tests.testing.graphs import GRAPH, OUTCOMES, START, Job, Stage, after_check, answers, job_graph, work


def walked(report: Any) -> set[tuple[str, Any, Any]]:
    return {(taken.kind, taken.stage, taken.to) for _, taken, _ in report.space.walked()}


def test_every_state_that_the_outcomes_lead_to_is_visited_once() -> None:
    report = explore(GRAPH, START, OUTCOMES)
    places = [(one.stage, one.tries, one.good, one.max_tries, one.give_up) for one in report.space.states]
    assert len(places) == len(set(places)) == report.states
    assert {(Stage.WORK, tries, False, 2, False) for tries in range(2)} <= set(places)
    assert (Stage.DONE, 3, True, 3, False) in places
    assert (Stage.HUMAN, 3, False, 3, False) in places
    assert report.complete
    assert report.ok


def test_the_numbers_are_those_of_a_count_by_hand() -> None:
    """work, check, done | work, check, human: the two tries of a job that nobody answers."""
    report = explore(GRAPH, START, {**OUTCOMES, Stage.HUMAN: []})
    assert (report.states, report.transitions, report.depth, report.longest) == (7, 6, 4, 4)


def test_a_pause_without_answers_is_where_a_run_waits() -> None:
    report = explore(GRAPH, START, {Stage.WORK: work, Stage.CHECK: [{"good": False}]})
    assert report.stages_reached == (Stage.WORK, Stage.CHECK, Stage.HUMAN)
    assert report.stages_missed == (Stage.DONE, Stage.FAILED)


def test_outcomes_may_be_a_function_of_the_state() -> None:
    def good_at_the_second(state: Job) -> list[Any]:
        return [{"good": state.tries == 2}]

    report = explore(GRAPH, START, {**OUTCOMES, Stage.CHECK: good_at_the_second})
    assert [one.tries for one in report.space.states if one.stage is Stage.DONE] == [2]


def test_an_outcome_that_breaks_the_contract_is_found_with_the_run_that_leads_to_it() -> None:
    report = explore(GRAPH, START, {**OUTCOMES, Stage.CHECK: [{"good": True}, {"tries": 0}]})
    (violation,) = report.violations
    assert violation.name == "contract"
    assert [one.taken.stage for one in violation.path] == [Stage.WORK, Stage.CHECK]
    assert isinstance(violation.path[-1].taken.error, PatchError)
    assert "tries is not check's to write but work's" in violation.text


def test_a_router_that_leaves_its_exits_breaks_the_contract() -> None:
    def astray(state: Job) -> Route:
        return Route(Stage.FAILED, "away") if state.tries == 2 else after_check(state)

    report = explore(job_graph(astray), START, OUTCOMES)
    (violation,) = report.violations
    assert isinstance(violation.path[-1].taken.error, RouteError)
    assert len(violation.path) == 4


def test_a_patch_and_none_cost_no_turns_and_took_says_how_many() -> None:
    start = replace(START, max_turns=5)
    report = explore(GRAPH, start, {Stage.WORK: [Took({"tries": 2}, turns=3)], Stage.CHECK: [None]})
    assert {one.spent_turns for one in report.space.states} == {0, 3}


def test_what_costs_more_than_is_left_is_stopped_by_the_budget() -> None:
    start = replace(START, max_turns=1)
    report = explore(GRAPH, start, {Stage.WORK: [Took({"tries": 1}, turns=2)], Stage.CHECK: [None]})
    assert walked(report) == {("limit", Stage.WORK, Stage.HUMAN)}
    (stopped,) = [one for one in report.space.states if one.stage is Stage.HUMAN]
    assert (stopped.spent_turns, stopped.tries) == (1, 0)
    assert stopped.route_reason == "1 of 1 turns are spent: work stopped before a call that needed 1"


def test_a_node_that_could_spend_is_not_begun_when_all_is_spent() -> None:
    start = replace(START, max_turns=0)
    report = explore(GRAPH, start, {Stage.WORK: work, Stage.CHECK: [None]})
    assert report.space.states[-1].route_reason == "0 of 0 turns are spent: work did not start"
    assert report.space.states[-1].steps == 0


def test_hits_limit_is_left_out_where_there_is_no_limit() -> None:
    outcomes = {Stage.WORK: [HitsLimit(), {"tries": 2}], Stage.CHECK: [None]}
    assert ("limit", Stage.WORK, Stage.HUMAN) not in walked(explore(GRAPH, START, outcomes))
    limited = explore(GRAPH, replace(START, max_turns=3), outcomes)
    assert ("limit", Stage.WORK, Stage.HUMAN) in walked(limited)
    assert max(one.spent_turns for one in limited.space.states) == 3


def test_a_node_that_fails_goes_to_on_error_with_its_turns() -> None:
    start = replace(START, max_turns=5)
    report = explore(GRAPH, start, {Stage.WORK: [Fails("no hammer", turns=2)], Stage.CHECK: [None]})
    (failed,) = [one for one in report.space.states if one.stage is Stage.HUMAN]
    assert (failed.spent_turns, failed.steps) == (2, 1)
    assert "no hammer" in failed.route_reason


@pytest.mark.parametrize(
    ("changes", "outcome", "error"),
    [({"on_error": None}, Fails("x"), NodeError), ({"on_limit": None}, HitsLimit(), LimitReached)],
    ids=["no on_error", "no on_limit"],
)
def test_where_there_is_no_way_on_the_run_stops_with_the_error(changes: Any, outcome: Any, error: Any) -> None:
    graph = job_graph(**changes)
    report = explore(graph, replace(START, max_turns=5), {Stage.WORK: [outcome, {"tries": 2}], Stage.CHECK: [None]})
    stops = [taken for _, taken, after in report.space.walked() if after is None]
    assert [type(taken.error) for taken in stops] == [error]
    assert report.ok, "to stop is legal"


def test_an_answer_that_is_refused_is_no_step() -> None:
    report = explore(GRAPH, START, {**OUTCOMES, Stage.HUMAN: [{"max_tries": 1}, {"give_up": True}]})
    assert report.space.refused == 1
    assert ("answered", Stage.HUMAN, Stage.FAILED) in walked(report)
    assert ("answered", Stage.HUMAN, Stage.CHECK) not in walked(report)


def test_an_answer_that_writes_what_the_pause_does_not_own_breaks_the_contract() -> None:
    report = explore(GRAPH, START, {**OUTCOMES, Stage.HUMAN: [{"good": True}]})
    assert report.violations[0].name == "contract"


def test_the_first_bad_run_is_a_shortest_one() -> None:
    report = explore(GRAPH, START, OUTCOMES, laws=[never(Stage.HUMAN)])
    assert [len(one.path) for one in report.violations] == [4]


def test_a_law_of_ones_own_is_a_function_of_a_step() -> None:
    def three_tries_are_too_many(before: Job, taken: Any, after: Job) -> str | None:
        return f"try {after.tries}" if after is not None and after.tries > 2 else None

    report = explore(GRAPH, START, OUTCOMES, laws=[three_tries_are_too_many])
    (violation,) = report.violations
    assert (violation.name, violation.text) == ("three_tries_are_too_many", "try 3")
    assert [one.taken.stage for one in violation.path][-3:] == [Stage.HUMAN, Stage.CHECK, Stage.WORK]


def test_more_states_than_max_states_is_said_and_raised() -> None:
    def endless(state: Job) -> list[Any]:
        return [{"tries": 0, "log": (f"{len(state.log)}",)}]

    report = explore(GRAPH, START, {**OUTCOMES, Stage.WORK: endless, Stage.CHECK: [{"good": False}]}, max_states=50)
    assert report.overflowed
    assert "NOT ALL: more than max_states=50" in str(report)
    with pytest.raises(LawBroken, match="NOT ALL"):
        report.raise_on_violation()


def test_a_view_leaves_out_what_only_grows() -> None:
    def endless(state: Job) -> list[Any]:
        return [{"tries": 0, "log": (f"{len(state.log)}",)}]

    outcomes = {**OUTCOMES, Stage.WORK: endless, Stage.CHECK: [{"good": False}]}
    report = explore(GRAPH, START, outcomes, view=lambda one: (one.stage, one.tries, one.good), laws=[terminates()])
    assert report.states == 2
    assert [one.name for one in report.violations] == ["terminates()"]


def test_beyond_max_depth_nothing_is_explored_and_that_is_said() -> None:
    report = explore(GRAPH, START, OUTCOMES, max_depth=2)
    assert max(report.space.depths) == 2
    assert not report.complete
    assert report.ok
    assert "1 states at max_depth=2 were not explored" in str(report)


def test_several_starts_are_explored_at_once() -> None:
    report = explore(GRAPH, [START, replace(START, max_tries=1)], OUTCOMES)
    assert {one.max_tries for one in report.space.states} == {1, 2, 3}


def test_a_router_that_reads_the_steps_makes_them_count() -> None:
    def by_steps(state: Job) -> Route:
        return Route(Stage.HUMAN, "enough") if state.steps >= 6 else Route(Stage.WORK, "again")

    outcomes = {Stage.WORK: [{"tries": 0}], Stage.CHECK: [{"good": False}]}
    report = explore(job_graph(by_steps), START, outcomes, laws=[terminates()])
    assert report.ok
    assert report.longest == 6
    assert [one.steps for one in report.space.states if one.stage is Stage.HUMAN] == [6]


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ({Stage.WORK: work}, "outcomes lacks check"),
        ({**OUTCOMES, Stage.DONE: [None]}, "outcomes has 'done', where nothing runs"),
        ({**OUTCOMES, Stage.CHECK: {"good": True}}, "outcomes of check is {'good': True}: give a list"),
        ({**OUTCOMES, Stage.CHECK: "good"}, "outcomes of check is 'good': give a list"),
    ],
    ids=str,
)
def test_outcomes_that_leave_something_open_are_refused(outcomes: Any, said: str) -> None:
    with pytest.raises(ExplorationError) as error:
        explore(GRAPH, START, outcomes)
    assert said in str(error.value)


def test_no_start_and_a_start_that_does_not_fit_are_refused() -> None:
    with pytest.raises(ExplorationError, match="start is empty"):
        explore(GRAPH, [], OUTCOMES)
    with pytest.raises(StateError):
        explore(GRAPH, replace(START, tries="two"), OUTCOMES)  # type: ignore[arg-type]


def test_answers_that_lead_round_do_not_make_a_run_endless() -> None:
    report = explore(GRAPH, START, {**OUTCOMES, Stage.HUMAN: answers}, laws=[terminates()])
    assert report.ok
