"""The state of a research: the goal, the plan, what was found, how it was judged, and the answer.

What it is made of stands in `records`. The rule: results and evidence only grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from graph_agent.runtime.codec import encode
from graph_agent.runtime.state import GraphState, appended
from graph_agent.workflows.research.records import (
    FAILING,
    KINDS,
    PASSING,
    RETRIES,
    Answer,
    DeadEnd,
    Evidence,
    Item,
    Kind,
    Layer,
    Plan,
    Result,
    Source,
    Step,
    Verdict,
    digest,
    normal,
)

__all__ = [
    "FAILING",
    "KINDS",
    "PASSING",
    "RETRIES",
    "Answer",
    "DeadEnd",
    "Decision",
    "Evidence",
    "Item",
    "Kind",
    "Layer",
    "Plan",
    "ResearchState",
    "Result",
    "Source",
    "Stage",
    "Step",
    "Verdict",
    "accepted_results",
    "digest",
    "normal",
]


class Stage(StrEnum):
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    ADVANCE = "advance"
    FINALIZE = "finalize"
    GIVE_UP = "give_up"
    APPROVE = "approve"
    HUMAN = "human"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Where a person sends the run on from the pause with this id: it counts only once."""

    pause: str
    to: Literal["back", "plan", "execute", "finalize"]


@dataclass(frozen=True, kw_only=True)
class ResearchState(GraphState):
    """`goal` is the question, `planned_goal` what the plan was made for. `asks`: steps whose effects need approval.

    `blocked`: why there is no plan. `fingerprints` are the plans that failed, `reasons` why each round ended as it did.
    """

    stage: Stage = Stage.PLAN
    goal: str
    approve: tuple[Literal["plan", "finish"], ...] = ()
    plan: Plan | None = None
    plan_no: int = 0
    planned_goal: str = ""
    asks: tuple[str, ...] = ()
    replans: int = 0
    blocked: str = ""
    fingerprints: tuple[DeadEnd, ...] = appended()
    cursor: int = 0
    results: tuple[Result, ...] = appended()
    evidence: tuple[Evidence, ...] = appended()
    verdicts: tuple[Verdict, ...] = appended()
    rounds: int = 0
    reasons: tuple[str, ...] = appended()
    answer: Answer | None = None
    approval: tuple[str, ...] = appended()
    notes: tuple[str, ...] = appended()
    decisions: tuple[Decision, ...] = appended()
    max_rounds: int = 12
    max_replans: int = 3
    give_up: bool = False

    @property
    def layer(self) -> tuple[Step, ...]:
        """The steps at the cursor; empty when there is no plan, or no layer any more."""
        layers_ = self.plan.layers if self.plan else ()
        return layers_[self.cursor] if self.cursor < len(layers_) else ()

    @property
    def is_last(self) -> bool:
        """No layer is left after this one."""
        return self.plan is not None and self.cursor >= len(self.plan.layers) - 1

    @property
    def verdict(self) -> Verdict | None:
        """The latest on the layer where the run stands; None when it was not judged."""
        latest = self.verdicts[-1] if self.verdicts else None
        here = latest is not None and (latest.plan, latest.cursor) == (self.plan_no, self.cursor)
        return latest if here else None

    @property
    def holds(self) -> bool:
        """The latest verdict is one of this round, on steps of this layer."""
        verdict, steps = self.verdict, {step.id for step in self.layer}
        if verdict is None or verdict.round != self.rounds or not verdict.items:
            return False
        return all(one.step in steps for one in verdict.items)

    @property
    def is_complete(self) -> bool:
        """Every layer of the plan passed, the last of them in the latest round."""
        verdict = self.verdict
        if verdict is None or not self.holds or verdict.status != "PASS":
            return False
        passed = {one.cursor for one in self.verdicts if one.plan == self.plan_no and one.status == "PASS"}
        return self.is_last and passed == set(range(self.cursor + 1))

    @property
    def has_failed(self) -> bool:
        """The plan failed as a whole, so that another is a replan; a person's wish for another goal makes it none."""
        failed = self.verdict is not None and self.verdict.scope == "global"
        return self.plan is not None and failed and self.goal == self.planned_goal

    @property
    def dead_ends(self) -> tuple[DeadEnd, ...]:
        """The plans that failed for the present goal: a first plan for another one repeats none."""
        return tuple(one for one in self.fingerprints if one.goal in ("", self.goal))

    @property
    def fresh_notes(self) -> tuple[str, ...]:
        """What a person added and no EXECUTE has taken up yet."""
        return self.notes[sum(one.by == "person" for one in self.evidence) :]

    @property
    def plan_fingerprint(self) -> str:
        return f"plan {self.plan_no} {digest(encode(self.plan))}" if self.plan else ""

    @property
    def layer_fingerprint(self) -> str:
        """What an approval of a layer's effects is for."""
        return (
            f"layer {self.plan_no}.{self.cursor} {digest([encode(step) for step in self.layer])}" if self.layer else ""
        )

    @property
    def results_fingerprint(self) -> str:
        """What a person accepts in a judge's place."""
        here = [encode(one) for one in self.latest_results]
        return f"results {self.plan_no}.{self.cursor} {digest(here)}" if here else ""

    @property
    def latest_results(self) -> tuple[Result, ...]:
        """The latest result of each step of the layer that has one."""
        latest = {one.step: one for one in self.results if one.plan == self.plan_no}
        return tuple(latest[step.id] for step in self.layer if step.id in latest)

    @property
    def accepted(self) -> tuple[Result, ...]:
        """The results of the present plan that were accepted, in plan order."""
        found = {one.step: one for one in accepted_results(self) if one.plan == self.plan_no}
        return tuple(found[step.id] for step in self.plan.steps if step.id in found) if self.plan else ()


def accepted_results(state: ResearchState) -> tuple[Result, ...]:
    """Of all plans, what passed the judge: all of a round that passed, else the steps whose every item is satisfied."""
    keys: set[tuple[int, str, int]] = set()
    for verdict in state.verdicts:
        left = {one.step for one in verdict.items if one.status != "satisfied" and verdict.status != "PASS"}
        keys |= {(verdict.plan, one.step, one.attempt) for one in verdict.items if one.step not in left}
    return tuple(one for one in state.results if one.text and (one.plan, one.step, one.attempt) in keys)
