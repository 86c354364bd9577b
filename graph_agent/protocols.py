"""What passes between a graph and the world: models, tools, and the context that hands both to a node.

A node never holds a model or a tool of its own. It gets a `Context`, and the runtime gives each node a view of it
that holds only what the node declared, with every call counted. This file knows the shapes and nothing behind them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Literal, Protocol, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Effect: TypeAlias = Literal["read", "write", "execute"]
Finish: TypeAlias = Literal["stop", "length", "refused"]


class GraphAgentError(Exception):
    """The root of every error that this package raises on purpose."""


class LLMError(GraphAgentError):
    """A model could not be asked, or what came back is of no use. The message says which and what to do."""


class ContextError(GraphAgentError):
    """The `Context` lacks what a node declares: a model, or a tool of that name."""


class ToolDenied(GraphAgentError):
    """A node asked for a tool, or a model, that it did not declare. The call was not made."""


class ToolError(GraphAgentError):
    """A tool could not do what it was asked. Raised inside a tool; a caller gets it as `ToolResult.error`.

    `kind` is a word for programs ("outside_workspace", "ambiguous"), `message` a sentence for people and models,
    `hint` what to try next, `lines` the line numbers (from 1) that the message speaks of.
    """

    def __init__(self, kind: str, message: str, *, hint: str = "", lines: tuple[int, ...] = ()) -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.kind, self.message, self.hint, self.lines = kind, message, hint, lines


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question to a model.

    `context` is JSON data, a projection of the state that the node made: no clock times, no absolute paths, so that
    equal questions are equal and a recording matches. `schema` is the JSON Schema that the reply's text must meet.
    What is None is not sent to the model at all.
    """

    instructions: str
    context: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a model answered. `finish`: it stopped by itself, was cut at the length limit, or refused."""

    text: str
    finish: Finish = "stop"
    tokens_in: int = 0
    tokens_out: int = 0


class LLM(Protocol):
    """A model. An asynchronous one has `async def complete`, and its nodes await it."""

    def complete(self, request: Request, /) -> Any:
        """Return a `Reply` (or an awaitable of one); raise `LLMError` when there is none."""
        ...


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool and its arguments, as data: what a model asks for, before anybody has agreed to it."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What came of a call: a `value`, or an `error`. `verdict` says by which rule the call was let through or not."""

    tool: str
    value: Any = None
    error: ToolError | None = None
    verdict: str = "allowed"

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One line of a step's account: which tool was asked for, and what was decided."""

    tool: str
    verdict: str


class Tool(Protocol):
    """Something a node can call by name. `schema` is the JSON Schema of the arguments, an object.

    `metered=False` is for a tool whose calls cost no turn.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def schema(self) -> Mapping[str, Any]: ...
    @property
    def metered(self) -> bool: ...

    def __call__(self, **arguments: Any) -> Any:
        """Do it and return the value; raise `ToolError` for what can go wrong in normal use."""
        ...


class Tools(Protocol):
    """Tools by name. `graph_agent.tools.Toolbox` and `FakeTools` are two; a user's own may be a third."""

    def specs(self) -> tuple[Tool, ...]:
        """The tools held, in the order in which they were added."""
        ...

    def only(self, names: Collection[str], /) -> Tools:
        """The same tools, fewer of them. Raises `ContextError` for a name that is not held."""
        ...

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Return a `ToolResult` (or an awaitable of one); raise `ToolDenied` for a tool that is not held."""
        ...


class Account(Protocol):
    """Where a node's calls are counted. The runtime has the one that knows the run's budget."""

    def charge(self, turns: int = 1) -> None:
        """Take turns before the call is made; end the node when the run has not enough of them left."""
        ...

    def reserve(self, turns: int) -> None:
        """Take turns now for calls to come; end the node at once when they are not there."""
        ...

    def asked_model(self, reply: Reply) -> None: ...
    def called_tool(self, use: ToolUse) -> None: ...
    def note(self, text: str) -> None: ...


class Declared(Protocol):
    """What a context needs to know of a node: what it is called and what it may use."""

    @property
    def stage(self) -> str: ...
    @property
    def tools(self) -> Collection[str]: ...
    @property
    def model(self) -> bool: ...


class Numbered(Protocol):
    """What a context needs to know of the state: the run, and how many visits there were."""

    @property
    def task_id(self) -> str: ...
    @property
    def steps(self) -> int: ...


def _nowhere(_: Any, /) -> None:
    """A note or a reservation outside a run has nowhere to go."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What a node may use besides the state. Frozen; a node gets its own, narrowed to what it declared.

    `policy` is the workflow's frozen rules, the same object for all nodes. `key` is the idempotency key of this
    visit (task, stage, visit: the same on a retry or a resume). `note(text)` adds a line to the step's event.
    `reserve(n)` takes n turns before a node starts on something that it must not leave half done.
    """

    llm: Any = None
    tools: Any = None
    policy: Any = None
    key: str = ""
    note: Callable[[str], None] = _nowhere
    reserve: Callable[[int], None] = _nowhere

    def bind(self, node: Declared, account: Account, state: Numbered) -> Context:
        """The node's own view: undeclared tools and models refuse, declared ones count on `account`."""
        own: Context = _new(NodeContext)
        _set_visit(own, (self, node, account, state))
        return own


class NodeContext(Context):
    """A context narrowed to one visit of one node. What it holds is made when it is asked for: many nodes never ask."""

    __slots__ = ("_visit",)
    _visit: tuple[Context, Declared, Account, Numbered]

    @property
    def llm(self) -> Any:
        whole, node, account, _ = self._visit
        if not node.model:
            return _NoModel(node.stage)
        if whole.llm is None:
            raise ContextError(f"{node.stage} asks a model, but the context has none: give Context(llm=...)")
        return _CountedLLM(whole.llm, account)

    @property
    def tools(self) -> Any:
        whole, node, account, _ = self._visit
        if whole.tools is not None:
            return _CountedTools(whole.tools.only(node.tools), account)
        if node.tools:
            raise ContextError(f"{node.stage} uses {', '.join(node.tools)}, but the context has no tools")
        return _NoTools(node.stage)

    @property
    def policy(self) -> Any:
        return self._visit[0].policy

    @property
    def key(self) -> str:
        _, node, _, state = self._visit
        return f"{state.task_id}:{node.stage}:{state.steps + 1}"

    @property
    def note(self) -> Callable[[str], None]:
        return self._visit[2].note

    @property
    def reserve(self) -> Callable[[int], None]:
        return self._visit[2].reserve


_new: Any = object.__new__
_set_visit: Any = NodeContext._visit.__set__  # type: ignore[attr-defined]  # the one way into a frozen slot that is cheap


class _NoModel:
    def __init__(self, stage: str) -> None:
        self._stage = stage

    def complete(self, _: Request, /) -> Reply:
        raise ToolDenied(f"{self._stage} may not ask a model: declare it with Node(..., model=True)")


class _NoTools:
    def __init__(self, stage: str) -> None:
        self._stage = stage

    def specs(self) -> tuple[Tool, ...]:
        return ()

    def only(self, _: Collection[str], /) -> Tools:
        return self

    def call(self, name: str, /, **_: Any) -> ToolResult:
        raise ToolDenied(f"{self._stage} may not use {name!r}: declare it with Node(..., tools=({name!r},))")


class _CountedLLM:
    def __init__(self, llm: LLM, account: Account) -> None:
        self._llm, self._account = llm, account

    def complete(self, request: Request, /) -> Any:
        self._account.charge()
        reply = self._llm.complete(request)
        if isawaitable(reply):
            return self._count_later(reply)
        self._account.asked_model(reply)
        return reply

    async def _count_later(self, coming: Awaitable[Reply]) -> Reply:
        reply = await coming
        self._account.asked_model(reply)
        return reply


class _CountedTools:
    def __init__(self, tools: Tools, account: Account) -> None:
        self._tools, self._account = tools, account
        self._metered = {tool.name for tool in tools.specs() if tool.metered}

    def specs(self) -> tuple[Tool, ...]:
        return self._tools.specs()

    def only(self, names: Collection[str], /) -> Tools:
        return _CountedTools(self._tools.only(names), self._account)

    def call(self, name: str, /, **arguments: Any) -> Any:
        if name in self._metered:
            self._account.charge()
        try:
            result = self._tools.call(name, **arguments)
        except ToolDenied:
            self._account.called_tool(ToolUse(tool=name, verdict="denied: not among the node's tools"))
            raise
        if isawaitable(result):
            return self._count_later(result)
        self._account.called_tool(ToolUse(tool=name, verdict=result.verdict))
        return result

    async def _count_later(self, coming: Awaitable[ToolResult]) -> ToolResult:
        result = await coming
        self._account.called_tool(ToolUse(tool=result.tool, verdict=result.verdict))
        return result
