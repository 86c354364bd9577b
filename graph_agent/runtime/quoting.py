"""How a message shows a value, a type and a place: short, always the same, and never an error of its own.

A value may be huge, hostile, or have a `__repr__` that fails; the message about it must still be written. So no
memory address is shown (equal runs have equal messages), and a value gets at most about 80 characters.
"""

from __future__ import annotations

import re
from enum import Enum
from reprlib import Repr
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

MOST = 80
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 3, 60, 60, 60


def quote(value: object) -> str:
    """The value as Python would write it, cut to `MOST` characters."""
    if isinstance(value, Enum):
        return f"{type_name(type(value))}.{value.name}"
    try:
        text = _ADDRESS.sub("", _SHORT.repr(value))
    except Exception:  # noqa: BLE001 - whatever a stranger's __repr__ raises, the message matters more
        return f"a value of type {type_name(type(value))}"
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


def got(value: object) -> str:
    """The tail of a complaint: `got True (bool)`."""
    return "got None" if value is None else f"got {quote(value)} ({type_name(type(value))})"


def join(path: str, name: str) -> str:
    """The place of a field: `state` and `plan` make `state.plan`."""
    return f"{path}.{name}" if path else name


def type_name(tp: Any) -> str:
    """A type as a person writes it: "tuple[str, ...]", "int | None", "Stage"."""
    origin, args = get_origin(tp), get_args(tp)
    if tp is None or tp is NoneType:
        return "None"
    if tp is Ellipsis:
        return "..."
    if origin is Annotated:
        return type_name(args[0])
    if origin in (Union, UnionType):
        return " | ".join(type_name(arg) for arg in sorted(args, key=lambda arg: arg is NoneType))
    if origin is Literal:
        return f"Literal[{', '.join(map(quote, args))}]"
    if origin is tuple and not args:
        return "tuple[()]"
    if isinstance(origin, type) and args and not any(isinstance(arg, list) for arg in args):
        return f"{type_name(origin)}[{', '.join(map(type_name, args))}]"
    if isinstance(tp, type) and not args:
        return tp.__qualname__.rpartition("<locals>.")[2]
    return quote(tp) if isinstance(tp, str) else _ADDRESS.sub("", repr(tp)).replace("typing.", "")[:MOST]
