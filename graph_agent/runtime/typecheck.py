"""Whether a value is of its declared type, to the letter: what fits can be saved and comes back equal.

The rule: exactly that class, no subclass (a bool is no int, a StrEnum's member no str). An int has at most 4300 digits,
a str no lone surrogates; float takes a finite float or an int, and converts neither.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf
from operator import attrgetter
from types import NoneType
from typing import Any, TypeAlias

from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.jsontext import got, is_unicode, join, quote, type_name
from graph_agent.runtime.shapes import (
    Choice,
    Constants,
    Fixed,
    Many,
    Plain,
    Record,
    Shape,
    Table,
    Text,
    hints,
    shape_of,
)

__all__ = ["checker", "hints", "misfit", "problem", "type_name"]

Check: TypeAlias = Callable[[Any], bool]
_INT_LIMIT = 10**4300  # Python reads no longer one (sys.get_int_max_str_digits)
_INT_LEAST = -_INT_LIMIT


def problem(tp: Any) -> str | None:
    """Why values of this type cannot be saved; None if they can."""
    try:
        shape_of(tp)
    except CodecError as error:
        return str(error)
    return None


def checker(tp: Any) -> Check:
    """A function that says whether a value fits the type. Raises `CodecError` for a type with a `problem`."""
    return check_of(shape_of(tp))


def misfit(tp: Any, value: object, path: str = "") -> tuple[str, str] | None:
    """Where and how a value first fails to fit ("plan.steps[2]", "expected int, got True (bool)"); None if it fits."""
    return misfit_of(shape_of(tp), value, path)


def misfit_of(shape: Shape, value: Any, path: str) -> tuple[str, str] | None:
    if check_of(shape)(value):
        return None
    for part, inner, place in _parts(shape, value, path):
        found = misfit_of(part, inner, place)
        if found:
            return found
    return path, f"expected {shape.name}, {got(value)}{_limit(shape, value)}"


@cache
def check_of(shape: Shape) -> Check:
    """`checker` for a shape: the hot path of a run, so each is the plainest closure that will do."""
    match shape:
        case Plain(cls=cls):
            return _PLAIN[cls]
        case Constants(cls=None, values=values):
            return _check_literal(values)
        case Constants(cls=cls):
            return lambda value: type(value) is cls
        case Text():
            return _check_text(shape)
        case Many(cls=cls, item=item):
            each = check_of(item)
            return lambda value: type(value) is cls and all(map(each, value))
        case Fixed(items=items):
            checks, count = tuple(map(check_of, items)), len(items)
            return lambda value: type(value) is tuple and len(value) == count and all(map(_apply, checks, value))
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
    return type(value) is int and _INT_LEAST < value < _INT_LIMIT


def _is_float(value: Any) -> bool:
    return (type(value) is float and -inf < value < inf) or (type(value) is int and _INT_LEAST < value < _INT_LIMIT)


def _is_bool(value: Any) -> bool:
    return value is True or value is False


def _is_none(value: Any) -> bool:
    return value is None


_OPTIONAL: dict[Check, Check] = {  # the commonest unions, in one call
    _is_str: lambda value: value is None or (type(value) is str and (value.isascii() or is_unicode(value))),
    _is_int: lambda value: value is None or (type(value) is int and _INT_LEAST < value < _INT_LIMIT),
}
_PLAIN: dict[type, Check] = {str: _is_str, int: _is_int, float: _is_float, bool: _is_bool, NoneType: _is_none}


def _apply(check: Check, value: Any) -> bool:
    return check(value)


def _check_literal(values: dict[tuple[type, Any], Any]) -> Check:
    kinds = {kind for kind, _ in values}
    if kinds == {str}:
        words = frozenset(values.values())
        return lambda value: type(value) is str and value in words
    return lambda value: type(value) in kinds and (type(value), value) in values


def _check_text(shape: Text) -> Check:
    """A value whose text loses something (the name of a time zone) does not fit."""
    cls, write, read = shape.cls, shape.write, shape.read

    def fits(value: Any) -> bool:
        if type(value) is not cls:
            return False
        text = write(value)
        try:
            return is_unicode(text) and repr(read(text)) == repr(value)
        except ValueError:
            return False

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
    """The parts of a value of the right kind; none of another."""
    match shape:
        case Many(cls=cls, item=item) if type(value) is cls:
            return [(item, inner, f"{path}[{index}]") for index, inner in enumerate(value)]
        case Fixed(items=items) if type(value) is tuple and len(value) == len(items):
            return [(item, value[index], f"{path}[{index}]") for index, item in enumerate(items)]
        case Table(item=item) if type(value) is dict and all(map(_is_str, value)):
            return [(item, inner, f"{path}[{quote(key)}]") for key, inner in value.items()]
        case Record(cls=cls, parts=parts) if type(value) is cls:
            return [(part, getattr(value, key, ...), join(path, key)) for key, part in parts.items()]
        case Choice(members=members):
            return [part for member in members for part in _parts(member, value, path)]
    return []


def _limit(shape: Shape, value: Any) -> str:
    """What is wrong with a value of the right class."""
    members = shape.members if isinstance(shape, Choice) else (shape,)
    if not any(isinstance(member, Plain | Text) and member.cls is type(value) for member in members):
        return ""
    return f": {_LIMITS.get(type(value), 'it would not come back equal')}"


_LIMITS = {str: "lone surrogates are not text", int: "it has more than 4300 digits", float: "only finite numbers fit"}
