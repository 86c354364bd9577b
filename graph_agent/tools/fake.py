"""Tools that answer from a script, so that a graph can be tested without a disk, a process or a network.

`FakeTools` keeps every call. Its rule: a call that the script does not have, and an answer that nobody asked for, are
both errors.
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
from graph_agent.tools.toolbox import result_of


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
        self._script, self._effects = script, effects or {}
        for name in self._effects:
            if name not in script:
                raise FakeToolsError(f"effects names {name!r}, which the script has not{nearest(name, script)}")
        self._left = {name: list(answers) for name, answers in script.items() if isinstance(answers, list)}
        self._held, self._narrowed = tuple(script), False
        self._unexpected: list[str] = []
        self.calls: list[ToolCall] = []
        """All calls so far, those of narrowed views and unexpected ones included."""

    def specs(self) -> tuple[Tool, ...]:
        return tuple(_FakeTool(name, self._effect(name), partial(self._answer, name)) for name in self._held)

    def only(self, names: Collection[str], /) -> FakeTools:
        """The same script and the same record, fewer of the names."""
        for name in names:
            if name not in self._held:
                raise ContextError(f"the script has no tool {name!r}{nearest(name, self._held)}; it has {self._listed}")
        view = copy(self)
        view._held, view._narrowed = tuple(name for name in self._held if name in names), True
        return view

    def call(self, name: str, /, **arguments: Any) -> Any:
        """A ToolResult; an awaitable of one where the script has a coroutine function."""
        if self._narrowed and name not in self._held:
            raise ToolDenied(f"{name!r} is not held here{nearest(name, self._held)}; there are {self._listed}")
        try:
            value = self._answer(name, **arguments)
        except ToolError as error:
            value = error
        return self._later(name, value) if isawaitable(value) else self._result(name, value)

    def assert_consumed(self) -> None:
        """Raise FakeToolsError when answers are left over, or when an unexpected call was made and swallowed."""
        if self._unexpected:
            raise FakeToolsError(self._unexpected[0])
        for name, left in self._left.items():
            if left:
                raise FakeToolsError(f"{len(left)} scripted answers of {name} were never asked for")

    def __enter__(self) -> FakeTools:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:  # an error on its way out says more than the leftovers that it caused
            self.assert_consumed()

    @property
    def _listed(self) -> str:
        return ", ".join(self._held) or "none"

    def _effect(self, name: str) -> Effect:
        return self._effects.get(name, "read")

    def _answer(self, name: str, /, **arguments: Any) -> Any:
        self.calls.append(ToolCall(tool=name, arguments=arguments))
        if name not in self._script:
            raise self._surprise(f"the script has no tool {name!r}{nearest(name, self._script)}", arguments)
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
    """A scripted tool as `specs` shows it: it takes any arguments."""

    name: str
    effect: Effect
    answer: Callable[..., Any]
    metered: bool = True
    description: str = "answers from a script"
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    def __call__(self, /, **arguments: Any) -> Any:
        return self.answer(**arguments)
