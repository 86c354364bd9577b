"""Tell what runs cost and where they failed: one run, several, or all; from their journals alone.

Percentiles stand beside means, since one long run hides in a mean. Under the figures stands how to read them. A run
whose journal is damaged is named and left out.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import DONE
from graph_agent.cli.kept import WORKFLOWS, add_place_options, folder_of, newest_first
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.runfolder import runs_folder
from graph_agent.runtime.errors import JournalError
from graph_agent.runtime.reading import read_run
from graph_agent.view.metrics import RunMetrics, metrics_of
from graph_agent.view.spread import bars, spread
from graph_agent.view.steps import table

WHOLE = ("seconds", "turns", "model_calls", "tokens_in", "tokens_out", "tool_calls", "tool_errors")
OF_A_RUN = ("steps", "replans", "retries")
NOTABLE = 0.2
"""The share of runs, or rounds, from which on a line says how to read it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="names of runs, or last (default: all)")
    parser.add_argument(
        "--by", choices=("workflow", "outcome", "day"), default="workflow", help="how to group (workflow)"
    )
    parser.add_argument("--csv", action="store_true", help="a line a run, for a spreadsheet")
    add_place_options(parser)


def run(options: argparse.Namespace) -> int:
    found, damaged = _read(_folders(options))
    for name, why in damaged:
        print(visible(f"graph_agent: left out: {name}: {why}"), file=sys.stderr)
    groups = _grouped(found, options.by)
    if options.json:
        data = {name: _data(some) for name, some in groups.items()}
        left = [{"run": name, "why": why} for name, why in damaged]
        print_json({"by": options.by, "groups": data, "left_out": left})
    elif options.csv:
        _write_csv(found)
    elif not found:
        print(f"there is no run in {runs_folder(options.run_dir)}")
    else:
        print(visible("\n\n".join("\n".join(_told(name, some)) for name, some in groups.items())))
    return DONE


def _folders(options: argparse.Namespace) -> list[Path]:
    """Raises `RunAbsent` for a name that is none."""
    if not options.runs:
        return newest_first(runs_folder(options.run_dir))
    return [folder_of(argparse.Namespace(run=name, run_dir=options.run_dir)) for name in options.runs]


def _read(folders: Iterable[Path]) -> tuple[list[RunMetrics], list[tuple[str, str]]]:
    found, damaged = [], []
    for folder in folders:
        try:
            records, folded, _ = read_run(folder)
        except (JournalError, OSError) as error:
            damaged.append((folder.name, str(error)))
            continue
        name = str(folded.header["workflow"])
        found.append(metrics_of(folder.name, WORKFLOWS.get(name, name), records, folded.raw))
    return found, damaged


def _grouped(found: Sequence[RunMetrics], by: str) -> dict[str, list[RunMetrics]]:
    names = sorted({getattr(one, by) for one in found})
    return {name: [one for one in found if getattr(one, by) == name] for name in names}


def _figures(some: Sequence[RunMetrics]) -> dict[str, list[float]]:
    whole = {name: [one.total(name) for one in some] for name in WHOLE}
    return {name: [getattr(one, name) for one in some] for name in OF_A_RUN} | whole


def _sum(counters: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counters:
        total.update(one)
    return {name: count for name, count in total.most_common() if count}


def _data(some: Sequence[RunMetrics]) -> dict[str, Any]:
    return {
        "runs": len(some),
        "outcomes": _sum(Counter([one.outcome]) for one in some),
        "ended_by": _sum(Counter([one.fuse]) for one in some if one.fuse),
        "spread": {name: asdict(spread(figures)) for name, figures in _figures(some).items()},
        "stages": dict(_stages(some)),
        "failed_at": _sum(one.layers for one in some),
        "rounds": _sum(one.kinds for one in some),
        "plans": _sum(one.plans for one in some),
        "plan_steps": asdict(spread(one.plan_steps for one in some if one.plan_steps)),
        "bad_arguments": sum(one.bad_arguments for one in some),
        "how_to_read": list(_reading(some)),
    }


def _stages(some: Sequence[RunMetrics]) -> Iterator[tuple[str, dict[str, Any]]]:
    for stage in dict.fromkeys(stage for one in some for stage in one.stages):
        uses = [one.stages[stage] for one in some if stage in one.stages]
        seconds = spread(figure for use in uses for figure in use.seconds)
        sums = {name: sum(getattr(use, name) for use in uses) for name in (*WHOLE[1:], "retried", "failed")}
        yield stage, {"visits": seconds.count, "seconds": asdict(seconds), **sums}


def _told(name: str, some: Sequence[RunMetrics]) -> Iterator[str]:
    plain, width = _plain(), shutil.get_terminal_size((120, 24)).columns
    yield f"{name}: {len(some)} run{'s' * (len(some) != 1)}"
    yield from _chart("ended at", _sum(Counter([one.outcome]) for one in some), plain)
    yield from _chart("ended by", _sum(Counter([one.fuse]) for one in some if one.fuse), plain)
    yield from _chart("rounds of verification, by where they failed", _sum(one.layers for one in some), plain)
    yield from _chart("what rounds came to", _sum(one.kinds for one in some), plain)
    yield from _chart("the planner's answers", _sum(one.plans for one in some), plain)
    rows = []
    for figure, figures in _figures(some).items():
        of = spread(figures)
        rows.append((figure.replace("_", " "), *map(_number, (of.p50, of.p90, of.most, of.mean))))
    yield ""
    yield table(("a run", "p50", "p90", "most", "mean"), rows, width=width, right={1, 2, 3, 4}).rstrip()
    rows = []
    for stage, row in _stages(some):
        of_visit = (row["seconds"][name] for name in ("p50", "p90", "most"))
        counted = (
            row[name] for name in ("turns", "model_calls", "tokens_in", "tokens_out", "tool_calls", "tool_errors")
        )
        rows.append((stage, *map(_number, (row["visits"], *of_visit, *counted, row["failed"]))))
    header = ("stage", "visits", "s p50", "s p90", "s most", "turns", "model", "in", "out", "tools", "errors", "failed")
    yield ""
    yield table(header, rows, width=width, right=set(range(1, len(header)))).rstrip()
    seconds = {stage: row["seconds"]["total"] for stage, row in _stages(some)}
    yield from _chart("where the seconds go", {stage: round(took, 3) for stage, took in seconds.items()}, plain)
    reading = list(_reading(some))
    if reading:
        yield "\nhow to read it:"
        yield from (f"- {line}" for line in reading)


def _chart(title: str, counts: dict[str, Any], plain: bool) -> Iterator[str]:
    if counts:
        yield f"\n{title}"
        yield from (f"  {line}" for line in bars(counts, plain=plain))


def _plain() -> bool:
    return "utf" not in (getattr(sys.stdout, "encoding", "") or "").lower()


def _number(figure: float) -> str:
    return f"{figure:.3g}" if figure < 1000 else f"{figure:.0f}"


def _reading(some: Sequence[RunMetrics]) -> Iterator[str]:
    """Only what applies to these figures."""
    ended = Counter(one.fuse for one in some)
    rounds = Counter(_sum(one.layers for one in some))
    failed = rounds.total() - rounds["passed"]
    kinds = Counter(_sum(one.kinds for one in some))
    for fuse, text in _OF_FUSES.items():
        if ended[fuse] / len(some) >= NOTABLE:
            yield f"{ended[fuse]} of {len(some)} runs ended by {fuse}: {text}"
    for layer, text in _OF_LAYERS.items():
        if failed and rounds[layer] / failed >= NOTABLE:
            yield f"{rounds[layer]} of {failed} failed rounds failed at {layer}: {text}"
    if kinds.total() and kinds["UNKNOWN"] / kinds.total() >= NOTABLE:
        yield f"{kinds['UNKNOWN']} of {kinds.total()} rounds could not be told: the judge, or the tests, can't be read"
    invalid = sum(one.plans["invalid"] for one in some)
    if invalid:
        yield f"{invalid} plans were invalid: the planner's schema, or its list of tools, is not understood"
    errors = sum(one.total("tool_errors") for one in some)
    calls = sum(one.total("tool_calls") for one in some)
    if calls and errors / calls >= NOTABLE:
        yield f"{errors:.0f} of {calls:.0f} tool calls failed: a description misleads, or what it reads has moved"


_OF_FUSES = {
    "replans": "if the share rises, the tasks or a tool have changed",
    "not converging": "new plans fail as the old ones did: look at the planner's prompt, or at what the tools can find",
    "rounds": "steps are tried again too often: look at why single rounds fail",
    "retries": "first attempts are far off: look at what DIAGNOSE shows",
    "turns": "the budget is too small for these tasks, or a node calls too often",
    "dead end again": "the planner has no other idea: give it other tools, or a hint in the goal",
    "no valid plan": "the planner's model is too weak for the schema",
    "an error": "a model or a tool can't be reached: see `doctor`",
}
_OF_LAYERS = {
    "structure": "results without citations: a tool that returns nothing, or a prompt that is not followed",
    "evidence": "quotes or numbers that are not there: the model writes from memory",
    "goal": "results well founded and beside the point: criteria too fine, or a plan that asks the wrong thing",
    "guard": "edits that quiet a test: the model is after the metric",
    "held-out tests": "what is visible is fitted, not mended: the tests say too little",
}


def _write_csv(found: Sequence[RunMetrics]) -> None:
    names = ("run", "workflow", "outcome", "day", "fuse", "steps", "replans", "retries", "bad_arguments")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*names, *WHOLE])
    for one in found:
        writer.writerow([*(getattr(one, name) for name in names), *(f"{one.total(name):g}" for name in WHOLE)])
