"""What a node may return or a person may answer, as data: the alphabet of an exploration.

A patch stands for itself and no turns. The rule: an outcome passes through the real step and the real limits, so one
that the contract or the budget does not allow is found, and none is taken at its word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.graph import Graph, Node, stage_name
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)


class ExplorationError(GraphAgentError):
    """What was given to explore can't be explored."""


@dataclass(frozen=True)
class Took:
    """The node returned `patch` after so many turns, taken one by one. The budget stops it where fewer are left."""

    patch: Mapping[str, Any] | None = field(default_factory=dict)
    turns: int = 0


@dataclass(frozen=True)
class Fails:
    """The node raised, after so many turns; its retries are spent."""

    reason: str = "failed"
    turns: int = 0


@dataclass(frozen=True)
class HitsLimit:
    """The budget stops the node in the middle. Where the run has no `max_turns` this can't happen, and is left out."""


Outcome: TypeAlias = Took | Fails | HitsLimit | Mapping[str, Any] | None
Choice: TypeAlias = Iterable[Outcome] | Callable[[Any], Iterable[Outcome]]


class NodeFailed(Exception):  # what a node might have raised, and no error of ours
    """Stands for whatever a node raises."""


def choices(graph: Graph[Any], given: Mapping[Any, Choice]) -> dict[Any, Callable[[Any], Iterable[Outcome]]]:
    """For each stage, a function of the state. Raises `ExplorationError` for a node that has none, or a stage unknown.

    A pause may be left out: the run then waits there, and nothing answers.
    """
    unknown = [stage for stage in given if stage not in graph.nodes]
    missing = [stage for stage, entry in graph.nodes.items() if isinstance(entry, Node) and stage not in given]
    names = [stage_name(stage) for stage in graph.nodes]
    if unknown:
        name = stage_name(unknown[0])
        raise ExplorationError(f"outcomes has {name!r}, where nothing runs{nearest(name, names)}")
    if missing:
        listed = ", ".join(map(stage_name, missing))
        raise ExplorationError(
            f"outcomes lacks {listed}: list what each node may return, or give a function of the state"
        )
    return {stage: _function(stage, choice) for stage, choice in given.items()}


def start_of(graph: Graph[Any]) -> Any:
    """A state of defaults, where a class has them all. Raises `ExplorationError`."""
    try:
        return graph.state(task_id="run")
    except TypeError as error:
        name = graph.state.__name__
        raise ExplorationError(f"{name} needs more than a task_id ({error}): give the state to start from") from error


def _function(stage: Any, choice: Choice) -> Callable[[Any], Iterable[Outcome]]:
    if callable(choice):
        return choice
    if isinstance(choice, Mapping | str) or not isinstance(choice, Iterable):
        text = f"outcomes of {stage_name(stage)} is {choice!r}: give a list of outcomes, or a function of the state"
        raise ExplorationError(text)
    fixed = tuple(choice)
    return lambda _: fixed
