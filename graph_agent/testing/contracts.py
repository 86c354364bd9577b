"""Contract suites: what a node, a model, a tool, a toolbox or a state of yours must keep, each one call in your tests.

The runtime enforces some of it while it runs; here all of it is tried beforehand. The rule: a clause that does not hold
is told by name, with what was found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from inspect import isawaitable
from typing import Any, get_args

from graph_agent.protocols import (
    Context,
    ContextError,
    Effect,
    Finish,
    LLMError,
    Reply,
    Request,
    ToolDenied,
    ToolError,
    ToolResult,
)
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.graph import Node
from graph_agent.runtime.limits import Meter
from graph_agent.runtime.state import RUNTIME_FIELDS
from graph_agent.runtime.typecheck import hints, misfit
from graph_agent.testing.routers import each_state
from graph_agent.testing.states import states_of
from graph_agent.testing.tracing import watched
from graph_agent.tools.toolbox import Toolbox

THREADS = 8
NOBODYS = "no_such_tool_as_this"
QUESTION = Request(instructions="Answer with one word.", context={"question": "Which?"})


class ContractBroken(AssertionError):
    """A clause does not hold; `clause` names it."""

    def __init__(self, clause: str, found: str) -> None:
        super().__init__(f"{clause}: {found}")
        self.clause = clause


def check_node(node: Node, state: Any, ctx: Context | Callable[[], Context]) -> Mapping[str, Any]:
    """Run a node once on a state, and again where `ctx` makes a new context each time; returns its patch.

    Clauses: reads, denied (a tool or a model that it did not declare), patch, owns, types, pure, deterministic. What
    the node itself raises is raised.
    """
    make = ctx if callable(ctx) else lambda: ctx
    seen: set[str] = set()
    fields = type(state).__dataclass_fields__
    before = {name: getattr(state, name) for name in fields}
    patch = _run(node, watched(state, seen.add), make())
    if node.reads is not None:
        more = seen - set(node.reads) - RUNTIME_FIELDS
        _hold("reads", not more, f"it looks at {', '.join(sorted(more))}, which is not among its reads")
    changed = [name for name in fields if getattr(state, name) is not before[name]]
    _hold("pure", not changed, f"it changed {', '.join(changed)} of the state that it was given")
    _check_patch(node, state, patch)
    if callable(ctx) or not (node.model or node.tools):
        again = _run(node, state, make())
        _hold("deterministic", again == patch, f"the same state gave {patch!r}, then {again!r}")
    return patch or {}


def check_llm(make_llm: Callable[[], Any], request: Request = QUESTION, *, threads: int = THREADS) -> None:
    """Ask a model once, and a fresh one from several threads at once (0: not). It may raise `LLMError` and no other.

    Clauses: reply, finish, tokens, request (left as it was), errors, threads.
    """
    before = deepcopy(request)
    _check_reply(_asked(make_llm(), request))
    _hold("request", request == before, "the request was changed")
    if threads:
        llm = make_llm()
        with ThreadPoolExecutor(threads) as pool:
            replies = list(pool.map(lambda _: _asked(llm, request), range(threads)))
        for reply in replies:
            _check_reply(reply, "threads")


def check_tool(tool: Any, arguments: Mapping[str, Any]) -> ToolResult:
    """Call a tool, as a toolbox does, with arguments that it takes; returns the result.

    Clauses: declares, schema, call.
    """
    for name, kind in (("name", str), ("description", str), ("metered", bool), ("schema", Mapping)):
        value = getattr(tool, name, None)
        _hold("declares", isinstance(value, kind) and value != "", f"{name} is {value!r}, which is no {kind.__name__}")
    _hold("declares", tool.effect in get_args(Effect), f"effect is {tool.effect!r}: give one of {get_args(Effect)}")
    properties = tool.schema.get("properties", {})
    unknown = [name for name in arguments if name not in properties]
    _hold("schema", tool.schema.get("type") == "object", "the arguments' schema is of no object")
    _hold("schema", not unknown, f"it says nothing of {', '.join(unknown)}")
    return _called("call", Toolbox([tool]), tool.name, dict(arguments))


def check_toolbox(make_toolbox: Callable[[], Any]) -> None:
    """Clauses: names (unique), order, only (fewer, and none that is not there), denied."""
    box = make_toolbox()
    names = [tool.name for tool in box.specs()]
    _hold("names", len(names) == len(set(names)), f"a name is there twice: {', '.join(names)}")
    _hold("order", names == [tool.name for tool in make_toolbox().specs()], "two of them list their tools differently")
    few = names[:1]
    _hold("only", [tool.name for tool in box.only(few).specs()] == few, f"only({few!r}) holds something else")
    _refuses("only", ContextError, lambda: box.only([NOBODYS]))
    for name in (NOBODYS, *names[1:]):
        _refuses("denied", ToolDenied, partial(box.only(few).call, name))


def check_codec(state: type[Any], *, examples: int = 200, **overrides: Any) -> None:
    """States of a class, made from its annotations, come back from JSON equal and of the same types.

    Clauses: encode, round trip. `overrides` are those of `states_of`.
    """

    def at(value: Any) -> None:
        try:
            data = encode(value)
            back = decode(type(value), data)
        except CodecError as error:
            raise ContractBroken("encode", f"{value!r}: {error}") from error
        _hold("round trip", back == value and encode(back) == data, f"{value!r} came back as {back!r}")
        wrong = misfit(type(value), back)
        _hold("round trip", wrong is None, f"{wrong}")

    each_state(states_of(state, count=examples, **overrides), at, examples)


def _run(node: Node, state: Any, ctx: Context) -> Any:
    account = Meter()
    try:
        patch = node.run(state, ctx.bind(_Declared(node, state), account, state))
        return asyncio.run(_awaited(patch)) if isawaitable(patch) else patch
    except ToolDenied as error:
        raise ContractBroken("denied", str(error)) from error
    finally:
        account.close()


async def _awaited(coming: Any) -> Any:
    return await coming


class _Declared:
    def __init__(self, node: Node, state: Any) -> None:
        self.stage, self.tools, self.model = str(state.stage), tuple(node.tools), node.model


def _check_patch(node: Node, state: Any, patch: Any) -> None:
    if patch is None:
        return
    _hold("patch", isinstance(patch, Mapping), f"it returned {patch!r}: return a dict of what changed, or None")
    types = hints(type(state))
    for name, value in patch.items():
        _hold("owns", name in node.owns, f"it wrote {name}, and owns {', '.join(sorted(node.owns)) or 'nothing'}")
        wrong = misfit(types[name], value, name)
        _hold("types", wrong is None, ": ".join(wrong or ()))


def _asked(llm: Any, request: Request) -> Any:
    try:
        reply = llm.complete(request)
        return asyncio.run(_awaited(reply)) if isawaitable(reply) else reply
    except LLMError as error:
        return error
    except Exception as error:
        text = f"it raised {type(error).__name__}: {error}: only LLMErrors may leave a model"
        raise ContractBroken("errors", text) from error


def _check_reply(reply: Any, clause: str = "reply") -> None:
    if isinstance(reply, LLMError):
        return
    _hold(clause, isinstance(reply, Reply), f"it returned {reply!r} and no Reply")
    _hold(clause, isinstance(reply.text, str), f"its text is {reply.text!r}")
    _hold("finish", reply.finish in get_args(Finish), f"finish is {reply.finish!r}: give one of {get_args(Finish)}")
    for name in ("tokens_in", "tokens_out"):
        count = getattr(reply, name)
        _hold("tokens", type(count) is int and count >= 0, f"{name} is {count!r}: give 0 or more")


def _called(clause: str, box: Any, name: str, arguments: dict[str, Any]) -> ToolResult:
    try:
        result = box.call(name, **arguments)
        result = asyncio.run(_awaited(result)) if isawaitable(result) else result
    except Exception as error:
        text = f"it raised {type(error).__name__}: {error}: what can go wrong in normal use is a ToolError"
        raise ContractBroken(clause, text) from error
    _hold(clause, isinstance(result, ToolResult), f"it returned {result!r} and no ToolResult")
    _hold(clause, result.error is None or isinstance(result.error, ToolError), f"its error is {result.error!r}")
    made: ToolResult = result
    return made


def _refuses(clause: str, wanted: type[Exception], call: Callable[[], Any]) -> None:
    try:
        given = call()
    except wanted:
        return
    except Exception as error:
        text = f"it raised {type(error).__name__}: {error}, where {wanted.__name__} is due"
        raise ContractBroken(clause, text) from error
    if hasattr(given, "close"):
        given.close()  # a coroutine that nobody awaits
    raise ContractBroken(clause, f"it gave {given!r}, where {wanted.__name__} is due")


def _hold(clause: str, holds: bool, found: str) -> None:
    if not holds:
        raise ContractBroken(clause, found)
