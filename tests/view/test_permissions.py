"""The permission table: what the graph says, in rows that fit the terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graph_agent.runtime.graph import Graph
from graph_agent.view.permissions import permissions, permissions_data
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from tests.view.samples import ESSAY, chain


def test_the_table_of_a_small_graph() -> None:
    assert permissions(ESSAY, width=105).splitlines() == [
        "stage   reads          may call      owns                leaves to           notes",
        "------  -------------  ------------  ------------------  ------------------  ----------------------------",
        "draft   topic, drafts  model, spell  drafts, note*       review              start",
        "review  all            -             score, note*        draft, human, done  not metered, effects, ask on",
        "                                                                             resume, tried up to 3 times",
        "human   all            -             max_turns, give_up  failed, back        waits for a person",
        "done    -              -             -                   -                   ends the run",
        "failed  -              -             -                   -                   ends the run",
        "",
        "* shared: more than one stage may write it",
        "when the turns are spent a run goes to human",
        "when a node fails a run goes to human",
    ]


def test_the_data_of_a_stage() -> None:
    rows = {row["stage"]: row for row in permissions_data(ESSAY)}
    assert rows["draft"] == {
        "stage": "draft",
        "kind": "node",
        "start": True,
        "reads": ["topic", "drafts"],
        "model": True,
        "tools": ["spell"],
        "owns": ["drafts", "note"],
        "shared": ["note"],
        "leaves_to": ["review"],
        "back": False,
        "on_limit": "human",
        "on_error": "human",
        "on_doubt": None,
        "metered": True,
        "effects": False,
        "on_interrupted": "retry",
        "retry": 0,
    }
    assert (rows["review"]["reads"], rows["review"]["on_limit"], rows["review"]["on_error"]) == (None, None, "human")
    assert (rows["human"]["kind"], rows["human"]["back"], rows["human"]["on_error"]) == ("pause", True, None)
    assert rows["done"]["kind"] == "end"


@pytest.mark.parametrize("graph", [ESSAY, REPAIR], ids=["essay", "repair"])
def test_every_stage_has_a_row_and_every_row_the_same_keys(graph: Graph[Any]) -> None:
    rows = permissions_data(graph)
    assert sorted(row["stage"] for row in rows) == sorted(graph.stages)
    assert len({tuple(row) for row in rows}) == 1
    assert json.loads(json.dumps(rows)) == rows


def test_nothing_that_the_graph_grants_is_missing_from_the_text() -> None:
    for width in (200, 120, 80):
        words = set(permissions(REPAIR, width=width).replace("*", "").replace(",", "").split())
        granted = {name for node in REPAIR.nodes.values() for name in (*node.owns, *getattr(node, "tools", ()))}
        assert granted <= words


@pytest.mark.parametrize("width", [200, 120, 80, 40])
def test_the_table_keeps_to_the_width(width: int) -> None:
    assert max(map(len, permissions(REPAIR, width=width).split("\n\n")[0].splitlines())) <= width


def test_a_graph_without_fallbacks_and_shared_fields_has_nothing_below_its_table() -> None:
    assert permissions(chain(["a", "b"])).endswith("ends the run\n")
