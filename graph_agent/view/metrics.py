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

from graph_agent.runtime.fold import Folded, fold
from graph_agent.view.ended import ended_by, stands
from graph_agent.view.judged import Rounds, rounds_of

SUMS = ("model_calls", "tokens_in", "tokens_out", "tool_calls", "tool_errors", "bad_arguments", "retried", "failed")


@dataclass(kw_only=True)
class StageUse:
    """All visits of one stage in a run; `seconds` and `turns` have one item a visit.

    `bad_arguments` are among the `tool_errors`. `retried`: attempts after the first. `failed`: visits that the node
    ended with an error.
    """

    seconds: list[float] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    bad_arguments: int = 0
    retried: int = 0
    failed: int = 0

    @property
    def visits(self) -> int:
        return len(self.seconds)

    def total(self, name: str) -> float:
        figure = getattr(self, name)
        return sum(figure) if isinstance(figure, list) else figure


@dataclass(kw_only=True)
class RunMetrics:
    """One run. `outcome`: the end or pause where it stands, or "under way"; `fuse`: what stopped it, "" for nothing.

    `rounds` are those of verification, `plans` what became of the planner's answers: made, invalid, repeated. A fork
    has what came after it was forked. `shortened`: the first steps were compacted, so what they cost is not in here.
    """

    run: str
    workflow: str
    outcome: str
    began: float
    fuse: str = ""
    steps: int = 0
    replans: int = 0
    retries: int = 0
    plan_steps: int = 0
    shortened: bool = False
    stages: dict[str, StageUse] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=Rounds)
    plans: Counter[str] = field(default_factory=Counter)

    @property
    def day(self) -> str:
        """On which it began, in UTC."""
        return datetime.fromtimestamp(self.began, UTC).date().isoformat()

    def total(self, name: str) -> float:
        """The sum of a figure of `StageUse` over all stages."""
        return sum(use.total(name) for use in self.stages.values())


def metrics_of(
    run: str,
    workflow: str,
    records: Iterable[Mapping[str, Any]],
    folded: Folded,
    state: Any = None,
    *,
    most_steps: int | None = None,
    held: bool = False,
) -> RunMetrics:
    """The metrics of the run that the records fold to. `state` is the typed one of a graph that is ours.

    `most_steps`: at how many the last fuse stops it; `held`: a process works on it now.
    """
    told: list[Any] = list(records)
    forked = max((at for at, record in enumerate(told) if record["type"] == "forked"), default=None)
    before = fold(told[: forked + 1], run).raw if forked is not None else {}
    own = told[forked + 1 :] if forked is not None else told
    raw, header = folded.raw, told[0]
    outcome = stands(folded) or "under way"
    found = RunMetrics(run=run, workflow=workflow, outcome=outcome, began=header["time"])
    found.shortened = "compacted" in header
    found.fuse = "" if held else ended_by(told, folded, ours=state is not None, most_steps=most_steps)
    found.steps = raw["steps"] - before.get("steps", 0)
    for record in own:
        if "seconds" in record:
            _visit(found, record)
    if state is not None:
        _ours(found, raw, before)
        found.rounds = rounds_of(state, len(before.get("verdicts", before.get("verifications", ()))))
    return found


def _visit(found: RunMetrics, record: Mapping[str, Any]) -> None:
    use = found.stages.setdefault(record["stage"], StageUse())
    tokens, tools = record.get("tokens", (0, 0)), record.get("tools", ())
    use.seconds.append(record["seconds"])
    use.turns.append(record.get("turns", 0))
    use.model_calls += record.get("model_calls", 0)
    use.tokens_in += tokens[0]
    use.tokens_out += tokens[1]
    use.tool_calls += len(tools)
    use.tool_errors += sum(not _went_well(*tool) for tool in tools)
    use.bad_arguments += sum("bad arguments" in verdict for _, verdict, _ in tools)
    use.retried += record.get("attempts", 1) - 1
    use.failed += record["type"] == "failed"
    for note in record.get("notes", ()):
        found.plans["invalid"] += note.startswith("invalid plan: ")
        found.plans["repeated"] += note.startswith("the plan repeats a dead end")


def _went_well(_: str, verdict: str, error: str) -> bool:
    return verdict.startswith("allowed") and not error


def _ours(found: RunMetrics, raw: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """What a repair or a research keeps of its plans and of what was tried again."""
    found.replans = raw.get("replans", 0) - before.get("replans", 0)
    tried_again = sum(one["attempt"] > 0 for one in raw.get("results", ())[len(before.get("results", ())) :])
    found.retries = raw.get("retries", 0) - before.get("retries", 0) + tried_again
    found.plan_steps = len(raw["plan"]["steps"]) if raw["plan"] else 0
    found.plans["made"] += _plans(raw) - _plans(before)
    seen = raw.get("observations", ())[len(before.get("observations", ())) :]
    found.plans["invalid"] += sum(one["source"] == "plan check" for one in seen)


def _plans(raw: Mapping[str, Any]) -> int:
    """How many plans were good enough to be carried out."""
    if "plan_no" in raw:
        return int(raw["plan_no"])
    repairs = sum(one["plan"] is not None for one in raw.get("repairs", ()))
    return len(raw.get("former_plans", ())) + bool(raw.get("plan")) + repairs
