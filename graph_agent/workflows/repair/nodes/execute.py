"""EXECUTE: the only stage that writes. It carries out the plan as it stands and records each write.

Each write names the hash that the file is expected to have, so a write that was made already is found in place, and a
file that a stranger changed meanwhile is left alone.
"""

from __future__ import annotations

from typing import Any

from graph_agent.protocols import Context
from graph_agent.tools.textedit import TextEdit
from graph_agent.workflows.repair.nodes.plan import by_path
from graph_agent.workflows.repair.state import Change, TaskState


def execute(state: TaskState, ctx: Context) -> dict[str, Any]:
    """Restore what the plan does not build on, then edit. Stops at the first write that can't be made."""
    refused = _refusal(state)
    if refused:
        return {"blocked": refused}
    assert state.plan_now is not None
    base = state.attempts[-1].base
    wanted = by_path(state.plan_now.edits)
    undone = [path for path in changed(state) if base == "original" and path not in wanted]
    ctx.reserve(len(undone) + len(wanted))
    changes: list[Change] = []
    for path in (*undone, *wanted):
        if path in wanted:
            put = tuple(TextEdit(edit.old, edit.new) for edit in wanted[path])
            called = ctx.tools.call("edit_file", path=path, edits=put, on=base, before=expected(state, path))
        else:
            called = ctx.tools.call("restore_file", path=path, before=expected(state, path))
        if called.error is not None:
            blocked = f"{called.tool} could not be done ({called.error.kind}): {called.error}"
            return {"changes": tuple(changes), "blocked": blocked}
        done = called.value
        before = expected(state, path) or done.before  # an edit that was found in place was made from that
        changes.append(Change(path=done.path, before=before, after=done.after, attempt=state.attempt))
    return {"changes": tuple(changes), "blocked": ""}


def _refusal(state: TaskState) -> str:
    if state.plan_now is None:
        return "there is no plan to carry out"
    if state.risk == "high":
        return f"the risk is high and nobody approved it: {'; '.join(state.risks)}"
    return "" if state.plan_approved else "nobody approved this plan"


def changed(state: TaskState) -> list[str]:
    """The files that are not what they were at first, as far as this run wrote them."""
    first = {file.path: file.sha256 for file in state.baseline}
    now = {change.path: change.after for change in state.changes}
    return sorted(path for path, after in now.items() if after != first.get(path))


def expected(state: TaskState, path: str) -> str:
    """The hash that a file has if nobody but this run wrote to it."""
    written = [change.after for change in state.changes if change.path == path]
    first = [file.sha256 for file in state.baseline if file.path == path]
    return (written or first or [""])[-1]
