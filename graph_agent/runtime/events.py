"""What a run reports while it runs: one event a step, made only when somebody listens.

The rule: it tells what happened and never changes it; the last event's `state` is the state of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from graph_agent.protocols import ModelUse, ToolUse

Kind = Literal["finished", "limit", "failed"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One step. `kind`: the node finished; the budget stopped it (or kept it from starting); it failed.

    `step` counts the visits, this one among them. `stage` ran, the run goes on at `to` (None: it stops with `error`).
    `before` is the state that it ran on, `patch` what was applied, `state` what it led to, `seconds` wall time.
    """

    kind: Kind
    step: int
    stage: str
    to: str | None
    reason: str
    state: Any
    before: Any = None
    patch: Mapping[str, Any] | None = None
    turns: int = 0
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    model_uses: tuple[ModelUse, ...] = ()
    tool_uses: tuple[ToolUse, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    error: BaseException | None = None


_new: Any = object.__new__
_set_fields: Any = Event.__dict__["__dict__"].__set__  # the cheap way into a frozen instance


def event_of(fields: dict[str, Any]) -> Event:
    """An event of fields that are known to be right; the others have their defaults. One a step is made."""
    event: Event = _new(Event)
    _set_fields(event, fields)
    return event


class Journal(Protocol):
    """Where a run is kept, such as a `Run`. Each method returns when what it was given is safe, or raises."""

    def started(self, stage: str, state: Any, key: str, /) -> None:
        """A node with effects is about to run; asked of no other."""
        ...

    def write(self, event: Event, /) -> None:
        """A step was made, or a run stopped with an error."""
        ...

    def keep(self, text: str, /) -> str:
        """A large text is to be kept beside the run; returns its reference. Asked when a node calls `ctx.keep`."""
        ...

    def read(self, ref: str, /) -> str:
        """The text that was kept under a reference. Asked when a node calls `ctx.read`."""
        ...


def trace_line(event: Event) -> str:
    """One line for a person: `  3 | plan -> execute | 1 turn | plan is followed by execute`."""
    return step_line(event.step, event.stage, event.to or "stopped", event.turns, event.reason)


def step_line(step: int, stage: str, to: str, turns: int, reason: str) -> str:
    """The same, of a step that is only known by its record."""
    return f"{step:3} | {stage} -> {to} | {turns} turn{'' if turns == 1 else 's'} | {reason}"
