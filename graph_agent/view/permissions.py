"""Who may do what in a graph, read off the table that the runtime enforces.

The rule: every stage has a row, ends too, in the order of the table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from graph_agent.runtime.graph import BACK, Graph, Node, Pause, stage_name
from graph_agent.view.steps import table

_HEADER = ("stage", "reads", "may call", "owns", "leaves to", "notes")


def permissions(graph: Graph[Any], *, width: int = 120) -> str:
    """The table as text, at most `width` characters wide."""
    data = permissions_data(graph)
    text = table(_HEADER, [_row(entry) for entry in data], width=width)
    below = ["* shared: more than one stage may write it"] if graph.shared else []
    if graph.on_limit is not None:
        below.append(f"when the turns are spent a run goes to {stage_name(graph.on_limit)}")
    if graph.on_error is not None:
        below.append(f"when a node fails a run goes to {stage_name(graph.on_error)}")
    if graph.on_doubt is not None:
        below.append(f"when a resume is in doubt a run goes to {stage_name(graph.on_doubt)}")
    if graph.look is not None:
        below.append(f"a resume looks at the world first, and may call {', '.join(graph.look.tools) or 'nothing'}")
    return text + "".join(f"\n{line}" for line in below) + "\n" * bool(below)


def permissions_data(graph: Graph[Any]) -> list[dict[str, Any]]:
    """The table as JSON data, one dict a stage, all with the same keys.

    `kind` is "node", "pause" or "end"; `reads` is None where all may be read; `shared` has those of `owns` that other
    stages may write too; `back` says that a pause may return to where it was entered from.
    """
    rows = [_data(graph, stage, entry) for stage, entry in graph.nodes.items()]
    return rows + [_data(graph, end, None) for end in graph.stages if end in graph.ends]


def _data(graph: Graph[Any], stage: Any, entry: Node | Pause | None) -> dict[str, Any]:
    node = entry if isinstance(entry, Node) else None
    owns = _ordered(graph, entry.owns if entry else ())
    exits = graph.steps[stage].exits if entry else frozenset()
    leads = {kind: stage_name(to) for start, to, kind in graph.edges if start is stage}
    return {
        "stage": stage_name(stage),
        "kind": "node" if node else "pause" if entry else "end",
        "start": stage is graph.start,
        "reads": None if node is None or node.reads is None else _ordered(graph, node.reads),
        "model": bool(node and node.model),
        "tools": list(node.tools) if node else [],
        "owns": owns,
        "shared": [name for name in owns if name in graph.shared],
        "leaves_to": [stage_name(to) for to in graph.stages if to in exits],
        "back": BACK in exits,
        "on_limit": leads.get("limit"),
        "on_error": leads.get("error"),
        "on_doubt": leads.get("doubt"),
        "metered": bool(node and node.metered),
        "effects": bool(node and node.effects),
        "on_interrupted": node.on_interrupted if node else None,
        "retry": node.retry if node else 0,
    }


def _ordered(graph: Graph[Any], names: Collection[str]) -> list[str]:
    return [field.name for field in fields(graph.state) if field.name in names]


def _row(entry: dict[str, Any]) -> Sequence[str]:
    calls = ["model"] * entry["model"] + entry["tools"]
    shared = [f"{name}*" for name in entry["shared"]]
    owns = [name for name in entry["owns"] if name not in entry["shared"]] + shared
    leaves = entry["leaves_to"] + ["back"] * entry["back"]
    reads = ["all"] if entry["reads"] is None and entry["kind"] != "end" else entry["reads"] or []
    return entry["stage"], *(", ".join(cell) or "-" for cell in (reads, calls, owns, leaves, _notes(entry)))


def _notes(entry: dict[str, Any]) -> list[str]:
    notes = ["start"] * entry["start"]
    if entry["kind"] == "pause":
        return [*notes, "waits for a person"]
    if entry["kind"] == "end":
        return [*notes, "ends the run"]
    if not entry["metered"]:
        notes.append("not metered")
    if entry["effects"]:
        notes.append("effects")
    if entry["effects"] or entry["on_interrupted"] != "retry":
        notes.append(f"{entry['on_interrupted']} on resume")
    if entry["retry"]:
        notes.append(f"tried up to {entry['retry'] + 1} times")
    return notes
