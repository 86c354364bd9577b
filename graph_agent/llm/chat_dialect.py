"""What a server is asked for beyond the messages, and one step down when it says that it does not know a field.

"OpenAI-compatible" is a family of dialects: some servers force a reply into a JSON Schema, some only into JSON, some
into nothing; newer models know `max_completion_tokens` and no `temperature`. The rule: one field changes per
rejection, only when the rejection is about that field, and only ever to something simpler.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

from graph_agent.llm.chat_reply import ChatError
from graph_agent.protocols import Request

# 500 because llama-cpp-python answers so to a field that it cannot validate, 200 for an error object in a success.
_REJECTIONS = (200, 400, 422, 500, 501)
# "invalid_request_error" is the type of any rejection at all and says nothing.
_NOT_KNOWN = re.compile(
    r"un(supported|known|recogni[sz]ed|expected|available)|\bnot\b.{0,30}\b(support|permitted|allowed|available|impl)"
    r"|cannot|can't|forbidden|deprecated|disabled|\bonly\b|(must|should) be|invalid(?!_request)|literal_error|failed to"
    r"|conversion failed",
    re.IGNORECASE | re.DOTALL,
)
# "between 0 and 2" or "at most 4096" is about the value, which is the caller's to mend.
_OUT_OF_RANGE = re.compile(
    r"between|(less|greater) than|at (most|least)|too (large|small|big)|positive|m(in|ax)imum", re.I
)
_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?(schema|object|mode)|structured[_ ]?output|guided|grammar|sampler", re.I
)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one server, with one model, wants to be asked. `proven`: a reply has come in this format."""

    format: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
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
        schema = dict(request.schema)
        asked: dict[str, Any] = {"schema": schema}  # beside json_object, this is llama.cpp's dialect
        if dialect.format == "json_schema":
            asked = {"json_schema": {"name": "reply", "schema": schema, "strict": _is_strict(schema)}}
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
    if "temperature" in sent and not value and objects and re.search("temperature|only the default", about, re.I):
        return replace(dialect, temperature=False), "temperature cannot be set: it is left out from now on"
    if "response_format" in sent and objects and _FORMAT.search(about):
        lower: Literal["json_object", "prompt"] = "json_object" if dialect.format == "json_schema" else "prompt"
        return replace(dialect, format=lower), f"response_format {dialect.format} is not taken here: {lower} now"
    return None


def _is_strict(schema: Any) -> bool:
    """Whether a server that knows `strict` takes it: it wants every object closed and all its fields required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(schema.get("properties", ())):
            return False
    return all(map(_is_strict, schema.values()))
