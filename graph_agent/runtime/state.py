"""The state of a run: one frozen dataclass, with the fields that every run has and how a field takes new values.

A workflow derives its own from `GraphState`, with a Stage enum. The rule: nobody changes an instance; a node returns
what changed and the runtime makes the next state. Collections are tuples, so a state is hashable.
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
    """A field that says what it means, in the JSON Schema, where a model reads it."""
    return field(default=default, metadata={"description": text})


def appended(*, key: str | Key | None = None, description: str = "") -> Any:
    """A tuple field that only grows: a patch holds the items to add.

    `key` names an attribute of the items (or is a function of one): an item whose key is there already is dropped.
    """
    reducer = Append(attrgetter(key), attribute=key) if isinstance(key, str) else Append(key)
    metadata: dict[str, Any] = {_APPEND: reducer}
    if description:
        metadata["description"] = description
    return field(default=(), metadata=metadata)


@dataclass(frozen=True)
class Append:
    """How an appended field takes a patch: a reducer. `attribute` is its key's name, if it has one."""

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
    found: Append | None = declared.metadata.get(_APPEND)
    return found


@dataclass(frozen=True, kw_only=True)
class GraphState:
    """What every run has, written by the runtime alone, but for `max_turns`, which a pause may own.

    `stage` is where the run stands; a workflow's state gives it the default at which a run starts. `steps` counts
    visits (nodes that ran, pauses that were answered), `spent_turns` calls of a model or a metered tool, of which the
    run may make `max_turns` (None: no limit). `came_from`: the stage from which the present pause was entered.
    """

    task_id: str
    stage: Enum
    route_reason: str = ""
    steps: int = 0
    spent_turns: int = 0
    came_from: Enum | None = None
    max_turns: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """`came_from` takes its type from the workflow's own `stage`."""
        super().__init_subclass__(**kwargs)
        own = cls.__annotations__
        if "stage" in own and "came_from" not in own:
            stage = own["stage"]
            own["came_from"] = f"{stage} | None" if isinstance(stage, str) else stage | None


RUNTIME_FIELDS = frozenset(GraphState.__dataclass_fields__)
