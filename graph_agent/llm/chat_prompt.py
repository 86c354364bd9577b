"""A request as messages that a weak model reads well: data as data, but code and long text as code and long text.

Inside JSON a file is one line of escapes, which small models misread and copy with its backslashes; here every string
that JSON would have to escape stands in a fence of its own, under a heading that is its place in the data. The rule:
equal requests give equal messages, and no text can end its own fence, because the fence is longer than any in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from graph_agent.llm.chat_dialect import Dialect
from graph_agent.protocols import Request

_INLINE = 120  # characters of JSON that still read well on the line of their name
_PLAIN_NAME = re.compile(r"\w[\w ./@+-]*")
_LANGUAGES = {".py": "python", ".json": "json", ".toml": "toml", ".md": "markdown", ".diff": "diff", ".patch": "diff"}


def messages(request: Request, dialect: Dialect) -> list[dict[str, str]]:
    """The messages of a chat: instructions and the form of the answer for the system, the context for the user."""
    parts = [request.instructions.strip()]
    if request.schema is not None:
        parts.append(_answer_form(request.schema, fenced=dialect.format == "prompt"))
    system, user = "\n\n".join(filter(None, parts)), render(request.context)
    if user and system and dialect.system:
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return [{"role": "user", "content": "\n\n".join(filter(None, (system, user)))}]


def render(context: Mapping[str, Any]) -> str:
    """The context as Markdown: short values as a list, the rest under headings, in the order of the data.

    Raises TypeError or ValueError for what is not JSON.
    """
    return "\n".join(_mapping(context, depth=1)).strip()


def _answer_form(schema: Mapping[str, Any], *, fenced: bool) -> str:
    last = "Put it into a ```json fence." if fenced else "Write the object alone, with no text around it."
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    return "\n".join(["Answer with one JSON object that fits this JSON Schema:", *_fence(text, "json"), "", last])


def _mapping(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    # Short ones first: after a heading, a list item would seem to belong to that heading's section.
    for name, value in data.items():
        if _is_inline(value):
            yield f"- {_name(name)}: {_json(value)}"
    path = data.get("path")
    for name, value in data.items():
        if not _is_inline(value):
            language = _language(name) or (_language(path) if isinstance(path, str) else "")
            yield from _section(_name(name), value, language, depth)


def _sequence(data: Sequence[Any], depth: int) -> Iterator[str]:
    for number, value in enumerate(data, 1):
        yield from _section(f"{number} of {len(data)}", value, "", depth)


def _section(title: str, value: Any, language: str, depth: int) -> Iterator[str]:
    yield from ("", f"{'#' * min(depth, 6)} {title}")
    if _is_inline(value):
        yield from ("", _json(value))
    elif isinstance(value, str):
        yield from _fence(value, language)
        if language and not value.endswith("\n"):
            yield "(no line break at the end of the file)"
    elif _is_plain(value):
        yield from _fence(_spread(value), "json")
    elif isinstance(value, Mapping):
        yield from _mapping(value, depth + 1)
    else:
        yield from _sequence(value, depth + 1)


def _fence(text: str, language: str) -> Iterator[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    yield from ("", f"{ticks}{language}")
    yield text.removesuffix("\n")
    yield ticks


def _is_inline(value: Any) -> bool:
    return _is_plain(value) and len(_json(value)) <= _INLINE


def _is_plain(value: Any) -> bool:
    """Whether the value reads as JSON as well as it does without: no text in it is long or has to be escaped."""
    if isinstance(value, str):
        return len(value) <= _INLINE and json.dumps(value, ensure_ascii=False) == f'"{value}"'
    if isinstance(value, Mapping):
        return all(_is_plain(name) and _is_plain(item) for name, item in value.items())
    return not isinstance(value, (list, tuple)) or all(map(_is_plain, value))


def _spread(value: Any) -> str:
    """JSON with one item a line, each compact: a list of thirty files is thirty lines."""
    if isinstance(value, Mapping):
        lines = [f"  {_json(str(name))}: {_json(item)}" for name, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n}"
    return "[\n" + ",\n".join(f"  {_json(item)}" for item in value) + "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _name(name: object) -> str:
    text = str(name)
    return text if _PLAIN_NAME.fullmatch(text) else _json(text)


def _language(name: str) -> str:
    return _LANGUAGES.get(PurePosixPath(name).suffix, "")
