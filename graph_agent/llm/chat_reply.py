"""A chat completion, as text, becomes a `Reply`; or the error says what was there instead.

Servers leave out what they like: `choices` null, `content` null, a list of parts, only the reasoning. The rule: what
a model did not say is never made up, so an answer without text is an error unless it was cut off or refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from graph_agent.llm.chat_errors import ChatError, clip
from graph_agent.llm.chat_status import failure
from graph_agent.protocols import Finish, Reply

_FINISHES: dict[str, Finish] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "tool_calls"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content"), "refused"
    ),
}
_BROKEN_OFF = frozenset({"error", "abort"})
_SAID_FOR_REASONING = ("reasoning_content", "reasoning", "thinking")


def read_reply(text: str, content_type: str, scrub: Callable[[str], str], note: Callable[[str], None]) -> Reply:
    """The reply in the body of a success. Raises `ChatError`: kind bad_reply or empty, or the error that it holds.

    `scrub` takes the key out of what an error quotes; `note` is told what had to be guessed.
    """
    data = _object(text, content_type, scrub)
    if data.get("error") and not data.get("choices"):
        raise _error_in_success(data, text, scrub)
    choice = _first_choice(data)
    message = choice["message"]
    finish = _finish(choice.get("finish_reason"), note)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return _reply(refusal, "refused", data)
    content = _content(message.get("content"))
    if not content.strip():
        _explain_silence(message, choice.get("finish_reason"), finish)
        content = ""
    return _reply(content, finish, data)


def _object(text: str, content_type: str, scrub: Callable[[str], str]) -> dict[str, Any]:
    if "text/event-stream" in content_type or text.lstrip().startswith(("data:", "event:")):
        raise _bad("it sent a stream of events, though none was asked for; turn streaming off in the server or proxy")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise _bad(
            f"the answer is not JSON but {_kind_of_text(scrub(text), content_type)}: is the base URL right?"
        ) from None
    if not isinstance(data, dict):
        raise _bad(f"the answer is JSON of type {type(data).__name__}, not an object: is the base URL right?")
    return data


def _kind_of_text(text: str, content_type: str) -> str:
    if not text.strip():
        return "empty"
    return f"{content_type or 'of no declared type'}, beginning with {clip(text, 80)!r}"


def _error_in_success(data: Mapping[str, Any], text: str, scrub: Callable[[str], str]) -> ChatError:
    error = data["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 200
    return failure(status, {}, text, scrub)


def _first_choice(data: Mapping[str, Any]) -> Mapping[str, Any]:
    keys = ", ".join(map(str, data)) or "nothing"
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise _bad(f"the answer has no choices (it has: {clip(keys)}); is this a chat completions URL?")
    choice = choices[0]
    if not isinstance(choice, Mapping) or not isinstance(choice.get("message"), Mapping):
        has = ", ".join(map(str, choice)) if isinstance(choice, Mapping) else type(choice).__name__
        raise _bad(f"the first choice has no message (it has: {clip(has) or 'nothing'})")
    return choice


def _finish(reason: Any, note: Callable[[str], None]) -> Finish:
    if reason is None or reason == "":
        return "stop"
    word = str(reason).lower()
    if word in _BROKEN_OFF:
        raise ChatError("bad_reply", f"the model broke off (finish_reason {word!r})", status=200, retryable=True)
    if word not in _FINISHES:
        note(f"finish_reason {clip(str(reason), 40)!r} is not known; taken as stop")
    return _FINISHES.get(word, "stop")


def _content(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_part(part) for part in content)
    raise _bad(f"the content of the message is of type {type(content).__name__}, not text")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""


def _explain_silence(message: Mapping[str, Any], reason: Any, finish: Finish) -> None:
    """Nothing to raise when the model was cut off or refused: then no text is the truth."""
    if message.get("tool_calls") or message.get("function_call"):
        raise _bad("the model called a tool of its server, though none was offered; it must answer with text")
    if finish != "stop":
        return
    thought = next((name for name in _SAID_FOR_REASONING if message.get(name)), None)
    also = f", only {thought}; a larger max_tokens may help" if thought else ""
    fields = ", ".join(map(str, message)) or "nothing"
    told = f"the reply has no text{also} (finish_reason {clip(str(reason), 40)}; the message has: {clip(fields)})"
    raise ChatError("empty", told, status=200, retryable=True)


def _reply(text: str, finish: Finish, data: Mapping[str, Any]) -> Reply:
    usage = data.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    # Half of a surrogate pair, which a cut token can leave, could be written to no file.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    tokens_in, tokens_out = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    return Reply(text=whole, finish=finish, tokens_in=tokens_in, tokens_out=tokens_out)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _bad(message: str) -> ChatError:
    return ChatError("bad_reply", message, status=200)
