"""Every state that runs can reach, and every step between them: what an exploration found, as data for the laws.

A place is a state up to `view`. The rule: each place has the first, so a shortest, way to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.testing.outcomes import Outcome

Kind = Literal["finished", "limit", "failed", "answered", "broken"]


@dataclass(frozen=True, slots=True)
class Taken:
    """One step of a run, as a law sees it.

    `kind`: the node finished, the budget stopped it, it failed, a person answered, or the contract was broken. `stage`
    and `to` are stages; `to` is None where the run stopped with `error`. `outcome` is what was given for the step.
    """

    kind: Kind
    stage: Any
    to: Any
    reason: str
    outcome: Outcome
    turns: int = 0
    error: Exception | None = None

    @property
    def patch(self) -> Any:
        return getattr(self.outcome, "patch", self.outcome)


@dataclass(frozen=True, slots=True)
class Walked:
    """A step and the states around it."""

    before: Any
    taken: Taken
    after: Any


@dataclass
class Space:
    """`states[n]` is a place; `steps[n]` its steps, each with the place that it leads to (None: the run stopped).

    `came[n]` is the place and the step by which it was first reached. `open` has the places that were left unexplored.
    """

    graph: Graph[Any]
    states: list[Any] = field(default_factory=list)
    steps: list[list[tuple[Taken, int | None]]] = field(default_factory=list)
    came: list[tuple[int, Taken] | None] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    refused: int = 0
    open: list[int] = field(default_factory=list)

    def add(self, state: Any, came: tuple[int, Taken] | None) -> int:
        """A new place; returns its number."""
        self.states.append(state)
        self.steps.append([])
        self.came.append(came)
        self.depths.append(0 if came is None else self.depths[came[0]] + 1)
        return len(self.states) - 1

    def walked(self) -> Iterator[tuple[int, Taken, int | None]]:
        for place, steps in enumerate(self.steps):
            for taken, after in steps:
                yield place, taken, after

    def path_to(self, place: int, *more: tuple[Taken, int | None]) -> tuple[Walked, ...]:
        """A shortest run to a place, and the given steps from there."""
        steps: list[Walked] = []
        at = place
        while (came := self.came[at]) is not None:
            before, taken = came
            steps.append(Walked(self.states[before], taken, self.states[at]))
            at = before
        steps.reverse()
        at = place
        for taken, after in more:
            steps.append(Walked(self.states[at], taken, None if after is None else self.states[after]))
            at = at if after is None else after
        return tuple(steps)

    def start_of(self, place: int) -> Any:
        while (came := self.came[place]) is not None:
            place = came[0]
        return self.states[place]

    @property
    def stages(self) -> set[Any]:
        return {state.stage for state in self.states}

    @property
    def edges(self) -> dict[tuple[Any, Any, str], int]:
        """(from, to, kind) as `Graph.edges` has them, and how often each was taken."""
        counted: dict[tuple[Any, Any, str], int] = {}
        for place, taken, after in self.walked():
            if after is None:
                continue
            kind = {"limit": "limit", "failed": "error"}.get(taken.kind, "route")
            if kind == "route" and taken.to not in self._exits(taken.stage):
                kind = "back"
            edge = (self.states[place].stage, taken.to, kind)
            counted[edge] = counted.get(edge, 0) + 1
        return counted

    def _exits(self, stage: Any) -> Any:
        return self.graph.steps[stage].exits


class Keys:
    """What makes two states one place: `view`, else all fields but the reason and, unless they matter, the steps.

    Values are numbered when first seen, and what a step left alone is not hashed again: a state is mostly its
    predecessor.
    """

    def __init__(self, graph: Graph[Any], view: Callable[[Any], Hashable] | None, *, steps: bool = False) -> None:
        left_out = {"route_reason"} if steps else {"route_reason", "steps"}
        self._names = tuple(name for name in graph.state.__dataclass_fields__ if name not in left_out)
        self._numbers: dict[tuple[str, type, Hashable], int] = {}
        self._view = view

    def key(self, state: Any, before: Any = None, its_key: Any = None) -> Any:
        """The key of a state; `before`, and that one's key, spare work."""
        if self._view is not None:
            return self._view(state)
        new, number = state.__dict__, self._number
        if before is None:
            return tuple([number(name, new[name]) for name in self._names])
        old = before.__dict__
        return tuple(
            [
                known if new[name] is old[name] else number(name, new[name])
                for name, known in zip(self._names, its_key, strict=True)
            ]
        )

    def _number(self, name: str, value: Any) -> int:
        numbers = self._numbers
        return numbers.setdefault((name, type(value), value), len(numbers))


def edge_text(edge: tuple[Any, Any, str]) -> str:
    start, end, kind = edge
    by = {"route": "", "back": " (back)", "limit": " (out of budget)", "error": " (failed)", "doubt": " (in doubt)"}[
        kind
    ]
    return f"{stage_name(start)} -> {stage_name(end)}{by}"
