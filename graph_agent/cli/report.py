"""What a repair says when it stops: the diff, the evidence, how it ended, and what to do next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from graph_agent.cli.bench import Setup
from graph_agent.cli.onward import NO_HELD_OUT
from graph_agent.cli.outcome import Outcome
from graph_agent.cli.printing import Way, way_data, way_lines
from graph_agent.cli.runfolder import RunFolder
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Stage, TaskState, Verification


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that there is to tell. `is_applied`: the patch is in the workspace, by whoever put it there.

    `ways`: how the run goes on, the likeliest last.
    """

    outcome: Outcome
    setup: Setup
    folder: RunFolder
    diff: str
    is_applied: bool
    ways: list[Way]

    @property
    def warnings(self) -> list[str]:
        verified = self.outcome.state.verification is not None
        return [NO_HELD_OUT] if verified and not self.setup.policy.holdout else []


def blocks_of(report: Report) -> list[str]:
    """What stands above the ending."""
    return [_diff(report.outcome, report.diff), _evidence(report.outcome.state, report.setup.policy)]


def _diff(outcome: Outcome, diff: str) -> str:
    if not diff:
        return "No file was changed."
    state, latest = outcome.state, outcome.state.verification
    passed = latest is not None and latest.verdict is Verdict.PASS and latest.attempt == state.attempt
    verified = state.stage is Stage.DONE or (passed and state.stage is Stage.HUMAN)
    title = "The patch" if verified else "The last attempt, which is NOT verified"
    return f"{title}:\n\n{diff.rstrip()}"


def _evidence(state: TaskState, policy: EvaluationPolicy) -> str:
    verification = state.verification
    if verification is None:
        return ""
    lines = [
        f"Evidence ({verification.id}, {verification.verdict.value}):",
        *map(_line, verification.checks),
        f"held-out tests: {_held_out(verification)}",
        f"guard: {'; '.join(verification.findings) or 'nothing found'}",
        f"isolation: {_isolation(verification)}",
        f"policy: {policy.fingerprint[:16]}",
    ]
    return "\n  ".join(lines)


def _line(check: Check) -> str:
    counts = check.counts
    ran = f", {counts.passed} of {counts.total} tests passed" if counts else ""
    code = "no exit code" if check.exit_code is None else f"exit {check.exit_code}"
    return f"{check.command}: {code}{ran} ({check.problem or check.reason})"


def _held_out(verification: Verification) -> str:
    said = {
        "none": "there are none",
        "not run": "not run, since what is visible did not pass",
        "pass": "passed",
        "fail": "failed",
        "unknown": "they did not run to an end",
        "spent": "not run again: they ran as often as the policy allows",
    }
    return said[verification.holdout]


def _isolation(verification: Verification) -> str:
    found = verification.isolation
    return "none: confinement by rules, not a sandbox" if "none" in found or not found else found


def ending_of(report: Report) -> str:
    outcome, folder = report.outcome, report.folder
    state = outcome.state
    at = f" at {state.came_from.value}" if state.stage is Stage.HUMAN and state.came_from else ""
    lines = [
        f"{outcome.title}{at}: {outcome.reason}",
        f"{state.steps} steps, {state.spent_turns} of {state.max_turns} turns, "
        f"{state.retries} of {state.max_retries} retries",
        *(f"warning: {text}" for text in report.warnings),
        f"the run is kept in {folder.folder}",
        *plan_lines(state),
    ]
    if outcome.applied:
        lines.append(f"applied to {folder.source}: {', '.join(outcome.applied)}")
    elif report.is_applied:
        lines.append(f"the patch is in {folder.source} already")
    elif state.stage is Stage.DONE:
        patch = shlex.quote(str(folder.patch))
        lines.append(f"apply it by hand: patch -p1 -d {shlex.quote(str(folder.source))} < {patch}")
    return "\n  ".join([*lines, *way_lines(report.ways)])


def plan_lines(state: TaskState) -> list[str]:
    """The plan that a person is asked to approve: what it rests on, and each edit. Nothing where none is asked for."""
    plan = state.plan_now
    if state.stage is not Stage.HUMAN or state.came_from not in (Stage.PLAN, Stage.REPAIR) or state.blocked or not plan:
        return []
    lines = [f"the plan (rests on {', '.join(plan.cites)}): {plan.hypothesis}"]
    for edit in plan.edits:
        lines.append(f"  {edit.path}")
        lines += [f"    - {line}" for line in edit.old.splitlines()]
        lines += [f"    + {line}" for line in edit.new.splitlines()]
    return lines


def data_of(report: Report) -> dict[str, Any]:
    outcome, folder = report.outcome, report.folder
    state, verification = outcome.state, outcome.state.verification
    return {
        "status": outcome.status,
        "exit_code": outcome.code,
        "stage": state.stage.value,
        "reason": outcome.reason,
        "run": folder.name,
        "folder": str(folder.folder),
        "steps": state.steps,
        "turns": state.spent_turns,
        "retries": state.retries,
        "diff": report.diff,
        "applied": list(outcome.applied),
        "left_out": list(report.setup.left_out),
        "verification": _verification(verification) if verification else None,
        "policy": report.setup.policy_hash,
        "warnings": report.warnings,
        "next": way_data(report.ways),
    }


def _verification(verification: Verification) -> dict[str, Any]:
    return {
        "id": verification.id,
        "verdict": verification.verdict.value,
        "checks": [
            {name: getattr(check, name) for name in ("kind", "command", "exit_code", "verdict", "reason")}
            | {"tests": getattr(check.counts, "total", None), "passed": getattr(check.counts, "passed", None)}
            for check in verification.checks
        ],
        "held_out": verification.holdout,
        "guard": list(verification.findings),
        "isolation": verification.isolation,
    }
