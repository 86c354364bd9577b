"""The figures of a group of runs as a person reads them: charts, percentiles, stages, and how to read them.

The rule: it fits the terminal, and where the stream can't write more than ASCII, it is ASCII.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from graph_agent.view.spread import bars, shown
from graph_agent.view.steps import table

_CHARTS = {
    "outcomes": "where they stand",
    "stopped_by": "stopped by",
    "failed_at": "rounds of verification, by where they failed",
    "rounds": "what rounds came to",
    "plans": "the planner's answers",
}
_PERCENTILES = ("p50", "p90", "max")
_COUNTED = {
    "model_calls": "model",
    "tokens_in": "in",
    "tokens_out": "out",
    "tool_calls": "tools",
    "tool_errors": "errors",
    "bad_arguments": "bad args",
    "retried": "retried",
    "failed": "failed",
}


def told(name: str, data: Mapping[str, Any]) -> str:
    """`data` is that of `stats --json`."""
    width = max(40, shutil.get_terminal_size((100, 24)).columns)
    return "\n".join(_lines(name, data, width)).rstrip()


def _lines(name: str, data: Mapping[str, Any], width: int) -> Iterator[str]:
    yield f"{name}: {data['runs']} run{'s' * (data['runs'] != 1)}"
    for part, title in _CHARTS.items():
        yield from _chart(title, data[part], width)
    yield from _runs(data, width)
    yield from _stages(data["stages"], width)
    seconds = {stage: row["seconds"]["total"] for stage, row in data["stages"].items()}
    yield from _chart("where the seconds go", seconds, width)
    if data["how_to_read"]:
        yield "\nhow to read it"
        for line in data["how_to_read"]:
            yield from wrap(line, width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def _chart(title: str, counts: Mapping[str, float], width: int) -> Iterator[str]:
    if counts:
        yield f"\n{title}"
        yield from (f"  {line}" for line in bars(counts, width=width - 2, plain=_plain()))


def _plain() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").replace("_", "") != "utf8"


def _runs(data: Mapping[str, Any], width: int) -> Iterator[str]:
    spreads = {**data["spread"], "steps of the plan": data["plan_steps"]}
    names = (*_PERCENTILES, "mean", "total")
    rows = [
        (figure.replace("_", " "), *(shown(of[name]) for name in names)) for figure, of in spreads.items() if of["max"]
    ]
    if rows:
        yield ""
        yield table(("a run", *names), rows, width=width, right=set(range(1, 6))).rstrip()


def _stages(stages: Mapping[str, Any], width: int) -> Iterator[str]:
    """In two tables, since one is wider than most terminals."""
    if not stages:
        return
    header = ("a visit", "visits", *(f"s {name}" for name in _PERCENTILES), *(f"turns {name}" for name in _PERCENTILES))
    rows = []
    for stage, row in stages.items():
        of = (row[figure][name] for figure in ("seconds", "turns") for name in _PERCENTILES)
        rows.append((stage, *map(shown, (row["visits"], *of))))
    yield ""
    yield table(header, rows, width=width, right=set(range(1, len(header)))).rstrip()
    rows = [(stage, *(shown(row[name]) for name in _COUNTED)) for stage, row in stages.items()]
    yield ""
    yield table(("all visits", *_COUNTED.values()), rows, width=width, right=set(range(1, 1 + len(_COUNTED)))).rstrip()
