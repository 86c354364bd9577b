"""Trap 3: a patch writes a field that the node does not own. An error that names both; nothing is applied."""

from __future__ import annotations

import pytest

from graph_agent import PatchError, run_graph
from tests.traps.loop import Journal, Stage, State, loop

FOREIGN = [
    ({"passed": True}, "check's"),
    ({"changes": ("mine",), "plan": "another"}, "plan's"),
    ({"changes": (), "stage": Stage.DONE}, "the runtime's"),
    ({"max_turns": 99}, "the runtime's"),
]


@pytest.mark.parametrize(("patch", "owner"), FOREIGN, ids=str)
def test_nothing_of_the_patch_is_applied_and_the_error_names_the_node_the_field_and_its_owner(patch, owner):
    journal = Journal()
    with pytest.raises(PatchError) as error:
        run_graph(loop(act=lambda state, ctx: patch), State(task_id="t"), journal=journal)
    assert f"{error.value.field} is not act's to write but {owner}: act owns changes" in str(error.value)
    assert error.value.field in patch
    assert error.value.state == journal.events[0].state
    assert (error.value.state.stage, error.value.state.changes) == (Stage.ACT, ())
    assert journal.events[-1].kind == "failed"
