"""What an annotation says, as data: the shape of the values that can be saved, and why others cannot.

Everything else in the codec (checks, JSON both ways, JSON Schema) is a walk over these few shapes. The one rule: a
type has a shape only if every value of it can be told from its JSON alone, so that what is read back is what was saved.

The types: str, int, float, bool, None, Enum, Literal, unions that JSON can tell apart, tuple (both forms),
frozenset, dict[str, T], frozen dataclasses that do not contain themselves, datetime, Path and PurePosixPath.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, Flag
from functools import cache
from inspect import Parameter, signature
from itertools import combinations
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from graph_agent.runtime.advice import advice
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.quoting import quote, type_name
from graph_agent.runtime.textual import Text, is_unicode, text_shape

DEEPEST_TYPE = 64  # below the depth at which JSON text is refused, with room for what is written around a value
INT_LIMIT: int = 10**4300  # Python reads no integer of more digits (sys.get_int_max_str_digits)

_NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
Claim: TypeAlias = "type | tuple[type, object]"


@dataclass(frozen=True, eq=False)
class Plain:
    """str, int, float, bool or None: the same in Python and in JSON."""

    name: str
    cls: type


@dataclass(frozen=True, eq=False)
class Constants:
    """A Literal. `pairs` holds (type, value), because 1, 1.0 and True are equal."""

    name: str
    pairs: frozenset[tuple[type, object]]
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Members:
    """An Enum, written by value. `by_value` is keyed by (type, value)."""

    name: str
    cls: type[Enum]
    by_value: dict[tuple[type, object], Enum]


@dataclass(frozen=True, eq=False)
class Many:
    """`tuple[T, ...]` or `frozenset[T]`, written as a list."""

    name: str
    cls: type
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
    """A frozen dataclass, written as an object with one key a field."""

    name: str
    cls: type[Any]
    parts: dict[str, Shape]
    needed: frozenset[str]
    computed: frozenset[str]
    notes: dict[str, str]


@dataclass(frozen=True, eq=False)
class Choice:
    """A union. `tag` is the Literal field that tells its dataclasses apart, "" when there is at most one."""

    name: str
    members: tuple[Shape, ...]
    tag: str


Shape: TypeAlias = "Plain | Constants | Members | Text | Many | Fixed | Table | Record | Choice"


def shape_of(tp: Any) -> Shape:
    """The shape of a type. Raises `CodecError` that says which part of it cannot be saved, and what to use."""
    if isinstance(tp, type):
        return _cached_shape(tp, "")
    try:
        hash(tp)
        written = repr(tp)
    except (TypeError, ValueError):
        raise CodecError("", f"{quote(tp)}: not a type that can be saved") from None
    return _cached_shape(tp, written)


def hints(cls: Any) -> dict[str, Any]:
    """The resolved annotations of a dataclass's fields, in their order, without `Annotated`. Not to be changed."""
    return _cached_hints(cls)


def claims(shape: Shape) -> frozenset[Claim]:
    """What JSON a shape may be written as: whole types, or single constants as (type, value)."""
    match shape:
        case Constants(pairs=pairs):
            return frozenset(pairs)
        case Members(by_value=by_value):
            return frozenset(by_value)
        case Plain(cls=cls):
            return frozenset({int, float} if cls is float else {cls})
        case Text():
            return frozenset({str})
        case Many() | Fixed():
            return frozenset({list})
        case Table() | Record():
            return frozenset({dict})
        case Choice(members=members):
            return frozenset[Claim]().union(*map(claims, members))


@cache
def _cached_shape(tp: Any, _written: str) -> Shape:
    """`_written` since int | str equals str | int: a schema must not depend on which of them was asked for first."""
    return _shape(tp, (), 0)


@cache
def _cached_hints(cls: Any) -> dict[str, Any]:
    try:
        found = get_type_hints(cls)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        way_out = "define what it names at module level, and not only under TYPE_CHECKING"
        raise CodecError(type_name(cls), f"an annotation cannot be resolved ({error}): {way_out}") from error
    return {field.name: found[field.name] for field in fields(cls)}


def _shape(tp: Any, outer: tuple[type, ...], depth: int) -> Shape:
    if depth > DEEPEST_TYPE:
        raise CodecError("", f"{type_name(tp)[:40]}: nested more than {DEEPEST_TYPE} types deep")
    origin, args, name = get_origin(tp), get_args(tp), type_name(tp)
    if tp is None or tp in (NoneType, str, int, float, bool):
        return Plain(name, NoneType if tp is None else tp)
    if origin is Annotated:
        return _shape(args[0], outer, depth)
    if origin is Literal:
        return _constants(name, args)
    if origin in (Union, UnionType):
        return _choice(name, tuple(_shape(arg, outer, depth + 1) for arg in args))
    if origin is tuple and args[1:] == (...,):
        return Many(name, tuple, _shape(args[0], outer, depth + 1))
    if origin is tuple and (args or tp == tuple[()]):
        return Fixed(name, tuple(_shape(arg, outer, depth + 1) for arg in args))
    if origin is frozenset:
        return Many(name, frozenset, _shape(args[0], outer, depth + 1))
    if origin is dict and args[:1] == (str,):
        return Table(name, _shape(args[1], outer, depth + 1))
    if isinstance(tp, type) and origin is None:
        return _class_shape(tp, name, outer, depth)
    raise CodecError("", f"{name}: {advice(tp)}")


def _class_shape(cls: type, name: str, outer: tuple[type, ...], depth: int) -> Shape:
    if issubclass(cls, Enum):
        return _members(cls, name)
    if is_dataclass(cls):
        return _record(cls, name, outer, depth)
    text = text_shape(cls)
    if text is None:
        raise CodecError("", f"{name}: {advice(cls)}")
    return text


def _constants(name: str, values: tuple[Any, ...]) -> Constants:
    for value in values:
        if not _can_be_key(value) and value is not None and type(value) is not bool:
            raise CodecError("", f"{name}: {quote(value)} in a Literal cannot be saved, only str, int, bool and None")
    return Constants(name, frozenset((type(value), value) for value in values), values)


def _members(cls: type[Enum], name: str) -> Members:
    if issubclass(cls, Flag):
        raise CodecError("", f"{name}: flags cannot be saved, use frozenset of an Enum")
    if not len(cls):
        raise CodecError("", f"{name}: an Enum without members has no values")
    for member in cls:
        if not _can_be_key(member._value_):
            value = f"{quote(member._value_)} ({type_name(type(member._value_))})"
            raise CodecError("", f"{name}: {name}.{member.name} is {value}, an Enum is saved by a str or int value")
    return Members(name, cls, {(type(member._value_), member._value_): member for member in cls})


def _can_be_key(value: object) -> bool:
    return (type(value) is str and is_unicode(value)) or (type(value) is int and -INT_LIMIT < value < INT_LIMIT)


def _record(cls: type[Any], name: str, outer: tuple[type, ...], depth: int) -> Record:
    if cls in outer:
        raise CodecError("", f"{name}: it contains itself, keep such data in a flat tuple with ids")
    if "__dataclass_fields__" not in vars(cls):
        raise CodecError("", f"{name}: its base is a dataclass and it is none, add @dataclass(frozen=True)")
    if not cls.__dataclass_params__.frozen:
        raise CodecError("", f"{name}: a dataclass that can be changed, use @dataclass(frozen=True)")
    _check_init(cls, name)
    return Record(
        name,
        cls,
        parts={key: _part(f"{name}.{key}", tp, (*outer, cls), depth + 1) for key, tp in hints(cls).items()},
        needed=frozenset(field.name for field in fields(cls) if field.init and not _has_default(field)),
        computed=frozenset(field.name for field in fields(cls) if not field.init),
        notes={field.name: field.metadata["description"] for field in fields(cls) if "description" in field.metadata},
    )


def _part(place: str, tp: Any, outer: tuple[type, ...], depth: int) -> Shape:
    try:
        return _shape(tp, outer, depth)
    except CodecError as error:
        raise CodecError(error.path or place, error.message) from None


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _check_init(cls: type[Any], name: str) -> None:
    given = {field.name for field in fields(cls) if field.init}
    wanted = list(signature(cls).parameters.values())
    for parameter in wanted:
        if parameter.default is parameter.empty and parameter.kind in _NAMED and parameter.name not in given:
            reason = "which is no field, so the value could not be built again"
            raise CodecError("", f"{name}: making one needs {parameter.name!r}, {reason}")
    lacking = given - {parameter.name for parameter in wanted}
    if lacking and not any(parameter.kind is Parameter.VAR_KEYWORD for parameter in wanted):
        raise CodecError("", f"{name}: its own __init__ does not take {sorted(lacking)[0]!r}, which is a field")


def _choice(name: str, members: tuple[Shape, ...]) -> Choice:
    records = tuple(member for member in members if isinstance(member, Record))
    tag = _tag(records)
    for one, other in combinations(members, 2):
        tagged = tag and isinstance(one, Record) and isinstance(other, Record)
        if not tagged and _alike(one, other):
            way_out = "keep one of them"
            if isinstance(one, Record) and isinstance(other, Record):
                way_out = "give each a Literal field of the same name, with different values"
            raise CodecError("", f"{name}: {one.name} and {other.name} cannot be told apart in JSON, {way_out}")
    return Choice(name, members, tag)


def _tag(records: tuple[Record, ...]) -> str:
    """The first field that is a Literal in all the records, with no value in two of them."""
    if len(records) < 2:
        return ""
    for key in records[0].parts:
        tags = [claims(part) for record in records if isinstance(part := record.parts.get(key), Constants)]
        if len(tags) == len(records) and all(one.isdisjoint(other) for one, other in combinations(tags, 2)):
            return key
    return ""


def _alike(one: Shape, other: Shape) -> bool:
    if isinstance(one, Plain | Constants) and isinstance(other, Plain | Constants):
        return False  # either way the value that is read is the one in the JSON
    ours, theirs = claims(one), claims(other)
    return bool(ours & theirs or _kinds(ours) & theirs or ours & _kinds(theirs))


def _kinds(claimed: Iterable[Claim]) -> frozenset[Claim]:
    return frozenset(claim[0] for claim in claimed if isinstance(claim, tuple))
