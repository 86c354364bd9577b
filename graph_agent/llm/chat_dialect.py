"""What a server is asked for beyond the messages, and one step down when it says that it does not know a field.

"OpenAI-compatible" is a family of dialects: some servers force a reply into a JSON Schema, some only into JSON, some
into nothing; newer models know `max_completion_tokens` and no `temperature`. The rule: one field changes per
rejection, only when the rejection names that field and says it is not known, and only ever to something simpler.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from graph_agent.llm.chat_errors import ChatError
from graph_agent.protocols import Request

Format: TypeAlias = Literal["json_schema", "json_object with schema", "json_object", "prompt"]
LimitField: TypeAlias = Literal["max_tokens", "max_completion_tokens"]

# 500 because llama-cpp-python answers so to a field that it cannot validate, 200 for an error object in a success.
_REJECTIONS = frozenset({200, 400, 422, 500, 501})
_NOT_KNOWN = re.compile(
    r"unsupported|not\b.{0,30}\bsupport|unknown|unrecogni[sz]ed|unexpected|not permitted|forbidden|deprecated"
    r"|not allowed|not available|unavailable|not implemented|no such|cannot use|can't use|incompatible"
    r"|only\b.{0,40}\b(default|allowed|supported)",
    re.IGNORECASE | re.DOTALL,
)
# A form of answer has no range, so there these words too mean that this one is not taken. "invalid_request_error" is
# the type of any rejection at all and says nothing.
_NOT_TAKEN = re.compile(
    r"must be|must contain|should be|invalid(?!_request)|disabled|literal_error|failed to|conversion failed", re.I
)
# "between 0 and 2" or "at most 4096" is about the value, which is the caller's to mend.
_OUT_OF_RANGE = re.compile(
    r"between|less than|greater than|at most|at least|too (large|small|big)|positive|minimum|maximum", re.I
)
_ABOUT_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|json[_ ]mode|structured[_ ]?output|guided|grammar|sampler",
    re.I,
)
_ABOUT_SYSTEM = re.compile(r"system (role|message|prompt)|role.{0,10}system|only user and assistant roles", re.I)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one server, with one model, wants to be asked."""

    format: Format = "json_schema"
    limit: LimitField = "max_tokens"
    temperature: bool = True
    system: bool = True


def fields(dialect: Dialect, request: Request) -> dict[str, Any]:
    """The fields of the body besides model and messages. What the request leaves open is not sent."""
    found: dict[str, Any] = {}
    if request.temperature is not None and dialect.temperature:
        found["temperature"] = request.temperature
    if request.max_tokens is not None:
        found[dialect.limit] = request.max_tokens
    if request.schema is not None and dialect.format != "prompt":
        found["response_format"] = _response_format(dialect.format, request.schema)
    return found


def simpler(dialect: Dialect, error: ChatError, sent: Collection[str]) -> tuple[Dialect, str] | None:
    """The next dialect to try after a rejection, and a note about it; None when the error is about something else.

    `sent` are the fields that were sent and may be changed.
    """
    if error.status not in _REJECTIONS or error.kind not in ("http", "bad_reply"):
        return None
    for step in (_other_limit, _no_temperature, _no_system, _other_format):
        found = step(dialect, error, sent)
        if found:
            return found
    return None


_Step: TypeAlias = "tuple[Dialect, str] | None"


def _other_limit(dialect: Dialect, error: ChatError, sent: Collection[str]) -> _Step:
    if "max_tokens" not in sent or _OUT_OF_RANGE.search(error.said):
        return None
    if "max_completion_tokens" not in error.said and not _blames("max_tokens", error):
        return None
    return replace(dialect, limit="max_completion_tokens"), "max_tokens is not known here: max_completion_tokens now"


def _no_temperature(dialect: Dialect, error: ChatError, sent: Collection[str]) -> _Step:
    if "temperature" not in sent or _OUT_OF_RANGE.search(error.said):
        return None
    if not _blames("temperature", error) and "only the default" not in error.said.lower():
        return None
    return replace(dialect, temperature=False), "temperature cannot be set here: it is left out from now on"


def _no_system(dialect: Dialect, error: ChatError, sent: Collection[str]) -> _Step:
    if not dialect.system or "messages" not in sent or error.param.startswith("response_format"):
        return None
    if not (_ABOUT_SYSTEM.search(error.said) and _NOT_KNOWN.search(error.said)):
        return None
    return replace(dialect, system=False), "a system message is not known here: instructions go into the user message"


def _other_format(dialect: Dialect, error: ChatError, sent: Collection[str]) -> _Step:
    if "response_format" not in sent or not (_NOT_KNOWN.search(error.said) or _NOT_TAKEN.search(error.said)):
        return None
    if error.param and not error.param.startswith("response_format"):
        return None
    if not error.param and not _ABOUT_FORMAT.search(error.said):
        return None
    lower = _below(dialect.format, error)
    return replace(dialect, format=lower), f"response_format {dialect.format} is not taken here: {lower} now"


def _below(current: Format, error: ChatError) -> Format:
    if current == "json_schema":
        return "json_object with schema"
    # The schema beside json_object is llama.cpp's dialect; a strict server objects to that field and not to the type.
    about_schema = re.search(r"response_format\W{1,3}(json_object\W{1,3})?schema\b", f"{error.param} {error.said}")
    return "json_object" if current == "json_object with schema" and about_schema else "prompt"


def _blames(name: str, error: ChatError) -> bool:
    named = error.param == name if error.param else re.search(rf"\b{name}\b", error.said) is not None
    return named and _NOT_KNOWN.search(error.said) is not None


def _response_format(form: Format, schema: Mapping[str, Any]) -> dict[str, Any]:
    if form == "json_schema":
        title = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "reply")))[:64] or "reply"
        asked = {"name": title, "schema": dict(schema), "strict": _is_strict(schema)}
        return {"type": "json_schema", "json_schema": asked}
    if form == "json_object with schema":
        return {"type": "json_object", "schema": dict(schema)}
    return {"type": "json_object"}


def _is_strict(schema: Any) -> bool:
    """Whether a server that knows `strict` takes it: it wants every object closed and all its fields required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        named = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != named:
            return False
    return all(map(_is_strict, schema.values()))
