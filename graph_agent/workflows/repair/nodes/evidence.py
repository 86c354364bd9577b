"""From what a command printed to a `Check`, the same way before an edit and after it.

The rule: what only the edit can have caused (a test that no longer ends, a module that no longer imports) is the
edit's failure, and so is a test that was seen not to end before and still doesn't; what else was so before is no
evidence either way.
"""

from __future__ import annotations

import re
from typing import Any

from graph_agent.protocols import ToolResult
from graph_agent.verify.report import Verdict, judge_tests
from graph_agent.workflows.repair.policy import Command
from graph_agent.workflows.repair.state import Check, Observation, TaskState

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


def stable(text: str) -> str:
    """Output without times and addresses: equal runs are equal, and a recorded model finds its question again."""
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
    """What a command proved. `before` is the same command's check before the edit, None when this is that one.

    `endless` says that a test was seen before the edit that began and did not end.
    """
    if not called.ok or called.value is None:
        return Check(
            kind=command.kind,
            command=command.text,
            exit_code=None,
            ruling=Verdict.UNKNOWN,
            reason="the command was not run",
            problem=f"permission: {called.error}",
        )
    return _check(command.kind, command.text, called.value, before, endless)


def held_out_verdict(called: ToolResult, visible: tuple[Check, ...]) -> Verdict:
    """One bit of the held-out tests, no word of them. Where no more tests ran than are visible, none of them ran."""
    if not called.ok:
        return Verdict.UNKNOWN
    run = called.value
    check = _check("test", "held-out", run.result, None)
    seen = max((one.counts.total for one in visible if one.counts), default=0)
    if not run.replaced and (check.counts is None or check.counts.total <= seen):
        return Verdict.UNKNOWN
    return check.verdict


def before_of(state: TaskState, command: Command) -> Check | None:
    """The latest check of the same command that DIAGNOSE made."""
    seen = _runs(state).get(command.text)
    return seen.check if seen else None


def failing_run(state: TaskState) -> Observation | None:
    """The observation of the first test command that fails: what the run is about."""
    return next((seen for seen in _runs(state).values() if seen.check and fails(seen.check)), None)


def fails(check: Check) -> bool:
    """Whether there is something to mend: a test that fails, or one that never ends. What did not run is neither."""
    return check.ruling is Verdict.FAIL or check.reason == "timed out"


def never_ended(state: TaskState) -> bool:
    """Whether DIAGNOSE saw a test begin and not end."""
    return any(one.unfinished for one in state.observations)


def _runs(state: TaskState) -> dict[str, Observation]:
    """The latest observation of each command, in the order of the policy."""
    return {one.check.command: one for one in state.observations if one.check is not None}


def _check(kind: Any, text: str, result: Any, before: Check | None, endless: bool = False) -> Check:
    in_time_before = endless or (before is not None and before.reason != "timed out")
    if kind == "test":
        ruling, counts, reason = judge_tests(
            result.exit_code, result.output, timed_out=result.timed_out, timed_out_before=not in_time_before
        )
        reported = endless or (before is not None and before.counts is not None)
        if ruling is Verdict.UNKNOWN and reason in _BROKEN and reported:
            ruling = Verdict.FAIL
    else:
        ruling, counts, reason = _exit(result, in_time_before)
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


def _exit(result: Any, in_time_before: bool) -> tuple[Verdict, None, str]:
    if result.timed_out:
        return (Verdict.FAIL if in_time_before else Verdict.UNKNOWN), None, "timed out"
    if result.exit_code is None:
        return Verdict.UNKNOWN, None, "the command was not run"
    return (Verdict.PASS, None, "passed") if result.exit_code == 0 else (Verdict.FAIL, None, "failed")


def _permission(result: Any, before: Check | None) -> str:
    """A refusal by the machine that was not there before: no edit of a source file mends it."""
    if result.exit_code == 126:
        return "permission: the command may not be executed"
    found = _PERMISSION.search(result.output)
    if not result.exit_code or found is None or (before is not None and found.group() in before.summary):
        return ""
    return f"permission: the command met {found.group()!r}" if before is not None else ""
