"""Ask a model for a dataclass: the value, or an error that says which of five things went wrong.

The schema goes out with the request, and an answer that can be mended is sent back once with what was wrong about it.
The rule: there is no half of an answer. A cut or refused reply is never read, nothing in one is repaired that could
change its meaning, and of two different answers none is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeVar

from graph_agent.protocols import LLM, Json, LLMError, Reply, Request
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode, json_schema
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.jsontext import quote

T = TypeVar("T")
_OPENING_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*?)[ \t]*\r?$", re.MULTILINE)
_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_CLOSING_TAG = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_STRING_OR_BRACKET = re.compile(rf"{_STRING}|[\[{{\]}}]", re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(rf'({_STRING})|(?<=[\]}}"\w])\s*,(?=\s*[\]}}])', re.DOTALL)
_BEGINS_LIKE_JSON = re.compile(r'\{\s*(?:["\'}]|\w+\s*:)|\[\s*(?:["\'{\[\]\d-]|true\b|false\b|null\b)')
_BRACKET = re.compile(r"[{\[]")
_CLOSERS = {"{": "}", "[": "]"}


class AskError(LLMError):
    """A reply of no use; `raw` is its text."""

    def __init__(self, message: str, *, raw: str) -> None:
        super().__init__(message)
        self.message, self.raw = message, raw


class Truncated(AskError):
    """The reply was cut at the token limit. Asking again with the same limit would cut it again."""


class Refused(AskError):
    """The model, or a filter before it, refused to answer."""


class NotJSON(AskError):
    """There is no JSON in the reply, or more than one candidate, or it is broken."""


class NotSchema(AskError):
    """The JSON does not fit the type that was asked for."""


class NotAccepted(AskError):
    """The value fits its type, and the caller's own check turned it down."""


class Fence(NamedTuple):
    """A fenced block: what its first line says after the marks, and the lines within."""

    label: str
    body: str


_Mendable = (NotJSON, NotSchema, NotAccepted)


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
    question = request = replace(request, schema=json_schema(into))
    while True:
        reply = llm.complete(question)
        try:
            return _value(reply, request, into, check)
        except _Mendable as error:
            if corrections < 1:
                raise
            corrections -= 1
            question = _corrected(request, error)


async def aask(
    llm: LLM,
    request: Request,
    into: type[T],
    *,
    corrections: int = 1,
    check: Callable[[T], str | None] | None = None,
) -> T:
    """`ask` for a model whose `complete` is awaited."""
    question = request = replace(request, schema=json_schema(into))
    while True:
        reply = await llm.complete(question)
        try:
            return _value(reply, request, into, check)
        except _Mendable as error:
            if corrections < 1:
                raise
            corrections -= 1
            question = _corrected(request, error)


def read_json(text: str, *, want: Collection[str] = ()) -> Json:
    """The JSON data in a reply. Within prose, `want` tells the object that has these keys from any other.

    The only repairs are a byte order mark before and a comma before a closing bracket. Raises `NotJSON`.
    """
    answer = _bare(after_reasoning(text))
    if not answer:
        raise NotJSON("the reply is empty, or nothing but reasoning", raw=text)
    whole, _ = _values([_bare(text), answer])
    if whole:
        return whole[0]
    fenced, broken = _values(_fenced(answer))
    if broken:
        raise NotJSON(f"the fenced JSON is broken: {broken[0]}", raw=text)
    loose, broken = _values(_spans(answer))
    wanted = set(want)
    fitting = [
        [value for value in values if not wanted or (isinstance(value, dict) and wanted <= value.keys())]
        for values in (fenced, loose)
    ]
    for values in (*fitting, fenced, loose):  # a sole answer without the wanted keys is left to the schema
        different = {json.dumps(value, sort_keys=True): value for value in values}
        if len(different) > 1:
            raise NotJSON(f"the reply has {len(different)} different JSON answers; exactly one is wanted", raw=text)
        if different and not (values is loose and broken):
            return values[0]
    if broken:
        raise NotJSON(f"the reply has no valid JSON: {broken[0]}", raw=text)
    raise NotJSON(f"there is no JSON in the reply, which begins {quote(answer)}", raw=text)


def after_reasoning(text: str) -> str:
    """The text without `<think>` and `<thinking>` blocks that begin a line: closed, never closed, or only closed.

    A closing tag without an opening one ends reasoning that began with the text: some servers take off the first tag.
    """
    kept = ""
    while tag := _TAG.search(text):
        if tag[1]:
            kept, text = "", text[tag.end() :]
            continue
        before = text[: tag.start()]
        if before.rpartition("\n")[2].strip():
            break  # within a line, it is something that the answer speaks of
        closing = _CLOSING_TAG.search(text, tag.end())
        kept += before
        text = text[closing.end() :] if closing else ""
    return kept + text


def fences(text: str) -> list[Fence]:
    """The fenced blocks, in order. A block that is never closed goes to the end of the text."""
    found: list[Fence] = []
    at = 0
    while opening := _OPENING_FENCE.search(text, at):
        marks, label = opening.groups()
        start = opening.end() + 1
        closing = re.compile(rf"^[ \t]*{marks}{marks[0]}*[ \t]*\r?$", re.MULTILINE).search(text, start)
        found.append(Fence(label, text[start : closing.start() if closing else None]))
        at = closing.end() if closing else len(text)
    return found


def _corrected(request: Request, error: AskError) -> Request:
    return replace(request, context={**request.context, "your_last_answer": error.raw, "what_was_wrong": error.message})


def _value(reply: object, request: Request, into: type[T], check: Callable[[T], str | None] | None) -> T:
    if not isinstance(reply, Reply):
        raise LLMError(f"the model returned {type(reply).__name__}, not a Reply; await an asynchronous one with aask")
    raw = reply.text
    if reply.finish == "length":
        raise Truncated("the answer was cut at the token limit; raise max_tokens, or ask for less", raw=raw)
    if reply.finish == "refused":
        raise Refused(f"the model refused to answer: {raw[:200] or 'no reason given'}", raw=raw)
    try:
        value: T = decode(into, read_json(raw, want=(request.schema or {}).get("required", ())))
    except CodecError as error:
        raise NotSchema(f"the JSON does not fit {into.__name__}: {error}", raw=raw) from error
    complaint = check(value) if check else None
    if complaint is not None:
        raise NotAccepted(complaint, raw=raw)
    return value


def _bare(text: str) -> str:
    return text.strip("\ufeff \t\r\n")


def _values(sources: Iterable[str]) -> tuple[list[Json], list[str]]:
    """What can be read of the sources, and what is wrong with the others."""
    values: list[Json] = []
    broken: list[str] = []
    for source in sources:
        try:
            values.append(_loads(source))
        except CodecError as error:
            broken.append(str(error))
    return values, broken


def _loads(source: str) -> Json:
    try:
        return jsontext.loads(source)
    except CodecError:
        repaired = _STRING_OR_TRAILING_COMMA.sub(lambda found: found[1] or "", source)
        if repaired == source:
            raise
        return jsontext.loads(repaired)


def _fenced(answer: str) -> Iterator[str]:
    """The fences that are meant as JSON, also when they are broken."""
    for label, body in fences(answer):
        if label.lower().startswith("json") or (not label and _BEGINS_LIKE_JSON.match(_bare(body))):
            yield _bare(body)


def _spans(answer: str) -> Iterator[str]:
    """The outermost bracketed pieces of prose. One that is never closed takes all that follows with it:

    an object within a broken object is not the answer. Only a bracket that does not begin like JSON is prose.
    """
    at = 0
    while opening := _BRACKET.search(answer, at):
        start = opening.start()
        end = _closing(answer, start)
        if end is None and _BEGINS_LIKE_JSON.match(answer, start):
            end = len(answer)
        at = end or start + 1
        if end:
            yield answer[start:end]


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed again, looking past strings; None when it is not."""
    expected: list[str] = []
    for token in _STRING_OR_BRACKET.finditer(text, start):
        bracket = token[0]
        if bracket in _CLOSERS:
            expected.append(_CLOSERS[bracket])
        elif bracket[0] != '"' and bracket != expected.pop():
            return None
        if not expected:
            return token.end()
        if len(expected) > jsontext.DEEPEST:
            return len(text)
    return None
