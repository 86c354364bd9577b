"""A repair verified once more: what it claims, its held-out tests whatever was spent on them, and extra checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import Context
from graph_agent.tools.command import CommandResult
from graph_agent.tools.workbench import HeldOutRun
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.audit import checked, claimed, found, strange, verified_again, written
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Change, Stage, TaskState
from tests.workflows.repairing import (
    GREEN,
    LINT,
    POLICY,
    RED,
    RIGHT,
    TESTS,
    changed,
    diagnosed,
    edited,
    plan_of,
    ran,
    verification,
    verifying,
    with_policy,
)

DONE = diagnosed(Stage.DONE, plan=plan_of(RIGHT), changes=(changed(RIGHT),), verifications=(verification(GREEN),))
HELD_OUT = with_policy(holdout=True)


def again(*runs: CommandResult, state: TaskState = DONE, policy: EvaluationPolicy = POLICY, **answers: Any) -> Any:
    tools = verifying(answers.pop("now", edited(RIGHT)), *runs, **answers)
    made = verified_again(state, Context(tools=tools, policy=policy))
    tools.assert_consumed()
    return made


def held_out(result: CommandResult) -> list[HeldOutRun]:
    return [HeldOutRun(result=result, added=1, replaced=0)]


def test_at_done_a_run_claims_a_pass_and_else_what_verified_these_very_edits() -> None:
    assert claimed(DONE) is Verdict.PASS
    assert claimed(replace(DONE, stage=Stage.FAILED, verifications=(verification(),))) is Verdict.FAIL
    stale = replace(DONE, stage=Stage.FAILED, verifications=(verification(GREEN, attempt=-1),))
    assert claimed(stale) is Verdict.UNKNOWN
    assert claimed(replace(DONE, stage=Stage.FAILED, verifications=())) is Verdict.UNKNOWN


def test_held_out_tests_run_though_their_budget_is_spent() -> None:
    spent = verification(GREEN, holdout="fail")
    state = replace(DONE, stage=Stage.FAILED, verifications=(spent, replace(spent, id="V2", holdout="spent")))
    policy = replace(HELD_OUT, holdout_runs=1)
    assert claimed(state) is Verdict.UNKNOWN
    made = again(GREEN, state=state, policy=policy, run_holdout=held_out(ran("1 failed, 4 passed in 0.1s", 1)))
    assert (made.holdout, made.verdict) == ("fail", Verdict.FAIL)
    never = replace(HELD_OUT, holdout_runs=0)
    assert again(GREEN, policy=never, run_holdout=held_out(ran("5 passed in 0.1s"))).verdict is Verdict.PASS


def test_the_guard_looks_at_the_patch_again() -> None:
    quieted = {**edited(RIGHT), "tests/test_shop.py": "def test_nothing():\n    assert True\n"}
    made = again(GREEN, now=quieted)
    assert made.verdict is Verdict.FAIL
    assert "tests/test_shop.py changed, and may not" in made.findings


def test_written_is_what_differs_from_the_first_and_not_what_was_put_back() -> None:
    there = changed(RIGHT)
    assert written(DONE) == {"shop.py": there.after}
    back = Change(path="shop.py", before=there.after, after=there.before, attempt=0)
    assert written(replace(DONE, changes=(there, back))) == {}


def test_strange_files_are_named_with_what_became_of_them() -> None:
    recorded = {"a.py": "1", "b.py": "2", "c.py": "3"}
    assert strange(recorded, {"a.py": "1", "b.py": "x", "d.py": "4"}) == ("b.py is another", "c.py is gone")


def test_each_extra_check_runs_though_one_before_it_failed() -> None:
    scan = Command(argv=("scan", "."), kind="check")
    context = Context(tools=verifying({}, ran("shop.py:2: B307\n", 1), ran("", 0)), policy=POLICY)
    first, second = checked((LINT, scan), context)
    assert (first.verdict, second.verdict) == (Verdict.FAIL, Verdict.PASS)
    assert found((), (first, second)) == (Verdict.FAIL, ("failed: lint . (shop.py:2: B307)",))


@pytest.mark.parametrize(
    ("visible", "check", "verdict"),
    [
        (GREEN, ran("", 0), Verdict.PASS),
        (GREEN, ran("", None, problem="command not found: lint"), Verdict.UNKNOWN),
        (RED, ran("", None, problem="command not found: lint"), Verdict.FAIL),
        (GREEN, ran("", 3), Verdict.FAIL),
    ],
)
def test_one_failure_fails_and_one_doubt_is_no_pass(visible: Any, check: CommandResult, verdict: Verdict) -> None:
    made = again(visible)
    checks = checked((LINT,), Context(tools=verifying({}, check), policy=POLICY))
    assert found((made,), checks)[0] is verdict


def test_what_the_audit_runs_may_not_be_written_either_and_is_part_of_the_policys_hash() -> None:
    policy = with_policy(audit=(Command(argv=("python3", "scan.py"), kind="check"),))
    assert POLICY.may_write("scan.py") and not policy.may_write("scan.py")
    assert policy.fingerprint != POLICY.fingerprint
    assert policy.commands == (TESTS,)
