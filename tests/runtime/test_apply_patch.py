"""What a node may return, and what becomes of it: the patch is checked whole before anything of it is applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import Graph, GraphState, Node, PatchError, appended, apply_patch, run_graph
from tests.runtime.counting import Count, Finding, Stage, Two, counting, start


@dataclass(frozen=True, kw_only=True)
class Keyed(GraphState):
    stage: Two = Two.WORK
    words: tuple[str, ...] = appended(key=lambda word: word[0])


def refused(patch: Any, state: Count | None = None) -> PatchError:
    """The error of a run whose first node returns the patch; nothing of it was applied."""
    state = state or start(log=("before",))
    with pytest.raises(PatchError) as error:
        run_graph(counting(lambda s, c: patch), state)
    assert error.value.state == state
    assert error.value.stage is Stage.WORK
    with pytest.raises(PatchError) as alone:
        apply_patch(counting(), state, patch)
    assert str(alone.value) == str(error.value)
    return error.value


@pytest.mark.parametrize("nothing", [None, {}, MappingProxyType({})])
def test_a_node_with_nothing_to_say_returns_nothing(nothing):
    assert apply_patch(counting(), start(), nothing) == start()
    assert run_graph(counting(lambda s, c: nothing), start(count=9)).stage is Stage.DONE


def test_a_misspelt_field_is_refused_with_the_nearest_name_and_nothing_is_applied():
    error = refused({"answr": "x", "count": 1})
    assert "work returned" in str(error)
    assert "'answr' is no field of Count, did you mean 'answer'?" in str(error)
    assert error.field == "answr"


def test_a_field_of_another_owner_is_refused_with_what_the_node_owns():
    error = refused({"count": 1, "score": 1.0})
    assert "score is not work's to write but check's: work owns answer, count, findings, log" in str(error)
    assert error.field == "score"


@pytest.mark.parametrize("name", ["stage", "steps", "spent_turns", "task_id", "max_turns", "came_from", "route_reason"])
def test_what_the_runtime_writes_is_nobodys(name):
    assert refused({name: getattr(start(), name)}).field == name


def test_all_that_is_wrong_with_a_patch_is_told_at_once():
    said = str(refused({"answr": "x", "score": 1.0, "count": "1"}))
    assert "'answr'" in said
    assert "score is not work's" in said
    assert "count: expected int, got '1' (str)" in said


@pytest.mark.parametrize(
    ("name", "value", "got"),
    [
        ("count", "1", "expected int, got '1' (str)"),
        ("count", True, "expected int, got True (bool)"),
        ("count", 1.0, "expected int, got 1.0 (float)"),
        ("count", None, "expected int, got None"),
        ("log", None, "expected tuple[str, ...], got None"),
        ("log", "text", "expected tuple[str, ...], got 'text' (str)"),
        ("log", ["a"], "expected tuple[str, ...], got ['a'] (list)"),
        ("log", ("a", 2), "log[1]: expected str, got 2 (int)"),
        ("answer", 5, "expected str | None, got 5 (int)"),
        ("answer", Stage.DONE, "answer: "),
        ("findings", (Finding("a", True),), "findings[0].line: expected int, got True (bool)"),
        ("findings", ({"name": "a"},), "findings[0]: expected Finding"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_what_was_expected(name, value, got):
    error = refused({name: value})
    assert got in str(error)
    assert error.field == name


def test_an_int_may_stand_where_a_float_is_declared_and_a_truth_may_not():
    patch_of_check = {"score": 1}
    state = start(stage=Stage.CHECK)
    assert apply_patch(counting(), state, patch_of_check).score == 1
    with pytest.raises(PatchError, match="score: expected float, got True"):
        apply_patch(counting(), state, {"score": True})
    with pytest.raises(PatchError, match="score: expected float, got nan"):
        apply_patch(counting(), state, {"score": float("nan")})


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (start(), "work returned a whole Count: return a dict of the fields that changed"),
        ([], "work returned [] (list)"),
        ("text", "work returned 'text' (str)"),
        (0, "work returned 0 (int)"),
        (False, "work returned False (bool)"),
        (("count", 1), "work returned ('count', 1) (tuple)"),
        (SimpleNamespace(count=1), "work returned namespace(count=1)"),
        ((x for x in ()), "work returned <generator"),
        ("x" * 500, "... (str)"),
    ],
)
def test_what_is_no_patch_is_refused_with_what_it_was_and_whose(returned, said):
    error = refused(returned)
    assert said in str(error)
    assert error.field is None
    assert len(str(error)) < 300


def test_a_coroutine_is_refused_in_a_plain_run_and_leaves_no_warning():
    async def later(state: Any, ctx: Any) -> None:
        return None

    with pytest.raises(PatchError, match="work is a coroutine function: run it with arun_graph"):
        run_graph(counting(later), start())  # a warning would be an error in this project's tests


def test_a_mapping_is_as_good_as_a_dict():
    assert apply_patch(counting(), start(), MappingProxyType({"count": 3})) == start(count=3)


@pytest.mark.parametrize("name", [1, None, ("count",), ""])
def test_a_key_that_is_no_name_is_refused(name):
    assert repr(name) in str(refused({name: 1}))


def test_a_key_function_that_fails_is_the_patchs_error():
    nodes = {Two.WORK: Node(lambda s, c: {"words": ("",)}, owns={"words"}, to=Two.DONE)}
    graph = Graph(state=Keyed, nodes=nodes, ends={Two.DONE}, on_error=Two.DONE)
    with pytest.raises(PatchError, match="items for words whose key failed: IndexError"):
        run_graph(graph, Keyed(task_id="t"))


owned = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(-5, 5),
        "answer": st.none() | st.text("ab", max_size=2),
        "log": st.lists(st.text("ab", max_size=2), max_size=3).map(tuple),
    },
)


@given(owned, owned)
def test_a_patch_changes_what_it_names_and_nothing_else(first, second):
    graph = counting()
    state = apply_patch(graph, apply_patch(graph, start(), first), second)
    log = first.get("log", ()) + second.get("log", ())
    assert state == start(**{**first, **second, "log": log})


@given(owned, st.sampled_from([("count", "1"), ("answer", 1), ("log", "a"), ("score", 1.0), ("nope", 1)]))
def test_one_bad_value_and_nothing_of_the_patch_is_applied(good, bad):
    state = start(count=7, answer="kept")
    with pytest.raises(PatchError) as error:
        apply_patch(counting(), state, {**good, bad[0]: bad[1]})
    assert error.value.state is state
    assert state == start(count=7, answer="kept")


def test_the_error_names_all_owners_of_a_shared_field_and_says_when_there_is_none():
    graph = counting(owns={"count"})
    with pytest.raises(PatchError, match="answer is not work's to write but nobody's: work owns count"):
        apply_patch(graph, start(), {"answer": "x"})
    entries = {**graph.nodes, Stage.CHECK: replace(graph.nodes[Stage.CHECK], owns={"score", "log"})}
    entries[Stage.HUMAN] = replace(entries[Stage.HUMAN], owns={"log"})
    shared = Graph(state=Count, nodes=entries, ends=graph.ends, shared={"log"}, on_error=Stage.HUMAN)
    with pytest.raises(PatchError, match="log is not work's to write but check's and human's"):
        apply_patch(shared, start(), {"log": ("x",)})
