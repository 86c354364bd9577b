"""List all runs, the newest first: where each stands and why, what it spent, when it began, and who holds it."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import DONE
from graph_agent.cli.kept import WORKFLOWS, add_place_options, newest_first
from graph_agent.cli.printing import print_json
from graph_agent.cli.runfolder import runs_folder
from graph_agent.runtime.errors import JournalError
from graph_agent.runtime.lock import holder
from graph_agent.runtime.reading import read_run
from graph_agent.view.steps import table

MOST_WHY = 60  # characters
_HEADER = ("run", "workflow", "stage", "steps", "turns", "began", "held by", "why")


def add_options(parser: argparse.ArgumentParser) -> None:
    add_place_options(parser)


def run(options: argparse.Namespace) -> int:
    runs = runs_folder(options.run_dir)
    found = [_row(folder) for folder in newest_first(runs)]
    if options.json:
        print_json({"folder": str(runs), "runs": [asdict(one) for one in found]})
    elif found:
        rows = [
            (
                *map(str, (one.run, one.workflow, one.stage, one.steps, one.turns)),
                one.began,
                one.held_by or "-",
                one.why,
            )
            for one in found
        ]
        print(table(_HEADER, rows, width=shutil.get_terminal_size((160, 24)).columns, right={3, 4}).rstrip())
    else:
        print(f"there is no run in {runs}")
    return DONE


@dataclass(frozen=True, kw_only=True)
class Row:
    run: str
    workflow: str
    stage: str
    steps: int = 0
    turns: int = 0
    began: str = "-"
    held_by: str | None = None
    why: str = ""


def _row(folder: Path) -> Row:
    try:
        records, folded, _ = read_run(folder)
    except (JournalError, OSError) as error:
        return Row(run=folder.name, workflow="-", stage="DAMAGED", why=_short(str(error)))
    raw, began = folded.raw, records[0]["time"]
    return Row(
        run=folder.name,
        workflow=WORKFLOWS.get(str(folded.header["workflow"]), str(folded.header["workflow"])),
        stage=raw["stage"],
        steps=raw["steps"],
        turns=raw["spent_turns"],
        began=_moment(began),
        held_by=holder(folder / "lock"),
        why=_short(raw["route_reason"]),
    )


def _moment(seconds: Any) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="minutes")[:16]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_WHY else f"{line[: MOST_WHY - 3]}..."
