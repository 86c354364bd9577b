"""What `repair` says at the end: the diff, the evidence, how it ended, where the run is kept, what to do next."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from graph_agent.cli.jsonout import print_json
from graph_agent.cli.outcome import Outcome, next_things
from graph_agent.cli.runfolder import RunFolder
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Stage, TaskState, Verification


def print_report(
    options: argparse.Namespace, outcome: Outcome, folder: RunFolder, policy: EvaluationPolicy, diff: str
) -> None:
    """The whole report on stdout, or as one JSON object; and on stderr, in a line, why the run is not done."""
    if options.json:
        print_json(_data(options, outcome, folder, policy, diff))
    else:
        for block in (_diff(outcome, diff), _evidence(outcome.state, policy), _ending(options, outcome, folder)):
            if block:
                print(f"\n{visible(block)}")
    sys.stdout.flush()  # so that the line below stands below, where both go to one place
    if outcome.code:
        print(visible(f"graph_agent: {outcome.title}: {outcome.reason}"), file=sys.stderr)


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would obey: it may come from a model, or from a file."""
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def _diff(outcome: Outcome, diff: str) -> str:
    if not diff:
        return "No file was changed."
    verified = outcome.state.stage is Stage.DONE
    title = "The patch" if verified else "The last attempt, which is NOT verified"
    return f"{title}:\n\n{diff.rstrip()}"


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
    at = f" at {state.came_from.value}" if state.stage is Stage.HUMAN and state.came_from else ""
    lines = [
        f"{outcome.title}{at}: {outcome.reason}",
        f"  {state.steps} steps, {state.spent_turns} of {state.max_turns} turns, "
        f"{state.retries} of {state.max_retries} retries",
        f"  the run is kept in {folder.folder}",
    ]
    return "\n".join([*lines, *(f"  {line}" for line in next_things(options, outcome, folder.folder))])


def _data(
    options: argparse.Namespace, outcome: Outcome, folder: RunFolder, policy: EvaluationPolicy, diff: str
) -> dict[str, Any]:
    state, verification = outcome.state, outcome.state.verification
    return {
        "status": outcome.status,
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
        "left_out": [left.path for left in folder.left_behind],
        "verification": _verification(verification) if verification else None,
        "policy": policy.fingerprint,
        "next": next_things(options, outcome, folder.folder),
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
