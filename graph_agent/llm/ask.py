"""Ask a model for a dataclass: the value, or an error that says which of five things went wrong.

The schema goes out with the request, the reply is read strictly, and an answer that can be mended is sent back once
with what was wrong about it. The rule: there is no half of an answer; a cut or refused reply is never read at all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import MISSING, fields, is_dataclass, replace
from inspect import iscoroutine
from typing import Any, TypeVar

from graph_agent.llm.errors import AskError, NotAccepted, NotJSON, NotSchema, Refused, Truncated
from graph_agent.llm.reading import read_json
from graph_agent.protocols import LLM, LLMError, Reply, Request
from graph_agent.runtime.codec import decode, json_schema
from graph_agent.runtime.errors import CodecError

__all__ = ["AskError", "NotAccepted", "NotJSON", "NotSchema", "Refused", "Truncated", "aask", "ask"]

T = TypeVar("T")
_MOST_SHOWN = 20_000  # characters of an answer that its author gets to see again


def ask(
    llm: LLM,
    request: Request,
    into: type[T],
    *,
    corrections: int = 1,
    check: Callable[[T], str | None] | None = None,
) -> T:
    """The model's answer as an `into`, a dataclass; its JSON Schema is sent as `request.schema`.

    `check` is the caller's own rule: it returns what is wrong with a value, or None. An answer that is no JSON, does
    not fit, or is turned down goes back to the model up to `corrections` times: the same request, with
    `your_last_answer` and `what_was_wrong` added to its context. Raises an `AskError` (`Truncated`, `Refused`,
    `NotJSON`, `NotSchema`, `NotAccepted`) and lets through what the model itself raises.
    """
    talk = _talk(request, into, corrections, check)
    question = next(talk)
    while True:
        reply = llm.complete(question)
        try:
            question = talk.send(reply)
        except StopIteration as done:
            value: T = done.value
            return value


async def aask(
    llm: LLM,
    request: Request,
    into: type[T],
    *,
    corrections: int = 1,
    check: Callable[[T], str | None] | None = None,
) -> T:
    """`ask` for a model whose `complete` is awaited."""
    talk = _talk(request, into, corrections, check)
    question = next(talk)
    while True:
        reply = await llm.complete(question)
        try:
            question = talk.send(reply)
        except StopIteration as done:
            value: T = done.value
            return value


def _talk(
    request: Request, into: type[T], corrections: int, check: Callable[[T], str | None] | None
) -> Generator[Request, Any, T]:
    """The conversation without the calls: yields what to ask, is sent what came back, returns the value."""
    question = request = replace(request, schema=json_schema(into))
    asked = 0
    while True:
        reply = yield question
        asked += 1
        text = _text(reply, asked)
        try:
            return _value(text, into, check, asked)
        except (NotJSON, NotSchema, NotAccepted) as error:
            if asked > corrections:
                raise
            said = {"your_last_answer": _shown(text), "what_was_wrong": error.message}
            question = replace(request, context={**request.context, **said})


def _text(reply: object, asked: int) -> str:
    if not isinstance(reply, Reply):
        if iscoroutine(reply):
            reply.close()
        raise LLMError(f"the model returned {type(reply).__name__}, not a Reply; await an asynchronous one with aask")
    if reply.finish == "length":
        what = f"the answer was cut at the token limit after {len(reply.text)} characters"
        raise Truncated(f"{what}; raise max_tokens, or ask for less", raw=reply.text, asked=asked)
    if reply.finish == "refused":
        raise Refused(
            f"the model refused to answer: {reply.text[:200] or 'no reason given'}", raw=reply.text, asked=asked
        )
    return reply.text


def _value(text: str, into: type[T], check: Callable[[T], str | None] | None, asked: int) -> T:
    try:
        data = read_json(text, want=_required(into))
        value: T = decode(into, data)
    except NotJSON as error:
        raise NotJSON(error.message, raw=text, asked=asked) from None
    except CodecError as error:
        message = f"the JSON does not fit {into.__name__}: {error}"
        raise NotSchema(message, raw=text, asked=asked, path=error.path) from error
    complaint = check(value) if check else None
    if complaint is not None:
        raise NotAccepted(complaint, raw=text, asked=asked)
    return value


def _required(into: type[Any]) -> tuple[str, ...]:
    if not is_dataclass(into):
        return ()
    return tuple(f.name for f in fields(into) if f.init and f.default is MISSING and f.default_factory is MISSING)


def _shown(text: str) -> str:
    if len(text) <= _MOST_SHOWN:
        return text
    half = _MOST_SHOWN // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
