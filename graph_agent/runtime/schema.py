"""The JSON Schema of a type (2020-12), for a model that is to reply with one and for a tool's arguments.

It allows what `decode` reads, except where a schema has no words for it. Nested dataclasses stand inline, since small
local servers read no `$ref`; fields that a class computes itself (`init=False`) are left out: nobody is to give them.
A field's `metadata["description"]` is its description.
"""

from __future__ import annotations

from typing import Any

from graph_agent.runtime.quoting import type_name
from graph_agent.runtime.shapes import Choice, Constants, Fixed, Many, Members, Plain, Record, Shape, Table, shape_of
from graph_agent.runtime.textual import Text

_NAMES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null", "NoneType": "null"}


def json_schema(tp: Any) -> dict[str, Any]:
    """The schema of a type, a new dict at each call. Raises `CodecError` for a type that cannot be saved."""
    return _schema(shape_of(tp))


def _schema(shape: Shape) -> dict[str, Any]:
    match shape:
        case Plain(cls=cls):
            return {"type": _NAMES[cls.__name__]}
        case Constants(values=values):
            return _constants(list(values))
        case Members(by_value=by_value):
            return _constants([value for _, value in by_value])
        case Text(name=name):
            return {"type": "string", "format": "date-time"} if name == "datetime" else {"type": "string"}
        case Many(cls=cls, item=item):
            unique = {"uniqueItems": True} if cls is frozenset else {}
            return {"type": "array", "items": _schema(item), **unique}
        case Fixed(items=items):
            return _fixed(items)
        case Table(item=item):
            return {"type": "object", "additionalProperties": _schema(item)}
        case Record():
            return _record(shape)
        case Choice(members=members, tag=tag):
            options = [_record(member, tag) if isinstance(member, Record) else _schema(member) for member in members]
            return {"anyOf": options}


def _constants(values: list[Any]) -> dict[str, Any]:
    kinds = {_NAMES[type_name(type(value))] for value in values}
    kind = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return {**kind, "const": values[0]} if len(values) == 1 else {**kind, "enum": values}


def _fixed(items: tuple[Shape, ...]) -> dict[str, Any]:
    if not items:
        return {"type": "array", "maxItems": 0}
    count = len(items)
    return {
        "type": "array",
        "prefixItems": [_schema(item) for item in items],
        "items": False,
        "minItems": count,
        "maxItems": count,
    }


def _record(shape: Record, tag: str = "") -> dict[str, Any]:
    asked = [key for key in shape.parts if key not in shape.computed or key == tag]
    properties = {key: _schema(shape.parts[key]) for key in asked}
    for key in asked:
        if key in shape.notes:
            properties[key]["description"] = shape.notes[key]
    return {
        "type": "object",
        "properties": properties,
        "required": [key for key in asked if key in shape.needed or key == tag],
        "additionalProperties": False,
    }
