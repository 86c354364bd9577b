"""Trap 5: a patch has a value of the wrong type. An error with the field, what was expected and what came."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import PatchError, run_graph
from tests.traps.loop import State, loop

WRONG = [
    ({"tries": "1"}, "tries: expected int, got '1' (str)"),
    ({"tries": True}, "tries: expected int, got True (bool)"),
    ({"tries": 1.0}, "tries: expected int, got 1.0 (float)"),
    ({"plan": None}, "plan: expected str, got None"),
    ({"plan": b"text"}, "plan: expected str, got b'text' (bytes)"),
]
WRONG_CHANGES = [
    (None, "changes: expected tuple[str, ...], got None"),
    ("a.py", "changes: expected tuple[str, ...], got 'a.py' (str)"),
    (["a.py"], "changes: expected tuple[str, ...], got ['a.py'] (list)"),
    (("a.py", 1), "changes[1]: expected str, got 1 (int)"),
]


@pytest.mark.parametrize(("patch", "said"), WRONG, ids=str)
def test_the_error_says_which_field_what_was_expected_and_what_came(patch, said):
    with pytest.raises(PatchError) as error:
        run_graph(loop(plan=lambda state, ctx: patch), State(task_id="t"))
    assert said in str(error.value)
    assert error.value.field in patch
    assert error.value.state == State(task_id="t")


@pytest.mark.parametrize(("value", "said"), WRONG_CHANGES, ids=str)
def test_a_tuple_is_a_tuple_of_what_was_declared(value, said):
    with pytest.raises(PatchError) as error:
        run_graph(loop(act=lambda state, ctx: {"changes": value}), State(task_id="t"))
    assert said in str(error.value)


anything = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.text(max_size=2), max_size=2)
)


@given(anything)
def test_whatever_a_node_returns_a_field_holds_its_own_type(value: Any):
    try:
        final = run_graph(loop(plan=lambda state, ctx: {"tries": value}), State(task_id="t"), max_steps=1)
    except PatchError:
        assert type(value) is not int
    except Exception as error:
        assert type(error.state.tries) is int  # the fuse: the patch was taken
    else:
        raise AssertionError(final)
