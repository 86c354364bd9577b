from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.jsontext import dumps, loads
from tests.runtime.samples import NUMBERS, TEXT, same

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)

REFUSED: tuple[tuple[str | bytes, str], ...] = (
    ("", "not JSON: Expecting value: line 1 column 1"),
    ("{'a': 1}", "not JSON"),
    ("[1] 2", "not JSON: Extra data: line 1 column 5"),
    ('[{"b": {"a": 1, "\\u0061": 2}}]', "the key 'a' is there twice in one object"),
    ("[NaN]", "[0]: nan is not a finite number"),
    ("-Infinity", "-inf is not a finite number"),
    ('{"a": 1e999}', "['a']: inf is not a finite number"),
    ("1" * 5000, "4300 digits"),
    ("[-" + "1" * 4301 + "]", "4300 digits"),
    ("[" * 102 + "]" * 102, "nested more than 100 deep"),
    ("[" * 100_000, "not JSON"),
    ('{"a":' * 100_000, "not JSON"),
    ('["\\ud800"]', "lone surrogate"),
    ('{"a": [0, "x\\uDFFFx"]}', "['a'][1]: "),
    ('{"\\ud800": 1}', "lone surrogate"),
    ('"\ud800"', "lone surrogate"),
    (b'"\xff"', "not JSON: 'utf-8' codec can't decode"),
    (b"\xef\xbb\xbf{}", "BOM"),
    ('{"a": 1}'.encode("utf-16"), "not JSON"),
    ('"a\nb"', "not JSON: Invalid control character"),
    ("[01]", "not JSON"),
    ("\x00", "not JSON"),
)


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=range(len(REFUSED)))
def test_text_that_is_not_strict_json_is_refused_in_short_words(text: str | bytes, words: str) -> None:
    with pytest.raises(CodecError) as caught:
        loads(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200


READ: tuple[tuple[str | bytes, Any], ...] = (
    (' \n{"b": 1, "a": [true, null]}\n', {"b": 1, "a": [True, None]}),
    (b'"\xc3\xa9"', "é"),
    ('"\\ud83d\\ude00"', "😀"),
    ("-0.0", -0.0),
    ("1E2", 100.0),
    ("9" * 4300, 10**4300 - 1),
    ("-" + "9" * 4300, 1 - 10**4300),
    ("[" * 100 + "]" * 100, None),
    (json.dumps(["[{" * 200, '"[' * 200, "\\" * 99 + "["]), ["[{" * 200, '"[' * 200, "\\" * 99 + "["]),
    (json.dumps([[]] * 1000), [[]] * 1000),
)


@pytest.mark.parametrize(("text", "data"), READ, ids=range(len(READ)))
def test_strict_json_is_read_as_it_stands(text: str | bytes, data: Any) -> None:
    assert data is None or same(loads(text), data)
    loads(text)


def test_deep_text_is_refused_also_where_the_stack_is_nearly_used_up() -> None:
    def sink(left: int) -> None:
        if left:
            sink(left - 1)
            return
        with pytest.raises(CodecError):
            loads("[" * 101)
        loads("[" * 5 + "]" * 5)

    sink(sys.getrecursionlimit() - 300)


def test_a_lower_limit_of_digits_in_the_program_is_an_error_of_the_same_kind() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(1000)
    try:
        with pytest.raises(CodecError, match="1000 digits"):
            loads("1" * 1001)
    finally:
        sys.set_int_max_str_digits(before)


@given(JSON)
def test_what_is_written_is_read_back_equal_by_us_and_by_python(data: Any) -> None:
    text = dumps(data)
    assert json.loads(text) == data
    assert dumps(loads(text)) == text == dumps(loads(text.encode("utf-8")))


@given(st.text(max_size=20) | st.binary(max_size=20) | st.text('[]{}",:\\u0d8e1.-', max_size=30))
def test_any_text_is_read_or_is_a_codec_error(text: str | bytes) -> None:
    try:
        data = loads(text)
    except CodecError:
        return
    assert loads(dumps(data)) == data


def test_written_text_is_compact_keeps_the_order_of_keys_and_is_not_escaped() -> None:
    assert dumps({"b": [1, "é"], "a": None}) == '{"b":[1,"é"],"a":null}'


DEEP: list[Any] = []
for _ in range(101):
    DEEP = [DEEP]
LOOP: list[Any] = []
LOOP.append(LOOP)
ENDLESS: Any = None
for _ in range(100_000):
    ENDLESS = [ENDLESS]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (float("nan"), "cannot be written as JSON"),
        ([float("inf")], "cannot be written as JSON"),
        ({"a": {1}}, "set is not JSON serializable"),
        ({"a": ["\ud800"]}, "['a'][0]: '\\ud800' has a lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        (10**5000, "cannot be written as JSON"),
        (DEEP, "nested more than 100 deep"),
        (ENDLESS, "cannot be written as JSON"),
        (LOOP, "cannot be written as JSON"),
    ],
    ids=range(9),
)
def test_data_that_no_reader_could_take_is_not_written(data: Any, words: str) -> None:
    with pytest.raises(CodecError) as caught:
        dumps(data)
    assert words in str(caught.value)
