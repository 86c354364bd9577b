"""Tools by name: what a node may call, with its arguments checked before anything happens.

The JSON Schema is read off the function's signature, so what a model is told and what is checked are one thing. The
rule: a call ends in a ToolResult that says why it was let through or refused, or in ToolDenied; whatever else a tool
raises is a bug and is not hidden.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any, cast, get_args, get_type_hints

from graph_agent.protocols import ContextError, Effect, GraphAgentError, Tool, ToolDenied, ToolError, ToolResult
from graph_agent.runtime.codec import decode, json_schema
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.runtime.typecheck import checker, misfit, problem

REFUSALS = frozenset({"bad_arguments", "bad_path", "outside_workspace", "protected", "not_allowed"})
"""Kinds of ToolError that say no to the call; in any other, what was allowed went wrong."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what model servers take for the name of a tool


class ToolboxError(GraphAgentError, ValueError):
    """Something that cannot be held as a tool, when it is added."""


class FunctionTool:
    """A function as a tool. Values that have a parameter's type pass; anything else is read as JSON of that type."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        effect: Effect = "read",
        metered: bool = True,
    ) -> None:
        """Raises ToolboxError for a parameter without annotation, or of a type that JSON cannot give."""
        self.name: str = getattr(function, "__name__", "") if name is None else name
        first, *_ = (inspect.getdoc(function) or "").split("\n\n")
        self.description = description or " ".join(first.split())
        self.effect: Effect = effect
        self.metered = metered
        self.asynchronous = iscoroutinefunction(function)
        self._function = function
        self._types, required = _parameters(function, self.name)
        self.schema: Mapping[str, Any] = {
            "type": "object",
            "properties": {name: json_schema(tp) for name, tp in self._types.items()},
            "required": required,
            "additionalProperties": False,
        }

    def __call__(self, /, **arguments: Any) -> Any:
        for name, value in arguments.items():
            if name in self._types and not checker(self._types[name])(value):
                try:
                    arguments[name] = decode(self._types[name], value, name)
                except CodecError as error:
                    raise ToolError("bad_arguments", f"{self.name} cannot take {error}.") from error
        return self._function(**arguments)


class Toolbox:
    """Tools in the order in which they were added. Functions given here are `read` tools; `add` has the choices."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._held: dict[str, Tool] = {}
        for tool in tools:
            self._hold(cast("Tool", tool) if hasattr(tool, "schema") else FunctionTool(tool))

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        effect: Effect = "read",
        metered: bool = True,
    ) -> Toolbox:
        """Hold a function, by default with its own name and its docstring's first paragraph. Returns self."""
        self._hold(FunctionTool(function, name=name, description=description, effect=effect, metered=metered))
        return self

    def only(self, names: Collection[str], /) -> Toolbox:
        """Fewer of the tools. Raises ContextError for a name that is not held."""
        for name in (names,) if isinstance(names, str) else names:
            if name not in self._held:
                raise ContextError(not_held(name, self._held))
        return Toolbox(tool for name, tool in self._held.items() if name in names)

    def specs(self) -> tuple[Tool, ...]:
        return tuple(self._held.values())

    def call(self, name: str, /, **arguments: Any) -> Any:
        """A ToolResult, or an awaitable of one for a coroutine function."""
        tool = self._held.get(name)
        if tool is None:
            raise ToolDenied(not_held(name, self._held))
        if getattr(tool, "asynchronous", False) or iscoroutinefunction(tool.__call__):
            return _called_later(tool, arguments)
        try:
            return result_of(name, tool.effect, _called(tool, arguments))
        except ToolError as error:
            return result_of(name, tool.effect, error)

    def _hold(self, tool: Tool) -> None:
        if not _NAME.fullmatch(tool.name):
            raise ToolboxError(
                f"{tool.name!r} is no name for a tool: give name= with at most 64 letters, digits, _ and -"
            )
        if tool.name in self._held:
            raise ToolboxError(f"there is a tool {tool.name!r} already: give name=")
        if tool.effect not in get_args(Effect):
            raise ToolboxError(f"{tool.name}: effect {tool.effect!r} is none of {', '.join(get_args(Effect))}")
        if not tool.description:
            raise ToolboxError(f"{tool.name} says not what it does: write a docstring or give description=")
        self._held[tool.name] = tool


def not_held(name: str, held: Iterable[str]) -> str:
    return f"there is no tool {name!r} here{nearest(name, held)}; there are {', '.join(held) or 'none'}"


def result_of(tool: str, effect: Effect, value: Any) -> ToolResult:
    """The result of a call that gave `value`, which may be a ToolError."""
    if not isinstance(value, ToolError):
        return ToolResult(tool=tool, value=value, verdict=f"allowed: {effect} tool")
    refused = value.kind in REFUSALS
    verdict = f"refused: {value.kind.replace('_', ' ')}" if refused else f"allowed: {effect} tool"
    return ToolResult(tool=tool, error=value, verdict=verdict)


def _called(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    known = tool.schema.get("properties", {})
    if tool.schema.get("additionalProperties") is False:
        for name in arguments:
            if name not in known:
                message = f"{tool.name} has no argument {name!r}{nearest(name, known) or '.'}"
                raise ToolError("bad_arguments", message, hint=f"It takes: {', '.join(known) or 'none'}.")
    if missing := [name for name in tool.schema.get("required", ()) if name not in arguments]:
        raise ToolError("bad_arguments", f"{tool.name} needs {', '.join(missing)} too.")
    return tool(**arguments)


async def _called_later(tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
    try:
        return result_of(tool.name, tool.effect, await _called(tool, arguments))
    except ToolError as error:
        return result_of(tool.name, tool.effect, error)


def _parameters(function: Callable[..., Any], name: str) -> tuple[dict[str, Any], list[str]]:
    """Types, and the names without a default."""
    required = []
    try:
        types = get_type_hints(function)
        given = inspect.signature(function).parameters
        for parameter in given.values():
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            if why := _unfit(parameter, types):
                raise TypeError(why)
    except (NameError, TypeError, ValueError, AttributeError, SyntaxError) as error:
        raise ToolboxError(f"{name or function!r} cannot be a tool: {error}") from error
    return {known: types[known] for known in given}, required


def _unfit(parameter: inspect.Parameter, types: Mapping[str, Any]) -> str:
    """Why a model could not give it."""
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        return f"{parameter} is not one named argument; write out each parameter"
    if parameter.name not in types:
        return f"parameter {parameter.name!r} has no annotation"
    tp, default = types[parameter.name], parameter.default
    why = problem(tp)
    if not why and default is not parameter.empty and (fault := misfit(tp, default)):
        why = f"its default: {fault[1]}"
    return f"parameter {parameter.name!r}: {why}" if why else ""
