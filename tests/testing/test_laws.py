"""Each law, where it holds and where it does not: what it says, and how long the run is that shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import Route
from graph_agent.testing.exploring import explore
from graph_agent.testing.laws import (
    always_before,
    budget_holds,
    can_reach,
    every_exit_taken,
    every_stage_reached,
    monotone,
    never,
    pauses_are_left,
    reason_given,
    terminates,
)
from graph_agent.testing.outcomes import Fails, HitsLimit, Took
from tests.testing.graphs import GRAPH, OUTCOMES, START, Job, Stage, after_check, job_graph, work

ALL = {**OUTCOMES, Stage.WORK: lambda state: [*work(state), Fails("x"), HitsLimit()]}


def spent(state: Job) -> bool:
    return state.tries >= state.max_tries


def broken(law: Any, graph: Any = GRAPH, start: Any = START, outcomes: Any = OUTCOMES, **rest: Any) -> Any:
    """The violation of a law, or None."""
    found = explore(graph, start, outcomes, laws=[law], **rest).violations
    assert len(found) <= 1
    return found[0] if found else None


def by(router: Any) -> Any:
    return job_graph(router)


def for_ever(state: Job) -> Route:
    return Route(Stage.DONE, "good") if state.good else Route(Stage.WORK, "again")


def no_counter(state: Job) -> list[Any]:
    return [{"tries": 0}]


def test_never_holds_or_names_the_stage_and_the_condition() -> None:
    assert broken(never(Stage.FAILED), outcomes={**OUTCOMES, Stage.HUMAN: []}) is None
    assert broken(never(Stage.WORK, when=spent)) is None
    found = broken(never(Stage.HUMAN, when=spent))
    assert (found.text, len(found.path)) == ("human is entered when spent", 4)
    assert found.name == "never(Stage.HUMAN, when=spent)"


def test_always_before_follows_each_run_and_not_only_the_first_to_a_state() -> None:
    assert broken(always_before(Stage.CHECK, Stage.HUMAN)) is None
    found = broken(always_before(Stage.CHECK, Stage.HUMAN), outcomes=ALL)
    assert found.text == "human is entered and check was not"
    assert [one.taken.kind for one in found.path] == ["failed"]


def test_always_before_may_want_the_first_in_a_certain_state() -> None:
    assert broken(always_before(Stage.CHECK, Stage.HUMAN, when=spent)) is None
    found = broken(always_before(Stage.CHECK, Stage.DONE, when=spent))
    assert (found.text, len(found.path)) == ("done is entered and check was not when spent", 2)


def test_a_budget_holds_for_turns_and_for_counters() -> None:
    limited = replace(START, max_turns=3)
    spending = {**OUTCOMES, Stage.WORK: lambda state: [Took({"tries": state.tries + 1}, turns=2)]}
    assert broken(budget_holds(), start=limited, outcomes=spending) is None
    assert broken(budget_holds("tries", "max_tries")) is None
    greedy = {**OUTCOMES, Stage.WORK: lambda state: [{"tries": state.tries + 2}], Stage.CHECK: [{"good": False}]}
    found = broken(budget_holds("tries", 3), outcomes=greedy, graph=by(for_ever), max_states=99)
    assert (found.text, len(found.path)) == ("tries is 4, more than 3=3", 3)


def test_no_limit_is_no_budget_to_break() -> None:
    assert broken(budget_holds("spent_turns", "max_turns"), start=replace(START, max_turns=None)) is None


def test_monotone_is_for_numbers_and_for_tuples() -> None:
    assert broken(monotone("tries")) is None
    assert (
        broken(monotone("log"), outcomes={**OUTCOMES, Stage.WORK: lambda s: [{"tries": s.tries + 1, "log": ("a",)}]})
        is None
    )
    found = broken(
        monotone("tries"), outcomes={**OUTCOMES, Stage.WORK: lambda s: [{"tries": 1 - s.tries}]}, max_depth=9
    )
    assert found.text == "tries was 1 and became 0"
    assert len(found.path) == 3


def test_a_reason_is_given_at_each_step() -> None:
    def silent(state: Job) -> Route:
        return replace_reason(after_check(state), " ") if state.good else after_check(state)

    def replace_reason(route: Route, reason: str) -> Route:
        return Route(route.stage, reason)

    assert broken(reason_given(), outcomes=ALL, start=replace(START, max_turns=2)) is None
    found = broken(reason_given(), graph=by(silent))
    assert (found.text, len(found.path)) == ("check is left without a reason", 2)


def test_a_run_without_end_is_a_way_from_a_place_back_to_itself() -> None:
    assert broken(terminates(), outcomes=ALL, start=replace(START, max_turns=2)) is None
    found = broken(terminates(), graph=by(for_ever), outcomes={Stage.WORK: no_counter, Stage.CHECK: [{"good": False}]})
    assert found.text == "a run can go work -> check -> work for ever: no counter grows"
    assert [one.taken.stage for one in found.path] == [Stage.WORK, Stage.CHECK]


def test_a_counter_that_grows_makes_it_another_place_until_the_states_run_out() -> None:
    found = broken(
        terminates(), graph=by(for_ever), outcomes={**OUTCOMES, Stage.CHECK: [{"good": False}]}, max_states=99
    )
    assert found.text.startswith("it can't be told: ")
    assert found.path == ()


def test_only_what_a_person_sends_round_is_no_run_without_end() -> None:
    graph = job_graph()
    lenient = job_graph(nodes={**graph.nodes, Stage.HUMAN: replace(graph.nodes[Stage.HUMAN], check=None)})  # type: ignore[type-var]
    outcomes = {**OUTCOMES, Stage.CHECK: [{"good": False}], Stage.HUMAN: [{}]}
    report = explore(lenient, START, outcomes, laws=[terminates()])
    assert report.ok
    assert report.longest == 4
    back = [taken for _, taken, _ in report.space.walked() if taken.kind == "answered"]
    assert [taken.to for taken in back] == [Stage.CHECK]


def test_every_stage_is_reached_or_excused() -> None:
    assert broken(every_stage_reached()) is None
    found = broken(every_stage_reached(), outcomes={**OUTCOMES, Stage.HUMAN: []})
    assert found.text == "no run enters failed"
    assert broken(every_stage_reached(but=(Stage.FAILED,)), outcomes={**OUTCOMES, Stage.HUMAN: []}) is None


def test_every_exit_is_taken_or_excused() -> None:
    limited = replace(START, max_turns=9)
    whole = {**ALL, Stage.CHECK: [{"good": True}, {"good": False}, Fails("x")]}
    assert broken(every_exit_taken(), start=limited, outcomes=whole) is None
    found = broken(every_exit_taken(), outcomes={**OUTCOMES, Stage.CHECK: [{"good": True}]})
    assert "check -> human" in found.text
    assert "work -> human (out of budget)" in found.text
    assert "human -> check (back)" in found.text
    excused = every_exit_taken(but=((Stage.WORK, Stage.HUMAN), (Stage.CHECK, Stage.HUMAN), (Stage.HUMAN, Stage.WORK)))
    assert broken(excused, start=limited) is None


def test_a_stage_can_be_reached_from_wherever_a_run_stands() -> None:
    assert broken(can_reach(Stage.HUMAN)) is None
    assert broken(can_reach(Stage.HUMAN, Stage.CHECK), outcomes={**OUTCOMES, Stage.CHECK: [{"good": True}]}) is None
    outcomes = {Stage.WORK: no_counter, Stage.CHECK: [{"good": False}]}
    found = broken(can_reach(Stage.HUMAN), graph=by(for_ever), outcomes=outcomes)
    assert found.text == "from work there is no way to human"
    assert found.path == ()


def test_a_pause_is_left_when_one_of_the_answers_is_accepted() -> None:
    assert broken(pauses_are_left()) is None
    found = broken(pauses_are_left(), outcomes={**OUTCOMES, Stage.HUMAN: [{}, {"max_tries": 1}]})
    assert (found.text, len(found.path)) == ("at human no answer is accepted", 4)


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (terminates(), "terminates()"),
        (never(Stage.DONE), "never(Stage.DONE)"),
        (can_reach(Stage.DONE, Stage.HUMAN), "can_reach(Stage.DONE, Stage.HUMAN)"),
        (budget_holds("tries", 3), "budget_holds('tries', limit=3)"),
        (never(Stage.DONE, when=lambda state: True), "never(Stage.DONE, when=(a lambda))"),
    ],
)
def test_a_law_is_called_as_it_is_written(law: Any, name: str) -> None:
    assert law.name == name


def test_a_law_that_needs_nothing_may_be_named_alone() -> None:
    report = explore(GRAPH, START, OUTCOMES, laws=[terminates, reason_given, every_exit_taken])
    assert [one.name for one in report.violations] == ["every_exit_taken()"]
