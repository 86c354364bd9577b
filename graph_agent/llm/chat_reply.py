"""What is made of a server's answer: a `Reply`, or a `ChatError` that says what was there and what to do next.

Servers leave out what they like and spell their errors in a dozen ways; all are read here and nowhere else. The rule:
what a model did not say is never made up, and the words of an error decide before its status does.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import responses
from typing import Any, Literal, TypeAlias

from graph_agent.protocols import Finish, LLMError, Reply

Kind: TypeAlias = Literal[
    "timeout",
    "connection",
    "unauthorized",
    "not_found",
    "rate_limited",
    "redirect",
    "context_too_long",
    "http",  # any other status
    "bad_reply",  # a success that is no chat completion
    "empty",
    "bad_request",  # no JSON, so not sent
]
_NEXT: Mapping[int, tuple[Kind, str]] = {
    401: ("unauthorized", "; check api_key and what it may be used for"),
    403: ("unauthorized", "; check api_key and what it may be used for"),
    404: ("not_found", "; check the base URL, which usually ends in /v1, and the name of the model"),
    413: ("context_too_long", "; the prompt does not fit: send less, or use a model with a larger context"),
    429: ("rate_limited", "; ask less often, or raise retries and max_wait"),
}
_TOO_LONG = re.compile(
    r"context[ _-]?(length|size|window)|exceed_context|maximum model length|too many tokens|input token count"
    r"|(prompt|input|string)\b.{0,60}\b(exceeds?|too (long|large))|max_new_tokens.{0,20}must be <=|less than \d+ tokens",
    re.IGNORECASE | re.DOTALL,
)
# What a server repeats of the request (or of the model's words) says nothing about what it objects to.
_ECHOES = ("input", "body", "messages", "request", "failed_generation")
# An objection stands at the start; far behind it comes the prompt again, which speaks of JSON Schema in its own right.
_ENOUGH = 1000
_FINISHES: Mapping[str, Finish] = {
    **dict.fromkeys(("none", "", "stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "recitation", "prohibited_content"), "refused"),
}


class ChatSettingError(LLMError, ValueError):
    """A `ChatLLM` cannot be built so: its URL, key, a limit or an extra field is of no use. Holds no part of a key."""


class ChatError(LLMError):
    """A call that gave no usable reply. `retryable` says whether asking again could help.

    `status` is the HTTP status where there was one; `wait` the seconds for which the server asks; `said` the
    server's own words and `param` the field it blames. `attempts` counts the calls made.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        wait: float | None = None,
        said: str = "",
        param: str = "",
    ) -> None:
        super().__init__(kind, message)
        self.kind, self.message = kind, message
        self.status, self.retryable, self.wait = status, retryable, wait
        self.said, self.param = said, param
        self.attempts = 1

    def place(self, where: str, scrub: Callable[[str], str]) -> None:
        """Say which model was asked, and take the key out. Only then is anything cut: half a key is still a leak."""
        self.message = clip(scrub(f"{where}: {self.message}"))
        self.said, self.param = scrub(self.said)[:_ENOUGH], scrub(self.param)
        self.args = (self.kind, self.message)

    def __str__(self) -> str:
        return self.message + (f" (asked {self.attempts} times)" if self.attempts > 1 else "")


def clip(text: str) -> str:
    """The text on one line, cut with a mark when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 600 else f"{line[:600]}..."


def failure(status: int, headers: Mapping[str, str], body: bytes, via: str = "") -> ChatError:
    """The error for an answer that is no success. `headers` has names in lower case, `via` names a proxy."""
    said, sentence, param = _words(body.decode("utf-8", "replace"))
    kind, advice = _NEXT.get(status, ("http", ""))
    if 300 <= status < 400:
        to = headers.get("location", "").partition("?")[0]
        kind, advice = "redirect", f" to {to}: not followed, the key would go along; if you trust it, call it directly"
    elif status in (400, 422, 500) and _TOO_LONG.search(said[:_ENOUGH]):
        kind, advice = _NEXT[413]
    passes = status in (408, 425, 429) or (status >= 500 and status not in (501, 505))
    return ChatError(
        kind,
        f"the server answered {status} {responses.get(status, '')}{via}{advice}"
        + (sentence and f"; it says: {sentence}"),
        status=status,
        retryable=passes and kind != "context_too_long" and "insufficient_quota" not in said,
        wait=seconds_to_wait(headers),
        said=said,
        param=param,
    )


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks for: whole, fractional, in milliseconds, or until a date; None when it says none."""
    value = ""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d+)?", value):
            return float(value) / unit
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def read_reply(body: bytes, content_type: str, note: Callable[[str], None]) -> Reply:
    """The reply in the body of a success. Raises `ChatError`: kind bad_reply or empty, or the error that it holds.

    `note` is told what had to be guessed.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        found = body.decode("utf-8", "replace").strip() or "nothing"
        raise _bad(f"the answer is not JSON; is the base URL right? {content_type} begins: {found}") from None
    match data:
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            return _reply(message, choice.get("finish_reason"), data.get("usage"), note)
        case {"error": error} if error:
            code = error.get("code") if isinstance(error, dict) else None
            raise failure(code if isinstance(code, int) and 400 <= code <= 599 else 200, {}, body)
    found = json.dumps(data, ensure_ascii=False)
    raise _bad(f"the answer has no choices with a message; is this a chat completions URL? It begins: {found}")


def _reply(message: Mapping[str, Any], reason: Any, usage: Any, note: Callable[[str], None]) -> Reply:
    word = str(reason).lower()
    if word in ("error", "abort"):
        raise ChatError("bad_reply", f"the model broke off (finish_reason {word})", status=200, retryable=True)
    if word not in _FINISHES:
        note(f"finish_reason {reason} is not known; taken as stop")
    finish, text = _FINISHES.get(word, "stop"), _text(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        finish, text = "refused", refusal
    if not text.strip() and finish == "stop":  # when it was cut off or refused, no text is the truth
        if message.get("tool_calls"):
            raise _bad("the model called a tool of its server, though none was offered; it must answer with text")
        told = f"the reply has no text (finish_reason {reason}; the message has: {', '.join(message)})"
        hint = "a model that thinks first may need a larger max_tokens"
        raise ChatError("empty", f"{told}; {hint}", status=200, retryable=True)
    tokens = [usage.get(f"{which}_tokens") if isinstance(usage, dict) else 0 for which in ("prompt", "completion")]
    spent = [count if type(count) is int and count > 0 else 0 for count in tokens]
    # Half of a surrogate pair, which a cut token can leave, could be written to no file.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return Reply(text=whole, finish=finish, tokens_in=spent[0], tokens_out=spent[1])


def _text(content: Any) -> str:
    """The text of a message: a string, or the joined parts that are text and not thoughts."""
    if isinstance(content, list):
        return "".join(_text(part) for part in content)
    if isinstance(content, dict):
        return _text(content.get("text")) if content.get("type", "text") in ("text", "output_text") else ""
    if content is None or isinstance(content, str):
        return content or ""
    raise _bad(f"the content of the message is of type {type(content).__name__}, not text")


def _bad(message: str) -> ChatError:
    return ChatError("bad_reply", message, status=200)


def _words(text: str) -> tuple[str, str, str]:
    """All that an error says, its sentence for people, and the field it blames."""
    try:
        data = json.loads(text)
        error = data.get("error", data) if isinstance(data, dict) else data
        flat = _flat(error)
    except (ValueError, RecursionError):
        page = " ".join(re.sub("<[^>]*>", " ", text).split())
        return page, page, ""
    told = error if isinstance(error, dict) else {}
    return flat, str(told.get("message") or flat), str(told.get("param") or "")


def _flat(data: Any) -> str:
    if isinstance(data, dict):
        data = [value for key, value in data.items() if key not in _ECHOES]
    if isinstance(data, list):
        return "; ".join(filter(None, map(_flat, data)))
    return "" if data is None else str(data)
