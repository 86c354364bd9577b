"""JSON text, strictly: what is written can be read by any reader, and what is read has one meaning.

Python's own reader takes NaN, turns 1e999 into infinity and lets the last of two equal keys win. Here that is a
`CodecError`. Also here: how a message shows a value, a type and a place, short and the same in equal runs.
"""

from __future__ import annotations

import re
from math import isfinite
from reprlib import Repr
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from graph_agent.protocols import Json
from graph_agent.runtime.errors import CodecError

MOST = 80
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def quote(value: object) -> str:
    """Its repr, cut to `MOST` characters and without memory addresses."""
    try:
        text = _ADDRESS.sub("", _SHORT.repr(value))
    except Exception:  # noqa: BLE001  # a stranger's __repr__
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


def shown(value: object) -> str:
    """Its whole repr, without memory addresses."""
    try:
        return _ADDRESS.sub("", repr(value)).encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001  # a stranger's __repr__
        return f"<{type(value).__name__}>"


def got(value: object) -> str:
    """The tail of a complaint: `got True (bool)`."""
    return "got None" if value is None else f"got {quote(value)} ({type_name(type(value))})"


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def type_name(tp: Any) -> str:
    """A type as a person writes it: "tuple[str, ...]", "int | None", "Stage"."""
    origin, args = get_origin(tp), get_args(tp)
    if origin in (Union, UnionType):
        return " | ".join(map(type_name, args))
    if origin is Literal:
        return f"Literal[{', '.join(map(quote, args))}]"
    if args:
        return f"{type_name(origin)}[{', '.join(map(type_name, args))}]"
    if tp in (None, NoneType, ...):
        return "..." if tp is ... else "None"
    return tp.__qualname__.rpartition("<locals>.")[2] if isinstance(tp, type) else quote(tp)


def is_unicode(text: str) -> bool:
    """Whether it is free of lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


DEEPEST = 100  # lists and objects within one another


def loads(text: str | bytes) -> Json:
    """The data that a JSON text stands for. Raises `CodecError`."""
    import json  # a graph that saves nothing does without

    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        data: Json = json.loads(text, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:  # ValueError: also not UTF-8, or an integer of 5000 digits
        raise CodecError("", f"not JSON: {error}") from None
    _check(data)
    return data


def dumps(data: Json) -> str:
    """Compact text, keys in their order. Raises `CodecError` for what `loads` would not read."""
    import json

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
