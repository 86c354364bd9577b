"""Say where a run stands, why, since when, what it has spent, and what it asks. It only reads.

A run that waits for a person is shown with an `answer` command for each answer that makes sense; the last line is the
command that goes on.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from graph_agent.cli.desk import Told, desk_of
from graph_agent.cli.exits import DONE
from graph_agent.cli.kept import WORKFLOWS, Kept, SetupError, add_run_options, kept_run
from graph_agent.cli.outcome import Outcome
from graph_agent.cli.printing import Way, print_json, visible, way_data, way_lines
from graph_agent.runtime.answer import pause_id, question
from graph_agent.runtime.errors import RunMisfit
from graph_agent.runtime.fold import STEPS
from graph_agent.runtime.lock import holder


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    if kept.dropped:
        print(visible(f"graph_agent: not read: {kept.dropped}"), file=sys.stderr)
    standing = _standing(options, kept)
    if options.json:
        print_json(_data(kept, standing))
    else:
        print(visible(_text(kept, standing)))
    return DONE


@dataclass(frozen=True, kw_only=True)
class Standing:
    """`asks`: the question of a pause, `told`: what its workflow has to say.

    `ways`: how to go on, the likeliest last, unless a process works on it now.
    """

    held_by: str | None
    pause: str = ""
    asks: str = ""
    told: Told = field(default_factory=Told)
    warnings: list[str] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)


def _standing(options: argparse.Namespace, kept: Kept) -> Standing:
    """A run that this command line can't go on with is shown too, by what its records say."""
    held_by = holder(kept.folder / "lock")
    raw, asked = kept.folded.raw, kept.folded.asked
    pause, asks = (f"{raw['task_id']}:{raw['steps']}", str(asked["text"])) if asked else ("", "")
    plain = Standing(held_by=held_by, pause=pause, asks=asks)
    if kept.folded.header["workflow"] not in WORKFLOWS:
        return replace(plain, warnings=["it is a run of a graph of your own: go on with it in Python, with resume"])
    try:
        state, desk = kept.state, desk_of(options, kept)
    except (SetupError, RunMisfit) as error:
        return replace(plain, warnings=[str(error)])
    outcome, told = Outcome(desk.graph, state), desk.told(state)
    return Standing(
        held_by=held_by,
        pause=pause_id(state) if outcome.waits else "",
        asks=question(desk.graph, state).text if outcome.waits else "",
        told=told,
        warnings=told.warnings,
        ways=[] if held_by else desk.ways(outcome, brief=False),
    )


def _status(kept: Kept, standing: Standing) -> str:
    if standing.held_by:
        return f"running now, by {standing.held_by}"
    kind = kept.folded.shape["stages"].get(kept.folded.raw["stage"], "")
    return {"an end": "over", "a pause": "waiting for a person"}.get(kind, "stopped under way")


def _since(kept: Kept) -> str:
    """When it came to where it stands, by the clock of that day, with its offset."""
    last = [record for record in kept.records if record["type"] in STEPS] or [kept.records[0]]
    moment: Any = last[-1]["time"]
    return datetime.fromtimestamp(moment).astimezone().isoformat(sep=" ", timespec="seconds")


def _calls(kept: Kept) -> dict[str, int]:
    """Calls of models and their tokens, in the records that there are."""
    records: Any = kept.records
    tokens = [record["tokens"] for record in records if "tokens" in record]
    return {
        "model_calls": sum(record.get("model_calls", 0) for record in records),
        "tokens_in": sum(one[0] for one in tokens),
        "tokens_out": sum(one[1] for one in tokens),
    }


def _text(kept: Kept, standing: Standing) -> str:
    raw, calls = kept.folded.raw, _calls(kept)
    came_from = f", entered from {raw['came_from']}" if raw.get("came_from") else ""
    limit = "" if raw["max_turns"] is None else f" of {raw['max_turns']}"
    lines = [
        f"{kept.folder.name}: {_status(kept, standing)}, at {raw['stage']}{came_from}",
        f"why: {raw['route_reason'] or 'it has only begun'}",
        f"since: {_since(kept)}",
        f"spent: {raw['steps']} steps, {raw['spent_turns']}{limit} turns{standing.told.spent}",
    ]
    if calls["model_calls"]:
        lines.append("models: {model_calls} calls, {tokens_in} tokens in, {tokens_out} out".format(**calls))
    lines += [f"warning: {text}" for text in standing.warnings]
    lines.append(f"kept in {kept.folder}")
    if standing.pause:
        lines.append(f"it asks (pause {standing.pause}): {standing.asks}")
    lines += standing.told.lines
    return "\n  ".join([*lines, *way_lines(standing.ways)])


def _data(kept: Kept, standing: Standing) -> dict[str, Any]:
    raw = kept.folded.raw
    return {
        "run": kept.folder.name,
        "folder": str(kept.folder),
        "workflow": WORKFLOWS.get(str(kept.folded.header["workflow"]), kept.folded.header["workflow"]),
        "status": _status(kept, standing),
        "held_by": standing.held_by,
        **{name: raw[name] for name in ("stage", "came_from", "steps", "spent_turns", "max_turns")},
        "reason": raw["route_reason"],
        "since": _since(kept),
        **_calls(kept),
        "asks": {"pause": standing.pause, "text": standing.asks} if standing.pause else None,
        "warnings": standing.warnings,
        "next": way_data(standing.ways),
    }
