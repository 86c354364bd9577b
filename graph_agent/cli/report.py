"""What a repair says when it stops: the diff, the evidence, how it ended, and what to do next."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import dataclass
from typing import Any

from graph_agent.cli.bench import Setup
from graph_agent.cli.exits import DONE, FAILED, FUSE, WAITING
from graph_agent.cli.onward import NO_HELD_OUT, Way
from graph_agent.cli.runfolder import RunFolder
from graph_agent.runtime.errors import JournalError, RunError, StepLimitReached
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Stage, TaskState, Verification


@dataclass
class Outcome:
    """How a run ended: by itself, with an error, or interrupted (the exit code).

    `applied`: the files brought to the workspace; `refused`: why a verified patch was not.
    """

    state: TaskState
    error: RunError | JournalError | OSError | None = None
    interrupted: int = 0
    applied: tuple[str, ...] = ()
    refused: str = ""

    @property
    def code(self) -> int:
        if self.interrupted:
            return self.interrupted
        if self.error is not None:
            return FUSE if isinstance(self.error, StepLimitReached) else FAILED
        if self.refused:
            return FAILED
        return {Stage.DONE: DONE, Stage.HUMAN: WAITING}.get(self.state.stage, FAILED)

    @property
    def status(self) -> str:
        if self.interrupted:
            return "interrupted"
        return {DONE: "done", WAITING: "human", FUSE: "fuse"}.get(self.code, "failed")

    @property
    def title(self) -> str:
        return {"human": "waiting for a person", "fuse": "stopped by the last fuse"}.get(self.status, self.status)

    @property
    def reason(self) -> str:
        state = self.state
        if self.interrupted and state.stage not in (Stage.DONE, Stage.HUMAN, Stage.FAILED):
            return f"during {state.stage.value}, after {state.steps} steps, all of which are kept"
        if self.error is not None:
            return str(self.error)
        return f"verified, but not applied: {self.refused}" if self.refused else state.route_reason


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


def print_report(report: Report, options: argparse.Namespace) -> None:
    """On stderr, in a line, why the run is not done; on stdout the report, whose last line is how to go on."""
    outcome = report.outcome
    blocks = [] if options.json else [_diff(outcome, report.diff), _evidence(outcome.state, report.setup.policy)]
    for block in filter(None, blocks):
        print(f"\n{visible(block)}")
    sys.stdout.flush()  # so that the line below stands below
    if outcome.code:
        print(visible(f"graph_agent: {outcome.title}: {outcome.reason}"), file=sys.stderr, flush=True)
    if options.json:
        print_json(_data(report))
    else:
        print(f"\n{visible(_ending(report))}")


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


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


def _ending(report: Report) -> str:
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


def way_lines(ways: list[Way]) -> list[str]:
    return [line for way in ways for line in (f"to {way.words}:", f"  {way.command}")]


def way_data(ways: list[Way]) -> list[dict[str, str]]:
    return [{"to": way.words, "command": way.command} for way in ways]


def _data(report: Report) -> dict[str, Any]:
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


def print_json(data: dict[str, Any]) -> None:
    """On one line. A byte that is no UTF-8, as in a file's name, shows as a backslash escape."""
    print(json.dumps(_whole(data), ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _whole(data: Any) -> Any:
    if isinstance(data, str):
        return as_text(data)
    if isinstance(data, dict):
        return {key: _whole(value) for key, value in data.items()}
    return [_whole(value) for value in data] if isinstance(data, list | tuple) else data


def as_text(text: str) -> str:
    """A byte that is no UTF-8, as in a file's name, as a backslash escape."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
