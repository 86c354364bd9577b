"""A task of the kind "node": one node of a shipped graph, run once on a stored state.

The rule: nothing but the node runs; where it led to, and what it let into the state, is held against each property.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graph_agent.cli.research_setup import documents_in
from graph_agent.evals.forms import NodeTask
from graph_agent.evals.holds import missed
from graph_agent.evals.properties import Visit, lacking
from graph_agent.evals.ran import Ran
from graph_agent.evals.task import Task, TaskError
from graph_agent.llm.offline import MutationLLM
from graph_agent.protocols import Context
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import RunError, StepLimitReached
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph
from graph_agent.runtime.run import run_graph
from graph_agent.runtime.texts import Texts
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.research.graph import GRAPH as RESEARCH
from graph_agent.workflows.research.offline import ExtractiveLLM
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of

ModelFor = Callable[[Callable[[], Any]], Any]


def run_node(blank: Ran, task: Task, model: ModelFor, *, by_default: bool) -> Ran:
    """Raises `TaskError`, `CodecError` for a state that is none."""
    assert isinstance(task.said, NodeTask)
    said, given = task.said, task.said.input
    graph: Graph[Any] = REPAIR if given.graph == "repair" else RESEARCH
    state = decode(graph.state, _json(task, given.state), given.state)
    if state.stage not in graph.runs_on:
        raise TaskError(f"{given.state}: no node stands at {state.stage.value}: give a state before a visit")
    llm = model(MutationLLM if given.graph == "repair" else ExtractiveLLM)
    ctx = _context(task, given.graph, llm)
    events: list[Event] = []
    try:
        run_graph(graph, state, ctx, on_event=events.append, max_steps=1)
    except StepLimitReached:
        pass
    except RunError as error:
        return replace(blank, outcome="failed", reason=str(error), missed=(f"the node failed: {error}",))
    (event,) = events
    visit = Visit(graph=graph, policy=ctx.policy, event=event, routes=said.holds.outcome)
    lacks = {name: lacking(name, visit) for name in said.holds.properties}
    data: Any = encode(event.state)
    stages = {event.stage, event.to or event.stage}
    wrong = [f"{name}: {why}" for name, why in lacks.items() if why]
    return replace(
        blank,
        outcome=event.to or event.stage,
        reason=event.reason,
        missed=(*wrong, *missed(said.holds, stages=stages, state=data, by_default=by_default)),
        steps=1,
        turns=event.turns,
        calls=event.model_calls,
        tokens=event.tokens_in + event.tokens_out,
        properties={name: not why for name, why in lacks.items()},
        run="",
    )


def _context(task: Task, graph: str, llm: Any) -> Context:
    assert isinstance(task.said, NodeTask)
    given, texts = task.said.input, Texts()
    for text in _json(task, given.texts) if given.texts else ():
        texts.keep(str(text))
    if graph == "repair":
        policy: Any = EvaluationPolicy(allowed_root="", commands=(), write=given.write)
        tools: Any = None
    else:
        if not given.documents:
            raise TaskError(f"{task.name}: input.documents is missing: the nodes of a research read documents")
        tools = documents_in(task.place(given.documents)).toolbox()
        policy = ResearchPolicy(tools=cards_of(tools.specs()))
    return Context(llm=llm, tools=tools, policy=policy, keep=texts.keep, read=texts.read)


def _json(task: Task, name: str) -> Any:
    try:
        return json.loads(task.place(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise TaskError(f"{task.place(name)} is no JSON: {error}") from error
