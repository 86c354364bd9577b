"""A grade: each mutant is killed by the check, survives it, or is listed as equivalent, and the list is kept true."""

from __future__ import annotations

import asyncio
import doctest
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from graph_agent import Route
from graph_agent.testing import grading
from graph_agent.testing.grading import GradeError, Survived, grade
from graph_agent.testing.mutants import mutate_router
from graph_agent.testing.routers import check_router
from graph_agent.testing.states import states_of
from tests.testing import routed
from tests.testing.routed import DONE, Job, Stage, check_it

ROOT = Path(__file__).parents[2]
HELPERS = (routed.spent, routed.at_least)
Router = Callable[[Job], Route]


def check_all(route: Router) -> None:
    check_it(route)


def test_a_thorough_check_kills_all() -> None:
    done = grade(routed.after_check, check_all, also=HELPERS)
    assert done.ok
    assert done.score == 1.0
    assert len(done.killed) == len(done.graded) > 15
    assert done.raise_on_survivors() is done
    assert str(done) == f"after_check: {len(done.graded)} mutants, {len(done.graded)} killed, 0 survived (100%)"


def check_little(route: Router) -> bool:
    return route(Job(good=True)).stage is DONE and route(Job(tries=3)).stage is Stage.CHECK


def test_what_survives_is_told_with_its_difference() -> None:
    done = grade(routed.after_check, check_little, also=[routed.at_least])
    assert not done.ok
    assert 0.0 < done.score < 1.0
    assert {one.why for one in done.survivors} == {""}
    with pytest.raises(Survived) as caught:
        done.raise_on_survivors()
    text = str(caught.value)
    assert caught.value.grade is done
    assert "SURVIVED at_least: `return one >= other` becomes `return one > other`\n--- " in text
    assert "\n-    return one >= other\n+    return one > other" in text
    assert "list it as equivalent, and why" in text


def test_the_check_rejects_by_raising_whatever_it_is_or_by_returning_false() -> None:
    class Odd(BaseException):
        pass

    def by_pytest(route: Router) -> None:
        if not check_little(route):
            pytest.fail("no")

    def by_base(route: Router) -> None:
        if not check_little(route):
            raise Odd

    def by_none(route: Router) -> Any:
        return None if check_little(route) else 0

    expected = len(grade(routed.after_check, check_little).killed)
    assert expected > 5
    assert len(grade(routed.after_check, by_pytest).killed) == expected
    assert len(grade(routed.after_check, by_base).killed) == expected
    assert grade(routed.after_check, by_none).killed == (), "0 is not False, and says nothing"


def test_killed_says_by_what() -> None:
    whys = {one.why for one in grade(routed.after_check, check_little).killed}
    assert whys == {"the check returns False"}
    assert any(one.why.startswith("AssertionError") for one in grade(routed.after_check, check_all).killed)


def test_a_check_that_does_not_pass_on_the_router_grades_nothing() -> None:
    def wrong(route: Router) -> None:
        assert route(Job()).stage is DONE, "it is not done"

    with pytest.raises(GradeError, match=r"does not pass on after_check itself: AssertionError: it is not done"):
        grade(routed.after_check, wrong)


def test_a_check_that_wants_that_very_function_grades_nothing() -> None:
    def same(route: Router) -> None:
        assert route is routed.after_check

    with pytest.raises(GradeError, match="passes on after_check, and not on a copy of it"):
        grade(routed.after_check, same)


def test_a_check_that_is_asynchronous_grades_nothing() -> None:
    async def check(route: Router) -> None:
        check_all(route)

    with pytest.raises(GradeError, match="the check is asynchronous"):
        grade(routed.after_check, check)
    assert grade(routed.after_check, lambda route: asyncio.run(check(route))).ok


def test_mutants_that_go_on_for_ever_are_killed_wherever_the_loop_is() -> None:
    def until_done(route: Router) -> None:
        state = Job()
        while True:
            if route(state).stage is not Stage.WORK:
                return
            state = Job(tries=state.tries + 1)

    in_itself = grade(routed.counting, lambda route: [route(Job(most=n)).stage for n in range(3)])
    in_the_check = grade(routed.after_check, until_done, also=[routed.at_least])
    in_calls = grade(routed.again, lambda route: route(Job(tries=2)))
    for done in (in_itself, in_the_check):
        assert any(one.why.startswith("it goes on for ever: more than 10000 calls") for one in done.killed)
    assert any("RecursionError" in one.why or "for ever" in one.why for one in in_calls.killed)


def test_a_swallowed_exception_does_not_keep_an_endless_mutant_going() -> None:
    def swallowing(route: Router) -> bool:
        try:
            return route(Job(most=0)).stage is Stage.WORK and route(Job()).stage is Stage.WORK
        except Exception:
            return True

    assert any("for ever" in one.why for one in grade(routed.counting, swallowing).killed)


def test_a_check_by_hypothesis_and_by_the_laws_of_routers() -> None:
    @settings(max_examples=30, database=None, deadline=None)
    @given(states_of(Job))
    def law(state: Job) -> None:
        assert (given_route(state).stage is DONE) == state.good

    given_route: Router = routed.after_check

    def check(route: Router) -> None:
        nonlocal given_route
        given_route = route
        law()
        check_router(route, states_of(Job), exits={Stage.WORK, Stage.CHECK, DONE}, examples=20)

    done = grade(routed.after_check, check)
    assert any("`if state.good:` becomes `if True:`" in one.mutant.description for one in done.killed)
    assert any("`if spent(state):` becomes `if True:`" in one.mutant.description for one in done.survivors)


def equivalents() -> dict[str, str]:
    return {one.mutant.description: "of no matter" for one in grade(routed.after_check, check_little).survivors}


def test_listed_mutants_are_equivalent_and_count_for_nothing() -> None:
    done = grade(routed.after_check, check_little, equivalent=equivalents())
    assert done.ok
    assert done.score == 1.0
    assert len(done.equivalent) == len(equivalents())
    assert {one.why for one in done.equivalent} == {"of no matter"}
    assert f", {len(done.equivalent)} equivalent (100%)" in str(done)


def test_a_listed_mutant_that_is_killed_makes_the_list_stale() -> None:
    done = grade(routed.after_check, check_all, equivalent=equivalents())
    assert not done.survivors
    assert not done.ok
    with pytest.raises(Survived, match=r"STALE .*: it is listed as equivalent, and is killed: AssertionError"):
        done.raise_on_survivors()


def test_a_listed_mutant_that_there_is_none_of_makes_the_list_stale() -> None:
    gone = "after_check: `if state.good:` becomes `if not True:`"
    done = grade(routed.after_check, check_all, equivalent={gone: "why"})
    assert done.stale == (
        f"{gone}: no mutant is described so, did you mean 'after_check: `if state.good:` becomes `if True:`'?",
    )
    assert not done.ok


def test_exits_bound_the_stages_that_are_tried() -> None:
    bound = grade(routed.after_check, check_all, exits={DONE, Stage.WORK})
    assert len(bound.graded) < len(mutate_router(routed.after_check))
    assert bound.ok


def test_a_router_that_decides_nothing_has_no_mutants() -> None:
    def straight(state: Job) -> Route:
        return Route(DONE, "always")

    done = grade(straight, lambda route: None, exits={DONE})
    assert (len(done.graded), done.score, done.ok) == (0, 1.0, True)


def test_grading_needs_neither_pytest_nor_hypothesis() -> None:
    code = (
        "import sys; sys.modules.update(pytest=None, hypothesis=None)\n"
        "from graph_agent.testing.grading import grade\n"
        "from tests.testing.routed import after_check, check_it\n"
        "print(grade(after_check, check_it))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "0 survived (100%)" in done.stdout


def test_the_example_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "examples", routed)
    done = doctest.testmod(grading)
    assert (done.failed, done.attempted) == (0, 2)
