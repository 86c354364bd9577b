"""JSON text, strictly: what is written can be read by any reader, and what is read has one meaning.

Python's own reader takes NaN, turns 1e999 into infinity and lets the last of two equal keys win. Here that is a
`CodecError`.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from graph_agent.protocols import Json
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.quoting import is_unicode, quote

DEEPEST = 100  # lists and objects within one another


def loads(text: str | bytes) -> Json:
    """The data that a JSON text stands for. Raises `CodecError`."""
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        data: Json = json.loads(text, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:  # ValueError: also not UTF-8, or an integer of 5000 digits
        raise CodecError("", f"not JSON: {error}") from None
    _check(data)
    return data


def dumps(data: Json) -> str:
    """Compact text, keys in their order. Raises `CodecError` for what `loads` would not read."""
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise CodecError("", f"cannot be written as JSON: {error}") from error
    _check(data)
    return text


def _check(data: Json) -> None:
    """Refuse infinity, lone surrogates and deep nesting: by a loop, since calls would need stack."""
    waiting: list[tuple[str, Any, int]] = [("", data, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if depth > DEEPEST:
            raise CodecError("", f"nested more than {DEEPEST} deep")
        if isinstance(value, dict):
            waiting += [(path, key, depth) for key in value]
            waiting += [(f"{path}[{quote(key)}]", inner, depth + 1) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{path}[{index}]", inner, depth + 1) for index, inner in enumerate(value)]
        elif isinstance(value, str) and not is_unicode(value):
            raise CodecError(path, f"{quote(value)} has a lone surrogate, which is not text")
        elif isinstance(value, float) and not isfinite(value):
            raise CodecError(path, f"{value} is not a finite number")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {quote(key)} is there twice in one object")
        found[key] = value
    return found
