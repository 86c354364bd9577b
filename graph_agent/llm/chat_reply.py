"""What is made of a server's answer: a `Reply`, or a `ChatError` that says what was there and what to do next.

Servers leave out what they like and spell errors in a dozen ways. The rule: what was not said is never made up.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from graph_agent.protocols import Finish, LLMError, Reply

_NEXT = {
    401: ("unauthorized", "; check the API key"),
    403: ("unauthorized", "; check the API key"),
    404: ("not_found", "; check the base URL (it usually ends in /v1) and the name of the model"),
    413: ("context_too_long", "; the prompt does not fit: send less, or use a model with a larger context"),
    429: ("rate_limited", "; ask less often, or raise retries and max_wait"),
}
_TOO_LONG = re.compile(
    r"(?is)context[ _-]?(length|size|window)|exceed_context|maximum model length|too many tokens|input token count"
    r"|(prompt|input|string)\b.{0,60}\b(exceed|too (long|large))"
)
_ENOUGH = 1000  # an objection stands at the start; behind it may come the prompt, with words of its own
_FINISHES: Mapping[str, Finish] = {
    **dict.fromkeys(("none", "", "stop", "eos_token", "tool_calls"), "stop"),
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(("content_filter", "refusal"), "refused"),
}


class ChatSettingError(LLMError, ValueError):
    """A `ChatLLM` cannot be built so: its URL, key, a limit or an extra field is of no use."""


class ChatError(LLMError):
    """A call that gave no usable reply. `retryable` says whether asking again could help.

    `kind`: timeout, connection, unauthorized, not_found, rate_limited, redirect, context_too_long, http (any other
    status), bad_reply (a success that is no chat completion), empty, or bad_request (no JSON, so it was not sent).
    `status` is that of HTTP, `wait` the seconds for which the server asks, `said` its words, `param` what it blames.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        wait: float | None = None,
        said: str = "",
        param: str = "",
    ) -> None:
        super().__init__(kind, message)
        self.kind, self.message, self.status, self.retryable = kind, message, status, retryable
        self.wait, self.said, self.param = wait, said, param

    def place(self, where: str, scrub: Callable[[str], str]) -> None:
        """Say which model was asked, and take the key out. Only then is anything cut: half a key is still a leak."""
        self.message = clip(scrub(f"{where}: {self.message}"))
        self.said, self.param = scrub(self.said)[:_ENOUGH], scrub(self.param)
        self.args = (self.kind, self.message)

    def __str__(self) -> str:
        return self.message


def clip(text: str) -> str:
    """The text on one line, cut with a mark when it is long."""
    line = " ".join(_sound(text).split())
    return line if len(line) <= 600 else f"{line[:600]}..."


def failure(status: int, headers: Message, body: bytes, via: str = "") -> ChatError:
    """The error for an answer that is no success. `via` names a proxy."""
    said, param = _words(body.decode("utf-8", "replace"))
    kind, advice = _NEXT.get(status, ("http", ""))
    if 300 <= status < 400:
        to = headers.get("Location", "").partition("?")[0]
        kind, advice = (
            "redirect",
            f" to {to}; not followed, as the key would go along: call it directly if you trust it",
        )
    elif status in (400, 422, 500) and _TOO_LONG.search(said[:_ENOUGH]):
        kind, advice = _NEXT[413]
    passes = status in (408, 425, 429) or (status >= 500 and status not in (501, 505))
    return ChatError(
        kind,
        f"the server answered {status}{via}{advice}; it says: {said or 'nothing'}",
        status=status,
        retryable=passes and kind != "context_too_long",
        wait=_seconds_to_wait(headers),
        said=said,
        param=param,
    )


def _words(text: str) -> tuple[str, str]:
    """What an error says, with every character as itself, and the field it blames."""
    try:
        # What a server repeats of the request is no objection.
        data = json.loads(text, object_hook=lambda found: {key: found[key] for key in found if key != "input"})
        error = data.get("error", data) if isinstance(data, dict) else data
        param = error.get("param") if isinstance(error, dict) else None
        return json.dumps(error, ensure_ascii=False), str(param or "")
    except (ValueError, RecursionError):
        return " ".join(re.sub("<[^>]*>", " ", text).split()), ""


def _seconds_to_wait(headers: Message) -> float | None:
    """Whole, fractional, in milliseconds, or until a date; None when the server names none that makes sense."""
    value = ""
    for name, unit in (("Retry-After-Ms", 1000), ("Retry-After", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d+)?", value):
            return float(value) / unit
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def read_reply(body: bytes, note: Callable[[str], None]) -> Reply:
    """The reply in the body of a success. Raises `ChatError`. `note` is told what had to be guessed."""
    try:
        data = json.loads(body)
        found = json.dumps(data, ensure_ascii=False)
    except (ValueError, RecursionError):
        data, found = None, body.decode("utf-8", "replace")
    match data:
        case {"choices": [{"message": dict(message), **choice}, *_]}:
            return _reply(message, str(choice.get("finish_reason")), data.get("usage"), note)
    told = "the answer is no JSON that has choices with a message; is the base URL right? It is"
    raise ChatError("bad_reply", f"{told}: {found or 'empty'}", status=200)


def _reply(message: Mapping[str, Any], reason: str, usage: Any, note: Callable[[str], None]) -> Reply:
    if reason in ("error", "abort"):
        raise ChatError("bad_reply", f"the model broke off (finish_reason {reason})", status=200, retryable=True)
    if reason.lower() not in _FINISHES:
        note(f"finish_reason {reason} is not known; taken as stop")
    finish, text = _FINISHES.get(reason.lower(), "stop"), _text(message.get("content"))
    if refusal := _text(message.get("refusal")):
        finish, text = "refused", refusal
    if not text.strip() and finish == "stop":  # when it was cut off or refused, no text is the truth
        kind = "bad_reply" if message.get("tool_calls") else "empty"  # a call of a tool that nobody offered
        told = f"the reply has no text (finish_reason {reason}; the message has: {', '.join(message)})"
        hint = "a model that thinks first may need a larger max_tokens"
        raise ChatError(kind, f"{told}; {hint}", status=200, retryable=kind == "empty")
    counts = [usage.get(f"{which}_tokens") if isinstance(usage, dict) else 0 for which in ("prompt", "completion")]
    spent = [count if type(count) is int and count > 0 else 0 for count in counts]
    return Reply(text=_sound(text), finish=finish, tokens_in=spent[0], tokens_out=spent[1])


def _text(content: Any) -> str:
    """The text of a message: a string, or the joined parts that are text and not thoughts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) and "text" in str(part.get("type")) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _sound(text: str) -> str:
    """The text without half of a surrogate pair, which a cut token can leave and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
