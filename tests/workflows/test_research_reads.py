"""The table of the research says which fields each node reads: what they read in real runs is held against it."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent import Context, Event, ExtractiveLLM, Node, Texts, run_graph
from graph_agent.testing import reads
from graph_agent.tools.documents import Documents
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import ResearchState
from tests.workflows.research_facts import FOLDER, UNANSWERED

EVERY_RUN_HAS = {"task_id", "stage", "route_reason", "steps", "spent_turns", "came_from", "max_turns"}


@pytest.mark.parametrize("goal", [f"How often is the snow stake read? {UNANSWERED[0]}", UNANSWERED[1]])
def test_a_node_reads_what_the_table_says_and_nothing_else(goal: str) -> None:
    tools, texts = Documents(FOLDER).toolbox(), Texts()
    policy = ResearchPolicy(tools=cards_of(tools.specs()))
    ctx = Context(llm=ExtractiveLLM(), tools=tools, policy=policy, keep=texts.keep, read=texts.read)
    events: list[Event] = []
    run_graph(GRAPH, ResearchState(task_id="t", goal=goal, max_turns=400), ctx, on_event=events.append)
    seen: set[str] = set()
    for event in events:
        node: Any = GRAPH.nodes[event.before.stage]
        assert isinstance(node, Node)
        read = reads(lambda state, node=node: node.run(state, ctx), event.before)
        assert read - EVERY_RUN_HAS <= set(node.reads or ()), event.stage
        seen.add(event.stage)
    assert {"plan", "execute", "verify", "give_up"} <= seen
