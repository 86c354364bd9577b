"""What came of one run of a task: facts, and which of the things that must hold did not.

The rule: a run that crashed, came too late or could not be set up is a result like any other, with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Passed: TypeAlias = Literal["", "pass", "fail", "unknown"]

CRASHED, LATE, FUSE, BROKEN = "crashed", "late", "fuse", "broken"
NO_RUN = (CRASHED, LATE)
"""Outcomes of which no figures are known."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run. `outcome` is the stage where it stands, or how it ended otherwise; `missed`: what did not hold.

    steps, turns, calls, tokens   visits of nodes, what the budget was charged, questions to a model, in and out
    replans                       of a research its plans after the first, of a repair its retries
    visible, held_out             what the tests say that the run could see, and those that it could not; "" for none
    properties                    of a node, by name, whether each holds
    run                           the name of its folder
    """

    task: str
    workflow: str
    tier: int
    repeat: int
    outcome: str
    reason: str = ""
    missed: tuple[str, ...] = ()
    steps: int = 0
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    replans: int = 0
    visible: Passed = ""
    held_out: Passed = ""
    properties: dict[str, bool] = field(default_factory=dict)
    run: str = ""
    seconds: float = 0.0

    @property
    def held(self) -> bool:
        return not self.missed

    @property
    def has_figures(self) -> bool:
        return self.outcome not in NO_RUN
