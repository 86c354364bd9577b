"""What commands print: text with nothing in it that a terminal would obey, JSON on one line, and the ways on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a run goes on: a command, and in a few words what it does."""

    words: str
    command: str


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def way_lines(ways: list[Way]) -> list[str]:
    return [line for way in ways for line in (f"to {way.words}:", f"  {way.command}")]


def way_data(ways: list[Way]) -> list[dict[str, str]]:
    return [{"to": way.words, "command": way.command} for way in ways]


def print_json(data: dict[str, Any]) -> None:
    """On one line. A byte that is no UTF-8, as in a file's name, shows as a backslash escape."""
    print(json.dumps(_whole(data), ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _whole(data: Any) -> Any:
    if isinstance(data, str):
        return as_text(data)
    if isinstance(data, dict):
        return {key: _whole(value) for key, value in data.items()}
    return [_whole(value) for value in data] if isinstance(data, list | tuple) else data


def as_text(text: str) -> str:
    """A byte that is no UTF-8, as in a file's name, as a backslash escape."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
