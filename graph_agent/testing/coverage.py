"""Which stages and edges of which graphs were taken: the coverage of a table, as lines are of a file.

It stands in for the few functions by which a state becomes the next one, as long as it is on. The rule: while it is off
nothing of it is in the way, and a step is counted once, by whatever way it was made.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any

from graph_agent.runtime import advance, answer, resume, run, visit  # noqa: F401  # all that make steps
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.testing.ascode import place_of
from graph_agent.testing.space import edge_text
from graph_agent.view.drawing import mermaid_counts

Edge = tuple[Enum, Enum, str]
STEPS = ("take", "stop_at_limit", "stop_at_error")


@dataclass(frozen=True)
class Covered:
    """What was taken of one graph: each edge and how often."""

    graph: Graph[Any]
    counts: Mapping[Edge, int]

    @property
    def name(self) -> str:
        place = place_of(self.graph)
        return f"{place[0]}:{place[1]}" if place else f"a graph of {self.graph.state.__name__}"

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Those that a run can take; the edges of `on_doubt` are a resume's."""
        return tuple(edge for edge in self.graph.edges if edge[2] != "doubt")

    @property
    def missed(self) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if not self.counts.get(edge))

    @property
    def stages_missed(self) -> tuple[Enum, ...]:
        entered = {end for _, end, _ in self.counts} | {start for start, _, _ in self.counts}
        return tuple(stage for stage in self.graph.stages if stage not in entered)

    @property
    def percent(self) -> float:
        """Of the edges, those that were taken."""
        return 100 * (len(self.edges) - len(self.missed)) / len(self.edges) if self.edges else 100.0

    def __str__(self) -> str:
        taken = len(self.edges) - len(self.missed)
        lines = [f"{self.name}: {taken} of {len(self.edges)} edges taken ({self.percent:.0f} %)"]
        if self.stages_missed:
            lines.append(f"  never entered: {', '.join(map(stage_name, self.stages_missed))}")
        return "\n".join([*lines, *(f"  never taken: {edge_text(edge)}" for edge in self.missed)])

    def drawing(self) -> str:
        """A Mermaid flowchart with the counts."""
        return mermaid_counts(self.graph, self.counts)


class GraphCoverage:
    """Counts while it is entered, over all graphs and threads: `with GraphCoverage() as seen: ...; print(seen)`."""

    def __init__(self) -> None:
        self._counts: dict[Graph[Any], Counter[Edge]] = {}
        self._stand_ins: dict[Any, Any] = {}

    def __enter__(self) -> GraphCoverage:
        for name in STEPS:
            original = getattr(advance, name)
            self._stand_ins[original] = self._counting(original, name)
        _replace(self._stand_ins)
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        _replace({stand_in: original for original, stand_in in self._stand_ins.items()})
        self._stand_ins = {}

    def of(self, graph: Graph[Any]) -> Covered:
        """What was taken of a graph so far."""
        return Covered(graph, dict(self._counts.get(graph, {})))

    def __iter__(self) -> Iterator[Covered]:
        """Of each graph that took a step, by name."""
        return iter(sorted(map(self.of, list(self._counts)), key=lambda covered: covered.name))

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no graph took a step"

    def _counting(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        def counted(graph: Graph[Any], *rest: Any, **more: Any) -> Any:
            after = original(graph, *rest, **more)
            before = rest[1] if name == "take" else rest[0]
            self._counts.setdefault(graph, Counter())[_edge(graph, before, after, name)] += 1
            return after

        return counted


def _edge(graph: Graph[Any], before: Any, after: Any, by: str) -> Edge:
    if by != "take":
        return before.stage, after.stage, "limit" if by == "stop_at_limit" else "error"
    kind = "route" if after.stage in graph.steps[before.stage].exits else "back"
    return before.stage, after.stage, kind


def _replace(stand_ins: Mapping[Any, Any]) -> None:
    """Each module of the package holds these functions under a name of its own."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] != "graph_agent" or module is None:
            continue
        for name in STEPS:
            held = vars(module).get(name)
            if held is not None and held in stand_ins:
                setattr(module, name, stand_ins[held])
