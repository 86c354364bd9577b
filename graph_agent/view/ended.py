"""What stopped a run: which of its fuses, a person, an error, or its process.

The rule: the type of a record speaks before the words of its reason, and of a reason only its beginning counts, since
further on it may quote a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from graph_agent.runtime.fold import STEPS, Folded

FUSES = {
    "turns": r"\d+ of \d+ turns are spent",
    "rounds": "the rounds are spent",
    "replans": "the replans are spent",
    "retries": r"\d+ of \d+ retries are spent",
    "not converging": "not converging",
    "no valid plan": "no valid (plan|repair): ",
    "dead end again": "the new plan repeats one that has failed",
    "a person": "a person gave up|a person wants the answer as far as it goes",
}
"""How a reason begins that names what stopped one of our runs, after the counters that may stand before it."""
_COUNTERS = re.compile(r"rounds \d+/\d+, replans \d+/\d+, cursor \d+/\d+, score \S+: ")
_BY_TYPE = {"limit": "turns", "failed": "an error", "doubt": "a doubt"}


def stands(folded: Folded) -> str:
    """The end or the pause where it stands; "" under way."""
    stage = str(folded.raw["stage"])
    return stage if folded.shape["stages"].get(stage) in ("an end", "a pause") else ""


def ended_by(
    records: Iterable[Mapping[str, Any]], folded: Folded, *, ours: bool = True, most_steps: int | None = None
) -> str:
    """What stopped it where it stands; "" where it went its way. `ours`: the words of its reasons are known."""
    steps = [record for record in records if record["type"] in STEPS]
    if not stands(folded):
        if steps and steps[-1].get("stopped"):
            return _BY_TYPE.get(steps[-1]["type"], "an error")
        # no record says so: the last fuse ends a call, not the run
        return "the last fuse" if most_steps is not None and folded.raw["steps"] >= most_steps else "cut short"
    reason = folded.raw["route_reason"]
    for record in reversed(steps):
        if record.get("stopped"):
            continue
        if record["reason"] != reason:  # a node that only wraps up carries the reason on
            break
        if record["type"] in _BY_TYPE:
            return _BY_TYPE[record["type"]]
    return fuse_of(reason) if ours else ""


def fuse_of(reason: str) -> str:
    """The fuse that a reason of ours names; "" for none."""
    said = _COUNTERS.sub("", reason, count=1) if _COUNTERS.match(reason) else reason
    return next((name for name, words in FUSES.items() if re.match(words, said)), "")
