"""Values of which no type is declared, as JSON that names their classes, and errors likewise.

What a tool returned and what was raised may be of any class. The rule: a class is looked up among what the program has
loaded and never imported because a file says so; what would not come back equal is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from types import NoneType
from typing import Any

from graph_agent.protocols import Json, LLMError
from graph_agent.runtime import jsontext
from graph_agent.runtime.advance import said
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError

_SCALARS = (NoneType, bool, int, float, str)
_MANY: dict[str, Any] = {kind.__name__: kind for kind in (tuple, set, frozenset)}


def write_value(value: Any) -> Json:
    """The value as JSON data. Raises `CodecError`, also for a class that could not be found again."""
    kind = type(value)
    try:
        if kind is list:
            return [write_value(item) for item in value]
        if kind in _MANY.values():
            items = [write_value(item) for item in value]
            return {kind.__name__: items if kind is tuple else sorted(items, key=jsontext.dumps)}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {key: write_value(item) for key, item in value.items()}}
    except RecursionError:
        raise CodecError("", "it is nested too deep, or holds itself") from None
    return encode(value) if kind in _SCALARS else {"class": _place(kind), "data": encode(value)}


def read_value(data: Any) -> Any:
    """The value that `write_value` wrote. Raises `CodecError` when its class is gone or another by now."""
    if isinstance(data, list):
        return [read_value(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "dict" in data:
        return {key: read_value(item) for key, item in data["dict"].items()}
    for name, kind in _MANY.items():
        if name in data:
            return kind(map(read_value, data[name]))
    return decode(_found(data["class"]), data["data"])


def write_error(error: Exception) -> dict[str, Any]:
    """What was raised; of its attributes those that `write_value` takes."""
    args = _writable(dict(enumerate(error.args)))
    message = said(error).partition(": ")[2]
    return {
        "type": type(error).__name__,
        "message": message,
        "llm": isinstance(error, LLMError),
        "class": f"{type(error).__module__}:{type(error).__qualname__}",
        "args": list(args.values()) if len(args) == len(error.args) else [message],
        "vars": _writable(vars(error)),
    }


def read_error(data: Mapping[str, Any]) -> Exception:
    """An error that says the same: of its class where that is loaded, else of one with that name."""
    try:
        error = _of_class(_found(data["class"]), data)
    except CodecError:
        pass
    else:
        if said(error).partition(": ")[2] == data["message"]:
            return error
    named: type[Exception] = type(data["type"], (LLMError if data["llm"] else Exception,), {})
    return named(data["message"])


def _of_class(cls: type, data: Mapping[str, Any]) -> Exception:
    if not issubclass(cls, Exception):
        raise CodecError("", f"{cls.__name__} is no class of errors")
    error: Exception = cls.__new__(cls, *map(read_value, data["args"]))  # its __init__ may want something else
    error.__dict__.update({name: read_value(item) for name, item in data["vars"].items()})
    return error


def _writable(values: Mapping[Any, Any]) -> dict[Any, Json]:
    found = {}
    for name, value in values.items():
        with suppress(CodecError):
            found[name] = write_value(value)
    return found


def _place(cls: type) -> str:
    place = f"{cls.__module__}:{cls.__qualname__}"
    if _found(place) is not cls:
        raise CodecError("", f"{cls.__qualname__} is not what is found under that name")
    return place


def _found(place: str) -> type:
    module, _, name = place.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise CodecError("", f"no class {name} is loaded from {module}: import it first")
    return found
