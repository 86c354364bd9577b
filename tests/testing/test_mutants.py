"""Mutants of a router: one slip each, in what decides; the router and its module stay as they are."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from graph_agent import BACK, Route
from graph_agent.mutation import MutationError
from graph_agent.testing import mutants
from graph_agent.testing.mutants import RanAway, RouterMutant, mutate_router
from tests.testing import routed
from tests.testing.routed import DONE, Job, Stage


def told(route: Callable[..., Any], **more: Any) -> list[str]:
    return [one.description.partition(": ")[2] for one in mutate_router(route, **more)]


def one(route: Callable[..., Any], description: str, **more: Any) -> RouterMutant:
    (found,) = (mutant for mutant in mutate_router(route, **more) if description in mutant.description)
    return found


def test_these_are_the_mutants_of_a_small_router() -> None:
    assert told(routed.after_check) == [
        "`if state.good:` becomes `if True:`",
        "`if state.good:` becomes `if False:`",
        "`if state.good:` becomes `if not state.good:`",
        "`if state.good:` and `if spent(state):` change places",
        '`return Route(DONE, "good")` becomes `return Route(Stage.WORK, "good")`',
        '`return Route(DONE, "good")` becomes `return Route(Stage.CHECK, "good")`',
        "`if spent(state):` becomes `if True:`",
        "`if spent(state):` becomes `if False:`",
        "`if spent(state):` becomes `if not spent(state):`",
        '`return Route(Stage.CHECK, f"{state.tries} of {state.most}")` becomes '
        '`return Route(Stage.WORK, f"{state.tries} of {state.most}")`',
        '`return Route(Stage.CHECK, f"{state.tries} of {state.most}")` becomes '
        '`return Route(Stage.DONE, f"{state.tries} of {state.most}")`',
        '`return Route(Stage.WORK, "not yet" if state.tries else "begin")` becomes '
        '`return Route(Stage.CHECK, "not yet" if state.tries else "begin")`',
        '`return Route(Stage.WORK, "not yet" if state.tries else "begin")` becomes '
        '`return Route(Stage.DONE, "not yet" if state.tries else "begin")`',
    ]


def test_a_mutant_says_where_it_is_and_shows_the_difference() -> None:
    mutant = one(routed.after_check, "`if spent(state):` becomes `if not")
    lines = Path(routed.__file__).read_text(encoding="utf-8").splitlines()
    assert lines[mutant.line - 1] == "    if spent(state):"
    assert (mutant.function, mutant.file) == ("after_check", routed.__file__)
    changed = [line for line in mutant.diff.splitlines() if line[:1] in "-+" and line[:3] not in ("---", "+++")]
    assert changed == ["-    if spent(state):", "+    if not spent(state):"]


def test_a_mutant_is_another_function_and_the_router_stays_as_it_is() -> None:
    before = dict(vars(routed))
    mutant = one(routed.after_check, "`if state.good:` becomes `if False:`")
    assert mutant.route(Job(good=True)).stage is Stage.WORK
    assert routed.after_check(Job(good=True)).stage is DONE
    assert vars(routed) == before


def test_helpers_have_mutants_too_and_are_called_through_each_other() -> None:
    mutant = one(
        routed.after_check, "at_least: `return one >= other` becomes `return one > other`", also=[routed.at_least]
    )
    assert mutant.function == "at_least"
    assert mutant.route(Job(tries=2)).stage is Stage.WORK
    assert routed.after_check(Job(tries=2)).stage is Stage.CHECK
    assert "at_least" not in "".join(told(routed.after_check))


def test_a_helper_that_the_router_can_not_find_is_refused() -> None:
    with pytest.raises(MutationError, match=r"nothing is no name in tests\.testing\.routed, where after_check looks"):
        mutate_router(routed.after_check, also=[routed.graphs.nothing])


def test_cases_guards_texts_and_members_by_keyword() -> None:
    found = told(routed.by_kind)
    assert '`case "old":` is left out' in found
    assert '`case "new" if state.tries == 0:` becomes `case "new" if not (state.tries == 0):`' in found
    assert '`case "new" if state.tries == 0:` becomes `case "old" if state.tries == 0:`' in found
    assert '`case "new" if state.tries == 0:` becomes `case "new" if state.tries == -1:`' in found
    last = [line for line in found if "graphs.Stage.DONE" in line]
    assert any("becomes `return Route(stage=graphs.Stage.FAILED, reason" in line for line in last)
    assert not any("reason=" not in line or '"x"' not in line.partition("becomes")[2] for line in last), "text is left"


def test_elifs_and_conditional_stages_and_back() -> None:
    found = told(routed.by_turns)
    assert any("`if state.tries > 2:` and `elif state.tries > 1 and" in line for line in found)
    exchanged = one(routed.by_turns, "change places").route
    assert exchanged(Job(tries=3)).stage is Stage.CHECK
    assert exchanged(Job(tries=3, kind="new")).stage is Stage.WORK
    assert exchanged(Job(tries=0)).stage is BACK
    assert '`return Route(BACK, "few")` becomes `return Route(Stage.CHECK, "few")`' in found
    assert any("Route(DONE if state.good else Stage.WORK" in line for line in found)
    assert any("Route(BACK if state.good else BACK" in line for line in found)
    assert any("Route(BACK if True else Stage.WORK" in line for line in found)
    assert any("(state.good)" in line.partition("becomes")[2] for line in found), "an operand of the `or` is dropped"


def test_a_stage_becomes_each_exit_and_no_other() -> None:
    for exits in (routed.PAUSE, {BACK, Stage.WORK}):
        found = [line.partition(" becomes ")[2] for line in told(routed.by_turns, exits=exits)]
        assert '`return Route(Stage.WORK, "few")`' in found
        assert '`return Route(BACK, "some")`' in found
        assert not any("DONE" in line for line in found)
    assert sorted(told(routed.after_check, exits=routed.NODE)) == sorted(told(routed.after_check))


def test_a_mutant_that_goes_on_for_ever_is_stopped() -> None:
    endless = one(routed.counting, "`while tries < left:` becomes `while tries >= left:`")
    endless.steps.limit = 1000
    assert endless.route(Job()).stage is DONE
    with pytest.raises(RanAway, match="more than 1000 calls and rounds of loops"):
        endless.route(Job(most=0))
    with pytest.raises(RanAway):
        endless.route(Job())


@pytest.mark.parametrize(
    ("route", "state"),
    [
        (routed.made(2), Job(tries=2)),
        (routed.Router(2).route, Job(tries=2)),
        (routed.decorated, Job(good=True)),
        (routed.with_default, Job(tries=4)),
        (routed.again, Job(tries=3)),
    ],
    ids=["closure", "method", "decorated", "default", "recursive"],
)
def test_functions_of_every_shape(route: Callable[[Job], Route], state: Job) -> None:
    found = mutate_router(route)
    assert route(state).stage is DONE
    stages = set()
    for mutant in found:
        mutant.steps.limit = 100
        try:
            stages.add(mutant.route(state).stage)
        except (RanAway, RecursionError):
            continue
    assert Stage.WORK in stages
    assert route(state).stage is DONE


def test_defaults_are_kept_and_have_no_mutants() -> None:
    found = mutate_router(routed.with_default)
    assert all(mutant.route(Job()) is not None for mutant in found)
    assert not any("most: int = 4" in mutant.description for mutant in found)


def by_exec() -> Any:
    space: dict[str, Any] = {}
    exec("def route(state):\n    return None\n", space)
    return space["route"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda state: None, "is a lambda, which has no source of its own: write it with `def`"),
        (routed.wrapped, "wrapped is wrapped by a decorator: give the function itself, wrapped.__wrapped__"),
        (routed.Router, "Router is no function (type): give one that is written with `def`"),
        (len, "len is no function (builtin_function_or_method)"),
        (None, "None is no function (NoneType)"),
        (by_exec(), "there is no source of route"),
    ],
)
def test_what_has_no_source_is_refused_with_what_to_do(given: Any, message: str) -> None:
    with pytest.raises(MutationError, match=re.escape(message)):
        mutate_router(given)


def module(path: Path, text: str) -> Any:
    path.write_text(text, encoding="utf-8", newline="")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


TEXT = "from graph_agent import Route\nfrom tests.testing.routed import Stage\n\x0c\n"
ROUTE = """\
def route(state):
    if state.good:
        return Route(Stage.DONE, 'good')
    return Route(Stage.WORK, 'no')"""
ONE_LINE = "def route(state, most=3): return Route(Stage.DONE if state.good else Stage.WORK, 'é')"


@pytest.mark.parametrize("text", [TEXT + ROUTE, (TEXT + ROUTE + "\n").replace("\n", "\r\n"), "\ufeff" + TEXT + ROUTE])
def test_a_file_with_other_line_ends_a_form_feed_a_mark_or_no_last_line_end(tmp_path: Path, text: str) -> None:
    found = mutate_router(module(tmp_path / "ends.py", text).route)
    assert len(found) == 7
    assert {mutant.route(Job(good=True)).stage for mutant in found} == {*Stage}


def test_a_function_on_one_line_has_no_mutants_of_its_head(tmp_path: Path) -> None:
    found = mutate_router(module(tmp_path / "one_line.py", TEXT + ONE_LINE).route)
    assert len(found) == 7
    assert {mutant.route(Job(good=True)).stage for mutant in found} == {*Stage}
    assert all("most=3" in mutant.description.partition(" becomes ")[2] for mutant in found)


def test_a_file_that_was_changed_since_it_was_imported_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    route = module(path, TEXT + ROUTE).route
    path.write_text("\n\n# longer\n" + TEXT + ROUTE, encoding="utf-8")
    with pytest.raises(MutationError, match="the file was changed after it was imported"):
        mutate_router(route)


def test_descriptions_tell_the_mutants_apart() -> None:
    functions = [value for value in vars(routed).values() if isinstance(value, FunctionType)]
    own = [one for one in functions if one.__module__ == routed.__name__ and not hasattr(one, "__wrapped__")]
    found = [mutant.description for function in own for mutant in mutate_router(function)]
    assert len(found) > 100
    assert len({*found}) == len(found)


def test_the_example_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "examples", routed)
    done = doctest.testmod(mutants)
    assert (done.failed, done.attempted) == (0, 2)
