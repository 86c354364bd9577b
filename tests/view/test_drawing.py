"""The pictures of a graph: every edge once, and no name that breaks the language it is written in."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.view.drawing import dot, mermaid
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from tests.view.samples import ESSAY, chain

MERMAID_ARROW = re.compile(r'    (\w+) (<?)(-->|-\.->)(?:\|"([\w ]+)"\|)? (\w+)')
DOT_ARROW = re.compile(r'    "(\w+)" -> "(\w+)"(?: \[(.*)\])?;')
AWKWARD = ["end", 'a "b"', "</script><b>", "#35;", "日本", "`md`", "x\ny", "a\\", "&lt;", "o", "stage 13", "{}", ""]


def mermaid_edges(text: str) -> Counter[tuple[str, str, str]]:
    """The edges (from, to, kind) that the arrows stand for."""
    found: Counter[tuple[str, str, str]] = Counter()
    for start, back, _, label, end in MERMAID_ARROW.findall(text):
        found.update((start, end, kind) for kind in (label or "route").split(" or ") if start != "start")
        found.update([(end, start, "back")] * bool(back))
    return found


def dot_edges(text: str) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for start, end, looks in DOT_ARROW.findall(text):
        label = re.search('label="(.*)"', looks)
        found.update((start, end, kind) for kind in (label.group(1) if label else "route").split(" or "))
        found.update([(end, start, "back")] * ("dir=both" in looks))
    return found


def edges(graph: Graph[Any], *, fallbacks: bool) -> Counter[tuple[str, str, str]]:
    routed = {(start, end) for start, end, kind in graph.edges if kind == "route"}
    shown = [
        (stage_name(start).upper(), stage_name(end).upper(), kind)
        for start, end, kind in graph.edges
        if fallbacks or kind == "route" or (kind == "back" and (end, start) in routed)
    ]
    return Counter(shown)


@pytest.mark.parametrize("graph", [ESSAY, REPAIR], ids=["essay", "repair"])
@pytest.mark.parametrize("fallbacks", [False, True])
def test_each_edge_is_drawn_exactly_once(graph: Graph[Any], fallbacks: bool) -> None:
    wanted = edges(graph, fallbacks=fallbacks)
    assert set(wanted.values()) == {1}
    assert mermaid_edges(mermaid(graph, fallbacks=fallbacks)) == wanted
    assert dot_edges(dot(graph, fallbacks=fallbacks)) == wanted


def test_a_picture_of_a_small_graph() -> None:
    assert mermaid(ESSAY).splitlines() == [
        "flowchart TD",
        "    start((start))",
        '    DRAFT["draft"]',
        '    REVIEW["review"]',
        '    HUMAN{{"human"}}',
        '    DONE(["done"])',
        '    FAILED(["failed"])',
        "    start --> DRAFT",
        "    DRAFT --> REVIEW",
        "    REVIEW --> DRAFT",
        "    REVIEW <--> HUMAN",
        "    REVIEW --> DONE",
        "    HUMAN --> FAILED",
        '    note["an arrow with two heads#58; a person may send the run back<br/>'
        "not drawn#58; when the turns are spent, on to human<br/>not drawn#58; when a node fails, on to human"
        '"]',
        "    style note fill:none,stroke:none",
    ]


def test_a_pause_entered_only_by_a_limit_is_left_by_a_dotted_arrow_with_two_heads() -> None:
    lines = mermaid(ESSAY, fallbacks=True).splitlines()
    assert '    DRAFT <-.->|"limit or error"| HUMAN' in lines
    assert '    REVIEW -.->|"error"| HUMAN' in lines


def test_graphviz_gets_the_same_stages_and_shapes() -> None:
    text = dot(ESSAY, fallbacks=True)
    assert text.startswith("digraph {\n") and text.endswith("}\n")
    assert '"HUMAN" [label="human", shape=hexagon];' in text
    assert 'start -> "DRAFT";' in text
    assert '"DRAFT" -> "HUMAN" [dir=both, style=dotted, label="limit or error"];' in text


def test_what_is_not_drawn_is_said() -> None:
    assert "when a node fails, on to human" in mermaid(ESSAY) and "when a node fails, on to human" in dot(ESSAY)
    assert "not drawn" not in mermaid(ESSAY, fallbacks=True)
    assert "note" not in mermaid(chain(["a", "b"]))


def test_awkward_names_are_escaped_and_keep_apart() -> None:
    text = mermaid(chain(AWKWARD))
    assert "</script>" not in text and "`" not in text and "\\" not in text
    assert '    A_B["a #34;b#34;"]' in text
    assert '    SCRIPT_B["#60;#47;script#62;#60;b#62;"]' in text
    assert '    STAGE_4["#35;35#59;"]' in text
    assert '    STAGE_5["日本"]' in text
    assert '    X_Y["x y"]' in text
    assert '([" "])' in text


def test_awkward_names_are_escaped_for_graphviz() -> None:
    text = dot(chain(AWKWARD))
    assert r'"A_B" [label="a \"b\""];' in text
    assert '"A" [label="a\\\\"];' in text
    assert '"LT" [label="&amp;lt;"];' in text


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=8), min_size=2, max_size=6, unique=True))
def test_any_names_give_a_picture_of_well_formed_lines(names: list[str]) -> None:
    graph = chain(names)
    ids = re.findall(r'^    (\w+)(?:\["|\(\[")[^"`<>\\]+(?:"\]|"\]\))$', mermaid(graph), re.MULTILINE)
    assert len(set(ids)) == len(names)
    assert list(mermaid_edges(mermaid(graph))) == [(a, b, "route") for a, b in pairwise(ids)]
    labels = re.findall(r'^    "\w+" \[label="((?:[^"\\]|\\["\\])*)"[^"]*\];$', dot(graph), re.MULTILINE)
    assert len(labels) == len(names)


def test_equal_graphs_have_equal_pictures() -> None:
    assert mermaid(chain(["b", "a", "c"])) == mermaid(chain(["b", "a", "c"]))
