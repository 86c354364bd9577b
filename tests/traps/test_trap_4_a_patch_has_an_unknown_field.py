"""Trap 4: a patch has a field that the state does not have. An error with the nearest name; nothing vanishes."""

from __future__ import annotations

import pytest

from graph_agent import PatchError, run_graph
from tests.traps.loop import State, loop


@pytest.mark.parametrize(("name", "meant"), [("chnages", "changes"), ("change", "changes"), ("pased", "passed")])
def test_a_misspelt_field_is_an_error_with_the_name_that_was_meant(name, meant):
    with pytest.raises(PatchError) as error:
        run_graph(loop(act=lambda state, ctx: {"changes": ("kept back",), name: 1}), State(task_id="t"))
    assert f"{name!r} is no field of State, did you mean {meant!r}?" in str(error.value)
    assert "act returned" in str(error.value)
    assert (error.value.field, error.value.state.changes) == (name, ())


def test_a_field_that_is_like_no_other_is_an_error_without_a_guess():
    with pytest.raises(PatchError) as error:
        run_graph(loop(act=lambda state, ctx: {"zzz": 1}), State(task_id="t"))
    assert "'zzz' is no field of State" in str(error.value)
    assert "did you mean" not in str(error.value)
