from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.runtime.codec import encode, json_schema
from graph_agent.runtime.errors import CodecError
from tests.runtime.samples import TYPES, Art, Base, Circle, Outer, Stage, values

CIRCLE = {
    "type": "object",
    "properties": {"radius": {"type": "number"}, "kind": {"type": "string", "const": "circle"}},
    "required": ["radius"],
    "additionalProperties": False,
}


SCHEMAS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (datetime, {"type": "string", "format": "date-time"}),
    (Path, {"type": "string"}),
    (Stage, {"type": "string", "enum": ["draft", "done"]}),
    (Outer.Phase, {"enum": ["query_ready", 7]}),
    (Literal["a"], {"type": "string", "const": "a"}),
    (Literal["a", 1, None], {"enum": ["a", 1, None]}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
    (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (tuple[()], {"type": "array", "maxItems": 0}),
    (Circle, CIRCLE),
)


@pytest.mark.parametrize(("tp", "schema"), SCHEMAS, ids=range(len(SCHEMAS)))
def test_each_kind_of_type_has_its_schema(tp: Any, schema: dict[str, Any]) -> None:
    assert json_schema(tp) == schema


def test_a_fixed_tuple_has_a_schema_for_each_place_and_no_more() -> None:
    assert json_schema(tuple[int, str]) == {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "items": False,
        "minItems": 2,
        "maxItems": 2,
    }


def test_a_description_on_a_field_is_in_the_schema() -> None:
    assert json_schema(Base)["properties"]["name"] == {"type": "string", "description": "what it is called"}


def test_the_order_is_the_one_that_is_written_whatever_was_asked_for_before() -> None:
    for tp, kinds in ((int | str, ["integer", "string"]), (str | int, ["string", "integer"])):
        assert [option["type"] for option in json_schema(tp)["anyOf"]] == kinds
    for tp, words in ((Literal["x", "y"], ["x", "y"]), (Literal["y", "x"], ["y", "x"])):
        assert json_schema(tp)["enum"] == words


def test_a_field_that_the_class_computes_is_not_asked_for() -> None:
    assert list(json_schema(Art)["properties"]) == ["phase", "tags"]


def test_a_type_that_cannot_be_saved_has_no_schema() -> None:
    with pytest.raises(CodecError, match=r"list\[int\] cannot be saved"):
        json_schema(list[int])


def test_a_schema_may_be_changed_without_harm_to_the_next() -> None:
    json_schema(Circle)["properties"].clear()
    assert json_schema(Circle) == CIRCLE


@settings(deadline=None)
@given(st.data())
def test_what_is_written_of_a_value_meets_the_schema_of_its_type(data: st.DataObject) -> None:
    tp = data.draw(TYPES)
    assert meets(json_schema(tp), encode(data.draw(values(tp)), tp))


@pytest.mark.parametrize(
    ("tp", "data"),
    [(int, "1"), (int, True), (Circle, {}), (Circle, {"radius": 1, "x": 1}), (tuple[int, str], [1]), (Stage, "x")],
)
def test_what_decode_refuses_the_schema_refuses(tp: Any, data: Any) -> None:
    assert not meets(json_schema(tp), data)


KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
KINDS |= {"array": list, "object": dict}


def meets(schema: Any, data: Any) -> bool:
    """JSON Schema as far as it is used here. Keys that a class computes itself are let through."""
    if "anyOf" in schema:
        return any(meets(option, data) for option in schema["anyOf"])
    kind = schema.get("type")
    if kind and (not isinstance(data, KINDS[kind]) or (isinstance(data, bool) and kind != "boolean")):
        return False
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed is not None and (type(data), data) not in [(type(value), value) for value in allowed]:
        return False
    if isinstance(data, list):
        return _meets_as_list(schema, data)
    return not isinstance(data, dict) or _meets_as_object(schema, data)


def _meets_as_list(schema: Any, data: list[Any]) -> bool:
    first = schema.get("prefixItems", [])
    if not schema.get("minItems", 0) <= len(data) <= schema.get("maxItems", len(data)):
        return False
    return all(map(meets, first, data)) and all(meets(schema["items"], item) for item in data[len(first) :])


def _meets_as_object(schema: Any, data: dict[str, Any]) -> bool:
    known, others = schema.get("properties", {}), schema["additionalProperties"]
    if not set(schema.get("required", ())) <= data.keys():
        return False
    if others is False:
        return all(meets(known[key], item) if key in known else key == "n" for key, item in data.items())
    return all(meets(others, item) for item in data.values())
