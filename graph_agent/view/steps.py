"""What a run did, one row a step: which node ran, which fields it changed, and why the run could go on from there.

It is for a reader who wants the whole run at once; who wants to watch has `trace_line`. The rule: it shows what the
events say and adds no judgement of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from graph_agent.runtime.events import Event
from graph_agent.view.table import table

_HEADER = ("step", "node", "changed", "turns", "next", "why")


def steps_table(events: Iterable[Event], *, before: Any = None, width: int = 120) -> str:
    """The steps of a run as text, `width` characters wide.

    `before` is the state that the run started from. Without it the first row names all the fields that its node
    returned, also those that had the value already.
    """
    run = tuple(events)
    states = [before, *(event.state for event in run)]
    rows = [_row(event, earlier) for event, (earlier, _) in zip(run, pairwise(states), strict=True)]
    return table(_HEADER, rows, width=width, right={0, 3})


def _row(event: Event, earlier: Any) -> tuple[str, ...]:
    changed = ", ".join(_changed(event, earlier)) or "-"
    return str(event.step), event.stage, changed, str(event.turns), event.to or "stopped", event.reason


def _changed(event: Event, earlier: Any) -> Iterable[str]:
    for name in event.patch or ():
        if earlier is None or getattr(earlier, name) != getattr(event.state, name):
            yield name
