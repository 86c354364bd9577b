"""Trap 6: a node changes its input. It can't: a state is frozen, its collections are tuples; a retry sees the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from graph_agent import Graph, GraphError, NodeError, run_graph
from tests.traps.loop import State, loop


def assign(state: State) -> None:
    state.tries = 9


def delete(state: State) -> None:
    del state.plan


def append(state: State) -> None:
    state.changes.append("dirty")


def extend(state: State) -> None:
    state.changes += ("dirty",)


def item(state: State) -> None:
    state.changes[0] = "dirty"


@pytest.mark.parametrize("edit", [assign, delete, append, extend, item])
def test_an_edit_of_the_input_is_an_error_of_the_node_and_has_changed_nothing(edit: Any):
    before = State(task_id="t", changes=("clean",))
    with pytest.raises(NodeError, match=r"plan failed: (FrozenInstanceError|AttributeError|TypeError)") as error:
        run_graph(loop(plan=lambda state, ctx: edit(state)), before)
    assert before == error.value.state == State(task_id="t", changes=("clean",))


def test_a_second_attempt_sees_exactly_what_the_first_one_saw():
    seen: list[State] = []

    def flaky(state: State, ctx: Any) -> dict[str, Any]:
        seen.append(state)
        mine = [*state.changes, "dirty"]
        if len(seen) == 1:
            raise OSError("try again")
        return {"plan": str(len(mine)), "tries": 2}

    nodes = dict(loop().nodes)
    first = next(iter(nodes))
    nodes[first] = replace(nodes[first], run=flaky, retry=1)
    final = run_graph(Graph(state=State, nodes=nodes, ends=loop().ends), State(task_id="t"))
    assert seen[0] is seen[1]
    assert final.plan == "1"


@pytest.mark.parametrize("tp", [list[str], dict[str, int], set[str]])
def test_a_state_with_a_field_that_could_be_edited_is_refused_when_the_graph_is_built(tp: Any):
    Loose = dataclass(frozen=True, kw_only=True)(
        type("Loose", (State,), {"__annotations__": {"loose": tp}, "loose": ()})
    )
    with pytest.raises(GraphError, match="field loose of Loose can't be part of a state"):
        Graph(state=Loose, nodes=loop().nodes, ends=loop().ends)
