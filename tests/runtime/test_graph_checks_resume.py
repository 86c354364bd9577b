"""What a table says about resuming, checked when it is built: what would only show in the third week shows at once."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent import GraphError, Look, Node, Seen, migration
from tests.runtime.counting import Stage, counting
from tests.runtime.kept import with_changes


def seen(state: Any, ctx: Any) -> Seen:
    return Seen()


@migration("schema", 1, 2)
def second(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


@migration("schema", 1, 2)
def second_again(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


@migration("schema", 1, 3)
def leaps(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


@migration("tables", 1, 2)  # type: ignore[arg-type]
def of_nothing(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"on_doubt": Stage.WORK}, "on_doubt is <Stage.WORK: 'work'>: name a pause, since only a person can tell"),
        ({"on_doubt": "human"}, "on_doubt is 'human': name a pause"),
        ({"look": seen, "on_doubt": Stage.HUMAN}, "look is <function seen"),
        ({"look": Look(3), "on_doubt": Stage.HUMAN}, "give a Look with a function"),  # type: ignore[arg-type]
        ({"look": Look(seen, tools="peep"), "on_doubt": Stage.HUMAN}, "look has tools='peep', a string"),
        ({"look": Look(seen)}, "look is given and on_doubt is not"),
        ({"schema_version": 0}, "schema_version is 0: give a whole number from 1 on"),
        ({"schema_version": True}, "schema_version is True"),
        ({"workflow_version": "2"}, "workflow_version is '2'"),
        ({"migrations": (second,)}, "migration('schema', 1, 2) leads nowhere: each goes from one version to the next"),
        ({"migrations": (leaps,), "schema_version": 3}, "migration('schema', 1, 3) leads nowhere"),
        ({"migrations": (of_nothing,)}, "migration('tables', 1, 2) leads nowhere"),
        ({"migrations": (second, second_again), "schema_version": 2}, "two migrations of the schema from version 1"),
        ({"migrations": (seen,)}, "decorate the function with @migration"),
    ],
    ids=str,
)
def test_each_problem_is_told(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(GraphError) as error:
        with_changes(counting(), **changes)
    assert said in str(error.value)


@pytest.mark.parametrize("word", ["ask", "fail"])
def test_what_to_do_when_interrupted_means_nothing_without_effects(word: Any) -> None:
    with pytest.raises(GraphError, match="nothing notes that it began"):
        counting(on_interrupted=word)
    assert counting(effects=True, on_interrupted=word)


def test_where_doubts_go_is_an_edge_from_each_stage_where_a_resume_may_stand() -> None:
    plain = counting(effects=True)
    asked = with_changes(plain, on_doubt=Stage.HUMAN)
    looked = with_changes(plain, on_doubt=Stage.HUMAN, look=Look(seen))
    doubts = [[start for start, _, kind in graph.edges if kind == "doubt"] for graph in (plain, asked, looked)]
    assert doubts == [[], [Stage.WORK], [Stage.WORK, Stage.CHECK]]


def test_a_pause_that_only_a_resume_leads_to_is_reachable() -> None:
    graph = counting(effects=True, to=Stage.CHECK)
    nodes = {**graph.nodes, Stage.CHECK: Node(lambda s, c: None, owns=set(), to=Stage.DONE)}
    with pytest.raises(GraphError, match="human is unreachable"):
        with_changes(graph, nodes=nodes)
    assert with_changes(graph, nodes=nodes, on_doubt=Stage.HUMAN)
