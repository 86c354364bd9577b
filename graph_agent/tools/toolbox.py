"""Tools by name: what a node may call, with its arguments checked before anything happens.

A tool is a function; the JSON Schema of its arguments is read off its signature, so that what a model is told, what is
checked and what the function takes are one thing. The rule: a call ends in a ToolResult that says by which rule it was
let through or refused, or in ToolDenied; whatever else a tool raises is a bug of the tool and is not hidden.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any, cast, get_args

from graph_agent.protocols import ContextError, Effect, GraphAgentError, Tool, ToolDenied, ToolError, ToolResult
from graph_agent.runtime.errors import nearest
from graph_agent.tools.paths import quoted
from graph_agent.tools.signature import Parameter, SignatureError, arguments_schema, fitted, parameters, summary

REFUSALS = frozenset({"bad_arguments", "bad_path", "outside_workspace", "protected", "not_allowed"})
"""Kinds of ToolError that say no to the call; any other says that what was allowed went wrong."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what model servers take for the name of a tool


class ToolboxError(GraphAgentError, ValueError):
    """Something that cannot be held as a tool. Raised when it is added, so that no call meets it."""


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
        self.description: str = summary(function) if description is None else description
        self.effect: Effect = effect
        self.metered = metered
        self.asynchronous = _is_async(function)
        self._function = function
        try:
            self._parameters: Mapping[str, Parameter] = parameters(function)
        except SignatureError as error:
            raise ToolboxError(f"{self.name or function!r} cannot be a tool: {error}") from error
        self.schema: Mapping[str, Any] = arguments_schema(self._parameters)

    def __call__(self, /, **arguments: Any) -> Any:
        return self._function(**fitted(self.name, self._parameters, arguments))

    def __repr__(self) -> str:
        return f"<tool {self.name} ({self.effect})>"


class Toolbox:
    """Tools in the order in which they were added. Functions given here are `read` tools; `add` has the choices."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._held: dict[str, Tool] = {}
        for tool in tools:
            self._hold(FunctionTool(tool) if _is_function(tool) else cast("Tool", tool))

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        effect: Effect = "read",
        metered: bool = True,
    ) -> Toolbox:
        """Hold a function as a tool, by default with its own name and its docstring's first paragraph. Returns self."""
        if not _is_function(function):
            raise ToolboxError(f"{function!r} is a tool already: give it to Toolbox([...])")
        self._hold(FunctionTool(function, name=name, description=description, effect=effect, metered=metered))
        return self

    def only(self, names: Collection[str], /) -> Toolbox:
        """The same tools, fewer of them. Raises ContextError for a name that is not held."""
        if isinstance(names, str):
            raise ContextError(f"the names of tools are a collection: write ({names!r},) instead of {names!r}")
        for name in names:
            if name not in self._held:
                raise ContextError(f"there is no tool {name!r}{nearest(name, self._held)}; there are {self._names()}")
        box = Toolbox()
        box._held = {name: tool for name, tool in self._held.items() if name in names}
        return box

    def specs(self) -> tuple[Tool, ...]:
        return tuple(self._held.values())

    def call(self, name: str, /, **arguments: Any) -> Any:
        """A ToolResult, or for a tool that is a coroutine function an awaitable of one."""
        tool = self._held.get(name)
        if tool is None:
            raise ToolDenied(f"{name!r} is not held here{nearest(name, self._held)}; there are {self._names()}")
        if getattr(tool, "asynchronous", False) or _is_async(tool):
            return _called_later(tool, arguments)
        return _called(tool, arguments)

    def __repr__(self) -> str:
        return f"<Toolbox of {self._names()}>"

    def _names(self) -> str:
        return ", ".join(self._held) or "none"

    def _hold(self, tool: Tool) -> None:
        if not isinstance(tool.name, str) or not _NAME.fullmatch(tool.name):
            allowed = "use letters, digits, _ and -, at most 64, and give name="
            raise ToolboxError(f"{tool.name!r} is no name for a tool: {allowed}")
        if tool.name in self._held:
            raise ToolboxError(f"there is a tool {tool.name!r} already: give the second one another name")
        if tool.effect not in get_args(Effect):
            raise ToolboxError(f"{tool.name}: effect {tool.effect!r} is none of {', '.join(get_args(Effect))}")
        if not tool.description:
            raise ToolboxError(f"{tool.name} says not what it does: write a docstring or give description=")
        self._held[tool.name] = tool


def succeeded(tool: str, effect: Effect, value: Any) -> ToolResult:
    """The result of a call that did what it was asked."""
    return ToolResult(tool=tool, value=value, verdict=f"allowed: {effect} tool")


def failed(tool: str, effect: Effect, error: ToolError) -> ToolResult:
    """The result of a call that was refused, or was let through and went wrong."""
    refused = error.kind in REFUSALS
    verdict = f"refused: {error.kind.replace('_', ' ')}" if refused else f"allowed: {effect} tool"
    return ToolResult(tool=tool, error=error, verdict=verdict)


def _called(tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
    try:
        _check_names(tool, arguments)
        value = tool(**arguments)
    except ToolError as error:
        return failed(tool.name, tool.effect, error)
    return succeeded(tool.name, tool.effect, value)


async def _called_later(tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
    try:
        _check_names(tool, arguments)
        coming: Awaitable[Any] = tool(**arguments)
        value = await coming
    except ToolError as error:
        return failed(tool.name, tool.effect, error)
    return succeeded(tool.name, tool.effect, value)


def _check_names(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """By the schema, so that it holds for tools that are no functions too."""
    known = tool.schema.get("properties", {})
    if tool.schema.get("additionalProperties") is False:
        for name in arguments:
            if name not in known:
                message = f"{tool.name} has no argument {quoted(name)}{nearest(name, known) or '.'}"
                raise ToolError("bad_arguments", message, hint=f"It takes: {', '.join(known) or 'none'}.")
    missing = [name for name in tool.schema.get("required", ()) if name not in arguments]
    if missing:
        raise ToolError("bad_arguments", f"{tool.name} needs {', '.join(missing)}, which the call does not give.")


def _is_function(tool: object) -> bool:
    """Whether it is a plain callable, and not a tool: that one says its schema."""
    if not callable(tool):
        raise ToolboxError(f"{tool!r} is neither a function nor a tool")
    return not hasattr(tool, "schema")


def _is_async(function: object) -> bool:
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004
