"""How a message shows a value, a type and a place: short, and the same in equal runs."""

from __future__ import annotations

import re
from reprlib import Repr
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

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
