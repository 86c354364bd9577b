"""What `repair` says at the end: how it went, the diff, the evidence, where the run is kept, and what to do next."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import dataclass
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, FUSE, WAITING
from graph_agent.cli.runfolder import RunFolder
from graph_agent.runtime.errors import RunError, StepLimitReached
from graph_agent.runtime.jsontext import dumps
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Stage, TaskState, Verification


@dataclass
class Outcome:
    """How a run ended: by itself, with an error of the graph, or interrupted (the exit code then)."""

    state: TaskState
    error: RunError | None = None
    interrupted: int = 0
    applied: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        if self.interrupted:
            return self.interrupted
        if self.error is not None:
            return FUSE if isinstance(self.error, StepLimitReached) else FAILED
        return {Stage.DONE: DONE, Stage.HUMAN: WAITING}.get(self.state.stage, FAILED)

    @property
    def status(self) -> str:
        if self.interrupted:
            return "interrupted"
        if self.error is not None:
            return "stopped by the last fuse" if self.code == FUSE else "failed"
        return {Stage.DONE: "done", Stage.HUMAN: "waiting for a person"}.get(self.state.stage, "failed")

    @property
    def reason(self) -> str:
        return str(self.error) if self.error is not None else self.state.route_reason


def print_report(
    options: argparse.Namespace, outcome: Outcome, folder: RunFolder, policy: EvaluationPolicy, diff: str
) -> None:
    if options.json:
        print(dumps(_data(outcome, folder, policy, diff)))
        return
    for block in (_diff(outcome, diff), _evidence(outcome.state, policy), _ending(options, outcome, folder)):
        if block:
            print(f"\n{block}")
    if outcome.code:
        print(f"graph_agent: {outcome.status}: {outcome.reason}", file=sys.stderr)


def _diff(outcome: Outcome, diff: str) -> str:
    if not diff:
        return "No file was changed."
    verified = outcome.state.stage is Stage.DONE
    return f"{'The patch' if verified else 'The last attempt, which is NOT verified'}:\n\n{diff.rstrip()}"


def _evidence(state: TaskState, policy: EvaluationPolicy) -> str:
    verification = state.verification
    if verification is None:
        return ""
    lines = [f"Evidence ({verification.id}, {verification.verdict.value}):"]
    lines += [f"  {_line(check)}" for check in verification.checks]
    lines.append(f"  held-out tests: {_held_out(verification)}")
    lines.append(f"  guard: {'; '.join(verification.findings) or 'nothing found'}")
    lines.append(f"  isolation: {_isolation(verification)}")
    lines.append(f"  policy: {policy.fingerprint[:16]}")
    return "\n".join(lines)


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
        "unknown": "it can't be told: they did not run to an end",
        "spent": "not run again: they have run as often as the policy allows",
    }
    return said[verification.holdout]


def _isolation(verification: Verification) -> str:
    if "none" in verification.isolation or not verification.isolation:
        return "none: confinement by rules, not a sandbox"
    return verification.isolation


def _ending(options: argparse.Namespace, outcome: Outcome, folder: RunFolder) -> str:
    state = outcome.state
    lines = [
        f"{outcome.status}: {outcome.reason}",
        f"  {state.steps} steps, {state.spent_turns} of {state.max_turns} turns, "
        f"{state.retries} of {state.max_retries} retries",
        f"  the run is kept in {folder.folder}",
    ]
    return "\n".join([*lines, *(f"  {line}" for line in _next(options, outcome, folder))])


def _next(options: argparse.Namespace, outcome: Outcome, folder: RunFolder) -> list[str]:
    state, again = outcome.state, f"python3 -m graph_agent repair {shlex.quote(options.workspace)}"
    if outcome.applied:
        return [f"applied to {folder.source}: {', '.join(outcome.applied)}"]
    if outcome.code == DONE:
        patch = shlex.quote(str(folder.folder / "patch.diff"))
        return [f"apply it: patch -p1 -d {shlex.quote(options.workspace)} < {patch}", f"or: {again} --apply"]
    if state.max_turns is not None and state.spent_turns >= state.max_turns:
        return [f"to allow more: {again} --turns {2 * max(6, state.max_turns)}"]
    if outcome.code == WAITING and state.verification and state.retries >= state.max_retries:
        return [f"to allow more: {again} --retries {2 * max(1, state.max_retries)}"]
    if outcome.code == WAITING and "no test runs" in outcome.reason:
        return [f"name the test command: {again} --test 'CMD'"]
    return [f"when that is settled: {again}"]


def _data(outcome: Outcome, folder: RunFolder, policy: EvaluationPolicy, diff: str) -> dict[str, Any]:
    state, verification = outcome.state, outcome.state.verification
    return {
        "status": "human" if state.stage is Stage.HUMAN and not outcome.error else outcome.status.split()[0],
        "exit_code": outcome.code,
        "stage": state.stage.value,
        "reason": outcome.reason,
        "run": folder.folder.name,
        "folder": str(folder.folder),
        "steps": state.steps,
        "turns": state.spent_turns,
        "retries": state.retries,
        "diff": diff,
        "applied": list(outcome.applied),
        "verification": _verification(verification) if verification else None,
        "policy": policy.fingerprint,
    }


def _verification(verification: Verification) -> dict[str, Any]:
    return {
        "id": verification.id,
        "verdict": verification.verdict.value,
        "checks": [
            {
                "kind": check.kind,
                "command": check.command,
                "exit_code": check.exit_code,
                "verdict": check.verdict.value,
                "reason": check.reason,
                "tests": check.counts.total if check.counts else None,
                "passed": check.counts.passed if check.counts else None,
            }
            for check in verification.checks
        ],
        "held_out": verification.holdout,
        "guard": list(verification.findings),
        "isolation": verification.isolation,
    }
