"""What fits its type comes back equal, whatever the type and the value; what does not fit is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.typecheck import checker, misfit
from tests.runtime.samples import LEAVES, NUMBERS, ODD, TEXT, TYPES, same, values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXT | st.sampled_from(["a", "draft", "circle", 1, 7]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXT | st.sampled_from(["kind", "radius", "phase", "part0"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.data())
def test_every_value_of_every_type_comes_back_equal_with_the_same_types_inside(data: st.DataObject) -> None:
    tp = data.draw(TYPES)
    value = data.draw(values(tp))
    assert misfit(tp, value) is None
    text = jsontext.dumps(encode(value, tp))
    assert same(decode(tp, jsontext.loads(text)), value)
    assert jsontext.dumps(encode(decode(tp, jsontext.loads(text)), tp)) == text


@settings(deadline=None)
@given(TYPES, st.sampled_from(ODD) | st.lists(st.sampled_from(ODD), max_size=2).map(tuple))
def test_a_value_either_fits_and_comes_back_or_is_refused_with_the_same_words_everywhere(tp: Any, value: Any) -> None:
    _fits_and_returns_or_is_refused(tp, value)


@pytest.mark.parametrize("tp", LEAVES, ids=str)
def test_each_odd_value_fits_and_comes_back_or_is_refused(tp: Any) -> None:
    for value in ODD:
        _fits_and_returns_or_is_refused(tp, value)


def _fits_and_returns_or_is_refused(tp: Any, value: Any) -> None:
    if checker(tp)(value):
        assert misfit(tp, value) is None
        assert same(decode(tp, jsontext.loads(jsontext.dumps(encode(value, tp)))), value)
        return
    found = misfit(tp, value, "state")
    assert found is not None and len(found[1]) < 600
    with pytest.raises(CodecError) as caught:
        encode(value, tp, "state")
    assert (caught.value.path, caught.value.message) == found


@settings(deadline=None)
@given(TYPES, JSON)
def test_any_json_is_read_as_a_value_that_fits_or_refused(tp: Any, data: Any) -> None:
    try:
        value = decode(tp, data)
    except CodecError:
        return
    assert misfit(tp, value) is None
    assert same(decode(tp, encode(value, tp)), value)


@settings(deadline=None)
@given(st.data())
def test_one_changed_key_or_value_in_saved_data_never_raises_anything_but_a_codec_error(data: st.DataObject) -> None:
    tp = data.draw(TYPES)
    text = json.dumps(encode(data.draw(values(tp)), tp))
    cut = data.draw(st.integers(0, len(text)))
    torn = text[:cut] + data.draw(st.sampled_from(["", "null", "1", '"', "[", "}", "x"])) + text[cut + 1 :]
    try:
        decode(tp, jsontext.loads(torn))
    except CodecError:
        return
