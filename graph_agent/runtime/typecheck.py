"""Whether a value is of its declared type, to the letter: what fits can be saved and comes back equal, deep types too.

The rules for what is alike in Python: a bool is never an int or a float. int takes exactly int, no subclass, and at
most 4300 digits. float takes a finite float or an int, and converts neither: an int in a float field is saved and
comes back as that int. str takes exactly str, without lone surrogates; a StrEnum member is refused, since it would
come back as str. A tuple is exactly tuple (no namedtuple), a dict exactly dict, a dataclass exactly that class. A
datetime has fold=0 and no zone or a nameless `datetime.timezone` of whole seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf
from operator import attrgetter
from types import NoneType
from typing import Any, TypeAlias

from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.runtime.quoting import MOST, got, join, quote, type_name
from graph_agent.runtime.shapes import (
    INT_LIMIT,
    Choice,
    Constants,
    Fixed,
    Many,
    Members,
    Plain,
    Record,
    Shape,
    Table,
    hints,
    shape_of,
)
from graph_agent.runtime.textual import Text, is_unicode

__all__ = ["checker", "hints", "misfit", "problem", "type_name"]

Check: TypeAlias = Callable[[Any], bool]
_UNSET = object()
_INT_LEAST = -INT_LIMIT


def problem(tp: Any) -> str | None:
    """Why values of this type cannot be saved ("Step.lines: list[int]: use tuple[int, ...]"), None if they can."""
    try:
        shape_of(tp)
    except CodecError as error:
        return str(error)
    return None


def checker(tp: Any) -> Check:
    """A function that says whether a value fits the type. Compiled once. `CodecError` for a type with a `problem`."""
    return check_of(shape_of(tp))


def misfit(tp: Any, value: object, path: str = "") -> tuple[str, str] | None:
    """Where and how a value first fails to fit: ("plan.steps[2]", "expected int, got True (bool)"). None if it fits."""
    return misfit_of(shape_of(tp), value, path)


def misfit_of(shape: Shape, value: Any, path: str) -> tuple[str, str] | None:
    """`misfit` for a shape."""
    if check_of(shape)(value):
        return None
    for part, inner, place in _parts(shape, value, path):
        found = misfit_of(part, inner, place)
        if found:
            return found
    if value is _UNSET:
        return path, f"expected {shape.name}, got nothing: the field is not set"
    return path, f"expected {shape.name}, {got(value)}{_way_out(shape, value)}"


def check_of(shape: Shape) -> Check:
    """`checker` for a shape."""
    return _compiled(shape)


@cache
def _compiled(shape: Shape) -> Check:
    """The check of a shape. It is the hot path of a run, so each is the plainest closure that will do."""
    match shape:
        case Plain(cls=cls):
            return _PLAIN[cls]
        case Constants() | Members():
            return _check_constant(shape)
        case Text(cls=cls, fits=fits):
            return lambda value: type(value) is cls and fits(value)
        case Many(cls=cls, item=item):
            return _check_many(cls, check_of(item))
        case Fixed(items=items):
            return _check_fixed(tuple(map(check_of, items)))
        case Table(item=item):
            each = check_of(item)
            return lambda value: type(value) is dict and all(map(_is_str, value)) and all(map(each, value.values()))
        case Record():
            return _check_record(shape)
        case Choice(members=members):
            return _check_choice([check_of(member) for member in members])


def _is_str(value: Any) -> bool:
    return type(value) is str and (value.isascii() or is_unicode(value))


def _is_int(value: Any) -> bool:
    return type(value) is int and _INT_LEAST < value < INT_LIMIT


def _is_float(value: Any) -> bool:
    return (type(value) is float and -inf < value < inf) or (type(value) is int and _INT_LEAST < value < INT_LIMIT)


def _is_bool(value: Any) -> bool:
    return value is True or value is False


def _is_none(value: Any) -> bool:
    return value is None


_OPTIONAL: dict[Check, Check] = {  # the commonest unions, in one call
    _is_str: lambda value: value is None or (type(value) is str and (value.isascii() or is_unicode(value))),
    _is_int: lambda value: value is None or (type(value) is int and _INT_LEAST < value < INT_LIMIT),
}
_PLAIN: dict[type, Check] = {str: _is_str, int: _is_int, float: _is_float, bool: _is_bool, NoneType: _is_none}


def _check_constant(shape: Constants | Members) -> Check:
    if isinstance(shape, Members):
        cls = shape.cls
        return lambda value: type(value) is cls
    pairs, kinds = shape.pairs, {kind for kind, _ in shape.pairs}
    if kinds == {str}:
        words = frozenset(shape.values)
        return lambda value: type(value) is str and value in words
    return lambda value: type(value) in kinds and (type(value), value) in pairs


def _check_many(cls: Any, check: Check) -> Check:
    return lambda value: type(value) is cls and all(map(check, value))


def _check_fixed(checks: tuple[Check, ...]) -> Check:
    length = len(checks)

    def fits(value: Any) -> bool:
        if type(value) is not tuple or len(value) != length:
            return False
        return all(check(item) for check, item in zip(checks, value, strict=True))

    return fits


def _check_record(shape: Record) -> Check:
    cls, parts = shape.cls, [(attrgetter(key), check_of(part)) for key, part in shape.parts.items()]

    def fits(value: Any) -> bool:
        if type(value) is not cls:
            return False
        try:
            return all(check(get(value)) for get, check in parts)
        except AttributeError:  # a field without a value: `misfit` names it
            return False

    return fits


def _check_choice(checks: list[Check]) -> Check:
    if len(checks) > 2:
        return lambda value: any(check(value) for check in checks)
    one, other = sorted(checks, key=lambda check: check is not _is_none)
    if one is _is_none:
        return _OPTIONAL.get(other) or (lambda value: value is None or other(value))
    return lambda value: one(value) or other(value)


def _parts(shape: Shape, value: Any, path: str) -> list[tuple[Shape, Any, str]]:
    """The parts of a value that is of the right kind as a whole; none when it is not."""
    match shape:
        case Many(cls=cls, item=item) if cls is tuple and type(value) is tuple:
            return [(item, inner, f"{path}[{index}]") for index, inner in enumerate(value)]
        case Many(cls=cls, item=item) if cls is frozenset and type(value) is frozenset:
            return [(item, inner, f"{path}[{quote(inner)}]") for inner in value]
        case Fixed(items=items) if type(value) is tuple and len(value) == len(items):
            return [(item, value[index], f"{path}[{index}]") for index, item in enumerate(items)]
        case Table(item=item) if type(value) is dict and all(map(_is_str, value)):
            return [(item, inner, f"{path}[{quote(key)}]") for key, inner in value.items()]
        case Record(cls=cls, parts=parts) if type(value) is cls:
            return [(part, getattr(value, key, _UNSET), join(path, key)) for key, part in parts.items()]
        case Choice(members=members):
            return [part for member in members for part in _parts(member, value, path)]
    return []


def _way_out(shape: Shape, value: Any) -> str:
    """What is wrong with a value of the right class, or which value is close."""
    match shape:
        case Choice(members=members):
            return next(filter(None, (_way_out(member, value) for member in members)), "")
        case Plain(cls=cls) if type(value) is cls or (cls is float and type(value) is int):
            return _TOO_MUCH.get(type(value), "")
        case Text(cls=cls, rule=rule) if type(value) is cls:
            return f": only {rule} can be saved"
        case Members(by_value=by_value) if type(value) in (str, int) and (type(value), value) in by_value:
            return f", did you mean {quote(by_value[type(value), value])}?"
        case Constants(values=values) if type(value) is str:
            return nearest(value[:MOST], [word for word in values if type(word) is str])
    return ""


_TOO_MUCH = {
    str: ": lone surrogates are not text and cannot be saved",
    int: ": an integer of more than 4300 digits cannot be saved",
    float: ": only finite numbers can be saved",
}
