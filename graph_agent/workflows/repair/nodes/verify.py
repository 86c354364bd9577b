"""VERIFY: evidence, by commands and hashes; and from what a command printed to a `Check`, as DIAGNOSE makes it too.

The guard looks before the commands run and again after them, since a test may write too; the held-out tests run only
when all that is visible passes. The rule: what only the edit can have caused (a test that no longer ends, a module that
no longer imports) is the edit's failure; what else was so before is no evidence either way.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal

from graph_agent.protocols import Context, ToolResult
from graph_agent.verify.guard import guard_counts, guard_diff, guard_files
from graph_agent.verify.report import Verdict, judge_tests
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Observation, TaskState, Verification, next_id

MOST_SUMMARY = 4_000  # characters of output that a check keeps

_BROKEN = ("collection error", "no tests ran", "crashed", "no test report", "the runner failed")
_PERMISSION = re.compile(  # by the system's words and not by the exception, which a program may raise for its own users
    r"\[Errno (?:1|13|30)\]|(?<!Error): (?:Permission denied|Read-only file system|Operation not permitted)$",
    re.MULTILINE,
)
_UNSTABLE = (
    (re.compile(r"\bin \d+\.\d+s(?: \(\d+:\d\d:\d\d\))?"), "in a moment"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,16}\b"), "0x..."),
    (re.compile(r"/tmp/graph-agent-\w+"), "~"),
)


def verify(state: TaskState, ctx: Context) -> dict[str, Any]:
    """One verification more, and a risk when the machine refused a command something."""
    policy: EvaluationPolicy = ctx.policy
    before = _guarded(state, ctx, policy)
    checks = _checks(state, ctx, policy)
    findings = (*before, *_guarded(state, ctx, policy), *_counted(state, policy, checks))
    visible = Verification(
        id=next_id("V", state.verifications),
        attempt=state.attempt,
        checks=checks,
        findings=tuple(dict.fromkeys(findings)),
        policy=policy.fingerprint,
        isolation=", ".join(sorted({check.isolation for check in checks})),
    )
    verification = replace(visible, holdout=_holdout(state, ctx, policy, visible))
    problem = verification.permission_problem
    return {"verifications": (verification,), "blocked": "", **({"risks": (problem,)} if problem else {})}


def stable(text: str) -> str:
    """Without times and addresses, so that a recorded model finds its question again."""
    for pattern, instead in _UNSTABLE:
        text = pattern.sub(instead, text)
    return text


def shortened(text: str, most: int = MOST_SUMMARY) -> str:
    """The head and, since failures stand at the end, more of the tail."""
    if len(text) <= most:
        return text
    head, tail = most // 4, most - most // 4
    return f"{text[:head]}\n[{len(text) - most} characters left out]\n{text[-tail:]}"


def check_of(command: Command, called: ToolResult, before: Check | None = None, *, endless: bool = False) -> Check:
    """What a command proved. `before` is its check before the edit, `endless` that a test was seen then not to end."""
    if called.ok and called.value is not None:
        return _check(command.kind, command.text, called.value, before, endless)
    return Check(
        kind=command.kind,
        command=command.text,
        exit_code=None,
        ruling=Verdict.UNKNOWN,
        reason="the command was not run",
        problem=f"permission: {called.error}",
    )


def with_output(check: Check, called: ToolResult, ctx: Context) -> Check:
    """With a reference to all that the command printed, where the summary has only a part of it."""
    output = stable(called.value.output) if called.ok and called.value is not None else ""
    return replace(check, output=ctx.keep(output)) if len(output) > MOST_SUMMARY else check


def failing_run(state: TaskState) -> Observation | None:
    """Of the first test command that fails: what the run is about."""
    return next((seen for seen in _runs(state).values() if seen.check and fails(seen.check)), None)


def fails(check: Check) -> bool:
    """Whether there is something to mend; what did not run is nothing."""
    return check.ruling is Verdict.FAIL or check.reason == "timed out"


def _checks(state: TaskState, ctx: Context, policy: EvaluationPolicy) -> tuple[Check, ...]:
    """Up to the first command that does not pass: the rest would prove nothing more."""
    checks: list[Check] = []
    endless = any(one.unfinished for one in state.observations)
    for command in policy.commands:
        called = ctx.tools.call("run_command", argv=command.argv)
        check = check_of(command, called, _before(state, command), endless=endless)
        checks.append(with_output(check, called, ctx))
        if checks[-1].verdict is not Verdict.PASS:
            break
    return tuple(checks)


def _guarded(state: TaskState, ctx: Context, policy: EvaluationPolicy) -> tuple[str, ...]:
    """What can't be looked at is a finding too."""
    listed, diff = ctx.tools.call("list_files"), ctx.tools.call("diff")
    unseen = tuple(f"{called.tool} failed: {called.error}" for called in (listed, diff) if not called.ok)
    if unseen:
        return unseen
    files = guard_files(state.baseline, listed.value, policy.may_write, policy.max_files)
    return (*files, *guard_diff(diff.value, policy.forbidden_marks))


def _counted(state: TaskState, policy: EvaluationPolicy, checks: tuple[Check, ...]) -> list[str]:
    found: list[str] = []
    for command, check in zip(policy.commands, checks, strict=False):
        before = _before(state, command)
        found += guard_counts(before.counts if before else None, check.counts, command.text)
    return found


def _holdout(
    state: TaskState, ctx: Context, policy: EvaluationPolicy, visible: Verification
) -> Literal["none", "not run", "pass", "fail", "unknown", "spent"]:
    """One bit of the held-out tests, no word of them."""
    if not policy.holdout:
        return "none"
    if visible.verdict is not Verdict.PASS:
        return "not run"
    if state.holdout_runs >= policy.holdout_runs:
        return "spent"
    called = ctx.tools.call("run_holdout")
    if not called.ok:
        return "unknown"
    check = _check("test", "held-out", called.value.result, None)
    seen = max((one.counts.total for one in visible.checks if one.counts), default=0)
    if not called.value.replaced and (check.counts is None or check.counts.total <= seen):
        return "unknown"  # no more tests ran than are visible, so none of the held-out ones
    return "pass" if check.verdict is Verdict.PASS else "fail" if check.verdict is Verdict.FAIL else "unknown"


def _before(state: TaskState, command: Command) -> Check | None:
    seen = _runs(state).get(command.text)
    return seen.check if seen else None


def _runs(state: TaskState) -> dict[str, Observation]:
    """The latest of each command, in the order of the policy."""
    return {one.check.command: one for one in state.observations if one.check is not None}


def _check(kind: Any, text: str, result: Any, before: Check | None, endless: bool = False) -> Check:
    in_time_before = endless or (before is not None and before.reason != "timed out")
    counts = None
    if kind == "test":
        ruling, counts, reason = judge_tests(
            result.exit_code, result.output, timed_out=result.timed_out, timed_out_before=not in_time_before
        )
        reported = endless or (before is not None and before.counts is not None)
        if ruling is Verdict.UNKNOWN and reason in _BROKEN and reported:
            ruling = Verdict.FAIL
    elif result.timed_out:
        ruling, reason = (Verdict.FAIL if in_time_before else Verdict.UNKNOWN), "timed out"
    elif result.exit_code is None:
        ruling, reason = Verdict.UNKNOWN, "the command was not run"
    else:
        ruling, reason = (Verdict.FAIL, "failed") if result.exit_code else (Verdict.PASS, "passed")
    return Check(
        kind=kind,
        command=text,
        exit_code=result.exit_code,
        ruling=ruling,
        reason=reason,
        counts=counts,
        summary=shortened(stable(result.output)),
        problem=result.problem or _permission(result, before),
        isolation=result.isolation,
    )


def _permission(result: Any, before: Check | None) -> str:
    """A refusal by the machine that was not there before: no edit of a source file mends it."""
    if result.exit_code == 126:
        return "permission: the command may not be executed"
    found = _PERMISSION.search(result.output)
    if not result.exit_code or found is None or before is None or found.group() in before.summary:
        return ""
    return f"permission: the command met {found.group()!r}"
