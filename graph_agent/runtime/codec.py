"""Values to JSON data and back, by their declared type: one codec for checkpoints, model replies and tool arguments.

`decode(tp, encode(value, tp))` is equal to the value, with the same types all the way down. Nothing is guessed: a
key that is not a field, a key that is missing, or a value of another type is a `CodecError` with its path.

Enums are written by value; tuples and frozensets as lists (a set in the order of its items' JSON text); dataclasses
as objects with all their fields. A dataclass is built by its own class, so its `__post_init__` may refuse the values;
fields that `__init__` does not take (`init=False`) are set afterwards, to what was saved. When such a field's key is
absent, what the class computed stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, TypeAlias

from graph_agent.protocols import Json
from graph_agent.runtime import jsontext
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.runtime.quoting import MOST, got, join, quote
from graph_agent.runtime.shapes import (
    Choice,
    Constants,
    Fixed,
    Many,
    Members,
    Plain,
    Record,
    Shape,
    Table,
    claims,
    shape_of,
)
from graph_agent.runtime.textual import Text
from graph_agent.runtime.typecheck import check_of, misfit_of

_Write: TypeAlias = Callable[[Any], Any]


def encode(value: object, tp: Any = None, path: str = "") -> Json:
    """The value as JSON data. `tp` is its declared type, by default its class.

    Raises `CodecError` when the type cannot be saved or the value does not fit it; `path` begins the error's path.
    """
    shape = shape_of(type(value) if tp is None else tp)
    data: Json = _writer(shape)(_fitting(shape, value, path))
    return data


def decode(tp: Any, data: Any, path: str = "") -> Any:
    """The value of type `tp` that the JSON data stands for; `path` begins the path of a `CodecError`."""
    return _read(shape_of(tp), data, path)


@cache
def _writer(shape: Shape) -> _Write:
    match shape:
        case Plain() | Constants():
            return _same
        case Members():
            return attrgetter("_value_")
        case Text(write=write):
            return write
        case Many(cls=cls, item=item):
            each = _writer(item)
            if cls is frozenset:
                return lambda value: sorted(map(each, value), key=jsontext.dumps)
            return list if each is _same else lambda value: list(map(each, value))
        case Fixed(items=items):
            writers = [_writer(item) for item in items]
            return lambda value: [write(item) for write, item in zip(writers, value, strict=True)]
        case Table(item=item):
            each = _writer(item)
            return lambda value: {key: each(inner) for key, inner in value.items()}
        case Record(parts=parts):
            fields = [(key, _writer(part)) for key, part in parts.items()]
            return lambda value: {key: write(getattr(value, key)) for key, write in fields}
        case Choice():
            return _choice_writer(shape)


def _same(value: Any) -> Any:
    return value


def _choice_writer(shape: Choice) -> _Write:
    ways = [(check_of(member), _writer(member)) for member in shape.members]
    if all(write is _same for _, write in ways):
        return _same
    return lambda value: next(write(value) for check, write in ways if check(value))


def _read(shape: Shape, data: Any, path: str) -> Any:
    match shape:
        case Plain() | Constants():
            return _fitting(shape, data, path)
        case Members():
            return _read_member(shape, data, path)
        case Text():
            return _read_text(shape, data, path)
        case Many() | Fixed():
            return _read_list(shape, data, path)
        case Table(item=item):
            _expect(dict, "an object", shape, data, path)
            return {_key(key, path): _read(item, inner, f"{path}[{quote(key)}]") for key, inner in data.items()}
        case Record():
            return _read_record(shape, data, path)
        case Choice():
            return _read_choice(shape, data, path)


def _expect(cls: type, what: str, shape: Shape, data: Any, path: str) -> None:
    if type(data) is not cls:
        raise CodecError(path, f"expected {what} for {shape.name}, {got(data)}")


def _key(key: Any, path: str) -> str:
    return str(_fitting(_KEY, key, f"{path}[{quote(key)}]"))


_KEY = Plain("str", str)


def _fitting(shape: Shape, value: Any, path: str) -> Any:
    found = misfit_of(shape, value, path)
    if found:
        raise CodecError(*found)
    return value


def _read_member(shape: Members, data: Any, path: str) -> Any:
    if type(data) in (str, int) and (type(data), data) in shape.by_value:
        return shape.by_value[type(data), data]
    values = [value for _, value in shape.by_value]
    close = nearest(data[:MOST], [word for word in values if type(word) is str]) if type(data) is str else ""
    raise CodecError(path, f"expected one of {_listed(map(quote, values))} for {shape.name}, {got(data)}{close}")


def _read_text(shape: Text, data: Any, path: str) -> Any:
    if type(data) is not str:
        raise CodecError(path, f"expected a string for {shape.name}, {got(data)}")
    try:
        value = shape.read(data)
    except ValueError as error:
        raise CodecError(path, f"expected {shape.name}, {got(data)}: {error}") from error
    return _fitting(shape, value, path)


def _read_list(shape: Many | Fixed, data: Any, path: str) -> Any:
    _expect(list, "a list", shape, data, path)
    if isinstance(shape, Many):
        items = (_read(shape.item, inner, f"{path}[{index}]") for index, inner in enumerate(data))
        return tuple(items) if shape.cls is tuple else _as_set(items, path)
    if len(data) != len(shape.items):
        raise CodecError(path, f"expected {len(shape.items)} items for {shape.name}, got {len(data)}")
    return tuple(_read(item, data[index], f"{path}[{index}]") for index, item in enumerate(shape.items))


def _as_set(items: Iterable[Any], path: str) -> frozenset[Any]:
    found: set[Any] = set()
    for index, item in enumerate(items):
        try:
            twin = item in found
        except TypeError as error:
            raise CodecError(f"{path}[{index}]", f"{quote(item)} cannot be in a frozenset: {error}") from error
        if twin:
            raise CodecError(f"{path}[{index}]", f"{quote(item)} is there twice, a set holds it once")
        found.add(item)
    return frozenset(found)


def _read_record(shape: Record, data: Any, path: str) -> Any:
    _expect(dict, "an object", shape, data, path)
    for key in data:
        if key not in shape.parts:
            known = f"{nearest(str(key)[:MOST], shape.parts)}; its fields are {_listed(shape.parts)}"
            raise CodecError(join(path, str(key)[:MOST]), f"not a field of {shape.name}{known}")
    for key in shape.parts:
        if key in shape.needed and key not in data:
            raise CodecError(join(path, key), f"missing: {shape.name} has no default for it")
    values = {key: _read(part, data[key], join(path, key)) for key, part in shape.parts.items() if key in data}
    return _build(shape, values, path)


def _build(shape: Record, values: dict[str, Any], path: str) -> Any:
    try:
        made = shape.cls(**{key: value for key, value in values.items() if key not in shape.computed})
    except Exception as error:  # whatever its __post_init__ raises: the class refuses the data
        raise CodecError(path, f"{shape.name} refuses these values: {str(error)[: 2 * MOST]}") from error
    for key in shape.computed:
        if key in values:
            object.__setattr__(made, key, values[key])
        elif not hasattr(made, key):
            raise CodecError(join(path, key), f"missing: {shape.name} does not compute it")
    return made


def _read_choice(shape: Choice, data: Any, path: str) -> Any:
    kind = type(data)
    if kind is dict and shape.tag:
        return _read_tagged(shape, data, path)
    lone = (kind, data) if kind in (str, int, bool, NoneType) else None
    for member in shape.members:
        claimed = claims(member)
        if kind in claimed or lone in claimed:
            return _read(member, data, path)
    for member in shape.members:
        if isinstance(member, Members | Text) and kind is str:
            return _read(member, data, path)  # it will say which strings there are
    raise CodecError(path, f"expected {shape.name}, {got(data)}")


def _read_tagged(shape: Choice, data: dict[str, Any], path: str) -> Any:
    known: list[Any] = []
    for member in shape.members:
        if isinstance(member, Record):
            part = member.parts[shape.tag]
            if shape.tag in data and check_of(part)(data[shape.tag]):
                return _read(member, data, path)
            known += part.values if isinstance(part, Constants) else ()
    place, names = join(path, shape.tag), _listed(map(quote, known))
    if shape.tag not in data:
        raise CodecError(place, f"missing: it says which of {shape.name} this is, one of {names}")
    raise CodecError(place, f"expected one of {names}, {got(data[shape.tag])}")


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:20]) + (f" and {len(every) - 20} more" if len(every) > 20 else "")
