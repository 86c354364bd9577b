"""VERIFY: evidence, by commands and hashes. No model takes part, and nothing here may write.

The guard looks before the commands run and again after them, since a test may write too. The held-out tests run only
when all that is visible passes, and leave one bit. The rule: the verdict is not decided here but follows from what is
recorded (`Verification.verdict`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from graph_agent.protocols import Context, ToolResult
from graph_agent.verify.guard import guard_counts, guard_diff, guard_files
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.nodes.evidence import before_of, check_of, held_out_verdict, never_ended
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Check, TaskState, Verification, next_id

Holdout = Literal["none", "not run", "pass", "fail", "unknown", "spent"]


def verify(state: TaskState, ctx: Context) -> dict[str, Any]:
    """One verification more; and a risk when the machine would not let a command do its work."""
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
    verification = _with_holdout(state, ctx, policy, visible)
    problem = verification.permission_problem
    return {"verifications": (verification,), "blocked": "", **({"risks": (problem,)} if problem else {})}


def _checks(state: TaskState, ctx: Context, policy: EvaluationPolicy) -> tuple[Check, ...]:
    """Run the policy's commands in order, up to the first that does not pass: the rest would prove nothing more."""
    checks: list[Check] = []
    for command in policy.commands:
        called = ctx.tools.call("run_command", argv=command.argv)
        checks.append(check_of(command, called, before_of(state, command), endless=never_ended(state)))
        if checks[-1].verdict is not Verdict.PASS:
            break
    return tuple(checks)


def _guarded(state: TaskState, ctx: Context, policy: EvaluationPolicy) -> tuple[str, ...]:
    """What the files and the diff say. What can't be looked at is a finding: nobody could say that it is clean."""
    listed, diff = ctx.tools.call("list_files"), ctx.tools.call("diff")
    unseen = tuple(f"{called.tool} failed: {called.error}" for called in (listed, diff) if not called.ok)
    if unseen:
        return unseen
    files = guard_files(state.baseline, listed.value, policy.may_write, policy.max_files)
    return (*files, *guard_diff(diff.value, policy.forbidden_marks))


def _counted(state: TaskState, policy: EvaluationPolicy, checks: tuple[Check, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for command, check in zip(policy.commands, checks, strict=False):
        seen = before_of(state, command)
        found += guard_counts(seen.counts if seen else None, check.counts, command.text)
    return tuple(found)


def _with_holdout(state: TaskState, ctx: Context, policy: EvaluationPolicy, visible: Verification) -> Verification:
    if not policy.holdout:
        return visible
    if visible.verdict is not Verdict.PASS:
        return _with(visible, "not run")
    if state.holdout_runs >= policy.holdout_runs:
        return _with(visible, "spent")
    called: ToolResult = ctx.tools.call("run_holdout")
    verdict = held_out_verdict(called, visible.checks)
    return _with(visible, "pass" if verdict is Verdict.PASS else "fail" if verdict is Verdict.FAIL else "unknown")


def _with(verification: Verification, holdout: Holdout) -> Verification:
    return replace(verification, holdout=holdout)
