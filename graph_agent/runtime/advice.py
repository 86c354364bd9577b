"""What to write instead of a type that cannot be saved."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, MutableSequence, MutableSet, Sequence, Set
from dataclasses import is_dataclass
from typing import Any, ForwardRef, get_args, get_origin

from graph_agent.runtime.quoting import type_name


def advice(tp: Any) -> str:
    known = get_origin(tp) or tp
    if known is tuple:
        return "say what is in it, as in tuple[str, ...]"
    if known is frozenset:
        return "say what is in it, as in frozenset[str]"
    inner = [type_name(arg) for arg in get_args(tp)]
    if known in (list, Sequence, MutableSequence, Iterable, deque):
        return f"use tuple[{inner[0] if inner else 'T'}, ...]"
    if known in (set, Set, MutableSet):
        return f"use frozenset[{inner[0] if inner else 'T'}]"
    if isinstance(known, type) and issubclass(known, Mapping):
        return f"use dict[str, {inner[1] if len(inner) == 2 else 'T'}]"
    if isinstance(tp, str | ForwardRef):
        return "a name in quotes is only resolved inside a dataclass"
    if isinstance(known, type) and is_dataclass(known):
        return "a generic dataclass cannot be saved, write one with plain types"
    return (
        "cannot be saved, use str, int, float, bool, None, Enum, Literal, tuple, frozenset, dict or a frozen dataclass"
    )
