"""What `repair` says at the end: the diff, the evidence, how it ended, and what to do next."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, FUSE, WAITING
from graph_agent.cli.options import is_offline
from graph_agent.cli.runfolder import RunFolder
from graph_agent.runtime.errors import RunError, StepLimitReached
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Stage, TaskState, Verification


@dataclass
class Outcome:
    """How a run ended: by itself, with an error, or interrupted (the exit code).

    `applied`: the files brought to the workspace; `refused`: why a verified patch was not.
    """

    state: TaskState
    error: RunError | None = None
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


def next_things(options: argparse.Namespace, outcome: Outcome, folder: Path) -> list[str]:
    state, patch = outcome.state, shlex.quote(str(folder / "patch.diff"))
    by_hand = f"apply it: patch -p1 -d {shlex.quote(options.workspace)} < {patch}"
    if outcome.applied:
        return [f"applied to {options.workspace}: {', '.join(outcome.applied)}"]
    if outcome.refused:
        return [by_hand, f"or repair what is there now: {_again(options)}"]
    if outcome.code == DONE:
        return [by_hand, f"or: {_again(options, '--apply')}"]
    if state.stage is Stage.FAILED and not outcome.interrupted:
        return [f"say what is wanted: {_again(options, '--request', 'TEXT')}"]
    if outcome.code != WAITING:
        return [f"to start again: {_again(options)}"]
    return _for_a_person(options, state, folder)


def _for_a_person(options: argparse.Namespace, state: TaskState, folder: Path) -> list[str]:
    verified = state.verification is not None
    if state.max_turns is not None and state.spent_turns >= state.max_turns:
        return [f"to allow more: {_again(options, '--turns', str(2 * max(6, state.max_turns)))}"]
    if verified and state.came_from is Stage.VERIFY and state.retries >= state.max_retries:
        return [f"to allow more: {_again(options, '--retries', str(2 * max(1, state.max_retries)))}"]
    if state.came_from is Stage.DIAGNOSE:
        return ["give the command whose tests fail as --test CMD, or more time with --timeout SECONDS"]
    if state.came_from is Stage.INTAKE:
        return [
            f"ask for something else, or allow other files: {_again(options, '--request', 'TEXT', '--allow', 'GLOB')}"
        ]
    tried = f"what was tried stands in {folder / 'trace.jsonl'}"
    if is_offline(options):
        return [tried, f"a model may see more: {_again(options, '--model', 'URL', '--model-name', 'NAME')}"]
    return [tried, f"say more of what is wanted: {_again(options, '--request', 'TEXT')}"]


def _again(options: argparse.Namespace, *more: str) -> str:
    """The user's own command once more; of an option given twice the last one counts."""
    return shlex.join(["python3", "-m", "graph_agent", *options.words, *more])


def print_report(
    options: argparse.Namespace, outcome: Outcome, folder: RunFolder, policy: EvaluationPolicy, diff: str
) -> None:
    """The report on stdout, and on stderr, in a line, why the run is not done."""
    if options.json:
        print_json(_data(options, outcome, folder, policy, diff))
    else:
        for block in (_diff(outcome, diff), _evidence(outcome.state, policy), _ending(options, outcome, folder)):
            if block:
                print(f"\n{visible(block)}")
    sys.stdout.flush()  # so that the line below stands below
    if outcome.code:
        print(visible(f"graph_agent: {outcome.title}: {outcome.reason}"), file=sys.stderr)


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would obey."""
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


def _ending(options: argparse.Namespace, outcome: Outcome, folder: RunFolder) -> str:
    state = outcome.state
    at = f" at {state.came_from.value}" if state.stage is Stage.HUMAN and state.came_from else ""
    lines = [
        f"{outcome.title}{at}: {outcome.reason}",
        f"{state.steps} steps, {state.spent_turns} of {state.max_turns} turns, "
        f"{state.retries} of {state.max_retries} retries",
        f"the run is kept in {folder.folder}",
    ]
    return "\n  ".join([*lines, *next_things(options, outcome, folder.folder)])


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
        return data.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(data, dict):
        return {key: _whole(value) for key, value in data.items()}
    return [_whole(value) for value in data] if isinstance(data, list | tuple) else data
