"""What one visit was given and what it gave, whole: for `replay`, and for whoever looks into a run afterwards.

A journal holds what a step changed. Where `GRAPH_AGENT_RECORD=1` is set it also names, for each step, a blob with the
state before it, the patch, and each request, reply, tool call and tool result. The rule: it tells what went by and
never has a part in how it went; what JSON can't hold is marked as such.
"""

from __future__ import annotations

from typing import Any

from graph_agent.protocols import LLMError, ModelUse, Reply, Request, ToolError, ToolResult, ToolUse
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.events import Event
from graph_agent.runtime.jsontext import quote
from graph_agent.runtime.typecheck import hints

MARK = "can't be recorded"


def visit(before: Any, event: Event) -> str:
    """A visit as JSON text."""
    types = hints(type(before))
    patch = {name: encode(value, types[name]) for name, value in (event.patch or {}).items()}
    models = [_model(use) for use in event.model_uses]
    tools = [_tool(use) for use in event.tool_uses]
    whole: Any = {"stage": event.stage, "before": encode(before), "patch": patch, "models": models, "tools": tools}
    return jsontext.dumps(whole)


def request_data(request: Request) -> dict[str, Any]:
    """A request as JSON data: what a replay compares."""
    names = ("instructions", "context", "schema", "temperature", "max_tokens")
    return {name: _json(getattr(request, name)) for name in names}


def call_data(tool: str, arguments: Any) -> dict[str, Any]:
    """A call as JSON data; arguments as their code, since they may be of any class."""
    return {"tool": tool, "arguments": {name: jsontext.shown(value) for name, value in arguments.items()}}


def reply_of(data: dict[str, Any]) -> Reply:
    """The reply that was recorded. Raises the error that came instead, as an `LLMError`."""
    if data["reply"] is None:
        raise LLMError(data["error"]["message"])
    reply: Reply = decode(Reply, data["reply"], "reply")
    return reply


def result_of(data: dict[str, Any], returns: Any) -> ToolResult:
    """The result that was recorded; `returns` is the type of the tool's value. Raises `CodecError` for a marked one."""
    if error := data.get("error"):
        lines = tuple(error["lines"])
        made = ToolError(error["kind"], error["message"], hint=error["hint"], lines=lines)
        return ToolResult(tool=data["tool"], error=made, verdict=data["verdict"])
    if MARK in data:
        raise CodecError("", f"the value of {data['tool']} {MARK}: {data[MARK]}")
    value = data["value"] if returns is None else decode(returns, data["value"], data["tool"])
    return ToolResult(tool=data["tool"], value=value, verdict=data["verdict"])


def _model(use: ModelUse) -> dict[str, Any]:
    error = None if use.error is None else {"type": type(use.error).__name__, "message": str(use.error)}
    return {"request": request_data(use.request), "reply": encode(use.reply) if use.reply else None, "error": error}


def _tool(use: ToolUse) -> dict[str, Any]:
    data = {**call_data(use.tool, use.arguments), "verdict": use.verdict}
    if use.result is None:
        return data | {"denied": True}
    if use.result.error is not None:
        error = use.result.error
        return data | {"error": {name: _json(getattr(error, name)) for name in ("kind", "message", "hint", "lines")}}
    return data | _value(use.result.value, use.returns)


def _value(value: Any, returns: Any) -> dict[str, Any]:
    try:
        data = value if returns is None else encode(value, returns)
        jsontext.dumps(data)
    except CodecError as error:
        return {MARK: str(error)}
    return {"value": data}


def _json(value: Any) -> Any:
    """The value as it is when it is read again, if it is JSON data, as it is by contract."""
    try:
        return jsontext.loads(jsontext.dumps(value))
    except CodecError:
        return {MARK: quote(value)}
