"""The state of a repair: what was asked, seen, planned, changed and verified.

The rule: a verdict is worked out from what is recorded beside it (exit codes, counts, findings), so no node and no
model can write one down.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Literal

from graph_agent.llm.edits import Edit
from graph_agent.runtime.state import GraphState, appended, described
from graph_agent.tools.files import FileInfo
from graph_agent.verify.report import TestCounts, Verdict


class Stage(StrEnum):
    INTAKE = "intake"
    DIAGNOSE = "diagnose"
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    REPAIR = "repair"
    REVIEW = "review"
    HUMAN = "human"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One command that was run. `ruling` is what its report says; `verdict` wants the numbers for a PASS.

    `output` refers to all that it printed, which is kept beside the run, where `summary` is only a part of it.
    """

    kind: Literal["test", "check", "held-out"]
    command: str
    exit_code: int | None
    ruling: Verdict
    reason: str
    counts: TestCounts | None = None
    summary: str = ""
    output: str = ""
    problem: str = ""
    isolation: str = "none"

    @property
    def verdict(self) -> Verdict:
        if self.ruling is not Verdict.PASS:
            return self.ruling
        ran = self.kind == "check" or (self.counts is not None and self.counts.passed > 0)
        return Verdict.PASS if self.exit_code == 0 and ran and not self.problem else Verdict.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class LinesRun:
    """Which lines of a file the failing and the passing tests ran, and which stand in tracebacks (innermost first).

    `failing_tests` and `passing_tests` count the tests that ran each line, `failed` those that failed.
    """

    path: str
    failing: tuple[int, ...] = ()
    passing: tuple[int, ...] = ()
    traceback: tuple[int, ...] = ()
    failing_tests: tuple[int, ...] = ()
    passing_tests: tuple[int, ...] = ()
    failed: int = 1


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What a tool (`source`) saw, or what is wrong with a plan. `unfinished` names tests that began and did not end."""

    id: str
    source: str
    text: str
    path: str = ""
    sha256: str = ""
    check: Check | None = None
    lines: tuple[LinesRun, ...] = ()
    unfinished: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a model means to do. `claim` is kept, and never taken for evidence."""

    hypothesis: str = described("what is wrong, in one or two sentences")
    steps: tuple[str, ...] = described("what will be done, one sentence a step")
    files_to_change: tuple[str, ...] = described("the paths of the files that the edits change")
    cites: tuple[str, ...] = described("the ids of the observations and verifications that the hypothesis rests on")
    edits: tuple[Edit, ...] = described("the edits; each replaces text that occurs exactly once in its file")
    risks: tuple[str, ...] = described("what could go wrong", default=())
    claim: str = described("what will hold when this is done", default="")


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What a model decided after a failed verification."""

    decision: str = described("repair, clarify or human_review")
    why: str = described("the reason for the decision, in one or two sentences")
    cites: tuple[str, ...] = described("the ids of the observations and verifications that it rests on")
    base: Literal["original", "current"] = described(
        'what the edits apply to: "original" for the files as they were first, "current" as they are now',
        default="original",
    )
    plan: Plan | None = described("the new plan; null unless the decision is repair", default=None)


@dataclass(frozen=True, kw_only=True)
class FormerPlan:
    """A plan of PLAN's that was replaced when so many `repairs` had been made."""

    plan: Plan
    repairs: int


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What PLAN or REPAIR came to; `plan` is None when a person was asked instead. `why` is REPAIR's reason."""

    plan: Plan | None
    base: Literal["original", "current"] = "original"
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A write that EXECUTE made. `attempt` is the place in the state's `attempts`."""

    path: str
    before: str
    after: str
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Verification:
    """One visit of VERIFY: the checks, what the guard found, and what became of the held-out tests.

    `holdout` is "not run" when what is visible did not pass, "spent" when they ran as often as the policy allows.
    """

    id: str
    attempt: int
    checks: tuple[Check, ...]
    findings: tuple[str, ...]
    policy: str
    isolation: str = "none"
    holdout: Literal["none", "not run", "pass", "fail", "unknown", "spent"] = "none"

    @property
    def verdict(self) -> Verdict:
        verdicts = {check.verdict for check in self.checks}
        if self.findings or Verdict.FAIL in verdicts or self.holdout == "fail":
            return Verdict.FAIL
        tested = any(check.kind == "test" for check in self.checks)
        if not tested or Verdict.UNKNOWN in verdicts or self.holdout not in ("none", "pass"):
            return Verdict.UNKNOWN
        return Verdict.PASS

    @property
    def permission_problem(self) -> str:
        """The first problem that only a person can mend: something may not be run, read or written."""
        return next((check.problem for check in self.checks if check.problem.startswith("permission")), "")

    @property
    def reason(self) -> str:
        """The first thing that stands against a pass."""
        if self.findings:
            return f"guard: {self.findings[0]}"
        for check in self.checks:
            if check.verdict is not Verdict.PASS:
                return f"{check.reason}: {check.command}"
        held_out = {
            "fail": "the held-out tests failed",
            "unknown": "the held-out tests did not run",
            "spent": "the held-out tests have been run as often as the policy allows",
            "not run": "the held-out tests were not run",
        }
        return held_out.get(self.holdout, "all checks passed" if self.checks else "nothing was run")


@dataclass(frozen=True, kw_only=True)
class Review:
    """What a second reader said of the patch. A blocker stops the run; nothing passes it."""

    blockers: tuple[str, ...] = described("what must not be merged, one sentence each; empty when there is nothing")
    comments: tuple[str, ...] = described("what could be better, one sentence each", default=())


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Where a person sends the run on from the pause with this id: it counts only once."""

    pause: str
    to: Literal["back", "plan", "execute", "verify", "done"]


@dataclass(frozen=True, kw_only=True)
class TaskState(GraphState):
    """One task. `approve` names what waits for a person: "plan" (each plan), "finish" (the patch).

    A person approves by fingerprint, so for what was shown and for nothing that came after.
    """

    stage: Stage = Stage.INTAKE
    request: str
    workspace: str
    max_retries: int = 2
    max_turns: int | None = 12
    review: bool = False
    approve: tuple[Literal["plan", "finish"], ...] = ()
    blocked: str = ""
    baseline: tuple[FileInfo, ...] = ()
    observations: tuple[Observation, ...] = appended(key="id")
    plan: Plan | None = None
    former_plans: tuple[FormerPlan, ...] = appended()
    repairs: tuple[Repair, ...] = appended()
    retries: int = 0
    changes: tuple[Change, ...] = appended()
    verifications: tuple[Verification, ...] = appended(key="id")
    reviews: tuple[Review, ...] = appended()
    risks: tuple[str, ...] = appended(key=str)
    approval: tuple[str, ...] = appended(key=str)
    decisions: tuple[Decision, ...] = appended()
    give_up: bool = False

    @property
    def verification(self) -> Verification | None:
        return self.verifications[-1] if self.verifications else None

    @property
    def repair(self) -> Repair | None:
        return self.repairs[-1] if self.repairs else None

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """In order: a plan, the repairs that followed it, the plan after those, and so on."""
        plans = [(former.plan, former.repairs) for former in self.former_plans]
        found: list[Attempt] = []
        start = 0
        for plan, end in (*plans, (self.plan, len(self.repairs))):
            found.append(Attempt(plan=plan))
            found += [Attempt(plan=one.plan, base=one.base, why=one.why) for one in self.repairs[start:end]]
            start = end
        return tuple(found)

    @property
    def attempt(self) -> int:
        """The place of the latest of `attempts`."""
        return len(self.former_plans) + len(self.repairs)

    @property
    def plan_now(self) -> Plan | None:
        return self.attempts[-1].plan

    @property
    def risks_fingerprint(self) -> str:
        return _fingerprint("risks", *self.risks)

    @property
    def plan_fingerprint(self) -> str:
        return _fingerprint("plan", repr(self.plan_now))

    @property
    def patch_fingerprint(self) -> str:
        return _fingerprint("patch", repr(self.changes), repr(self.verification))

    @property
    def risk(self) -> Literal["low", "high"]:
        return "high" if self.risks and self.risks_fingerprint not in self.approval else "low"

    @property
    def plan_approved(self) -> bool:
        return "plan" not in self.approve or self.plan_fingerprint in self.approval

    @property
    def patch_approved(self) -> bool:
        return "finish" not in self.approve or self.patch_fingerprint in self.approval

    @property
    def holdout_runs(self) -> int:
        return sum(one.holdout in ("pass", "fail", "unknown") for one in self.verifications)


def next_id(letter: str, items: tuple[object, ...]) -> str:
    """The id of the item to come: `O4` after three observations."""
    return f"{letter}{len(items) + 1}"


def _fingerprint(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:16]
