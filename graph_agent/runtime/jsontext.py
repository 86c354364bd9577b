"""JSON text, strictly: what is written can be read by any reader, and what is read has one meaning.

Python's own reader takes NaN, turns 1e999 into infinity, lets the last of two equal keys win, and raises three kinds
of error on hostile text. Here all of that is a `CodecError` that says what and where, and it comes quickly.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isinf
from typing import Any, NoReturn

from graph_agent.protocols import Json
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.quoting import MOST, join, quote
from graph_agent.runtime.textual import is_unicode

DEEPEST = 100  # lists and objects within one another
MOST_DIGITS = 4300  # as `sys.get_int_max_str_digits()`, whose value a program may change

# A string without its end runs to the end of the text, so that no text is looked through twice.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]}]', re.DOTALL)
_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def loads(text: str | bytes) -> Json:
    """The data that a JSON text stands for. Raises `CodecError` for all that is not one JSON value of plain meaning."""
    text = _as_str(text)
    _check_depth(text)
    try:
        data: Json = json.loads(
            text,
            object_pairs_hook=_without_twins,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except json.JSONDecodeError as error:
        near = quote(text[max(0, error.pos - 20) : error.pos + 20])
        raise CodecError(
            "", f"not JSON: {error.msg} at line {error.lineno} column {error.colno}, near {near}"
        ) from None
    except RecursionError:  # the caller itself stands deep
        raise CodecError("", "nested too deeply to be read here") from None
    if _HALF_ESCAPED.search(text):
        _check_strings(data)
    return data


def dumps(data: Json) -> str:
    """JSON data as compact text, keys in their order. Raises `CodecError` for what `loads` would not read."""
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise CodecError("", f"cannot be written as JSON: {error}") from error
    if not is_unicode(text):
        _check_strings(data)
    _check_depth(text)
    return text


def _as_str(text: str | bytes) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CodecError("", f"not UTF-8: {error.reason} at byte {error.start}") from None
    elif not is_unicode(text):
        raise CodecError("", "the text has lone surrogates, so it is not Unicode: decode it with errors='replace'")
    if text.startswith("\ufeff"):
        raise CodecError("", "begins with a byte order mark: save it as UTF-8 without one")
    return text


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEEPEST:
            raise CodecError("", f"nested more than {DEEPEST} deep, at character {found.start()}")


def _check_strings(data: Json) -> None:
    """Name the first string with a lone surrogate. A loop, since a walk by calls would need stack."""
    waiting: list[tuple[str, Any]] = [("", data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(path, key) for key in value]
            waiting += [(join(path, key[:MOST]), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{index}]", inner) for index, inner in enumerate(value)]
        elif isinstance(value, str) and not is_unicode(value):
            raise CodecError(path, f"{quote(value)} has a lone surrogate, which is not text")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twin = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise CodecError("", f"the key {quote(twin)} is there twice in one object")
    return found


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise CodecError("", f"an integer of {len(digits)} digits, allowed are {MOST_DIGITS}")
    try:
        return int(digits)
    except ValueError as error:  # the program has set a limit of its own
        raise CodecError("", f"an integer of {len(digits)} digits: {error}") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise CodecError("", f"the number {quote(digits)} is too large for a float")
    return number


def _no_constant(word: str) -> NoReturn:
    raise CodecError("", f"{word} is not JSON: write null, or a finite number")
