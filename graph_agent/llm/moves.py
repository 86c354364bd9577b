"""What a model that may use tools is asked for: a `Move`, a call or a result, as data like any other reply.

The node makes the call, the model never does. Arguments are a list of names and values, since a strict JSON Schema
can't describe an object whose keys are not known. The rule: a move is one of the two, never both and never neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from graph_agent.runtime.state import described

Value: TypeAlias = "str | int | float | bool | tuple[str, ...] | None"


@dataclass(frozen=True, kw_only=True)
class Argument:
    name: str
    value: Value = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool to be called."""

    tool: str = described("the name of the tool")
    args: tuple[Argument, ...] = described("its arguments, each with a name and a value", default=())


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What a step comes to. `claim` is kept apart and proves nothing."""

    text: str = described(
        "the result: statements, each with its citations such as [E1] or [E1, E3]; quotes word for word. Or one line: "
        "INSUFFICIENT: why; BLOCKED: which information from outside is needed. A last line REFUTES: why says that the "
        "result refutes what the plan rests on"
    )
    claim: str = described("one sentence on how the result meets what it is done when", default="")


@dataclass(frozen=True, kw_only=True)
class Move:
    """A call or a result."""

    call: Call | None = described("the tool to call next; null with a result", default=None)
    result: Delivery | None = described("the result; null with a call", default=None)


def arguments_of(args: tuple[Argument, ...]) -> dict[str, Any]:
    """As a tool takes them."""
    return {one.name: list(one.value) if isinstance(one.value, tuple) else one.value for one in args}


def args_of(arguments: Mapping[str, Any]) -> tuple[Argument, ...]:
    """The inverse."""
    return tuple(
        Argument(name=name, value=tuple(value) if isinstance(value, list) else value)
        for name, value in arguments.items()
    )


def move_problem(move: Move) -> str | None:
    """For `ask(check=...)`."""
    if (move.call is None) == (move.result is None):
        return f"it has {'both a call and a result' if move.call else 'neither a call nor a result'}: give one of them"
    return None
