"""The state of a run: one frozen dataclass, with the fields that every run has and how a field takes new values.

A workflow derives its own state from `GraphState`, adds fields and a Stage enum, and never changes an instance: a node
returns what changed, the runtime makes the next state. Collections are tuples, so a state is hashable, can be a key in
a search over all runs, and nobody who holds one can edit it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import MISSING, Field, dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Any, TypeAlias

Key: TypeAlias = Callable[[Any], Hashable]

_APPEND = "graph_agent.append"


def described(text: str, *, default: Any = MISSING) -> Any:
    """A field that says what it means. The text goes into the JSON Schema, where a model reads it."""
    return field(metadata={"description": text}, **_given(default))


def appended(*, key: str | Key | None = None, description: str = "") -> Any:
    """A tuple field that only grows: a patch holds the items to add, and nobody can take one away.

    `key` names an attribute of the items (or is a function of one): an item whose key is there already is dropped,
    so that a node which runs again does not say a thing twice.
    """
    reducer = Append(attrgetter(key), attribute=key) if isinstance(key, str) else Append(key)
    metadata: dict[str, Any] = {_APPEND: reducer}
    if description:
        metadata["description"] = description
    return field(default=(), metadata=metadata)


def _given(default: Any) -> dict[str, Any]:
    return {} if default is MISSING else {"default": default}


@dataclass(frozen=True)
class Append:
    """How an appended field takes a patch: a reducer. `attribute` is what its key is called, where that is known."""

    key: Key | None
    attribute: str | None = None

    def __call__(self, old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.key is None:
            return old + new
        seen = {self.key(item) for item in old}
        added = []
        for item in new:
            key = self.key(item)
            if key not in seen:
                seen.add(key)
                added.append(item)
        return old + tuple(added)


def append_of(declared: Field[Any]) -> Append | None:
    """The reducer of a dataclass field, or None for a field that a patch replaces."""
    found: Append | None = declared.metadata.get(_APPEND)
    return found


@dataclass(frozen=True, kw_only=True)
class GraphState:
    """What every run has. All of it is written by the runtime alone, but for `max_turns`, which a pause may own.

    `stage` is where the run stands, and a workflow's state gives it a default: where a run starts. `steps` counts the
    visits so far (nodes that ran, pauses that were answered). `spent_turns` counts calls of a model or a metered tool,
    `max_turns` is the most that the run may make (None: no limit; 0: none). `came_from` is the stage from which the
    present pause was entered, and None elsewhere.
    """

    task_id: str
    stage: Enum
    route_reason: str = ""
    steps: int = 0
    spent_turns: int = 0
    came_from: Enum | None = None
    max_turns: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """`came_from` holds a member of the workflow's own Stage: it takes its type from `stage`."""
        super().__init_subclass__(**kwargs)
        own = cls.__annotations__
        if "stage" in own and "came_from" not in own:
            stage = own["stage"]
            own["came_from"] = f"{stage} | None" if isinstance(stage, str) else stage | None


RUNTIME_FIELDS = frozenset(GraphState.__dataclass_fields__)
