"""Which fields of a state a function looks at: seen by handing it a state that notes what is asked of it.

The rule: the function sees a state of the same class with the same values; what a property of the state reads counts as
read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


def reads(function: Callable[[Any], Any], state: Any) -> frozenset[str]:
    """The fields of `state` that `function(state)` looks at. What it raises is raised."""
    seen: set[str] = set()
    function(watched(state, seen.add))
    return frozenset(seen)


def watched(state: Any, tell: Callable[[str], None]) -> Any:
    """A copy of a state that tells each field that is looked at."""
    its_class: Any = type(state)
    cls = _watching(its_class)
    copy = object.__new__(cls)
    copy.__dict__.update(state.__dict__)
    object.__setattr__(copy, _TELL, tell)
    return copy


_TELL = "_graph_agent_tell"


def _to_nobody(_: str) -> None:
    """A copy that `dataclasses.replace` made tells nothing: its fields were all read when it was made."""


@cache
def _watching(cls: Any) -> type[Any]:
    fields = frozenset(cls.__dataclass_fields__)

    def __getattribute__(self: Any, name: str) -> Any:
        if name in fields:
            object.__getattribute__(self, "__dict__").get(_TELL, _to_nobody)(name)
        return object.__getattribute__(self, name)

    return type(cls.__name__, (cls,), {"__getattribute__": __getattribute__, "__module__": cls.__module__})
