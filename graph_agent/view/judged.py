"""The rounds of verification that a run went through: how each came out, and in which layer it failed.

The rule: a verdict is what the state works out from what is recorded in it; nothing is judged again here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.workflows.repair.state import TaskState, Verification
    from graph_agent.workflows.research.state import ResearchState

PASSED, NOT_TOLD = "passed", "not told"
FAILURES = ("structure", "evidence", "goal", "guard", "tests", "held-out tests")


@dataclass(kw_only=True)
class Rounds:
    """`kinds`: PASS, PARTIAL, FAIL, UNKNOWN, BLOCKED. `layers`: where a round failed, passed, or can't be told."""

    kinds: Counter[str] = field(default_factory=Counter)
    layers: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> int:
        return sum(self.layers[layer] for layer in FAILURES)


def rounds_of(state: Any, after: int = 0) -> Rounds:
    """Those of a repair or a research, without the first `after`."""
    return _of_research(state, after) if hasattr(state, "verdicts") else _of_repair(state, after)


def _of_research(state: ResearchState, after: int) -> Rounds:
    found = Rounds()
    for one in state.verdicts[after:]:
        found.kinds[one.status] += 1
        told = {"PASS": PASSED, "UNKNOWN": NOT_TOLD, "BLOCKED": NOT_TOLD}
        found.layers[told.get(one.status, one.layer)] += 1
    return found


def _of_repair(state: TaskState, after: int) -> Rounds:
    found = Rounds()
    for one in state.verifications[after:]:
        kind = one.verdict.value.upper()
        found.kinds[kind] += 1
        found.layers[{"PASS": PASSED, "UNKNOWN": NOT_TOLD}.get(kind) or _layer(one)] += 1
    return found


def _layer(one: Verification) -> str:
    if one.findings:
        return "guard"
    return "held-out tests" if one.holdout == "fail" else "tests"
