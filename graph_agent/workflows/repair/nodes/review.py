"""REVIEW: a reader sees the request, the diff and the evidence, not the plan. It can stop a run, not pass one."""

from __future__ import annotations

from typing import Any

from graph_agent.llm.ask import AskError, ask
from graph_agent.protocols import Context, Request
from graph_agent.workflows.repair.state import Review, TaskState

INSTRUCTIONS = """\
Review this patch as a maintainer who did not write it. Name as a blocker only what must not be merged: the request is
not met, something else breaks, a rule of the project is broken. Everything else is a comment."""


def review(state: TaskState, ctx: Context) -> dict[str, Any]:
    """Ask for blockers. What can't be read as a review is no approval."""
    diff = ctx.tools.call("diff")
    if not diff.ok:
        return {"blocked": f"the patch can't be reviewed: {diff.error}"}
    context = {
        "request": state.request,
        "diff": diff.value,
        "evidence": [
            {"command": one.command, "exit_code": one.exit_code, "verdict": one.verdict.value}
            for one in (state.verification.checks if state.verification else ())
        ],
        "project_rules": ctx.policy.rules,
    }
    try:
        found = ask(ctx.llm, Request(instructions=INSTRUCTIONS, context=context), Review)
    except AskError as error:
        return {"blocked": f"no valid review: {error}"}
    return {"reviews": (found,), "blocked": ""}
