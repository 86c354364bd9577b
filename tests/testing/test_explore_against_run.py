"""An explored run against the real loop: the same outcomes, returned by real nodes, lead through the same states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent import Context, FakeTools, StepLimitReached, answer, run_graph
from graph_agent.testing import Fails, HitsLimit, Took, explore, follow
from tests.testing.graphs import OUTCOMES, START, Job, Stage, job_graph

LIMITED = replace(START, max_turns=6)
CHOICES: dict[Any, Any] = {
    Stage.WORK: lambda state: [
        Took({"tries": state.tries + 1}, turns=1),
        Took({"tries": state.tries + 1, "log": ("x",)}, turns=4),
        Fails("no hammer", turns=1),
        Fails("at once"),
        HitsLimit(),
    ],
    Stage.CHECK: OUTCOMES[Stage.CHECK],
    Stage.HUMAN: lambda state: [{"give_up": True}, {"max_tries": 3, "max_turns": 9}] if state.max_tries < 3 else [],
}


class Acts:
    """Nodes that do what an outcome says: call the hammer so often, and then return or raise."""

    def __init__(self, outcomes: list[Any]) -> None:
        self.outcomes = list(outcomes)

    def __call__(self, state: Job, ctx: Context) -> Any:
        outcome = self.outcomes.pop(0)
        for _ in range(99 if isinstance(outcome, HitsLimit) else getattr(outcome, "turns", 0)):
            ctx.tools.call("hammer")
        if isinstance(outcome, Fails):
            raise NodeFailed(outcome.reason)
        return outcome.patch if isinstance(outcome, Took) else outcome


class NodeFailed(Exception):
    """Named as the one that stands for it in an exploration."""


def acted(outcomes: list[Any]) -> Job:
    """The run of those outcomes, by run_graph and answer."""
    acts, graph = Acts(outcomes), job_graph()
    nodes = {stage: replace(node, run=acts) for stage, node in graph.nodes.items() if stage is not Stage.HUMAN}  # type: ignore[type-var]
    real = job_graph(nodes={**graph.nodes, **nodes})
    ctx = Context(tools=FakeTools({"hammer": "ok"}))
    state = LIMITED
    while acts.outcomes:
        if state.stage is Stage.HUMAN:
            state = answer(real, state, acts.outcomes.pop(0))
        else:
            state = _one_step(real, state, ctx)
    return state


def _one_step(graph: Any, state: Job, ctx: Context) -> Job:
    try:
        return run_graph(graph, state, ctx, max_steps=1)
    except StepLimitReached as one:
        return one.state  # type: ignore[no-any-return]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=14))
def test_a_walk_through_the_space_is_a_run(picks: list[int]) -> None:
    state, outcomes = LIMITED, []
    graph = job_graph()
    for pick in picks:
        choice = CHOICES.get(state.stage, ())
        offered = choice(state) if callable(choice) else choice
        if not offered:
            break
        outcome = offered[pick % len(offered)]
        spent = state.max_turns is not None and state.spent_turns >= state.max_turns
        if state.stage is Stage.WORK and spent:
            break  # it is not begun, whatever it would return
        outcomes.append(outcome)
        state = follow(graph, LIMITED, outcomes)
    assert acted(outcomes) == state


def test_the_space_has_every_kind_of_step() -> None:
    report = explore(job_graph(), LIMITED, CHOICES)
    kinds = {taken.kind for _, taken, _ in report.space.walked()}
    assert kinds == {"finished", "limit", "failed", "answered"}
    assert report.ok
