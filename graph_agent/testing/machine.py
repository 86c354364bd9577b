"""A graph as a state machine of hypothesis: runs are made by chance, and a bad one is shrunk to the least that is bad.

For spaces too large to explore. The rule: each step is one that `explore` would take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graph_agent.runtime.graph import Graph
from graph_agent.testing.exploring import Given, steps_from
from graph_agent.testing.laws import law_of
from graph_agent.testing.outcomes import Choice, ExplorationError, choices, start_of
from graph_agent.testing.report import Broken, Report
from graph_agent.testing.space import Space, Taken

MOST_CHOICES = 1_000_000


def graph_machine(
    graph: Graph[Any], outcomes: Mapping[Any, Choice], laws: Iterable[Given] = (), *, start: Any = None
) -> type[Any]:
    """A `RuleBasedStateMachine` that walks the graph from `start`; its `TestCase` runs under unittest and pytest.

    Without `start` a state of defaults is made. A broken law fails with the story of the shrunk run. Raises
    `ExplorationError` where hypothesis is not installed, or the state needs more than defaults.
    """
    try:
        from hypothesis import strategies as st
        from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
    except ImportError as error:
        raise ExplorationError("graph_machine needs hypothesis: install it, or use explore") from error
    options, held = choices(graph, outcomes), tuple(law_of(law) for law in laws)
    first = start_of(graph) if start is None else start

    class GraphMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.walk = _Walk(graph, options, held, first)

        @precondition(lambda self: self.walk.steps)
        @rule(choice=st.integers(0, MOST_CHOICES))
        def step(self, choice: int) -> None:
            self.walk.take(choice)

        @precondition(lambda self: not self.walk.steps)
        @rule()
        def over(self) -> None:
            """The run stands at an end, or waits: nothing is left to do."""

    return GraphMachine


class _Walk:
    """One run. `steps` are those that can follow."""

    def __init__(self, graph: Graph[Any], options: Any, laws: Any, start: Any) -> None:
        self._graph, self._options = graph, options
        self._space, self._broken = Space(graph), Broken(laws)
        self._place = self._space.add(start, None)
        self.steps: list[tuple[Taken, Any]] = self._following()

    def take(self, choice: int) -> None:
        taken, after = self.steps[choice % len(self.steps)]
        space, place = self._space, self._place
        to = None if after is None else space.add(after, (place, taken))
        space.steps[place].append((taken, to))
        self._broken.by_step(space, place, taken, to, after)
        self._broken.on_path(space)
        Report(space=space, violations=self._broken.found()).raise_on_violation()
        if to is None:
            self.steps = []
        else:
            self._place = to
            self.steps = self._following()

    def _following(self) -> list[tuple[Taken, Any]]:
        return list(steps_from(self._graph, self._space.states[self._place], self._options, self._space))
