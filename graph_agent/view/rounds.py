"""The line of a step, and for a round of verification what was found in it: the layer, the score and the scope."""

from __future__ import annotations

from graph_agent.runtime.events import Event, trace_line


def round_line(event: Event) -> str:
    """`round=3 | verify -> execute | layer=goal | score=0.62 | scope=local | reason`; more for a replan."""
    told = next((note for note in event.notes if note.startswith("round=")), None)
    if told is None:
        replans = [note for note in event.notes if note.startswith("replan ")]
        return "; ".join([trace_line(event), *replans])
    first, *rest = told.split(" | ")
    return " | ".join([first, f"{event.stage} -> {event.to or 'stopped'}", *rest, event.reason])
