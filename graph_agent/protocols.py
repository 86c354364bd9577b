"""What passes between a graph and the world: models, tools, and the context that hands both to a node.

A node never holds a model or a tool: it gets a view of the `Context` with only what it declared, every call counted.
This file knows the shapes and nothing behind them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Literal, Protocol, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Effect: TypeAlias = Literal["read", "write", "execute", "external"]
Finish: TypeAlias = Literal["stop", "length", "refused"]


class GraphAgentError(Exception):
    """The root of the errors of this package."""


class LLMError(GraphAgentError):
    """A model could not be asked, or what came back is of no use."""


class ContextError(GraphAgentError):
    """The `Context` lacks a model or a tool that a node declares."""


class ToolDenied(GraphAgentError):
    """A node asked for a tool or a model that it did not declare. The call was not made."""


class ToolError(GraphAgentError):
    """A tool could not do what it was asked. Raised inside a tool; a caller gets it as `ToolResult.error`.

    `kind` is a word for programs ("ambiguous"), `hint` what to try next, `lines` the lines (from 1) it speaks of.
    """

    def __init__(self, kind: str, message: str, *, hint: str = "", lines: tuple[int, ...] = ()) -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.kind, self.message, self.hint, self.lines = kind, message, hint, lines


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question to a model.

    `context` is JSON data without clock times and absolute paths, so that a recording matches. `schema` is the JSON
    Schema that the reply's text must meet. What is None is not sent.
    """

    instructions: str
    context: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A model's answer. `finish`: it stopped by itself, was cut at the length limit, or refused."""

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
    """A tool and its arguments, as data: what a model asks for."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What came of a call: a `value`, or an `error`. `verdict`: by which rule it was let through or not."""

    tool: str
    value: Any = None
    error: ToolError | None = None
    verdict: str = "allowed"

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, kw_only=True)
class ModelUse:
    """What a model was asked, and its reply, or the error that came instead. `awaited`: it came later."""

    request: Request
    reply: Reply | None = None
    error: Exception | None = None
    awaited: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """Which tool was asked for and what was decided; with which arguments, and what came of it.

    `error` is what was raised instead of a `result`: the call was denied, or the tool is at fault. `awaited`: it came
    later.
    """

    tool: str
    verdict: str
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)
    result: ToolResult | None = field(default=None, compare=False)
    error: Exception | None = field(default=None, compare=False)
    metered: bool = field(default=False, compare=False)
    awaited: bool = field(default=False, compare=False)


class Tool(Protocol):
    """Something a node can call by name. `schema` is the arguments' JSON Schema; `metered`: a call costs a turn."""

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
        """Return the value; raise `ToolError` for what can go wrong in normal use."""


class Tools(Protocol):
    """Tools by name, such as `Toolbox` and `FakeTools`."""

    def specs(self) -> tuple[Tool, ...]:
        """In the order in which they were added."""
        ...

    def only(self, names: Collection[str], /) -> Tools:
        """Fewer of them. Raises `ContextError` for a name that is not held."""
        ...

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Return a `ToolResult` (or an awaitable of one); raise `ToolDenied` for a name that is not held."""
        ...


class Account(Protocol):
    """Where a node's calls are counted."""

    def charge(self, turns: int = 1) -> None:
        """Take turns before a call is made; end the node when there are too few."""
        ...

    def reserve(self, turns: int) -> None:
        """Take turns for calls to come; end the node when there are too few."""
        ...

    def asked_model(self, use: ModelUse) -> None: ...
    def called_tool(self, use: ToolUse) -> None: ...
    def note(self, text: str) -> None: ...


class Declared(Protocol):
    @property
    def stage(self) -> str: ...
    @property
    def tools(self) -> Collection[str]: ...
    @property
    def model(self) -> bool: ...


class Numbered(Protocol):
    @property
    def task_id(self) -> str: ...
    @property
    def steps(self) -> int: ...


def _nowhere(_: Any, /) -> None:
    """Outside a run."""


def _unread(ref: str, /) -> str:
    raise ContextError(f"there is no text under {ref[:80]!r}: this context belongs to no run")


def blob_ref(text: str | bytes) -> str:
    """The reference of a text that is kept beside a run: the SHA-256 of its UTF-8, in hex."""
    from hashlib import sha256  # only who keeps something needs it

    return sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()


def visit_key(state: Numbered, stage: str) -> str:
    """The idempotency key of the visit that is about to be made: run, stage, number of the visit."""
    return f"{state.task_id}:{stage}:{state.steps + 1}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What a node may use besides the state, narrowed to what it declared.

    `policy`: the workflow's frozen rules. `key`: the idempotency key of this visit (the same on a retry or a resume).
    `note(text)` adds a line to the step's event. `reserve(n)` takes n turns for what must not be left half done.
    `keep(text)` puts a large text beside the run's journal (or in memory, where a run has none) and returns its
    reference for the state; `read(ref)` gives it back, word for word, or raises `BlobError`.
    """

    llm: Any = None
    tools: Any = None
    policy: Any = None
    key: str = ""
    note: Callable[[str], None] = _nowhere
    reserve: Callable[[int], None] = _nowhere
    keep: Callable[[str], str] = blob_ref
    read: Callable[[str], str] = _unread

    def bind(self, node: Declared, account: Account, state: Numbered) -> Context:
        """The node's own view: what is undeclared refuses, what is declared counts on `account`."""
        own: Context = _new(NodeContext)
        _set_visit(own, (self, node, account, state))
        return own


class NodeContext(Context):
    """A context narrowed to one visit. What it holds is made when asked for: many nodes never ask."""

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
        return visit_key(state, node.stage)

    @property
    def note(self) -> Callable[[str], None]:
        return self._visit[2].note

    @property
    def reserve(self) -> Callable[[int], None]:
        return self._visit[2].reserve

    @property
    def keep(self) -> Callable[[str], str]:
        return self._visit[0].keep

    @property
    def read(self) -> Callable[[str], str]:
        return self._visit[0].read


_new: Any = object.__new__
_set_visit: Any = NodeContext._visit.__set__  # type: ignore[attr-defined]  # the cheap way into a frozen slot


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
        try:
            reply = self._llm.complete(request)
        except Exception as error:
            self._account.asked_model(ModelUse(request=request, error=error))
            raise
        if isawaitable(reply):
            return self._count_later(request, reply)
        self._account.asked_model(ModelUse(request=request, reply=reply))
        return reply

    async def _count_later(self, request: Request, coming: Awaitable[Reply]) -> Reply:
        try:
            reply = await coming
        except Exception as error:
            self._account.asked_model(ModelUse(request=request, error=error, awaited=True))
            raise
        self._account.asked_model(ModelUse(request=request, reply=reply, awaited=True))
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
        except Exception as error:
            self._count(name, arguments, error)
            raise
        if isawaitable(result):
            return self._count_later(name, arguments, result)
        self._count(name, arguments, result)
        return result

    async def _count_later(self, name: str, arguments: dict[str, Any], coming: Awaitable[ToolResult]) -> ToolResult:
        try:
            result = await coming
        except Exception as error:
            self._count(name, arguments, error, awaited=True)
            raise
        self._count(name, arguments, result, awaited=True)
        return result

    def _count(self, name: str, arguments: dict[str, Any], came: ToolResult | Exception, awaited: bool = False) -> None:
        facts: Any = {"arguments": arguments, "metered": name in self._metered, "awaited": awaited}
        if isinstance(came, Exception):
            denied = isinstance(came, ToolDenied)
            verdict = "denied: not among the node's tools" if denied else f"failed: {type(came).__name__}"
            use = ToolUse(tool=name, verdict=verdict, error=came, **facts)
        else:
            use = ToolUse(tool=came.tool, verdict=came.verdict, result=came, **facts)
        self._account.called_tool(use)
