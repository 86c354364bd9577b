"""Tell for each changed file of a repair what was seen, what was planned on it, who wrote, what verified it, and why it
was tried again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from graph_agent.cli.bench import kept_setup
from graph_agent.cli.exits import UsageError
from graph_agent.cli.kept import Kept
from graph_agent.cli.printing import print_json, visible
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.graph import Graph, Node, stage_name
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import TaskState, Verification

WRITING = ("edit_file", "restore_file")


def tell(options: argparse.Namespace, kept: Kept) -> None:
    """Print it. Raises `UsageError` for a file that was not changed."""
    state: TaskState = kept.state
    paths = list(dict.fromkeys(change.path for change in state.changes))
    if options.file is not None:
        if options.file not in paths:
            known = ", ".join(paths) or "no file"
            raise UsageError(
                f"--file {options.file!r} was not changed{nearest(options.file, paths)}: the run has {known}"
            )
        paths = [options.file]
    told = [_of_file(state, path) for path in paths]
    if options.json:
        print_json({"run": kept.folder.name, "may_write": _may_write(kept), "files": told})
    else:
        print(visible("\n".join(_text(kept, state, told))))


def _of_file(state: TaskState, path: str) -> dict[str, Any]:
    attempts = [change.attempt for change in state.changes if change.path == path]
    return {"path": path, "attempts": [_of_attempt(state, path, number) for number in dict.fromkeys(attempts)]}


def _of_attempt(state: TaskState, path: str, number: int) -> dict[str, Any]:
    """An attempt that did not name the file took back what an earlier one had made of it."""
    attempt = state.attempts[number]
    plan = attempt.plan
    edits = [edit for edit in plan.edits if edit.path == path] if plan else []
    return {
        "attempt": number + 1,
        "why": attempt.why or (plan.hypothesis if plan else ""),
        "hypothesis": plan.hypothesis if plan else "",
        "cites": [{"id": ref, "what": _cited(state, ref)} for ref in (plan.cites if plan else ())],
        "edits": [{"old": edit.old, "new": edit.new} for edit in edits],
        "restored": not edits,
        "verified_by": [_of_verification(one) for one in state.verifications if one.attempt == number],
    }


def _cited(state: TaskState, ref: str) -> str:
    for seen in state.observations:
        if seen.id == ref:
            return f"{seen.source}{f' of {seen.path}' if seen.path else ''}: {_first_line(seen.text)}"
    found = next((one for one in state.verifications if one.id == ref), None)
    return f"verification: {found.verdict.value}, {found.reason}" if found else "is not in the state"


def _of_verification(one: Verification) -> dict[str, Any]:
    return {
        "id": one.id,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "checks": [f"{check.command}: {check.verdict.value}, {check.reason}" for check in one.checks],
        "held_out": one.holdout,
        "guard": list(one.findings),
    }


def _may_write(kept: Kept) -> dict[str, Any]:
    policy = kept_setup(kept).policy
    return {"stages": _writers(GRAPH), "allowed": list(policy.write), "protected": list(policy.protect)}


def _writers(graph: Graph[Any]) -> list[str]:
    nodes = ((stage, entry) for stage, entry in graph.nodes.items() if isinstance(entry, Node))
    return [stage_name(stage) for stage, entry in nodes if set(WRITING) & set(entry.tools)]


def _text(kept: Kept, state: TaskState, told: list[dict[str, Any]]) -> Iterator[str]:
    may = _may_write(kept)
    yield f"{kept.folder.name}: {state.stage.value}, {state.route_reason}"
    yield f"who may write: {', '.join(may['stages'])} alone, files that match {', '.join(may['allowed'])}"
    if not told:
        yield "no file was changed"
    for one in told:
        yield f"\n{one['path']}"
        for attempt in one["attempts"]:
            yield from _attempt_text(attempt)


def _attempt_text(attempt: dict[str, Any]) -> Iterator[str]:
    yield f"  attempt {attempt['attempt']}: {attempt['why']}"
    if attempt["hypothesis"] != attempt["why"]:
        yield f"    plan: {attempt['hypothesis']}"
    for cited in attempt["cites"]:
        yield f"    rests on {cited['id']}: {cited['what']}"
    for edit in attempt["edits"]:
        yield from (f"    - {line}" for line in edit["old"].splitlines())
        yield from (f"    + {line}" for line in edit["new"].splitlines())
    if attempt["restored"]:
        yield "    put back as it was at first"
    for one in attempt["verified_by"]:
        yield f"    {one['id']} {one['verdict']}: {one['reason']}"
        yield from (f"      {line}" for line in one["checks"])
        yield f"      held-out tests: {one['held_out']}; guard: {'; '.join(one['guard']) or 'nothing found'}"
    if not attempt["verified_by"]:
        yield "    not verified"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "nothing"
