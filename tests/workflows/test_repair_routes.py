"""Each router, branch by branch, in the order in which it looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from graph_agent import Route
from graph_agent.verify.report import TestCounts, Verdict
from graph_agent.workflows.repair import routes
from graph_agent.workflows.repair.state import Check, Observation, Review, Stage, TaskState, Verification
from tests.workflows.repairing import POLICY, RIGHT, WRONG, changed, diagnosed, plan_of, repair_of, task

Router: TypeAlias = Callable[[TaskState], Route]

REVIEW_OK = (Review(blockers=()),)


def check(ruling: Verdict = Verdict.PASS, **more: Any) -> Check:
    known: dict[str, Any] = {
        "kind": "test",
        "command": "pytest",
        "exit_code": 0 if ruling is Verdict.PASS else 1,
        "reason": {"pass": "tests passed", "fail": "tests failed", "unknown": "no tests ran"}[ruling.value],
        "counts": TestCounts(passed=3),
    }
    return Check(ruling=ruling, **{**known, **more})


def verified(*checks: Check, **more: Any) -> Verification:
    known: dict[str, Any] = {"id": "V1", "attempt": 0, "findings": (), "policy": POLICY.fingerprint}
    return Verification(checks=checks, **{**known, **more})


PASS, FAIL, UNKNOWN = (verified(check(verdict)) for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN))
FORBIDDEN = verified(check(Verdict.FAIL, problem="permission: the command may not be executed"))


def at_verify(verification: Verification | None, **fields: Any) -> TaskState:
    seen = () if verification is None else (verification,)
    return diagnosed(Stage.VERIFY, **{"plan": plan_of(RIGHT), "verifications": seen, **fields})


SPENT = {"spent_turns": 12, "max_turns": 12}
TRIED = {"retries": 2, "max_retries": 2}

AFTER_VERIFY: list[tuple[str, TaskState, Stage, str]] = [
    ("no result", at_verify(None), Stage.HUMAN, "nothing was verified"),
    ("pass", at_verify(PASS), Stage.DONE, "V1 passed"),
    ("pass, review asked for", at_verify(PASS, review=True), Stage.REVIEW, "a review was asked for"),
    ("pass, approval asked for", at_verify(PASS, approve=("finish",)), Stage.HUMAN, "waits for approval"),
    ("pass comes before spent turns", at_verify(PASS, **SPENT), Stage.DONE, "V1 passed"),
    ("pass comes before spent retries", at_verify(PASS, **TRIED), Stage.DONE, "V1 passed"),
    ("turns spent", at_verify(FAIL, **SPENT), Stage.HUMAN, "12 of 12 turns are spent"),
    ("turns overspent", at_verify(FAIL, spent_turns=13, max_turns=12), Stage.HUMAN, "13 of 12 turns"),
    ("turns come before retries", at_verify(FAIL, **SPENT, **TRIED), Stage.HUMAN, "12 of 12 turns"),
    ("turns come before a permission", at_verify(FORBIDDEN, **SPENT), Stage.HUMAN, "12 of 12 turns"),
    ("retries spent", at_verify(FAIL, **TRIED), Stage.HUMAN, "2 of 2 retries are spent"),
    ("no retries", at_verify(FAIL, retries=0, max_retries=0), Stage.HUMAN, "0 of 0 retries"),
    ("retries come before a permission", at_verify(FORBIDDEN, **TRIED), Stage.HUMAN, "2 of 2 retries"),
    ("permission", at_verify(FORBIDDEN), Stage.HUMAN, "no edit can mend this"),
    (
        "a permission comes before unknown",
        at_verify(verified(check(Verdict.UNKNOWN, problem="permission: no"))),
        Stage.HUMAN,
        "no edit can mend this",
    ),
    ("unknown", at_verify(UNKNOWN), Stage.HUMAN, "it can't be told whether this works"),
    ("no check at all", at_verify(verified()), Stage.HUMAN, "it can't be told"),
    ("no test among the checks", at_verify(verified(check(kind="check", counts=None))), Stage.HUMAN, "can't be told"),
    ("fail", at_verify(FAIL), Stage.REPAIR, "V1 is fail, tests failed: pytest"),
    ("fail without a limit of turns", at_verify(FAIL, max_turns=None, spent_turns=99), Stage.REPAIR, "V1 is fail"),
    ("one retry left", at_verify(FAIL, retries=1, max_retries=2), Stage.REPAIR, "V1 is fail"),
    ("a finding", at_verify(verified(check(), findings=("a.py changed, and may not",))), Stage.REPAIR, "guard: a.py"),
    ("held-out tests fail", at_verify(verified(check(), holdout="fail")), Stage.REPAIR, "held-out tests failed"),
    ("held-out tests not run", at_verify(verified(check(), holdout="unknown")), Stage.HUMAN, "did not run"),
    ("held-out runs spent", at_verify(verified(check(), holdout="spent")), Stage.HUMAN, "as often as"),
    ("held-out tests pass", at_verify(verified(check(), holdout="pass")), Stage.DONE, "V1 passed"),
    ("the latest counts", at_verify(None, verifications=(PASS, replace(FAIL, id="V2"))), Stage.REPAIR, "V2 is fail"),
    ("fail, review asked for", at_verify(FAIL, review=True), Stage.REPAIR, "V1 is fail"),
    ("whatever the plan claims", at_verify(FAIL, plan=plan_of(RIGHT, claim="it works")), Stage.REPAIR, "V1 is fail"),
]


@pytest.mark.parametrize(
    ("state", "stage", "reason"), [row[1:] for row in AFTER_VERIFY], ids=[row[0] for row in AFTER_VERIFY]
)
def test_after_verify(state: TaskState, stage: Stage, reason: str) -> None:
    route = routes.route_after_verify(state)
    assert route.stage is stage
    assert reason in route.reason


@pytest.mark.parametrize(
    "weak",
    [
        check(exit_code=1),
        check(exit_code=None),
        check(counts=None),
        check(counts=TestCounts()),
        check(counts=TestCounts(skipped=9)),
        check(problem="isolation failed: bwrap"),
    ],
)
def test_a_pass_that_the_numbers_do_not_bear_out_is_none(weak: Check) -> None:
    """A ruling is what a report says; it is believed with exit code 0 and a test that passed, and not else."""
    assert weak.verdict is Verdict.UNKNOWN
    assert routes.route_after_verify(at_verify(verified(weak))).stage is Stage.HUMAN


def looked(verification: Verification) -> Observation:
    check = verification.checks[0]
    return Observation(id=check.ruling.value, source="run_command pytest", text="", check=check)


SEEN = diagnosed(Stage.DIAGNOSE).observations
BLOCKED = {"blocked": "the disk is full"}
TABLE: list[tuple[str, Router, TaskState, Stage, str]] = [
    ("intake", routes.route_after_intake, task(), Stage.DIAGNOSE, "0 files"),
    ("intake, empty", routes.route_after_intake, task(request=" "), Stage.FAILED, "empty"),
    ("intake, empty and blocked", routes.route_after_intake, task(request="", **BLOCKED), Stage.FAILED, "empty"),
    ("intake, blocked", routes.route_after_intake, task(**BLOCKED), Stage.HUMAN, "the disk is full"),
    ("diagnose", routes.route_after_diagnose, diagnosed(Stage.DIAGNOSE), Stage.PLAN, "4 observations"),
    (
        "diagnose, what stands out is the first check that is no pass",
        routes.route_after_diagnose,
        diagnosed(Stage.DIAGNOSE, observations=(*SEEN[:1], looked(PASS), looked(FAIL), looked(UNKNOWN))),
        Stage.PLAN,
        "4 observations, tests failed",
    ),
    (
        "diagnose, unknown is no pass",
        routes.route_after_diagnose,
        diagnosed(Stage.DIAGNOSE, observations=(looked(PASS), looked(UNKNOWN), looked(FAIL))),
        Stage.PLAN,
        "3 observations, no tests ran",
    ),
    (
        "diagnose, all pass",
        routes.route_after_diagnose,
        diagnosed(Stage.DIAGNOSE, observations=(*SEEN[:1], looked(PASS))),
        Stage.PLAN,
        "2 observations, nothing ran",
    ),
    ("diagnose, blocked", routes.route_after_diagnose, task(**BLOCKED), Stage.HUMAN, "the disk is full"),
    ("plan", routes.route_after_plan, task(plan=plan_of(RIGHT)), Stage.EXECUTE, "the discount is a percentage"),
    ("plan, none", routes.route_after_plan, task(), Stage.HUMAN, "there is no plan"),
    ("plan, none and blocked", routes.route_after_plan, task(**BLOCKED), Stage.HUMAN, "the disk is full"),
    ("plan, blocked", routes.route_after_plan, task(plan=plan_of(RIGHT), **BLOCKED), Stage.HUMAN, "disk"),
    (
        "plan, to be approved",
        routes.route_after_plan,
        task(plan=plan_of(RIGHT), approve=("plan",)),
        Stage.HUMAN,
        "waits for approval",
    ),
    ("execute", routes.route_after_execute, task(changes=(changed(RIGHT),)), Stage.VERIFY, "shop.py"),
    (
        "plan, none, to be approved",
        routes.route_after_plan,
        task(approve=("plan",)),
        Stage.HUMAN,
        "there is no plan",
    ),
    (
        "execute, the attempt's own changes",
        routes.route_after_execute,
        task(
            repairs=(repair_of(RIGHT),),
            changes=tuple(replace(changed(RIGHT, attempt=n), path=f"{n}") for n in (0, 2, 1)),
        ),
        Stage.VERIFY,
        "written: 1",
    ),
    ("execute, blocked", routes.route_after_execute, task(**BLOCKED), Stage.HUMAN, "the disk is full"),
    ("repair", routes.route_after_repair, task(repairs=(repair_of(RIGHT),), retries=1), Stage.EXECUTE, "retry 1 of 2"),
    ("repair, none", routes.route_after_repair, task(), Stage.HUMAN, "there is no repair"),
    (
        "repair, blocked",
        routes.route_after_repair,
        task(repairs=(repair_of(RIGHT),), **BLOCKED),
        Stage.HUMAN,
        "the disk is full",
    ),
    (
        "repair, clarify",
        routes.route_after_repair,
        task(repairs=(repair_of(decision="clarify", plan=None),)),
        Stage.HUMAN,
        "clarify: another cause",
    ),
    (
        "repair, a decision that there is none of",
        routes.route_after_repair,
        task(repairs=(repair_of(RIGHT, decision="merge"),)),
        Stage.HUMAN,
        "merge",
    ),
    (
        "repair, without a plan",
        routes.route_after_repair,
        task(repairs=(repair_of(plan=None),)),
        Stage.HUMAN,
        "repair: another cause",
    ),
    (
        "repair, to be approved",
        routes.route_after_repair,
        task(plan=plan_of(WRONG), repairs=(repair_of(RIGHT),), approve=("plan",)),
        Stage.HUMAN,
        "waits for approval",
    ),
    (
        "repair, clarify comes before an approval",
        routes.route_after_repair,
        task(plan=plan_of(WRONG), repairs=(repair_of(RIGHT, decision="clarify"),), approve=("plan",)),
        Stage.HUMAN,
        "clarify: another cause",
    ),
    ("review", routes.route_after_review, at_verify(PASS, reviews=REVIEW_OK), Stage.DONE, "no objection"),
    (
        "review, none and blocked",
        routes.route_after_review,
        at_verify(PASS, **BLOCKED),
        Stage.HUMAN,
        "the disk is full",
    ),
    ("review, none", routes.route_after_review, at_verify(PASS), Stage.HUMAN, "there is no review"),
    ("review, blocked", routes.route_after_review, at_verify(PASS, reviews=REVIEW_OK, **BLOCKED), Stage.HUMAN, "disk"),
    (
        "review, a blocker",
        routes.route_after_review,
        at_verify(PASS, reviews=(*REVIEW_OK, Review(blockers=("no", "never")))),
        Stage.HUMAN,
        "the reviewer objects: no",
    ),
    ("review of what failed", routes.route_after_review, at_verify(FAIL, reviews=REVIEW_OK), Stage.HUMAN, "not passed"),
    (
        "review, none, of what failed",
        routes.route_after_review,
        at_verify(FAIL),
        Stage.HUMAN,
        "there is no review",
    ),
    (
        "review of what was never verified",
        routes.route_after_review,
        at_verify(None, reviews=REVIEW_OK),
        Stage.HUMAN,
        "not passed",
    ),
    (
        "review, a blocker of what failed",
        routes.route_after_review,
        at_verify(FAIL, reviews=(Review(blockers=("no",)),)),
        Stage.HUMAN,
        "not passed",
    ),
    (
        "review, to be approved",
        routes.route_after_review,
        at_verify(PASS, reviews=REVIEW_OK, approve=("finish",)),
        Stage.HUMAN,
        "waits for approval",
    ),
]


@pytest.mark.parametrize(
    ("router", "state", "stage", "reason"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_the_other_routes(router: Router, state: TaskState, stage: Stage, reason: str) -> None:
    route = router(state)
    assert route.stage is stage
    assert reason in route.reason
