"""An evaluation as it is printed: the tables, what missed, and what moved against a baseline."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from graph_agent.evals.compare import Change, Comparison
from graph_agent.evals.ran import Ran
from graph_agent.evals.report import Evaluated, PropertyRow, Row, Spread, properties_of, rows_of
from graph_agent.view.steps import table

MOST_TOLD, MOST_WHY = 12, 160

_TIERS = ("workflow", "tier", "tasks", "success", "steps", "turns", "replans", "tokens", "calls", "visible", "held-out")
_PROPERTIES = ("a node ...", "holds", "questions", "not in")


def progress_line(done: int, of: int, ran: Ran) -> str:
    """`[ 3/90] repair/pager 2: held, 7 steps, 1.4 s`."""
    said = "held" if ran.held else f"MISSED, {_short(ran.missed[0])}"
    return f"[{done:{len(str(of))}}/{of}] {ran.task} {ran.repeat}: {said}, {ran.steps} steps, {ran.seconds:.1f} s"


def report_text(now: Evaluated) -> str:
    width = shutil.get_terminal_size((140, 24)).columns
    rows, properties = rows_of(now), properties_of(now)
    held = sum(one.held for one in now.runs)
    blocks = [
        f"{held} of {len(now.runs)} runs end as they must: {len(now.tasks)} tasks, each run {_times(now.repeat)}, "
        f"model: {now.model}",
        _tiers(rows, width) if rows else "",
        _properties(properties, width) if properties else "",
        _missed(now),
    ]
    return "\n\n".join(block.rstrip() for block in blocks if block)


def comparison_text(found: Comparison, baseline: str) -> str:
    lines = [f"against {baseline}: {len(found.better)} better, {len(found.worse)} worse, {found.same} tasks the same"]
    if len(set(found.models)) > 1:
        lines.append(f"the model was {found.models[0]} then and is {found.models[1]} now")
    for title, changes in (("worse", found.worse), ("better", found.better)):
        lines += [_change(title, one) for one in changes]
    for words, names in (
        ("not compared, for the task is not what it was", found.changed),
        ("not run now", found.gone),
        ("not in the baseline", found.new),
    ):
        if names:
            lines.append(f"{words}: {_some(names)}")
    return "\n".join(lines)


def _tiers(rows: Sequence[Row], width: int) -> str:
    cells = [
        (
            row.workflow,
            str(row.tier),
            f"{row.tasks}{f' ({row.scripted} scripted)' if row.scripted else ''}",
            f"{row.held}/{row.runs}{_range(row.least, row.most)}",
            *(_spread(row.costs[name]) for name in ("steps", "turns", "replans", "tokens", "calls")),
            _passes(row.visible),
            _passes(row.held_out),
        )
        for row in rows
    ]
    lost = sum(row.broken for row in rows)
    note = (
        "success: runs that end as they must; the rest: medians, with the least and the most of a repeat where those "
        "differ\nreplans: of a repair its retries; calls: questions to the model; held-out: tests whose text no run "
        "gets to see"
    )
    crashed = f"\n{lost} runs crashed or came too late: no figure counts them but success" if lost else ""
    return table(_TIERS, cells, width=width, right=set(range(3, len(_TIERS)))) + note + crashed


def _properties(rows: Sequence[PropertyRow], width: int) -> str:
    cells = [(row.name, f"{row.held}/{row.runs}", _spread(row.calls), _some(row.failing) or "-") for row in rows]
    return table(_PROPERTIES, cells, width=width, right={1, 2})


def _missed(now: Evaluated) -> str:
    lines = [f"missed: {one.run or f'{one.task}, repeat {one.repeat}'}: {_short(one.missed[0])}" for one in now.missed]
    more = [f"and {len(lines) - MOST_TOLD} more, which --json lists"] if len(lines) > MOST_TOLD else []
    return "\n".join([*lines[:MOST_TOLD], *more])


def _change(title: str, change: Change) -> str:
    look = f"; look at {_some(change.runs)}" if change.runs else ""
    why = f" ({_short(change.why)})" if change.why else ""
    return f"  {title}: {change.task}: {change.figure} {change.before} -> {change.now}{why}{look}"


def _spread(one: Spread) -> str:
    spread = f" ({one.least:g}-{one.most:g})" if one.least != one.most else ""
    return f"{one.median:g}{spread}"


def _range(least: float, most: float) -> str:
    return f" ({least:.0%}-{most:.0%})" if least != most else f" ({least:.0%})"


def _passes(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}" if counts[1] else "-"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_WHY else f"{line[: MOST_WHY - 3]}..."
