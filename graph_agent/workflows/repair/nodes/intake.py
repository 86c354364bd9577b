"""INTAKE: may this be worked on at all? Decided by rules, before a model sees a word of the request."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from graph_agent.protocols import Context
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import TaskState


def intake(state: TaskState, ctx: Context) -> dict[str, Any]:
    """Take down what each file is, so that the guard can tell later what changed, by whatever route."""
    policy: EvaluationPolicy = ctx.policy
    if not state.request.strip():
        return {"blocked": ""}  # the router ends an empty request; a person has nothing to answer
    forbidden = _forbidden(state, policy)
    if forbidden:
        return {"risks": (forbidden,), "blocked": forbidden}
    if not _lies_in(state.workspace, policy.allowed_root):
        return {"blocked": f"the workspace is outside of the allowed root: {state.workspace}"}
    listed = ctx.tools.call("list_files")
    if not listed.ok:
        return {"blocked": f"the workspace can't be listed: {listed.error}"}
    if not any(policy.may_write(file.path) for file in listed.value):
        return {
            "blocked": f"no file may be changed: none of {len(listed.value)} files matches {', '.join(policy.write)}"
        }
    return {"baseline": tuple(listed.value), "blocked": ""}


def _forbidden(state: TaskState, policy: EvaluationPolicy) -> str:
    """What the request asks for that only a person may decide on, "" when there is nothing or a person has."""
    word = policy.forbidden_word(state.request)
    risk = f"the request says {word!r}, which only a person may decide on" if word else ""
    return "" if risk in state.risks and state.risk == "low" else risk


def _lies_in(path: str, root: str) -> bool:
    inner, outer = PurePath(path), PurePath(root)
    return ".." not in inner.parts and inner.is_relative_to(outer)
