"""`GraphState` and how its fields take new values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from enum import Enum, StrEnum
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import (
    GraphState,
    PatchError,
    StateError,
    advance,
    appended,
    apply_patch,
    described,
    run_graph,
)
from graph_agent.runtime.codec import json_schema
from graph_agent.runtime.state import append_of
from tests.runtime.counting import RULED, Count, Finding, Ruled, Stage, counting, start


def test_came_from_has_the_type_of_the_workflows_own_stage_when_annotations_are_text():
    assert "Stage" in Count.__annotations__["stage"]  # this module and its state defer their annotations
    assert get_type_hints(Count)["came_from"] == Stage | None


def test_came_from_has_the_type_of_the_workflows_own_stage_when_annotations_are_types():
    class Phase(Enum):
        ONE = 1

    Phased = dataclass(frozen=True, kw_only=True)(
        type("Phased", (GraphState,), {"__annotations__": {"stage": Phase}, "stage": Phase.ONE, "__module__": __name__})
    )
    assert Phased.__annotations__["came_from"] == Phase | None
    assert Phased(task_id="t").came_from is None


def test_a_came_from_of_another_enum_does_not_fit():
    class Other(StrEnum):
        WORK = "work"

    with pytest.raises(StateError, match="came_from"):
        run_graph(counting(), start(stage=Stage.HUMAN, came_from=Other.WORK))


def test_a_state_is_hashable_and_can_not_be_changed():
    state = start(log=("a",))
    assert {state: 1}[start(log=("a",))] == 1
    with pytest.raises(FrozenInstanceError):
        state.count = 3
    with pytest.raises(FrozenInstanceError):
        state.log += ("b",)


def test_a_state_that_a_step_made_is_equal_to_one_made_by_hand_and_as_frozen():
    made = apply_patch(counting(), start(), {"count": 5, "log": ("x",)})
    assert made == start(count=5, log=("x",))
    assert hash(made) == hash(start(count=5, log=("x",)))
    assert repr(made) == repr(start(count=5, log=("x",)))
    with pytest.raises(FrozenInstanceError):
        made.count = 6


def test_an_appended_field_takes_the_items_of_a_patch_at_its_end():
    assert apply_patch(counting(), start(log=("a",)), {"log": ("b", "a")}).log == ("a", "b", "a")


def test_a_second_item_with_the_same_key_is_dropped_within_a_patch_and_across_patches():
    state = apply_patch(counting(), start(), {"findings": (Finding("a", 1), Finding("b"), Finding("a", 2))})
    assert state.findings == (Finding("a", 1), Finding("b"))
    assert apply_patch(counting(), state, {"findings": (Finding("b", 9), Finding("c"))}).findings[2:] == (Finding("c"),)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers()), max_size=12), st.integers(0, 12))
def test_items_with_a_key_end_up_the_same_however_they_are_cut_into_patches(pairs, cut):
    items = tuple(Finding(str(name), line) for name, line in pairs)
    graph = counting()
    at_once = apply_patch(graph, start(), {"findings": items})
    in_two = apply_patch(graph, apply_patch(graph, start(), {"findings": items[:cut]}), {"findings": items[cut:]})
    assert at_once == in_two
    assert [item.name for item in at_once.findings] == list(dict.fromkeys(item.name for item in items))


def test_a_key_may_be_a_function():
    reducer = append_of(appended(key=str.lower))
    assert reducer is not None
    assert reducer(("A",), ("a", "B", "b")) == ("A", "B")


def test_a_description_is_in_the_json_schema():
    @dataclass(frozen=True)
    class Plan:
        hypothesis: str = described("what is wrong, in one sentence")
        steps: tuple[str, ...] = appended(description="what to do")
        size: int = described("lines", default=1)

    fields = json_schema(Plan)["properties"]
    assert fields["hypothesis"]["description"] == "what is wrong, in one sentence"
    assert fields["steps"]["description"] == "what to do"
    assert Plan("x").size == 1


def test_rules_of_the_class_run_on_each_state_that_a_step_makes():
    with pytest.raises(PatchError, match="never more than 9"):
        advance(RULED, Ruled(task_id="t"), {"count": 10})
    assert advance(RULED, Ruled(task_id="t"), {"count": 9}).count == 9
