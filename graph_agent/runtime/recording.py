"""What one visit was given and what it gave, whole: for `replay`, and for whoever looks into a run afterwards.

A journal holds what a step changed. Where `GRAPH_AGENT_RECORD=1` is set it also names, for each step, a blob with the
state before it, the patch, and each request, reply, tool call and tool result. The rule: it tells what went by and
never has a part in how it went, so what can't be written is marked as such and stops no run.

This is no recording as `llm.record` keeps it: that one is of a model, for any run that asks it the same, and knows no
tools; this one is of a visit, for that visit alone, and stands and falls with the run's journal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from graph_agent.protocols import ModelUse, Reply, Request, ToolError, ToolResult, ToolUse
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.events import Event
from graph_agent.runtime.jsontext import quote, shown
from graph_agent.runtime.typecheck import hints
from graph_agent.runtime.values import read_error, read_value, write_error, write_value

MARK = "can't be recorded"

_REPLY = ("text", "finish", "tokens_in", "tokens_out")
_REQUEST = ("instructions", "context", "schema", "temperature", "max_tokens")
_ERROR = ("kind", "message", "hint", "lines")


def visit(before: Any, event: Event) -> str:
    """A visit as JSON text."""
    types = hints(type(before))
    patch = {name: encode(value, types[name]) for name, value in (event.patch or {}).items()}
    models = [_model(use) for use in event.model_uses]
    tools = [_tool(use) for use in event.tool_uses]
    whole = {"stage": event.stage, "before": encode(before), "patch": patch, "models": models, "tools": tools}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def request_data(request: Request) -> dict[str, Any]:
    """A request as JSON data: what a replay compares."""
    data = {name: _json(getattr(request, name)) for name in _REQUEST}
    if type(request.temperature) is int:  # 0 and 0.0 are one temperature
        data["temperature"] = float(request.temperature)
    return data


def call_data(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A call as JSON data, likewise."""
    return {"tool": tool, "arguments": {name: _or_mark(write_value, value) for name, value in arguments.items()}}


def reply_of(data: dict[str, Any]) -> Reply | Exception:
    """The reply that was recorded, or the error that came instead. Raises `CodecError` for one that is marked."""
    if data["error"] is not None:
        return read_error(data["error"])
    reply: Reply = decode(Reply, _unmarked(data["reply"]), "reply")
    return reply


def result_of(data: dict[str, Any]) -> ToolResult | Exception:
    """The result that was recorded, or what was raised instead. Raises `CodecError` for one that is marked."""
    if "raised" in data:
        return read_error(data["raised"])
    if "error" in data:
        told = _unmarked(data["error"])
        error = ToolError(told["kind"], told["message"], hint=told["hint"], lines=tuple(told["lines"]))
        return ToolResult(tool=data["tool"], error=error, verdict=data["verdict"])
    return ToolResult(tool=data["tool"], value=read_value(_unmarked(data["value"])), verdict=data["verdict"])


def _model(use: ModelUse) -> dict[str, Any]:
    data: dict[str, Any] = {"request": request_data(use.request), "reply": None, "error": None}
    if use.error is not None:
        data["error"] = write_error(use.error)
    else:
        data["reply"] = _json({name: getattr(use.reply, name) for name in _REPLY})
    return data | ({"awaited": True} if use.awaited else {})


def _tool(use: ToolUse) -> dict[str, Any]:
    data = {**call_data(use.tool, use.arguments), "verdict": use.verdict, "metered": use.metered}
    if use.awaited:
        data["awaited"] = True
    if use.error is not None:
        data["raised"] = write_error(use.error)
    elif use.result is not None and use.result.error is not None:
        data["error"] = _json({name: getattr(use.result.error, name) for name in _ERROR})
    elif use.result is not None:
        data["value"] = _or_mark(write_value, use.result.value)
    return data


def _json(value: Any) -> Any:
    """The value as it is when it is read again, if it is JSON data, as it is by contract."""
    return _or_mark(lambda data: jsontext.loads(json.dumps(data, allow_nan=False, default=_plain)), value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{quote(value)} is no JSON data")


def _or_mark(write: Callable[[Any], Any], value: Any) -> Any:
    try:
        data = write(value)
        jsontext.dumps(data)
    except (TypeError, ValueError, RecursionError) as error:  # a CodecError is a ValueError
        return {MARK: f"{error}: {shown(value)}"}
    return data


def _unmarked(data: Any) -> Any:
    if isinstance(data, dict) and MARK in data:
        raise CodecError("", f"it {MARK}: {quote(data[MARK])}")
    return data
