"""`ChatLLM`: any server that speaks OpenAI's chat completions (OpenAI, Ollama, llama.cpp, vLLM ...) as an `LLM`.

It asks one question by one POST, reads one reply, and on a rejection or a fault decides whether another try makes
sense; how the parts of that are done stands in the `chat_*` modules beside it. The rule it keeps: every call ends
within `total_timeout` with a `Reply` or a `ChatError` that says what to do, and no text that leaves it holds the key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from graph_agent.llm.chat_dialect import Dialect, fields, simpler
from graph_agent.llm.chat_errors import ChatError, ChatSettingError
from graph_agent.llm.chat_http import Pace, post
from graph_agent.llm.chat_key import ApiKey
from graph_agent.llm.chat_prompt import messages
from graph_agent.llm.chat_reply import read_reply
from graph_agent.llm.chat_status import failure
from graph_agent.llm.chat_url import chat_url, shown_url
from graph_agent.protocols import Json, Reply, Request

__all__ = ["ChatError", "ChatLLM", "ChatSettingError", "chat_url"]

_FIRST_WAIT = 1.0  # seconds before the first retry when the server names none; doubled each time
_OURS = frozenset({"messages", "model", "stream"})


class ChatLLM:
    """A model behind a chat completions URL. Safe to share between threads.

    `base_url` in any spelling (see `chat_url`). Timeouts are in seconds: to connect, to wait for the next byte (a
    reply comes whole, so this covers the time in which the model writes it), and for a `complete` with all its
    retries. `retries` counts further tries after a fault that may pass; a wait between them is at most `max_wait`.
    `extra` goes into every request as it is and wins over what is set here; `on_note` gets a line about each wait
    and about each field that the server turned out not to know.
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
        _check(connect_timeout, idle_timeout, total_timeout, retries, max_wait, extra)
        self._key = ApiKey(api_key)
        self._url, self._model = chat_url(base_url), model
        self._connect, self._idle, self._total = connect_timeout, idle_timeout, total_timeout
        self._retries, self._max_wait = retries, max_wait
        self._extra, self._on_note = dict(extra), on_note
        self._dialect = Dialect()
        self._proven_format = ""
        self._clock, self._sleep = time.monotonic, time.sleep

    def complete(self, request: Request, /) -> Reply:
        """Ask, and ask again where that can help. Raises `ChatError`."""
        now = self._clock()
        pace = Pace(connect=self._connect, idle=self._idle, started=now, deadline=now + self._total, clock=self._clock)
        dialect, faults = self._dialect, 0
        while True:
            sent = {**fields(dialect, request), "messages": None}.keys() - self._extra.keys()
            try:
                reply = self._ask_once(request, dialect, pace)
            except ChatError as error:
                step = simpler(dialect, error, sent)
                if step:
                    dialect, learnt = step
                    self._dialect = dialect
                    self._note(learnt)
                    continue
                faults += 1
                self._wait_or_raise(error, faults, pace)
                dialect = self._suspect_format(dialect, error, faults, sent)
            else:
                self._remember(dialect, sent)
                return reply

    def describe(self) -> dict[str, Json]:
        """Which model, where: for the header of a run. Holds no secret."""
        return {"llm": "chat", "url": shown_url(self._url), "model": self._model}

    def __repr__(self) -> str:
        return f"ChatLLM({shown_url(self._url)!r}, {self._model!r}, {self._key!r})"

    def _ask_once(self, request: Request, dialect: Dialect, pace: Pace) -> Reply:
        try:
            answer = post(self._url, self._headers(), self._body(request, dialect), pace)
            if not 200 <= answer.status < 300:
                text = answer.body.decode("utf-8", "replace")
                raise failure(answer.status, answer.headers, text, self._key.scrub, answer.via)
            text = _decoded(answer.body, answer.headers)
            reply = read_reply(text, answer.headers.get("content-type", ""), self._key.scrub, self._note)
            return replace(reply, text=self._key.scrub_reply(reply.text))
        except ChatError as error:
            error.place(f"{self._model} at {shown_url(self._url)}", self._key.scrub)
            raise

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "graph-agent",
            **self._key.headers(),
        }

    def _body(self, request: Request, dialect: Dialect) -> bytes:
        try:
            body: dict[str, Any] = {"model": self._model, "messages": messages(request, dialect)}
            body |= {**fields(dialect, request), **self._extra}
            # Half of a surrogate pair has no UTF-8; the model sees a question mark in its place.
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError) as error:
            told = f"the request is not JSON: {error}; put plain JSON data into context and schema"
            raise ChatError("bad_request", told) from error

    def _wait_or_raise(self, error: ChatError, faults: int, pace: Pace) -> None:
        error.attempts = faults
        if not error.retryable or faults > self._retries:
            raise error
        seconds = _FIRST_WAIT * 2 ** (faults - 1) if error.wait is None else error.wait
        seconds = min(seconds, self._max_wait)
        if self._clock() + seconds >= pace.deadline:
            self._note(f"no time is left to wait {seconds:.1f} s and ask again (total_timeout={self._total:g})")
            raise error
        self._note(f"{error.message}; asking again in {seconds:.1f} s (try {faults + 1} of {self._retries + 1})")
        self._sleep(seconds)

    def _suspect_format(self, dialect: Dialect, error: ChatError, faults: int, sent: Collection[str]) -> Dialect:
        """A second bare 500 to a form of answer that never worked: the tries that are left go without it.

        Some servers die of a field that they don't know, without a word about it. It is remembered only if it helps.
        """
        suspicious = error.status == 500 and faults > 1 and "response_format" in sent
        return replace(dialect, format="prompt") if suspicious and dialect.format != self._proven_format else dialect

    def _remember(self, dialect: Dialect, sent: Collection[str]) -> None:
        if "response_format" in sent:
            self._proven_format = dialect.format
        elif dialect.format == "prompt" and self._dialect.format != "prompt":
            self._dialect = dialect
            self._note("the server answers without response_format only: it is left out from now on")

    def _note(self, text: str) -> None:
        if self._on_note is not None:
            self._on_note(self._key.scrub(text))


def _decoded(body: bytes, headers: Mapping[str, str]) -> str:
    encoding = headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ChatError("bad_reply", f"the answer is packed as {encoding!r}, which was not asked for", status=200)
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        told = f"the answer is not UTF-8 (byte {error.start} of {len(body)}), so it cannot be JSON"
        raise ChatError("bad_reply", told, status=200) from None


def _check(connect: float, idle: float, total: float, retries: int, max_wait: float, extra: Mapping[str, Json]) -> None:
    for name, value in (("connect_timeout", connect), ("idle_timeout", idle), ("total_timeout", total)):
        if not 0 < value < float("inf"):
            raise ChatSettingError(f"{name}={value!r}: give a finite number of seconds above 0")
    if retries < 0 or max_wait < 0:
        raise ChatSettingError(f"retries={retries!r}, max_wait={max_wait!r}: neither may be below 0")
    ours = sorted(_OURS & extra.keys())
    if ours:
        raise ChatSettingError(f"extra holds {', '.join(ours)}, which ChatLLM sets itself; leave it out")
    try:
        json.dumps(dict(extra), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ChatSettingError(f"extra is not JSON: {error}") from None
