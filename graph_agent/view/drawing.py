"""A graph as a picture, for Mermaid and for Graphviz, drawn from the edges that the runtime knows.

A box is a node, a hexagon a pause, rounded an end; dotted arrows are for spent turns, errors and doubts. The rule: each
edge is drawn once, and what is left out is said in a note beside the picture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from graph_agent.runtime.graph import Graph, Node, Pause, stage_name


@dataclass(frozen=True)
class Arrow:
    """A line, with two heads if `back`; where it is no route it is dotted, and `label` says what it is."""

    start: Enum
    end: Enum
    back: bool
    label: str = ""


def arrows(graph: Graph[Any], *, fallbacks: bool = False) -> tuple[Arrow, ...]:
    """The routes and, with `fallbacks`, where spent turns, errors and doubts lead."""
    kinds: dict[tuple[Enum, Enum], list[str]] = {}
    for start, end, kind in graph.edges:
        kinds.setdefault((start, end), []).append(kind)
    drawn: list[Arrow] = []
    for (start, end), found in kinds.items():
        back = "back" in kinds.get((end, start), ())
        fallen = " or ".join(kind for kind in found if kind in ("limit", "error", "doubt"))
        if "route" in found:
            drawn.append(Arrow(start, end, back))
        if fallen and fallbacks:
            drawn.append(Arrow(start, end, back and "route" not in found, fallen))
    return tuple(drawn)


def mermaid(graph: Graph[Any], *, fallbacks: bool = False) -> str:
    """A Mermaid flowchart, as GitHub draws it inside a ```mermaid fence."""
    ids = _ids(graph)
    lines = _mermaid_head(graph, ids)
    for arrow in arrows(graph, fallbacks=fallbacks):
        line = ("<" if arrow.back else "") + ("-.->" if arrow.label else "-->")
        label = f'|"{_mermaid_text(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {ids[arrow.start]} {line}{label} {ids[arrow.end]}")
    notes = _notes(graph, fallbacks)
    if notes:
        text = "<br/>".join(map(_mermaid_text, notes))
        lines += [f'    note["{text}"]', "    style note fill:none,stroke:none"]
    return "".join(f"{line}\n" for line in lines)


def mermaid_counts(graph: Graph[Any], counts: Mapping[tuple[Enum, Enum, str], int]) -> str:
    """A Mermaid flowchart of every edge, each with how often it was taken; dashed where it never was."""
    ids = _ids(graph)
    lines = _mermaid_head(graph, ids)
    for start, end, kind in graph.edges:
        count = counts.get((start, end, kind), 0)
        said = (str(count) if count else "never") + ("" if kind == "route" else f" {kind}")
        line = "-->" if count else "-.->"
        lines.append(f'    {ids[start]} {line}|"{_mermaid_text(said)}"| {ids[end]}')
    return "".join(f"{line}\n" for line in lines)


def _mermaid_head(graph: Graph[Any], ids: Mapping[Enum, str]) -> list[str]:
    lines = ["flowchart TD", "    start((start))"]
    for stage, name in ids.items():
        left, right = {"node": ("[", "]"), "pause": ("{{", "}}"), "end": ("([", "])")}[_kind(graph, stage)]
        lines.append(f'    {name}{left}"{_mermaid_text(stage_name(stage))}"{right}')
    return [*lines, f"    start --> {ids[graph.start]}"]


def dot(graph: Graph[Any], *, fallbacks: bool = False) -> str:
    """The source for Graphviz: `dot -Tsvg` makes a picture of it."""
    ids = _ids(graph)
    lines = ["digraph {", "    node [shape=box];", "    start [shape=circle];"]
    for stage, name in ids.items():
        shape = {"node": "", "pause": ", shape=hexagon", "end": ", style=rounded"}[_kind(graph, stage)]
        lines.append(f'    "{name}" [label="{_dot_text(stage_name(stage))}"{shape}];')
    lines.append(f'    start -> "{ids[graph.start]}";')
    for arrow in arrows(graph, fallbacks=fallbacks):
        dotted = ["style=dotted", f'label="{arrow.label}"'] if arrow.label else []
        looks = ", ".join(["dir=both"] * arrow.back + dotted)
        lines.append(f'    "{ids[arrow.start]}" -> "{ids[arrow.end]}"{f" [{looks}]" if looks else ""};')
    notes = _notes(graph, fallbacks)
    if notes:
        text = "".join(_dot_text(line) + "\\l" for line in notes)  # \l ends a line that is set to the left
        lines.append(f'    note [shape=plaintext, label="{text}"];')
    return "".join(f"{line}\n" for line in (*lines, "}"))


def _kind(graph: Graph[Any], stage: Enum) -> str:
    entry = graph.nodes.get(stage)
    return "node" if isinstance(entry, Node) else "pause" if isinstance(entry, Pause) else "end"


def _ids(graph: Graph[Any]) -> Mapping[Enum, str]:
    """A name for each stage, in capitals, as Mermaid takes small words such as `end` or `style` for its own."""
    ids: dict[Enum, str] = {}
    for number, stage in enumerate(graph.stages, 1):
        name = re.sub(r"[^A-Z0-9]+", "_", stage_name(stage).upper()).strip("_")
        plain = name[:1].isalpha() and name not in ids.values() and not re.fullmatch(r"STAGE_\d+", name)
        ids[stage] = name if plain else f"STAGE_{number}"
    return ids


def _notes(graph: Graph[Any], fallbacks: bool) -> list[str]:
    notes = []
    if any(arrow.back for arrow in arrows(graph, fallbacks=fallbacks)):
        notes.append("an arrow with two heads: a person may send the run back")
    if not fallbacks and graph.on_limit is not None:
        notes.append(f"not drawn: when the turns are spent, on to {stage_name(graph.on_limit)}")
    if not fallbacks and graph.on_error is not None:
        notes.append(f"not drawn: when a node fails, on to {stage_name(graph.on_error)}")
    if not fallbacks and graph.on_doubt is not None:
        notes.append(f"not drawn: when a resume is in doubt, on to {stage_name(graph.on_doubt)}")
    return notes


def _mermaid_text(text: str) -> str:
    shown = " ".join(text.split()) or " "  # an empty label is an error there
    return "".join(char if char.isalnum() or char in " ,_" else f"#{ord(char)};" for char in shown)


def _dot_text(text: str) -> str:
    """Graphviz reads escapes such as `\\N` and entities such as `&lt;` in a label."""
    shown = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return shown.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
