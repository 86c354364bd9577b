"""What a server's refusal means: an HTTP status and a body become a `ChatError` with a kind and a next step.

Servers spell their errors in a dozen ways (an object, a string, a list of faults, a page of HTML); all are read here
and nowhere else. The rule it keeps: the words of the error decide before the status does, because local servers
answer 500 to what is the caller's fault.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from graph_agent.llm.chat_errors import ChatError, clip
from graph_agent.llm.chat_url import shown_url

_TOO_LONG = re.compile(
    r"context[ _-]?(length|size|window)|exceed_context|maximum model length|(prompt is|string) too long|too many tokens"
    r"|(prompt|input)\b.{0,60}\b(exceeds?|too long|too large)|input token count|max_new_tokens.{0,20}must be <="
    r"|less than \d+ tokens",
    re.IGNORECASE | re.DOTALL,
)
# What a server repeats of the request (or of the model's words) says nothing about what it objects to.
_ECHOES = frozenset({"input", "body", "messages", "request", "failed_generation"})
# An objection stands at the start; far behind it comes the prompt again, which speaks of JSON Schema in its own right.
_ENOUGH = 1000
_RETRYABLE = frozenset({408, 425, 429})
_NOT_RETRYABLE = frozenset({501, 505})


@dataclass(frozen=True, kw_only=True)
class _Words:
    text: str
    sentence: str
    param: str = ""


def failure(
    status: int, headers: Mapping[str, str], text: str, scrub: Callable[[str], str], via: str = ""
) -> ChatError:
    """The error for an answer that is no success.

    `headers` has names in lower case, `text` is the body, `scrub` takes the key out, `via` names a proxy.
    """
    words = _words(text)
    words = replace(words, text=scrub(words.text)[:_ENOUGH])
    said = clip(scrub(words.sentence))
    about = f"{status} {_phrase(status)}{via}" + (f", saying: {said}" if said else "")
    if 300 <= status < 400:
        return ChatError("redirect", _redirect(status, scrub(headers.get("location", ""))), status=status)
    if status in (400, 413, 422, 500) and (_TOO_LONG.search(words.text) or status == 413):
        message = f"the prompt does not fit the model: {about}. Send less, or use a model with a larger context"
        return ChatError("context_too_long", message, status=status, said=words.text)
    if status in (401, 403):
        message = f"the server refused the key: {about}. Check api_key and what it may be used for"
        return ChatError("unauthorized", message, status=status, said=words.text)
    if status == 404:
        message = f"the server does not know this URL or this model: {about}. A base URL usually ends in /v1"
        return ChatError("not_found", message, status=status, said=words.text)
    return _other(status, about, words, seconds_to_wait(headers))


def seconds_to_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the server asks for: whole, fractional, in milliseconds, or until a date; None when it says none.

    A date is measured against the server's own clock where it sends one. `headers` has names in lower case.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d{1,12}(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,12}(\.\d+)?", value):
        return float(value)
    until = _timestamp(value)
    if until is None:
        return None
    server_now = _timestamp(headers.get("date", ""))
    return max(0.0, until - (server_now if server_now is not None else time.time() if now is None else now))


def _other(status: int, about: str, words: _Words, wait: float | None) -> ChatError:
    if status == 429:
        spent = "insufficient_quota" in words.text
        hint = "The account has no credit left" if spent else "Ask less often, or raise retries and max_wait"
        return ChatError(
            "rate_limited",
            f"too many requests: {about}. {hint}",
            status=status,
            retryable=not spent,
            wait=wait,
            said=words.text,
        )
    return ChatError(
        "http",
        f"the server answered {about}",
        status=status,
        retryable=status in _RETRYABLE or (status >= 500 and status not in _NOT_RETRYABLE),
        wait=wait,
        said=words.text,
        param=words.param,
    )


def _redirect(status: int, location: str) -> str:
    target = shown_url(location) or "no address"
    return (
        f"the server redirects ({status}) to {clip(target)}; nothing was sent there, since the key would go along. "
        "If you trust it, give that address as the base URL"
    )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(not a standard status)"


def _timestamp(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _words(text: str) -> _Words:
    try:
        data = json.loads(text)
        error = data.get("error", data) if isinstance(data, dict) else data
        flat = _flat(error)
    except (ValueError, RecursionError):
        return _Words(text=_page(text), sentence=_page(text))
    told = error if isinstance(error, dict) else {}
    message, param = told.get("message"), told.get("param")
    sentence = message if isinstance(message, str) and message else flat
    return _Words(text=flat, sentence=sentence, param=param if isinstance(param, str) else "")


def _flat(data: Any) -> str:
    """The server's sentence first, then whatever else it says, in one text."""
    if isinstance(data, dict):
        first = [data[key] for key in ("message", "detail") if data.get(key)]
        rest = [value for key, value in data.items() if key not in {"message", "detail", *_ECHOES}]
        return "; ".join(filter(None, map(_flat, [*first, *rest])))
    if isinstance(data, list):
        if all(isinstance(item, (str, int)) for item in data):
            return ".".join(map(str, data))
        return "; ".join(filter(None, map(_flat, data)))
    return "" if data is None or data is False or data == "" else str(data)


def _page(text: str) -> str:
    if "<" not in text:
        return text
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    plain = title.group(1) if title else re.sub(r"<[^>]*>", " ", text)
    return f"a page of HTML, {' '.join(plain.split())!r}"
