"""Tools that answer from a script, for tests of a graph.

The rule: a call that the script does not have, and an answer that nobody asked for, are both errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
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
from graph_agent.tools.toolbox import not_held, result_of


class FakeToolsError(GraphAgentError, AssertionError):
    """The script and the calls do not fit. It is no `ToolError`: code that copes with those must not hide it."""


class FakeTools:
    """Scripted tools: `FakeTools({"read_file": ["text", ToolError(...)], "list_files": (), "search": function})`.

    A list is used up in order, one item a call; a function is called with the arguments; anything else is the answer
    each time. A ToolResult is given as it is, a ToolError as the result's error, any other exception is raised.
    `effects` names the tools that are no `read` tools. As a context manager it ends with `assert_consumed`.
    """

    def __init__(self, script: Mapping[str, Any], effects: Mapping[str, Effect] | None = None) -> None:
        self._script, self._effects = script, effects or {}
        for name in self._effects:
            if name not in script:
                raise FakeToolsError(f"effects names {name!r}, which the script has not{nearest(name, script)}")
        self._left = {name: list(answers) for name, answers in script.items() if isinstance(answers, list)}
        self._held, self._narrowed = tuple(script), False
        self._unexpected: list[str] = []
        self.calls: list[ToolCall] = []
        """All calls so far, unexpected ones and those of `only` views included."""

    def specs(self) -> tuple[Tool, ...]:
        return tuple(_FakeTool(name, self._effect(name), partial(self._answer, name)) for name in self._held)

    def only(self, names: Collection[str], /) -> FakeTools:
        """The same script and record, fewer of the names."""
        for name in names:
            if name not in self._held:
                raise ContextError(not_held(name, self._held))
        view = copy(self)
        view._held, view._narrowed = tuple(name for name in self._held if name in names), True
        return view

    def call(self, name: str, /, **arguments: Any) -> Any:
        if self._narrowed and name not in self._held:
            raise ToolDenied(not_held(name, self._held))
        try:
            value = self._answer(name, **arguments)
        except ToolError as error:
            value = error
        return self._later(name, value) if isawaitable(value) else self._result(name, value)

    def assert_consumed(self) -> None:
        """Raise FakeToolsError for answers left over, and for an unexpected call that was swallowed."""
        if self._unexpected:
            raise FakeToolsError(self._unexpected[0])
        for name, left in self._left.items():
            if left:
                raise FakeToolsError(f"{len(left)} scripted answers of {name} were never asked for")

    def __enter__(self) -> FakeTools:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:  # else the error says more
            self.assert_consumed()

    def _effect(self, name: str) -> Effect:
        return self._effects.get(name, "read")

    def _answer(self, name: str, /, **arguments: Any) -> Any:
        self.calls.append(ToolCall(tool=name, arguments=arguments))
        if name not in self._script:
            raise self._surprise(not_held(name, self._script), arguments)
        answer = self._script[name]
        if isinstance(answer, list):
            try:
                answer = self._left[name].pop(0)
            except IndexError:
                said = f"call {len(self.calls)} was not expected: the {len(answer)} answers of {name} are used up"
                raise self._surprise(said, arguments) from None
        value = answer(**arguments) if callable(answer) else answer
        if isinstance(value, Exception):
            raise value
        return value

    def _surprise(self, message: str, arguments: Mapping[str, Any]) -> FakeToolsError:
        self._unexpected.append(f"{message}. Its arguments: {str(arguments)[:300]}")
        return FakeToolsError(self._unexpected[-1])

    def _result(self, name: str, value: Any) -> ToolResult:
        return value if isinstance(value, ToolResult) else result_of(name, self._effect(name), value)

    async def _later(self, name: str, coming: Awaitable[Any]) -> ToolResult:
        try:
            return self._result(name, await coming)
        except ToolError as error:
            return self._result(name, error)


@dataclass(frozen=True)
class _FakeTool:
    name: str
    effect: Effect
    answer: Callable[..., Any]
    metered: bool = True
    description: str = "answers from a script"
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    def __call__(self, /, **arguments: Any) -> Any:
        return self.answer(**arguments)
