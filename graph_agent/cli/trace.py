"""List the steps of a run, a line a step: step | stage -> stage | turns | reason.

With --all also what stands between them: when a node with effects began, what was asked, when the world was looked at.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from graph_agent.cli.exits import DONE
from graph_agent.cli.kept import add_run_options, kept_run
from graph_agent.cli.printing import print_json, visible
from graph_agent.runtime.events import step_line
from graph_agent.runtime.fold import STEPS


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--all", action="store_true", help="the facts between the steps too, and when it was")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    if kept.dropped:
        print(visible(f"graph_agent: not read: {kept.dropped}"), file=sys.stderr)
    records: Any = [record for record in kept.records if options.all or record["type"] in STEPS]
    if options.json:
        print_json({"run": kept.folder.name, "records": [_data(record) for record in records]})
    else:
        print("\n".join(visible(line) for line in _lines(records, options.all)))
    return DONE


def _lines(records: Iterable[dict[str, Any]], with_times: bool) -> Iterable[str]:
    for record in records:
        line = _step(record) if record["type"] in STEPS else f"    | {_fact(record)}"
        yield f"{_moment(record['time'])} {line}" if with_times else line.replace("\n", " ")


def _step(record: dict[str, Any]) -> str:
    kind, stage = record["type"], record.get("stage", "")
    if kind == "limit_raised":
        return f"{record['step']:3} | max_turns is {record['patch']['max_turns']} now"
    to = "stopped" if record.get("stopped") else record["to"]
    said = {"answered": "a person answers: ", "doubt": "on resume: "}.get(kind, "")
    return step_line(record["step"], stage, to, record.get("turns", 0), said + record["reason"])


def _fact(record: dict[str, Any]) -> str:
    match record["type"]:
        case "header":
            parent = record.get("parent")
            fork = f" as a fork of {parent['run']}" if parent else ""
            return f"begun{fork}, at {record['state']['stage']}"
        case "started":
            return f"{record['stage']} begins, which has effects (key {record['key']})"
        case "asked":
            return f"asked (pause {record['pause']}): {record['text']}"
        case "checked":
            return f"the world was looked at: {', '.join(record['facts'])}{_problem(record)}"
        case "forked":
            return f"forked here: goes on as {record['task_id']}"
        case "migrated":
            return f"migrated: {', '.join(record['steps'])}"
    return str(record["type"])


def _problem(record: dict[str, Any]) -> str:
    return f"; {record['problem']}" if record["problem"] else "; as recorded"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="milliseconds")


def _data(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("state", "shape", "patch", "about")}
