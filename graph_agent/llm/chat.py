"""`ChatLLM`: any server that speaks OpenAI's chat completions (OpenAI, Ollama, llama.cpp, vLLM ...) as an `LLM`.

It asks by one POST, reads one reply, and decides after a rejection or a fault whether another try makes sense. The
rule: every call ends within `total_timeout` with a `Reply` or a `ChatError`, and no text that leaves it holds the key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from graph_agent.llm.chat_dialect import Dialect, fields, simpler
from graph_agent.llm.chat_http import ApiKey, Pace, chat_url, post, shown_url
from graph_agent.llm.chat_reply import ChatError, ChatSettingError, clip, read_reply
from graph_agent.protocols import Json, Reply, Request

__all__ = ["ChatError", "ChatLLM", "ChatSettingError", "chat_url"]

_FIRST_WAIT = 1.0  # seconds before the first retry when the server names none; doubled each time


class ChatLLM:
    """A model behind a chat completions URL, in any spelling (see `chat_url`). Safe to share between threads.

    Timeouts are in seconds: to connect, to wait for the next byte (that is, for the model to write the reply), and for
    a `complete` with all its retries. `retries` counts further tries after a fault that may pass; a wait
    between them is at most `max_wait`. `extra` goes into every request as it is and wins over what is set here;
    `on_note` gets a line about each wait and about each field that the server turned out not to know.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        connect_timeout: float = 10.0,
        idle_timeout: float = 300.0,
        total_timeout: float = 600.0,
        retries: int = 2,
        max_wait: float = 60.0,
        extra: Mapping[str, Json] = MappingProxyType({}),
        on_note: Callable[[str], None] | None = None,
    ) -> None:
        timeouts = (connect_timeout, idle_timeout, total_timeout)
        if not all(0 < seconds < float("inf") for seconds in timeouts) or retries < 0 or max_wait < 0:
            given = f"{connect_timeout=}, {idle_timeout=}, {total_timeout=}, {retries=}, {max_wait=}"
            raise ChatSettingError(f"{given}: timeouts are finite and above 0, the others not below 0")
        if ours := {"messages", "model", "stream"} & extra.keys():
            raise ChatSettingError(f"extra holds {', '.join(ours)}, which ChatLLM sets itself; leave it out")
        self._key = ApiKey(api_key)
        self._url, self._model = chat_url(base_url), model
        self._timeouts = timeouts
        self._retries, self._max_wait = retries, max_wait
        self._extra, self._on_note = dict(extra), on_note
        self._dialect = Dialect()
        self._sleep = time.sleep

    def complete(self, request: Request, /) -> Reply:
        """Ask, and ask again where that can help. Raises `ChatError`."""
        pace = Pace(*self._timeouts, started=time.monotonic())
        dialect, faults = self._dialect, 0
        while True:
            sent = fields(dialect, request).keys() - self._extra.keys()
            try:
                reply = self._ask_once(request, dialect, pace)
            except ChatError as error:
                if step := simpler(dialect, error, sent):
                    dialect, learnt = step
                    self._note(learnt)
                    continue
                faults += 1
                self._wait_or_raise(error, faults, pace)
                if error.status == 500 and faults > 1 and "response_format" in sent and not dialect.proven:
                    self._note("it may be response_format that the server fails at: trying without")
                    dialect = replace(dialect, format="prompt")
            else:
                self._dialect = replace(dialect, proven=dialect.proven or "response_format" in sent)
                return reply

    def describe(self) -> dict[str, Json]:
        """Which model, where: for the header of a run. Holds no secret."""
        return {"llm": "chat", "url": shown_url(self._url), "model": self._model}

    def _ask_once(self, request: Request, dialect: Dialect, pace: Pace) -> Reply:
        headers = {"Content-Type": "application/json", "User-Agent": "graph-agent", **self._key.headers()}
        try:
            reply = read_reply(post(self._url, headers, self._body(request, dialect), pace), self._note)
        except ChatError as error:
            error.place(f"{self._model} at {shown_url(self._url)}", self._key.scrub)
            raise
        return replace(reply, text=self._key.scrub(reply.text, shortest=8))

    def _body(self, request: Request, dialect: Dialect) -> bytes:
        try:
            body: dict[str, Any] = {"model": self._model, "messages": messages(request, dialect)}
            body |= {**fields(dialect, request), **self._extra}
            # "replace", because half of a surrogate pair has no UTF-8
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError) as error:
            told = f"the request is not JSON: {error}; put plain JSON data into context, schema and extra"
            raise ChatError("bad_request", told) from error

    def _wait_or_raise(self, error: ChatError, faults: int, pace: Pace) -> None:
        seconds = min(_FIRST_WAIT * 2 ** (faults - 1) if error.wait is None else error.wait, self._max_wait)
        if not error.retryable or faults > self._retries or seconds >= pace.left():
            raise error
        self._note(f"asking again in {seconds:.1f} s (try {faults + 1} of {self._retries + 1}): {error.message}")
        self._sleep(seconds)

    def _note(self, text: str) -> None:
        if self._on_note is not None:
            self._on_note(clip(self._key.scrub(text)))


def messages(request: Request, dialect: Dialect) -> list[dict[str, str]]:
    """The messages of a chat: instructions and the form of the answer for the system, the context for the user."""
    parts = [request.instructions.strip()]
    if request.schema is not None:
        fenced = dialect.format == "prompt"
        parts += ["Answer with one JSON object that fits this JSON Schema:"]
        parts += _fence(json.dumps(request.schema, indent=1, ensure_ascii=False), "json")
        parts += ["Put it into a ```json fence." if fenced else "Write the object alone, with no text around it."]
    system, user = "\n".join(parts).strip(), render(request.context)
    if user and system:
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return [{"role": "user", "content": system or user}]


def render(context: Mapping[str, Any]) -> str:
    """The context as Markdown; what is not JSON raises TypeError or ValueError.

    In JSON a file is one line of escapes, which weak models misread and copy; here every such string stands in a fence
    of its own, longer than any in it, under a heading that is its place in the data.
    """
    return "\n".join(_lines(context, "#")).strip()


def _lines(data: Any, marks: str) -> Iterator[str]:
    named = data if isinstance(data, Mapping) else {f"{n} of {len(data)}": item for n, item in enumerate(data, 1)}
    inline = {name: _inline(value) for name, value in named.items()}
    # These first: after a heading they would seem to belong to it.
    yield from (f"- {name}: {text}" for name, text in inline.items() if text)
    for name, value in named.items():
        if inline[name]:
            continue
        yield f"\n{marks} {name}"
        if isinstance(value, str):
            yield from _fence(value, "python" if str(name).endswith(".py") else "")
        else:
            yield from _lines(value, f"{marks}#"[:6])


def _fence(text: str, language: str) -> Iterator[str]:
    ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    yield from ("", f"{ticks}{language}", text.removesuffix("\n"), ticks)


def _inline(value: Any) -> str:
    """The value as JSON when that reads well on a line: there is no text in it, or it is short and not escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if '"' not in text or (len(text) <= 120 and "\\" not in text) else ""
