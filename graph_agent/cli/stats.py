"""Tell what runs cost and where they failed: one run, several, or all; from their journals alone.

Percentiles stand beside means, since one long run hides in a mean. Under the figures stands how to read those that
stand out. A run whose journal is damaged is named and left out. Exit codes: 0 told, 1 there was nothing to be read.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.kept import WORKFLOWS, Kept, add_place_options, folder_of, newest_first
from graph_agent.cli.options import most_steps
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.research_setup import most_research_steps
from graph_agent.cli.runfolder import runs_folder
from graph_agent.cli.stats_text import told
from graph_agent.runtime.errors import JournalError, RunMisfit
from graph_agent.runtime.lock import holder
from graph_agent.runtime.reading import read_run
from graph_agent.view.advice import reading
from graph_agent.view.metrics import SUMS, RunMetrics, metrics_of
from graph_agent.view.spread import spread

OF_A_RUN = ("steps", "replans", "retries")
OF_STAGES = ("seconds", "turns", *SUMS)
KINDS = ("PASS", "PARTIAL", "FAIL", "UNKNOWN", "BLOCKED")
_MOST_STEPS: dict[str, Callable[[Any], int]] = {"repair": most_steps, "research": most_research_steps}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="names of runs, or last (default: all)")
    parser.add_argument(
        "--by", choices=("workflow", "outcome", "day"), default="workflow", help="how to group (workflow); days in UTC"
    )
    parser.add_argument("--csv", action="store_true", help="a line a run, for a spreadsheet")
    add_place_options(parser)


def run(options: argparse.Namespace) -> int:
    if options.csv and options.json:
        raise UsageError("--csv and --json: give one of them")
    folders = _folders(options)
    notes: list[str] = []
    found, damaged = _read(folders, notes)
    for text in (*(f"left out: {name}: {why}" for name, why in damaged.items()), *notes):
        print(visible(f"graph_agent: {text}"), file=sys.stderr)
    groups = _grouped(found, options.by)
    if options.json:
        data = {name: data_of(some) for name, some in groups.items()}
        left = [{"run": name, "why": why} for name, why in damaged.items()]
        print_json({"by": options.by, "groups": data, "left_out": left, "notes": notes})
    elif options.csv:
        _write_csv(found)
    elif found:
        print(visible("\n\n\n".join(told(name, data_of(some)) for name, some in groups.items())))
    elif not damaged:
        print(f"there is no run in {runs_folder(options.run_dir)}")
    return FAILED if damaged and not found else DONE


def data_of(some: Sequence[RunMetrics]) -> dict[str, Any]:
    """What is told of a group of runs."""
    per_run = {name: [getattr(one, name) for one in some] for name in OF_A_RUN}
    per_run |= {name: [one.total(name) for one in some] for name in OF_STAGES}
    return {
        "runs": len(some),
        "outcomes": _sum(Counter([one.outcome]) for one in some),
        "stopped_by": _sum(Counter([one.fuse]) for one in some if one.fuse),
        "spread": {name: asdict(spread(figures)) for name, figures in per_run.items()},
        "stages": dict(_stages(some)),
        "failed_at": _sum(one.rounds.layers for one in some),
        "rounds": _sum(one.rounds.kinds for one in some),
        "plans": _sum(one.plans for one in some),
        "plan_steps": asdict(spread(one.plan_steps for one in some if one.plan_steps)),
        "how_to_read": list(reading(some)),
    }


def _folders(options: argparse.Namespace) -> list[Path]:
    """Each once. Raises `RunAbsent` for a name that is none."""
    if not options.runs:
        return newest_first(runs_folder(options.run_dir))
    named = (folder_of(argparse.Namespace(run=name, run_dir=options.run_dir)) for name in options.runs)
    return list(dict.fromkeys(named))


def _read(folders: Iterable[Path], notes: list[str]) -> tuple[list[RunMetrics], dict[str, str]]:
    """The metrics of those that can be read, and why the others can't."""
    found, damaged = [], {}
    for folder in folders:
        try:
            records, folded, dropped = read_run(folder)
        except (JournalError, OSError) as error:
            damaged[folder.name] = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            continue
        if dropped:
            notes.append(f"{folder.name}: dropped: {dropped}")
        found.append(_metrics(Kept(folder=folder, records=records, folded=folded, dropped=dropped), notes))
    return found, damaged


def _metrics(kept: Kept, notes: list[str]) -> RunMetrics:
    """Only general ones of a graph that is not ours, or whose state is no longer what ours is."""
    name, state, most = str(kept.folded.header["workflow"]), None, None
    if name in WORKFLOWS:
        try:
            state = kept.state
        except RunMisfit as error:
            first = str(error).splitlines()[0].rstrip(":")
            notes.append(f"{kept.folder.name}: only what every run has is told of it: {first}")
        else:
            name = WORKFLOWS[name]
            most = _MOST_STEPS[name](state)
    held = holder(kept.folder / "lock") is not None
    return metrics_of(kept.folder.name, name, kept.records, kept.folded, state, most_steps=most, held=held)


def _grouped(found: Sequence[RunMetrics], by: str) -> dict[str, list[RunMetrics]]:
    groups: dict[str, list[RunMetrics]] = {}
    for one in found:
        groups.setdefault(getattr(one, by), []).append(one)
    return dict(sorted(groups.items()))


def _sum(counters: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counters:
        total.update(one)
    return {name: count for name, count in total.most_common() if count}


def _stages(some: Sequence[RunMetrics]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of one workflow by the stage's name; of several, each with its workflow, since names recur."""
    several = len({one.workflow for one in some}) > 1
    uses: dict[str, list[Any]] = {}
    for one in some:
        for stage, use in one.stages.items():
            uses.setdefault(f"{one.workflow} {stage}" if several else stage, []).append(use)
    for stage, all_ in uses.items():
        seconds = asdict(spread(figure for use in all_ for figure in use.seconds))
        turns = asdict(spread(figure for use in all_ for figure in use.turns))
        sums = {name: sum(getattr(use, name) for use in all_) for name in SUMS}
        yield stage, {"visits": seconds["count"], "seconds": seconds, "turns": turns, **sums}


def _write_csv(found: Sequence[RunMetrics]) -> None:
    names = ("run", "workflow", "outcome", "day", "fuse", *OF_A_RUN, "plan_steps")
    rounds = (f"rounds_{kind.lower()}" for kind in KINDS)
    plans = ("made", "invalid", "repeated")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*names, *(f"plans_{kind}" for kind in plans), *rounds, *OF_STAGES])
    for one in found:
        counted = [*(one.plans[kind] for kind in plans), *(one.rounds.kinds[kind] for kind in KINDS)]
        seconds, *sums = (one.total(name) for name in OF_STAGES)
        writer.writerow([*(getattr(one, name) for name in names), *counted, f"{seconds:.6f}", *sums])
