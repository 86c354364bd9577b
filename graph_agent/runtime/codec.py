"""Values to JSON data and back, by their declared type: one codec for checkpoints, model replies and tool arguments.

`decode(tp, encode(value, tp))` equals the value, with the same types all the way down. Nothing is guessed: an unknown
or missing key, or a value of another type, is a `CodecError` with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from types import NoneType
from typing import Any

from graph_agent.protocols import Json
from graph_agent.runtime import jsontext
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.runtime.jsontext import MOST, got, join, quote
from graph_agent.runtime.shapes import Choice, Constants, Fixed, Many, Plain, Record, Shape, Table, Text, shape_of
from graph_agent.runtime.typecheck import check_of, misfit_of

_SCALARS = (str, int, bool, NoneType)
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def encode(value: object, tp: Any = None, path: str = "") -> Json:
    """The value as JSON data; `tp` is its declared type, by default its class; `path` begins a `CodecError`'s path."""
    shape = shape_of(type(value) if tp is None else tp)
    data: Json = _write(shape, _fitting(shape, value, path))
    return data


def decode(tp: Any, data: Any, path: str = "") -> Any:
    """The value of type `tp` that the JSON data stands for. Raises `CodecError`."""
    return _read(shape_of(tp), data, path)


def json_schema(tp: Any) -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `decode` reads, a new dict at each call.

    Dataclasses stand inline, since small servers read no `$ref`; what a class computes itself is left out.
    """
    return _schema(shape_of(tp))


def writer_of(tp: Any) -> Callable[[Any], Json] | None:
    """`encode` for values that are known to fit, such as those that were checked when they were merged.

    None where JSON text has the value as it is, a tuple as a list.
    """
    shape = shape_of(tp)
    return None if _is_json(shape) else partial(_write, shape)


def _is_json(shape: Shape) -> bool:
    match shape:
        case Plain():
            return True
        case Many(cls=cls, item=item):
            return cls is not frozenset and _is_json(item)
        case Choice(members=members):
            return all(map(_is_json, members))
    return False


def _write(shape: Shape, value: Any) -> Any:
    match shape:
        case Constants():
            return value._value_ if isinstance(value, Enum) else value
        case Text(write=write):
            return write(value)
        case Many(cls=cls, item=item):
            items = [_write(item, inner) for inner in value]
            return sorted(items, key=jsontext.dumps) if cls is frozenset else items
        case Fixed(items=parts):
            return [_write(part, inner) for part, inner in zip(parts, value, strict=True)]
        case Table(item=item):
            return {key: _write(item, inner) for key, inner in value.items()}
        case Record(parts=parts):
            return {key: _write(part, getattr(value, key)) for key, part in parts.items()}
        case Choice(members=members):
            return _write(next(member for member in members if check_of(member)(value)), value)
    return value


def _read(shape: Shape, data: Any, path: str) -> Any:
    match shape:
        case Plain():
            return _fitting(shape, data, path)
        case Constants(values=values):
            if type(data) in _SCALARS and (type(data), data) in values:
                return values[type(data), data]
            raise CodecError(path, f"expected one of {_listed(quote(value) for _, value in values)}, {got(data)}")
        case Text():
            return _read_text(shape, data, path)
        case Many(cls=cls, item=item):
            _expect(list, "a list", shape, data, path)
            items = [_read(item, inner, f"{path}[{index}]") for index, inner in enumerate(data)]
            return _as_set(items, path) if cls is frozenset else tuple(items)
        case Fixed(items=parts):
            _expect(list, "a list", shape, data, path)
            if len(data) != len(parts):
                raise CodecError(path, f"expected {len(parts)} items for {shape.name}, got {len(data)}")
            return tuple(_read(part, data[index], f"{path}[{index}]") for index, part in enumerate(parts))
        case Table(item=item):
            _expect(dict, "an object", shape, data, path)
            return _fitting(shape, {key: _read(item, data[key], f"{path}[{quote(key)}]") for key in data}, path)
        case Record():
            return _read_record(shape, data, path)
        case Choice(by_kind=by_kind):
            if type(data) not in by_kind:
                raise CodecError(path, f"expected {shape.name}, {got(data)}")
            return _read(by_kind[type(data)], data, path)


def _expect(cls: type, what: str, shape: Shape, data: Any, path: str) -> None:
    if type(data) is not cls:
        raise CodecError(path, f"expected {what} for {shape.name}, {got(data)}")


def _fitting(shape: Shape, value: Any, path: str) -> Any:
    found = misfit_of(shape, value, path)
    if found:
        raise CodecError(*found)
    return value


def _read_text(shape: Text, data: Any, path: str) -> Any:
    _expect(str, "a string", shape, data, path)
    try:
        value = shape.read(data)
    except ValueError as error:
        raise CodecError(path, f"expected {shape.name}, {got(data)}: {error}") from error
    return _fitting(shape, value, path)


def _as_set(items: list[Any], path: str) -> frozenset[Any]:
    try:
        found = frozenset(items)
    except TypeError as error:
        raise CodecError(path, f"cannot be in a frozenset: {error}") from error
    if len(found) < len(items):
        raise CodecError(path, "an item is there twice, a set holds it once")
    return found


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
    try:
        made = shape.cls(**{key: value for key, value in values.items() if key not in shape.computed})
    except Exception as error:  # its __post_init__ may raise anything
        raise CodecError(path, f"{shape.name} refuses these values: {str(error)[: 2 * MOST]}") from error
    for key in shape.computed & values.keys():
        object.__setattr__(made, key, values[key])
    return made


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)[:400]


def _schema(shape: Shape) -> dict[str, Any]:
    match shape:
        case Plain(cls=cls):
            return {"type": _NAMES[cls]}
        case Constants(values=values):
            kinds = {kind for kind, _ in values}
            kind = {"type": _NAMES[kinds.pop()]} if len(kinds) == 1 else {}
            every = [value for _, value in values]
            return {**kind, "const": every[0]} if len(every) == 1 else {**kind, "enum": every}
        case Text(name=name):
            return {"type": "string", "format": "date-time"} if name == "datetime" else {"type": "string"}
        case Many(cls=cls, item=item):
            unique = {"uniqueItems": True} if cls is frozenset else {}
            return {"type": "array", "items": _schema(item), **unique}
        case Fixed(items=()):
            return {"type": "array", "maxItems": 0}
        case Fixed(items=items):
            length = {"items": False, "minItems": len(items), "maxItems": len(items)}
            return {"type": "array", "prefixItems": [_schema(item) for item in items], **length}
        case Table(item=item):
            return {"type": "object", "additionalProperties": _schema(item)}
        case Record():
            return _record_schema(shape)
        case Choice(members=members):
            return {"anyOf": [_schema(member) for member in members]}


def _record_schema(shape: Record) -> dict[str, Any]:
    properties = {key: _schema(part) for key, part in shape.parts.items() if key not in shape.computed}
    for key, note in shape.notes.items():
        if key in properties:
            properties[key]["description"] = note
    return {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key in shape.needed],
        "additionalProperties": False,
    }
