"""What a tool gives when somebody may want to cite it: a text, and where it stands.

The rule: `text` is what was read, word for word, so that a quote of it can be looked up again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.jsontext import is_unicode, quote


class NoText(GraphAgentError, TypeError):
    """A tool gave something that can't be written down, so nobody could cite it."""


@dataclass(frozen=True, kw_only=True)
class Sourced:
    """`source` names where the text is from, such as a document's path; "" for a source that is the call itself.

    `span` is the place in it ("12-18", lines from 1), `heading` what it stands under there, `version` the SHA-256 of
    the whole source, `summary` what the tool itself says of the text in a sentence, and `caveat` what nobody should
    quote it without, such as that the document was superseded. "" for what there is none of.
    """

    text: str
    source: str = ""
    span: str = ""
    heading: str = ""
    version: str = ""
    summary: str = ""
    caveat: str = ""

    @property
    def place(self) -> str:
        """As it stands in a list of sources: "guide.md:12-18"."""
        return ":".join(filter(None, (self.source, self.span)))


def sourced(tool: str, value: Any) -> Sourced:
    """What a tool gave, as a text: a text as it is, data as JSON, nothing as "". Raises `NoText`."""
    if not isinstance(value, Sourced):
        value = Sourced(text=value if isinstance(value, str) else _data(tool, value))
    found: Sourced = value
    for field in fields(found):
        said: Any = getattr(found, field.name)
        if not isinstance(said, str) or not is_unicode(said):
            what = "a text that is no Unicode" if isinstance(said, str) else "no text"
            raise NoText(f"{tool} gave {quote(said)} as {field.name}, {what}: give a str of whole characters")
    return found


def _data(tool: str, value: Any) -> str:
    try:
        plain = _plain(tool, value)
        return "" if plain in (None, [], {}) else json.dumps(plain, ensure_ascii=False, indent=1)
    except RecursionError as error:
        raise NoText(f"{tool} gave data that contains itself, or is too deep to be written down: give less") from error


def _plain(tool: str, value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return _plain(tool, value.value)
        case PurePath():
            return value.as_posix()
        case Mapping():
            return {str(name): _plain(tool, one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(tool, one) for one in value]
        case Set():
            return sorted((_plain(tool, one) for one in value), key=repr)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(tool, getattr(value, field.name)) for field in fields(value)}
    allowed = "return a text, JSON data, a dataclass, or a Sourced"
    raise NoText(f"{tool} gave {quote(value)}, which can't be written down: {allowed}")
