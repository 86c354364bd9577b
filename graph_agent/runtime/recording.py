"""What one visit was given and what it gave, whole: for `replay`, and for whoever looks into a run afterwards.

A journal holds what a step changed. Where `GRAPH_AGENT_RECORD=1` is set it also names, for each step, a blob with the
state before it, the patch, and each request, reply, tool call and tool result. The rule: it tells what went by and
never has a part in how it went.
"""

from __future__ import annotations

from typing import Any

from graph_agent.protocols import ModelUse, ToolUse
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import encode
from graph_agent.runtime.events import Event
from graph_agent.runtime.typecheck import hints


def visit(before: Any, event: Event) -> str:
    """A visit as JSON text."""
    types = hints(type(before))
    patch = {name: encode(value, types[name]) for name, value in (event.patch or {}).items()}
    models = [_model(use) for use in event.model_uses]
    tools = [_tool(use) for use in event.tool_uses]
    whole: Any = {"stage": event.stage, "before": encode(before), "patch": patch, "models": models, "tools": tools}
    return jsontext.dumps(whole)


def _model(use: ModelUse) -> Any:
    return {"request": encode(use.request), "reply": encode(use.reply) if use.reply else None, "error": repr(use.error)}


def _tool(use: ToolUse) -> Any:
    return {"tool": use.tool, "verdict": use.verdict}
