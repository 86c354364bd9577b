"""Trap 7: an unreachable stage, a dead end, no way to an end. Found when the graph is built, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from graph_agent import Graph, GraphError, GraphState, Node, check_graph
from tests.traps.loop import loop


class Stage(StrEnum):
    START = "start"
    SPIN = "spin"
    ROUND = "round"
    ISLAND = "island"
    FORGOTTEN = "forgotten"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class State(GraphState):
    stage: Stage = Stage.START


def nothing(state: State, ctx: object) -> None:
    return None


def test_all_of_it_is_told_at_once_each_with_its_stage():
    nodes = {
        Stage.START: Node(nothing, owns=set(), to=Stage.SPIN),
        Stage.SPIN: Node(nothing, owns=set(), to=Stage.ROUND),
        Stage.ROUND: Node(nothing, owns=set(), to=Stage.SPIN),
        Stage.ISLAND: Node(nothing, owns=set(), to=Stage.DONE),
    }
    with pytest.raises(GraphError) as error:
        Graph(state=State, nodes=nodes, ends={Stage.DONE})
    told = "\n".join(error.value.problems)
    assert "island is unreachable: no path leads to it from start" in told
    assert "forgotten has no node and is no end" in told
    for stage in ("start", "spin", "round"):
        assert f"{stage} has no way to an end: no path leads from it to done" in told


def test_a_dead_end_is_told():
    nodes = {stage: Node(nothing, owns=set(), to=Stage.DONE) for stage in (Stage.START,)}
    with pytest.raises(GraphError, match="spin has no node and is no end"):
        Graph(state=State, nodes=nodes, ends={Stage.DONE})


def test_a_graph_without_an_end_is_told():
    nodes = {stage: Node(nothing, owns=set(), to=Stage.START) for stage in Stage}
    with pytest.raises(GraphError, match="ends is empty"):
        Graph(state=State, nodes=nodes, ends=set())


def test_a_table_that_works_has_no_problem():
    assert check_graph(loop()) == ()
