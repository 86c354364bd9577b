"""What a server is asked for beyond the messages, and one step down when it says that it does not know a field.

Some servers force a reply into a JSON Schema, some only into JSON, some into nothing; newer models know
`max_completion_tokens` and no `temperature`. The rule: one field changes per rejection, and only when it is about it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from graph_agent.llm.chat_reply import ChatError
from graph_agent.protocols import Request

_REJECTIONS = (400, 422, 500, 501)  # 500: llama-cpp-python answers so to a field that it cannot validate
# "invalid_request_error" is the type of any rejection at all and says nothing.
_NOT_KNOWN = re.compile(
    r"(?is)un(supported|known|recogni[sz]ed|expected|available)|\bnot\b.{0,30}\b(support|permitted|allowed|available)"
    r"|cannot|forbidden|deprecated|disabled|\bonly\b|(must|should) be|invalid(?!_request)|literal_error|failed"
)
# "between 0 and 2" or "at most 4096" is about the value, which is the caller's to mend.
_OUT_OF_RANGE = re.compile(r"(?i)between|(less|greater) than|at (most|least)|too (large|small)|positive|m(in|ax)imum")
_FORMAT = re.compile(r"(?i)response[_ ]?format|json[_ ]?(schema|object|mode)|structured[_ ]?output|grammar|sampler")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one server, with one model, wants to be asked. `proven`: a reply has come in this format."""

    format: str = "json_schema"  # then json_object, then prompt
    limit: str = "max_tokens"  # then max_completion_tokens
    temperature: bool = True
    proven: bool = False


def fields(dialect: Dialect, request: Request) -> dict[str, Any]:
    """The fields of the body besides model and messages. What the request leaves open is not sent."""
    found: dict[str, Any] = {}
    if request.temperature is not None and dialect.temperature:
        found["temperature"] = request.temperature
    if request.max_tokens is not None:
        found[dialect.limit] = request.max_tokens
    if request.schema is not None and dialect.format != "prompt":
        asked: dict[str, Any] = {"schema": request.schema}  # beside json_object, this is llama.cpp's dialect
        if dialect.format == "json_schema":
            asked = {"json_schema": {"name": "reply", **asked}}
        found["response_format"] = {"type": dialect.format, **asked}
    return found


def simpler(dialect: Dialect, error: ChatError, sent: Collection[str]) -> tuple[Dialect, str] | None:
    """The next dialect to try after a rejection, and a note about it; None when the error is about something else.

    `sent` are the fields that were sent and may be changed.
    """
    if error.status not in _REJECTIONS or error.kind != "http":
        return None
    said, about = error.said, error.param or error.said
    objects, value = _NOT_KNOWN.search(said), _OUT_OF_RANGE.search(said)
    if "max_tokens" in sent and not value and ("max_completion_tokens" in said or (objects and "max_tokens" in about)):
        return replace(dialect, limit="max_completion_tokens"), "max_tokens is not known: max_completion_tokens now"
    if "temperature" in sent and not value and objects and re.search("(?i)temperature|only the default", about):
        return replace(dialect, temperature=False), "temperature cannot be set: it is left out from now on"
    if "response_format" in sent and objects and _FORMAT.search(about):
        lower = "json_object" if dialect.format == "json_schema" else "prompt"
        return replace(dialect, format=lower), f"response_format {dialect.format} is not taken here: {lower} now"
    return None
