"""What an annotation says, as data: the shape of the values that can be saved, and why others cannot.

Checks, JSON both ways and JSON Schema are walks over these few shapes. The rule: a type has one only if every value of
it can be told from its JSON alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum, Flag
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.jsontext import quote, type_name

if TYPE_CHECKING:
    from datetime import datetime

# A date alone would become midnight, and more than six decimals would be cut.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d(:\d\d)?)?", re.ASCII)
_WAY_OUT = (
    "cannot be saved: use str, int, float, bool, None, Enum, Literal, tuple[T, ...], frozenset[T], dict[str, T], "
    "datetime, Path or a frozen dataclass"
)


@dataclass(frozen=True, eq=False)
class Plain:
    """str, int, float, bool or None."""

    name: str
    cls: type


@dataclass(frozen=True, eq=False)
class Constants:
    """A Literal, or an Enum (`cls`), by value. `values` is by (type, value), because 1 equals True."""

    name: str
    cls: type[Enum] | None
    values: dict[tuple[type, Any], Any]


@dataclass(frozen=True, eq=False)
class Text:
    """datetime or Path, written as a string; `read` raises ValueError."""

    name: str
    cls: type
    write: Callable[[Any], str]
    read: Callable[[str], Any]


@dataclass(frozen=True, eq=False)
class Many:
    """`tuple[T, ...]` or `frozenset[T]`, written as a list."""

    name: str
    cls: type[Any]
    item: Shape


@dataclass(frozen=True, eq=False)
class Fixed:
    """`tuple[A, B]`, written as a list of just that length."""

    name: str
    items: tuple[Shape, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """`dict[str, T]`, written as an object."""

    name: str
    item: Shape


@dataclass(frozen=True, eq=False)
class Record:
    """A frozen dataclass. `computed`: the fields with init=False; `needed`: those without a default."""

    name: str
    cls: type[Any]
    parts: dict[str, Shape]
    needed: frozenset[str]
    computed: frozenset[str]
    notes: dict[str, str]


@dataclass(frozen=True, eq=False)
class Choice:
    """A union. `by_kind` says which member the JSON of a Python type stands for."""

    name: str
    members: tuple[Shape, ...]
    by_kind: dict[type, Shape]


Shape: TypeAlias = "Plain | Constants | Text | Many | Fixed | Table | Record | Choice"


def shape_of(tp: Any) -> Shape:
    """The shape of a type. Raises `CodecError` that says which part cannot be saved, and what to use."""
    if not isinstance(tp, Hashable):
        raise CodecError("", f"{quote(tp)} is not a type")
    return _cached_shape(tp, str(tp))


def hints(cls: Any) -> dict[str, Any]:
    """The resolved annotations of a dataclass's fields, in their order. Not to be changed."""
    return _cached_hints(cls)


@cache
def _cached_hints(cls: Any) -> dict[str, Any]:
    try:
        found = get_type_hints(cls)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        way_out = "define what it names at module level"
        raise CodecError(type_name(cls), f"an annotation cannot be resolved ({error}): {way_out}") from error
    return {field.name: found[field.name] for field in fields(cls)}


@cache
def _cached_shape(tp: Any, _written: str) -> Shape:
    """`_written` since int | str equals str | int, but their schemas differ."""
    return _shape(tp, ())


def _shape(tp: Any, outer: tuple[type, ...]) -> Shape:
    origin, args, name = get_origin(tp), get_args(tp), type_name(tp)
    if tp in (None, NoneType, str, int, float, bool):
        return Plain(name, tp or NoneType)
    if origin is Literal:
        return _constants(name, None, args)
    if origin in (Union, UnionType):
        return _choice(name, tuple(_shape(arg, outer) for arg in args))
    if origin is frozenset or (origin is tuple and args[1:] == (...,)):
        return Many(name, origin, _shape(args[0], outer))
    if origin is tuple:
        return Fixed(name, tuple(_shape(arg, outer) for arg in args))
    if origin is dict and len(args) == 2 and args[0] is str:
        return Table(name, _shape(args[1], outer))
    if isinstance(tp, type) and issubclass(tp, Enum) and not issubclass(tp, Flag):
        return _constants(name, tp, tuple(tp))
    if isinstance(tp, type) and is_dataclass(tp):
        return _record(tp, name, outer)
    return _text(tp, name)


def _constants(name: str, cls: type[Enum] | None, members: tuple[Any, ...]) -> Constants:
    values = {}
    for member in members:
        value = member._value_ if cls else member
        if type(value) not in (str, int, bool, NoneType):
            raise CodecError("", f"{name}: {quote(value)} cannot be saved as a constant: use str, int, bool or None")
        values[type(value), value] = member
    return Constants(name, cls, values)


def _choice(name: str, members: tuple[Shape, ...]) -> Choice:
    by_kind: dict[type, Shape] = {}
    for member in members:
        for kind in _kinds(member):
            twin = by_kind.setdefault(kind, member)
            if twin is not member and not (isinstance(twin, Plain) and isinstance(member, Plain)):
                wrong = f"{twin.name} and {member.name} cannot be told apart in JSON, keep one of them"
                raise CodecError("", f"{name}: {wrong}")
    return Choice(name, members, by_kind)


def _kinds(shape: Shape) -> set[type]:
    """The Python types of the JSON of a shape. (A union in a union is one union.)"""
    match shape:
        case Plain(cls=cls):
            return {int, float} if cls is float else {cls}
        case Constants(values=values):
            return {kind for kind, _ in values}
        case Text():
            return {str}
        case Many() | Fixed():
            return {list}
    return {dict}


def _record(cls: type[Any], name: str, outer: tuple[type, ...]) -> Record:
    known = vars(cls).get("__dataclass_params__")
    if known is None or not known.frozen:  # an undecorated subclass has its base's
        raise CodecError("", f"{name} is no frozen dataclass: use @dataclass(frozen=True)")
    if cls in outer:
        raise CodecError("", f"{name} contains itself: keep such data in a flat tuple with ids")
    every = fields(cls)
    return Record(
        name,
        cls,
        parts={key: _part(f"{name}.{key}", tp, (*outer, cls)) for key, tp in hints(cls).items()},
        needed=frozenset(f.name for f in every if f.init and f.default is MISSING and f.default_factory is MISSING),
        computed=frozenset(f.name for f in every if not f.init),
        notes={f.name: f.metadata["description"] for f in every if "description" in f.metadata},
    )


def _part(place: str, tp: Any, outer: tuple[type, ...]) -> Shape:
    try:
        return _shape(tp, outer)
    except CodecError as error:
        raise CodecError(error.path or place, error.message) from None


def _text(tp: Any, name: str) -> Text:
    from datetime import datetime  # loaded only where they are needed
    from pathlib import Path

    if tp is datetime:
        return Text(name, datetime, datetime.isoformat, _read_moment)
    if tp is Path:
        return Text(name, type(Path()), Path.as_posix, Path)
    raise CodecError("", f"{name} {_WAY_OUT}")


def _read_moment(text: str) -> datetime:
    from datetime import datetime

    if not _MOMENT.fullmatch(text):
        raise ValueError("write it like 2024-05-01T12:30:00+00:00")
    return datetime.fromisoformat(text)
