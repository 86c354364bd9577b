"""Tools that answer from a script, so that a graph can be tested without a disk, a process or a network.

`FakeTools` keeps every call. Its rule: a call that the script does not have, and an answer that nobody asked for, are
both errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from threading import Lock
from types import TracebackType
from typing import Any

from graph_agent.protocols import (
    ContextError,
    Effect,
    GraphAgentError,
    Tool,
    ToolCall,
    ToolDenied,
    ToolError,
    ToolResult,
)
from graph_agent.runtime.errors import nearest
from graph_agent.tools.toolbox import failed, succeeded


class FakeToolsError(GraphAgentError, AssertionError):
    """The script and the calls do not fit. It is no `ToolError`: code that copes with those must not hide it."""


class FakeTools:
    """Scripted tools: `FakeTools({"read_file": ["text", ToolError(...)], "list_files": (), "search": function})`.

    A list is used up in order, one item a call; a function is called with the arguments; anything else is the answer
    each time. An answer that is a ToolResult is given as it is, a ToolError as the result's error, any other exception
    is raised. `effects` says which tools are no `read` tools. Safe to share between threads; as a context manager it
    checks at the end that the script was used up.
    """

    def __init__(self, script: Mapping[str, Any], effects: Mapping[str, Effect] | None = None) -> None:
        for name in effects or {}:
            if name not in script:
                raise FakeToolsError(f"effects names {name!r}, which the script has not{nearest(name, script)}")
        self._shared = _Script({name: _Line(name, answer) for name, answer in script.items()}, dict(effects or {}))
        self._names: Collection[str] | None = None

    @property
    def calls(self) -> list[ToolCall]:
        """All calls so far, those of narrowed views and unexpected ones included."""
        return self._shared.calls

    def specs(self) -> tuple[Tool, ...]:
        lines = self._shared.lines
        held = [name for name in lines if self._names is None or name in self._names]
        return tuple(_FakeTool(self._shared, name, self._shared.effect(name)) for name in held)

    def only(self, names: Collection[str], /) -> FakeTools:
        """The same script and the same record, fewer of the names."""
        held = [tool.name for tool in self.specs()]
        for name in names:
            if name not in held:
                raise ContextError(f"the script has no tool {name!r}{nearest(name, held)}; it has {_listed(held)}")
        view = FakeTools({})
        view._shared, view._names = self._shared, tuple(names)
        return view

    def call(self, name: str, /, **arguments: Any) -> Any:
        """A ToolResult; an awaitable of one where the script has a coroutine function."""
        if self._names is not None and name not in self._names:
            raise ToolDenied(f"{name!r} is not held here{nearest(name, self._names)}; there are {_listed(self._names)}")
        effect = self._shared.effect(name)
        try:
            value = self._shared.answer(name, arguments)
            return _later(name, effect, value) if isawaitable(value) else _result(name, effect, value)
        except ToolError as error:
            return failed(name, effect, error)

    def assert_consumed(self) -> None:
        """Raise FakeToolsError when answers are left over, or when an unexpected call was made and swallowed."""
        if self._shared.unexpected:
            raise FakeToolsError(self._shared.unexpected[0])
        for line in self._shared.lines.values():
            if line.left:
                raise FakeToolsError(f"{len(line.left)} scripted answers of {line.name} were never asked for")

    def __enter__(self) -> FakeTools:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:  # an error on its way out says more than the leftovers that it caused
            self.assert_consumed()


class _Line:
    """What one tool answers, and what of it is left."""

    def __init__(self, name: str, answer: Any) -> None:
        self.name, self.answer = name, answer
        self.left: list[Any] = list(answer) if isinstance(answer, list) else []


@dataclass
class _Script:
    """What the views of one FakeTools share."""

    lines: dict[str, _Line]
    effects: dict[str, Effect]
    calls: list[ToolCall] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def effect(self, name: str) -> Effect:
        return self.effects.get(name, "read")

    def answer(self, name: str, arguments: Mapping[str, Any]) -> Any:
        with self.lock:
            self.calls.append(ToolCall(tool=name, arguments=arguments))
            line = self.lines.get(name)
            if line is None:
                raise self._surprise(f"the script has no tool {name!r}{nearest(name, self.lines)}", arguments)
            if not isinstance(line.answer, list):
                answer = line.answer
            elif line.left:
                answer = line.left.pop(0)
            else:
                said = f"call {len(self.calls)} was not expected: the {len(line.answer)} answers of {name} are used up"
                raise self._surprise(said, arguments)
        return answer(**arguments) if callable(answer) else answer

    def _surprise(self, message: str, arguments: Mapping[str, Any]) -> FakeToolsError:
        self.unexpected.append(f"{message}. Its arguments: {str(dict(arguments))[:300]}")
        return FakeToolsError(self.unexpected[-1])


@dataclass(frozen=True)
class _FakeTool:
    """A scripted tool as `specs` shows it: it takes any arguments."""

    shared: _Script
    name: str
    effect: Effect
    metered: bool = True

    @property
    def description(self) -> str:
        return "answers from a script"

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "object"}

    def __call__(self, /, **arguments: Any) -> Any:
        value = self.shared.answer(self.name, arguments)
        if isinstance(value, Exception):
            raise value
        return value


def _result(name: str, effect: Effect, value: Any) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, Exception):
        raise value
    return succeeded(name, effect, value)


async def _later(name: str, effect: Effect, coming: Awaitable[Any]) -> ToolResult:
    try:
        return _result(name, effect, await coming)
    except ToolError as error:
        return failed(name, effect, error)


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "none"
