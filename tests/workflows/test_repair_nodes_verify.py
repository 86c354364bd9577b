"""VERIFY takes evidence from commands, hashes and counts; the verdict follows from what it recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import ToolError
from graph_agent.llm.edits import Edit
from graph_agent.tools.command import CommandResult
from graph_agent.tools.workbench import HeldOutRun
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Stage, TaskState, Verification
from tests.workflows.repairing import (
    FILES,
    GREEN,
    HUNG,
    LINT,
    POLICY,
    RED,
    RIGHT,
    TESTS,
    changed,
    diagnosed,
    edited,
    one_step,
    plan_of,
    ran,
    seen,
    verification,
    verifying,
    with_policy,
)

NOW = edited(RIGHT)
START = diagnosed(Stage.VERIFY, plan=plan_of(RIGHT), changes=(changed(RIGHT),))
HOLDOUT = with_policy(holdout=True)
SECRET = "test_holdout_of_thirty_percent"


def verified(
    *runs: CommandResult,
    now: dict[str, str] = NOW,
    state: TaskState = START,
    policy: EvaluationPolicy = POLICY,
    **answers: Any,
) -> tuple[TaskState, Verification]:
    tools = verifying(now, *runs, **answers)
    after = one_step(state, tools=tools, policy=policy)
    tools.assert_consumed()
    assert after.verification is not None, after.route_reason
    return after, after.verification


def test_green_tests_and_a_clean_guard_are_a_pass() -> None:
    after, found = verified(GREEN)
    assert (after.stage, found.verdict, found.findings) == (Stage.DONE, Verdict.PASS, ())
    (check,) = found.checks
    assert (check.kind, check.exit_code, check.command) == ("test", 0, "python3 -m pytest -q")
    assert check.counts is not None
    assert check.counts.passed == 3


def test_the_evidence_names_the_rules_it_was_taken_under() -> None:
    _, found = verified(GREEN)
    assert (found.id, found.policy, found.isolation) == ("V1", POLICY.fingerprint, "bubblewrap")
    assert with_policy(max_files=2).fingerprint != POLICY.fingerprint


def test_it_costs_no_turns_and_runs_when_all_are_spent() -> None:
    after, _ = verified(GREEN, state=replace(START, spent_turns=12, max_turns=12))
    assert (after.stage, after.spent_turns) == (Stage.DONE, 12)


def test_a_failing_test_is_a_fail_and_leads_to_a_repair() -> None:
    after, found = verified(RED)
    assert (after.stage, found.verdict) == (Stage.REPAIR, Verdict.FAIL)
    assert found.reason == "tests failed: python3 -m pytest -q"


def test_failed_verifications_stay_beside_later_ones() -> None:
    after, found = verified(GREEN, state=replace(START, verifications=(verification(),)))
    assert [one.id for one in after.verifications] == ["V1", "V2"]
    assert found.id == "V2"
    assert after.stage is Stage.DONE


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (ran("3 passed in 0.1s", 1), "the runner failed"),
        (ran("", 0), "no test report"),
        (ran("no tests ran in 0.1s", 5), "no tests ran"),
        (ran("!!! Interrupted: 1 error during collection !!!\n1 error in 0.1s", 2), "collection error"),
        (ran("Fatal Python error", -11), "crashed"),
        (HUNG, "timed out"),
    ],
)
def test_what_worked_before_the_edit_and_does_not_now_is_the_edits_failure(result: CommandResult, reason: str) -> None:
    after, found = verified(result)
    assert (after.stage, found.verdict, found.checks[0].reason) == (Stage.REPAIR, Verdict.FAIL, reason)


@pytest.mark.parametrize(
    "result",
    [
        ran("", None, problem="command not found: python3"),
        ran("/usr/bin/python3: No module named pytest", 1),
        ran("", None, problem="isolation failed: bwrap: no permission"),
    ],
)
def test_what_did_not_run_leaves_it_unknown(result: CommandResult) -> None:
    after, found = verified(result)
    assert (after.stage, found.verdict) == (Stage.HUMAN, Verdict.UNKNOWN)
    assert "can't be told" in after.route_reason


def hanging(unfinished: tuple[str, ...]) -> TaskState:
    """The tests ran out of time before any edit; `unfinished` names the tests that the trace saw hang."""
    observations = list(seen(HUNG))
    observations[0] = replace(observations[0], unfinished=unfinished)
    return replace(START, observations=tuple(observations))


def test_a_command_that_ran_out_of_time_before_and_after_leaves_it_unknown() -> None:
    after, found = verified(HUNG, state=hanging(()))
    assert (after.stage, found.verdict) == (Stage.HUMAN, Verdict.UNKNOWN)


def test_a_test_that_was_seen_to_hang_and_still_hangs_is_a_fail() -> None:
    after, found = verified(HUNG, state=hanging(("test_total",)))
    assert (after.stage, found.verdict, found.checks[0].reason) == (Stage.REPAIR, Verdict.FAIL, "timed out")


def test_a_test_that_hung_and_passes_now_is_a_pass() -> None:
    for unfinished in ((), ("test_total",)):
        assert verified(GREEN, state=hanging(unfinished))[0].stage is Stage.DONE


def test_an_exit_code_of_zero_proves_nothing_without_a_test_that_passed() -> None:
    for text in ("0 passed in 0.1s", "3 skipped in 0.1s", "OK", ""):
        _, found = verified(ran(text))
        assert found.verdict is not Verdict.PASS


def test_a_check_needs_its_exit_code_only() -> None:
    both = with_policy(commands=(TESTS, LINT))
    assert verified(GREEN, ran("no words"), policy=both)[1].verdict is Verdict.PASS
    after, found = verified(GREEN, ran("E501", 1), policy=both)
    assert (after.stage, found.verdict, found.checks[1].kind) == (Stage.REPAIR, Verdict.FAIL, "check")
    assert verified(GREEN, HUNG, policy=both)[1].verdict is Verdict.UNKNOWN


def test_checks_alone_are_no_test() -> None:
    _, found = verified(ran("fine"), policy=with_policy(commands=(LINT,)))
    assert found.verdict is Verdict.UNKNOWN


def test_after_a_command_that_fails_the_rest_is_not_run() -> None:
    _, found = verified(RED, policy=with_policy(commands=(TESTS, LINT)))
    assert len(found.checks) == 1


def bad(path: str, text: str | None) -> dict[str, str]:
    return {name: content for name, content in {**NOW, path: text}.items() if content is not None}


@pytest.mark.parametrize(
    ("now", "finding"),
    [
        (bad("tests/test_shop.py", "def test_nothing(): pass\n"), "tests/test_shop.py changed"),
        (bad("tests/test_shop.py", None), "tests/test_shop.py was removed"),
        (bad("conftest.py", "collect_ignore = ['tests']\n"), "conftest.py was added"),
        (bad("pytest.ini", "[pytest]\naddopts = --co\n"), "pytest.ini was added"),
        (bad("notes.txt", "x"), "notes.txt was added"),
        (edited(replace(RIGHT, new="180  # noqa")), "forbidden mark"),
        (edited(replace(RIGHT, new="180 if 'pytest' in sys.modules else 0")), "looks for the test runner"),
    ],
)
def test_a_finding_of_the_guard_is_a_fail_however_green_the_tests_are(now: dict[str, str], finding: str) -> None:
    after, found = verified(GREEN, now=now)
    assert (after.stage, found.verdict) == (Stage.REPAIR, Verdict.FAIL)
    assert any(finding in one for one in found.findings), found.findings
    assert found.reason.startswith("guard: ")


def test_a_command_that_changes_the_tests_while_it_runs_is_found_afterwards() -> None:
    now = dict(NOW)

    def run(argv: tuple[str, ...]) -> CommandResult:
        now["tests/test_shop.py"] = "def test_nothing(): pass\n"
        return GREEN

    after, found = verified(now=now, run_command=run)
    assert after.stage is Stage.REPAIR
    assert any("tests/test_shop.py changed" in one for one in found.findings)


def test_what_is_changed_back_while_the_commands_run_was_seen_before() -> None:
    now = bad("tests/test_shop.py", "def test_nothing(): pass\n")

    def run(argv: tuple[str, ...]) -> CommandResult:
        now["tests/test_shop.py"] = FILES["tests/test_shop.py"]
        return GREEN

    _, found = verified(now=now, run_command=run)
    assert found.verdict is Verdict.FAIL


def test_another_number_of_tests_than_before_is_a_finding() -> None:
    _, found = verified(ran("2 passed in 0.1s"))
    assert found.verdict is Verdict.FAIL
    assert found.findings == ("python3 -m pytest -q ran 2 tests, before the change 3",)
    assert verified(ran("2 passed, 1 skipped in 0.1s"))[1].verdict is Verdict.FAIL
    assert verified(ran("4 passed in 0.1s"))[1].verdict is Verdict.FAIL, "no test may be added, so one is pretended"
    assert verified(ran("3 passed in 0.1s"))[1].verdict is Verdict.PASS


def test_too_many_files_are_a_finding() -> None:
    many = {**FILES, "a.py": "a = 1\n", "b.py": "b = 1\n"}
    now = edited(RIGHT, Edit(path="a.py", old="1", new="2"), Edit(path="b.py", old="1", new="2"), files=many)
    from tests.workflows.repairing import diff_of, infos

    state = replace(START, baseline=infos(many))
    after, found = verified(
        GREEN, now=now, state=state, policy=with_policy(max_files=2), diff=lambda: diff_of(now, many)
    )
    assert found.findings == ("3 files changed, at most 2 may: a.py, b.py, shop.py",)
    assert after.stage is Stage.REPAIR


@pytest.mark.parametrize("tool", ["list_files", "diff"])
def test_what_the_guard_cannot_look_at_is_a_finding(tool: str) -> None:
    _, found = verified(GREEN, **{tool: [ToolError("io_error", "no")] * 2})
    assert found.verdict is Verdict.FAIL
    assert found.findings == (f"{tool} failed: no",)


@pytest.mark.parametrize(
    "result",
    [
        ran("PermissionError: [Errno 13] Permission denied: '/etc/x'\n1 failed, 2 passed in 0.1s", 1),
        ran("sh: ./run: Permission denied\n1 failed, 2 passed in 0.1s", 1),
        ran("cannot start", 126),
    ],
)
def test_a_permission_problem_is_a_risk_for_a_person(result: CommandResult) -> None:
    after, found = verified(result)
    assert after.stage is Stage.HUMAN
    assert found.permission_problem
    assert after.risks == (found.permission_problem,)
    assert "no edit can mend this" in after.route_reason


def test_a_command_that_the_toolbox_refuses_is_a_permission_problem() -> None:
    after, found = verified(run_command=[ToolError("not_allowed", "It is not among the commands of the policy.")])
    assert after.stage is Stage.HUMAN
    assert found.verdict is Verdict.UNKNOWN
    assert after.risk == "high"


def test_an_exception_that_the_program_raises_for_its_users_is_no_permission_problem() -> None:
    """A shop may well raise PermissionError, and a wrong edit may make it do so: that is a failing test."""
    after, found = verified(ran("E  PermissionError: Permission denied\n1 failed, 2 passed in 0.1s", 1))
    assert (after.stage, found.permission_problem, after.risks) == (Stage.REPAIR, "", ())


def test_a_permission_problem_that_was_there_before_is_none_of_the_edits() -> None:
    text = "[Errno 13] Permission denied\n1 failed, 2 passed in 0.1s"
    after, _ = verified(ran(text, 1), state=replace(START, observations=seen(ran(text, 1))))
    assert after.stage is Stage.REPAIR


def held_out(result: CommandResult, replaced: int = 0) -> list[HeldOutRun]:
    return [HeldOutRun(result=result, added=1, replaced=replaced)]


def test_held_out_tests_run_after_a_visible_pass() -> None:
    after, found = verified(GREEN, policy=HOLDOUT, run_holdout=held_out(ran(f"{SECRET}\n5 passed in 0.1s")))
    assert (after.stage, found.holdout, after.holdout_runs) == (Stage.DONE, "pass", 1)


@pytest.mark.parametrize("visible", [RED, ran("no tests ran", 5), ran("3 passed in 0.1s", 1)])
def test_held_out_tests_do_not_run_before_the_visible_ones_pass(visible: CommandResult) -> None:
    after, found = verified(visible, policy=HOLDOUT)
    assert found.holdout == "not run"
    assert after.holdout_runs == 0


def test_held_out_tests_do_not_run_when_the_guard_objects() -> None:
    _, found = verified(GREEN, policy=HOLDOUT, now=bad("conftest.py", "x = 1\n"))
    assert (found.holdout, found.verdict) == ("not run", Verdict.FAIL)


def test_held_out_tests_that_fail_are_a_fail_and_leave_one_bit() -> None:
    secret = ran(f"FAILED tests/{SECRET}.py - assert 21 == 27\n1 failed, 4 passed in 0.1s", 1)
    after, found = verified(GREEN, policy=HOLDOUT, run_holdout=held_out(secret))
    assert (after.stage, found.holdout, found.reason) == (Stage.REPAIR, "fail", "the held-out tests failed")
    assert SECRET not in repr(after), "no word of them stays in the state"
    assert "21 == 27" not in repr(after)


@pytest.mark.parametrize(
    ("result", "replaced"),
    [
        (ran("3 passed in 0.1s"), 0),
        (ran("no tests ran", 5), 0),
        (ran("1 error during collection", 2), 0),
        (ran("", None, problem="isolation failed"), 0),
        (HUNG, 0),
        (ran("0 passed", 0), 1),
    ],
)
def test_a_held_out_run_that_ran_none_of_them_is_unknown(result: CommandResult, replaced: int) -> None:
    after, found = verified(GREEN, policy=HOLDOUT, run_holdout=held_out(result, replaced))
    assert (after.stage, found.holdout, found.verdict) == (Stage.HUMAN, "unknown", Verdict.UNKNOWN)


def test_held_out_tests_that_stand_in_for_visible_ones_need_not_be_more() -> None:
    assert verified(GREEN, policy=HOLDOUT, run_holdout=held_out(GREEN, replaced=1))[1].holdout == "pass"


def test_held_out_tests_that_are_not_there_leave_it_unknown() -> None:
    after, found = verified(GREEN, policy=HOLDOUT, run_holdout=[ToolError("not_found", "There are no held-out tests.")])
    assert (after.stage, found.holdout) == (Stage.HUMAN, "unknown")


def test_after_the_policys_number_of_runs_a_person_is_asked() -> None:
    spent = tuple(verification(GREEN, id=f"V{n}", holdout="fail") for n in range(1, 4))
    state = replace(START, verifications=spent, max_retries=9)
    after, found = verified(GREEN, policy=HOLDOUT, state=state)
    assert (after.stage, found.holdout, found.verdict) == (Stage.HUMAN, "spent", Verdict.UNKNOWN)
    assert "as often as the policy allows" in after.route_reason


def test_only_runs_count_and_not_verifications() -> None:
    idle = tuple(verification(id=f"V{n}", holdout="not run") for n in range(1, 6))
    state = replace(START, verifications=idle, max_retries=9)
    _, found = verified(GREEN, policy=HOLDOUT, state=state, run_holdout=held_out(ran("5 passed")))
    assert found.holdout == "pass"


def test_no_retries_at_all_end_after_one_failed_verification() -> None:
    after, _ = verified(RED, state=replace(START, max_retries=0))
    assert after.stage is Stage.HUMAN
    assert "0 of 0 retries are spent" in after.route_reason


def test_no_clock_time_stays_in_the_evidence() -> None:
    slow, fast = (verified(ran(f"3 passed in {text}s\n"))[1] for text in ("61.20", "0.03"))
    assert slow == fast
