"""Tables for a terminal, and the steps of a run in one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any

from graph_agent.runtime.events import Event

_BETWEEN = "  "


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = 120, right: Collection[int] = ()
) -> str:
    """A table, the columns numbered in `right` aligned to the right, `width` wide or as narrow as it can be."""
    cells = [[_plain(cell) for cell in row] for row in (header, *rows)]
    widths = _widths(cells, width - len(_BETWEEN) * (len(header) - 1))
    head, *body = ([wrap(cell, size) or [""] for cell, size in zip(row, widths, strict=True)] for row in cells)
    lines = [*_lines(head, widths, right), _BETWEEN.join("-" * size for size in widths)]
    for row in body:
        lines += _lines(row, widths, right)
    return "".join(f"{line}\n" for line in lines)


def _plain(text: str) -> str:
    """On one line, with nothing that a terminal would obey."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))


def _widths(cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """What each column would like, the widest ones narrowed until all fit."""
    columns = list(zip(*cells, strict=True))
    widths = [max(1, min(room, max(map(len, column)))) for column in columns]
    words = [max((len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    for most in (max(room // 2, 1), 8, 1):  # words are broken only where there is no other way
        floors = [min(word, most) for word in words]
        while sum(widths) > room and any(size > floor for size, floor in zip(widths, floors, strict=True)):
            _, widest = max((size, -at) for at, size in enumerate(widths) if size > floors[at])
            widths[-widest] -= 1
    return widths


def _lines(row: Sequence[Sequence[str]], widths: Sequence[int], right: Collection[int]) -> list[str]:
    height = max(map(len, row))
    columns = [
        [line.rjust(size) if at in right else line.ljust(size) for line in (*cell, *[""] * (height - len(cell)))]
        for at, (cell, size) in enumerate(zip(row, widths, strict=True))
    ]
    return [_BETWEEN.join(parts).rstrip() for parts in zip(*columns, strict=True)]


_HEADER = ("step", "node", "changed", "turns", "next", "why")


def steps_table(events: Iterable[Event], *, before: Any = None, width: int = 120) -> str:
    """The steps of a run. Without `before`, the state it started from, row one has all that its node returned."""
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
