"""What a run cost and where it failed, from its journal alone: nothing extra is taken down while it runs.

The rule: a figure is counted from records or worked out from the state that they fold to; what neither says is not
guessed. Of a graph that is not ours only what every run has is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

FUSES = (
    ("turns", "turns are spent"),
    ("rounds", "the rounds are spent"),
    ("replans", "the replans are spent"),
    ("retries", "retries are spent"),
    ("not converging", "not converging"),
    ("no valid plan", "no valid plan"),
    ("dead end again", "repeats one that has failed"),
    ("a person", "a person gave up"),
    ("an error", " failed: "),
)
"""Which words in the reason of the last step name what ended a run; the first that is found."""


@dataclass(kw_only=True)
class StageUse:
    """All visits of one stage in a run. `seconds` has one item a visit; `retried`: attempts after the first."""

    seconds: list[float] = field(default_factory=list)
    turns: int = 0
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    retried: int = 0
    failed: int = 0

    @property
    def visits(self) -> int:
        return len(self.seconds)


@dataclass(kw_only=True)
class RunMetrics:
    """One run. `layers`: failed rounds of verification by the layer that failed, "passed" for the others.

    `plans` counts what became of the planner's answers, `kinds` what a round came to (PASS, PARTIAL ...).
    """

    run: str
    workflow: str
    outcome: str
    day: str
    reason: str = ""
    fuse: str = ""
    steps: int = 0
    replans: int = 0
    retries: int = 0
    plan_steps: int = 0
    bad_arguments: int = 0
    stages: dict[str, StageUse] = field(default_factory=dict)
    layers: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    plans: Counter[str] = field(default_factory=Counter)

    def total(self, name: str) -> float:
        """The sum of a figure of `StageUse` over all stages."""
        return sum(sum(use.seconds) if name == "seconds" else getattr(use, name) for use in self.stages.values())


def metrics_of(run: str, workflow: str, records: Iterable[Mapping[str, Any]], raw: Mapping[str, Any]) -> RunMetrics:
    """The metrics of a run whose records fold to the raw state."""
    told = list(records)
    day = datetime.fromtimestamp(told[0]["time"], UTC).date().isoformat()
    found = RunMetrics(run=run, workflow=workflow, outcome=raw["stage"], day=day, reason=raw["route_reason"])
    found.steps = raw["steps"]
    for record in told:
        if "seconds" in record:
            _visit(found, record)
    found.fuse = next((name for name, words in FUSES if words in found.reason), "")
    if workflow == "research":
        _of_research(found, raw)
    elif workflow == "repair":
        _of_repair(found, raw)
    return found


def _visit(found: RunMetrics, record: Mapping[str, Any]) -> None:
    use = found.stages.setdefault(record["stage"], StageUse())
    tokens, tools = record.get("tokens", (0, 0)), record.get("tools", ())
    use.seconds.append(record["seconds"])
    use.turns += record.get("turns", 0)
    use.model_calls += record.get("model_calls", 0)
    use.tokens_in += tokens[0]
    use.tokens_out += tokens[1]
    use.tool_calls += len(tools)
    use.tool_errors += sum(not _went_well(tool) for tool in tools)
    use.retried += max(0, record.get("attempts", 1) - 1)
    use.failed += record["type"] == "failed"
    found.bad_arguments += sum("bad arguments" in tool[1] for tool in tools)
    for note in record.get("notes", ()):
        found.plans["invalid"] += note.startswith("invalid plan")
        found.plans["repeated"] += note.startswith("the plan repeats a dead end")


def _went_well(tool: Any) -> bool:
    return str(tool[1]).startswith("allowed") and not (len(tool) > 2 and tool[2])


def _of_research(found: RunMetrics, raw: Mapping[str, Any]) -> None:
    """Verdicts are told by what is recorded in them, as the state works them out."""
    found.replans = raw["replans"]
    found.retries = sum(one["attempt"] > 0 for one in raw["results"])
    found.plan_steps = len(raw["plan"]["steps"]) if raw["plan"] else 0
    found.plans["made"] += raw["plan_no"]
    for verdict in raw["verdicts"]:
        said = Counter(item["status"] for item in verdict["items"])
        met = said["satisfied"] / said.total() if said else 0.0
        if verdict["layer"] != "goal" or said["violated"] or not said:
            kind = "FAIL"
        elif said["unknown"] or verdict["disputed"]:
            kind = "UNKNOWN"
        else:
            kind = "PASS" if met >= 0.8 else "PARTIAL"
        found.kinds["BLOCKED" if verdict["needs"] else kind] += 1
        found.layers["passed" if kind == "PASS" else verdict["layer"]] += 1


def _of_repair(found: RunMetrics, raw: Mapping[str, Any]) -> None:
    """A verification fails at the guard, at what is visible, or at the held-out tests."""
    found.retries = raw["retries"]
    found.plans["made"] += len(raw["former_plans"]) + bool(raw["plan"]) + len(raw["repairs"])
    for one in raw["verifications"]:
        rulings = {check["ruling"] for check in one["checks"]}
        if one["findings"]:
            layer = "guard"
        elif rulings == {"pass"} and one["holdout"] in ("none", "pass"):
            layer = "passed"
        else:
            layer = "held-out tests" if one["holdout"] == "fail" else "tests"
        unknown = layer == "tests" and "fail" not in rulings
        found.layers[layer] += 1
        found.kinds["PASS" if layer == "passed" else "UNKNOWN" if unknown else "FAIL"] += 1
