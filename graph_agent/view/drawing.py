"""A graph as a picture, for Mermaid and for Graphviz: stages are boxes, what may follow what is an arrow.

Both are drawn from `graph.edges`, the edges that the runtime knows, so a picture can't differ from the table. The rule:
each edge is drawn once, and what is left out for the reader's sake is said in a note beside the picture.

A box is a node, a hexagon a pause, a rounded end an end; the one that `start` points to is where a run begins. An arrow
is a route; one with two heads enters a pause, which may go back by it. Dotted arrows are for spent turns and errors.
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
    """One line of the picture. `kinds` are those of the edges it stands for, `back` that it has a head at both ends."""

    start: Enum
    end: Enum
    kinds: tuple[str, ...]
    back: bool

    @property
    def dotted(self) -> bool:
        return "route" not in self.kinds

    @property
    def label(self) -> str:
        return " or ".join(self.kinds) if self.dotted else ""


def arrows(graph: Graph[Any], *, fallbacks: bool = False) -> tuple[Arrow, ...]:
    """The lines of a picture: the routes and, with `fallbacks`, where spent turns and errors lead."""
    kinds: dict[tuple[Enum, Enum], list[str]] = {}
    for start, end, kind in graph.edges:
        kinds.setdefault((start, end), []).append(kind)
    drawn: list[Arrow] = []
    for (start, end), found in kinds.items():
        back = "back" in kinds.get((end, start), ())
        routed = "route" in found
        fallen = tuple(kind for kind in found if kind in ("limit", "error"))
        if routed:
            drawn.append(Arrow(start, end, ("route",), back))
        if fallen and fallbacks:
            drawn.append(Arrow(start, end, fallen, back and not routed))
    return tuple(drawn)


def mermaid(graph: Graph[Any], *, fallbacks: bool = False) -> str:
    """The picture as a Mermaid flowchart, as GitHub draws it inside a ```mermaid fence."""
    ids = _ids(graph)
    lines = ["flowchart TD", "    start((start))"]
    for stage, name in ids.items():
        left, right = {"node": ("[", "]"), "pause": ("{{", "}}"), "end": ("([", "])")}[_kind(graph, stage)]
        lines.append(f'    {name}{left}"{_mermaid_text(stage_name(stage))}"{right}')
    lines.append(f"    start --> {ids[graph.start]}")
    for arrow in arrows(graph, fallbacks=fallbacks):
        line = ("<" if arrow.back else "") + ("-.->" if arrow.dotted else "-->")
        label = f'|"{_mermaid_text(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {ids[arrow.start]} {line}{label} {ids[arrow.end]}")
    notes = _notes(graph, fallbacks)
    if notes:
        text = "<br/>".join(map(_mermaid_text, notes))
        lines += [f'    note["{text}"]', "    style note fill:none,stroke:none"]
    return "".join(f"{line}\n" for line in lines)


def dot(graph: Graph[Any], *, fallbacks: bool = False) -> str:
    """The picture in the language of Graphviz: `dot -Tsvg` makes a file of it."""
    ids = _ids(graph)
    lines = ["digraph {", "    node [shape=box];", "    start [shape=circle];"]
    for stage, name in ids.items():
        shape = {"node": "", "pause": ", shape=hexagon", "end": ", style=rounded"}[_kind(graph, stage)]
        lines.append(f'    "{name}" [label="{_dot_text(stage_name(stage))}"{shape}];')
    lines.append(f'    start -> "{ids[graph.start]}";')
    for arrow in arrows(graph, fallbacks=fallbacks):
        wanted = {"dir=both": arrow.back, "style=dotted": arrow.dotted, f'label="{arrow.label}"': bool(arrow.label)}
        looks = ", ".join(look for look, is_so in wanted.items() if is_so)
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
    """A name for each stage in the picture's source, in the order of the Stage enum.

    In capitals, as Mermaid takes small words such as `end` or `style` for its own.
    """
    ids: dict[Enum, str] = {}
    for number, stage in enumerate(graph.stages, 1):
        name = re.sub(r"[^A-Z0-9]+", "_", stage_name(stage).upper()).strip("_")
        plain = name[:1].isalpha() and name not in ids.values() and not re.fullmatch(r"STAGE_\d+", name)
        ids[stage] = name if plain else f"STAGE_{number}"
    return ids


def _notes(graph: Graph[Any], fallbacks: bool) -> list[str]:
    """What the picture leaves out, and what is not said by its shapes alone."""
    notes = []
    if any(arrow.back for arrow in arrows(graph, fallbacks=fallbacks)):
        notes.append("an arrow with two heads: a person may send the run back")
    if not fallbacks and graph.on_limit is not None:
        notes.append(f"not drawn: when the turns are spent, on to {stage_name(graph.on_limit)}")
    if not fallbacks and graph.on_error is not None:
        notes.append(f"not drawn: when a node fails, on to {stage_name(graph.on_error)}")
    return notes


def _mermaid_text(text: str) -> str:
    """Text for a quoted label: all that is no letter, digit, blank, comma or underscore becomes a numbered entity."""
    shown = " ".join(text.split()) or " "  # an empty label is an error there
    return "".join(char if char.isalnum() or char in " ,_" else f"#{ord(char)};" for char in shown)


def _dot_text(text: str) -> str:
    """Text for a quoted label. Graphviz reads escapes such as `\\N` and entities such as `&lt;` in it."""
    shown = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return shown.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
