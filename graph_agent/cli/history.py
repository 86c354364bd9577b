"""Show the state of a run after a step, or, with --to, what differs between two of them. Step 0 is how it began."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.kept import Kept, add_run_options, kept_run
from graph_agent.cli.printing import print_json, visible
from graph_agent.protocols import Json
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.fold import at_step
from graph_agent.runtime.jsontext import dumps


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    add = parser.add_argument
    add("--at", type=int, required=True, metavar="N", help="the step")
    add("--to", type=int, metavar="M", help="a second step: show what differs")
    add("--field", metavar="NAME", help="this field alone")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    before = _state(kept, options.at, options.field)
    if options.to is None:
        if options.json:
            print_json({"run": kept.folder.name, "step": options.at, "state": before})
        else:
            print(visible("\n".join(f"{name} = {dumps(value)}" for name, value in before.items())))
        return DONE
    differences = list(_differences(kept, before, _state(kept, options.to, options.field)))
    if options.json:
        print_json({"run": kept.folder.name, "from": options.at, "to": options.to, "changed": differences})
    else:
        print(visible("\n".join(map(_told, differences)) or "nothing differs"))
    return DONE


def _state(kept: Kept, step: int, field: str | None) -> dict[str, Any]:
    _, raw = at_step(kept.records, kept.folder.name, step)
    if field is None:
        return raw
    if field not in raw:
        raise UsageError(f"--field {field!r}: the state has no such field{nearest(field, raw)}")
    return {field: raw[field]}


def _differences(kept: Kept, before: dict[str, Any], after: dict[str, Any]) -> Iterator[dict[str, Json]]:
    """Of a field that only grows, the items that were added (or, backwards, that were not there yet)."""
    for name, new in after.items():
        old = before.get(name)
        if new == old:
            continue
        if name in kept.folded.appended and isinstance(old, list):
            added, gone = new[len(old) :], old[len(new) :]
            yield {"field": name, **({"added": added} if added else {"not_yet": gone})}
        else:
            yield {"field": name, "before": old, "after": new}


def _told(change: dict[str, Any]) -> str:
    name = change["field"]
    if "added" in change:
        return "\n".join(f"{name} + {dumps(item)}" for item in change["added"])
    if "not_yet" in change:
        return "\n".join(f"{name} - {dumps(item)}" for item in change["not_yet"])
    return f"{name}: {dumps(change['before'])} -> {dumps(change['after'])}"
