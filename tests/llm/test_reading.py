"""From a reply's text to its JSON: what is taken, what is refused, and that nothing changes its meaning."""

from __future__ import annotations

import json
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.llm.ask import NotJSON, read_json

PLAN = {"plan": [1]}
TEXT = json.dumps(PLAN)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_valid_json_is_returned_as_it_is(value: object) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value, ensure_ascii=False, indent=2)) == value


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\ufeff{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```JSON\r\n{TEXT}\r\n```",
        f"~~~\n{TEXT}\n~~~",
        f"```\n{TEXT}\n```",
        f"````json\n{TEXT}\n````",
        f"```json\n{TEXT}",
        f"Sure!\n  ```\n  {TEXT}\n  ```\nDone.",
        f"```json {TEXT}```",
        f"Here is the plan: {TEXT} Anything else?",
        f'An example is {{"log": 0}}.\n```json\n{TEXT}\n```',
    ],
)
def test_fences_and_chatter_are_taken_off(text: str) -> None:
    assert read_json(text, want={"plan"}) == PLAN


@pytest.mark.parametrize(
    "text",
    [
        f'<think>maybe {{"plan": []}}</think>{TEXT}',
        f"<THINK>a</THINK>\n```json\n{TEXT}\n```",
        f'draft {{"plan":0}} </think>\n{TEXT}',
        f"<think>a</think><think>b</think>{TEXT}",
        f"<thinking>a {{ b</thinking>\n{TEXT}",
        f'<think>a <think>b</think> {{"plan": 2}} </think>{TEXT}',
        f'<think>```json\n{{"plan": 3}}\n```</think>```json\n{TEXT}\n```',
        f"{TEXT}\n<think>that should do",
    ],
)
def test_reasoning_before_the_answer_is_no_answer(text: str) -> None:
    assert read_json(text) == PLAN


def test_a_reasoning_tag_within_a_string_is_text() -> None:
    value = {"note": "write <think> and </think>"}
    assert read_json(json.dumps(value)) == value
    assert read_json(f"Look:\n```json\n{json.dumps(value)}\n```") == value
    assert read_json(f"Look: {json.dumps(value)}") == value


def test_brackets_in_strings_and_prose_do_not_confuse() -> None:
    assert read_json('for {project}: {"a": {"b": [1, {"c": "}"}]}} see {docs}') == {"a": {"b": [1, {"c": "}"}]}}
    assert read_json('as in [the book] or :-{ we have {"a": "\\"}{"}') == {"a": '"}{'}


def test_the_object_with_the_wanted_keys_is_taken() -> None:
    assert read_json(f'note {{"log": 1}} then {TEXT}', want={"plan"}) == PLAN


def test_the_same_answer_twice_is_one_answer() -> None:
    assert read_json(f'{TEXT} and again {{"plan":  [1]}}', want={"plan"}) == PLAN


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('{"plan":[1]} or {"plan":[2]}', {"plan"}),
        ('x {"a": 1} y {"a": true}', ()),
        ('```json\n{"plan":[1]}\n```\n```json\n{"plan":[2]}\n```', {"plan"}),
    ],
)
def test_two_different_answers_are_an_error_not_a_guess(text: str, want: Collection[str]) -> None:
    with pytest.raises(NotJSON, match="2 different"):
        read_json(text, want=want)


def test_a_sole_object_without_the_wanted_keys_is_left_to_the_schema() -> None:
    assert read_json('note {"log": 1}.', want={"plan"}) == {"log": 1}
    assert read_json('```json\n{"plann": 1}\n```', want={"plan"}) == {"plann": 1}


def test_a_trailing_comma_is_dropped_outside_strings_only() -> None:
    assert read_json('{"a": [1, 2,], "s": "x,]y,}",}') == {"a": [1, 2], "s": "x,]y,}"}
    assert read_json('so: {"a": [1 , ] , }') == {"a": [1]}


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.lists(st.text()), min_size=1))
def test_the_repair_never_changes_a_string(value: dict[str, list[str]]) -> None:
    text = json.dumps(value, indent=1)
    assert read_json(f"{text[:-1]},}}") == value


@pytest.mark.parametrize(
    "text",
    [
        '{"n": "said "hi", ok"}',
        "{'a': 1}",
        '{"a": 1 "b": 2}',
        '{"a": tru}',
        "{a: 1}",
        "[,]",
        "[1,,]",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1, "b": {"c": 2}',
        'cut: [{"a": 1}, {"a": 2}',
        'so {b: {"a": 1}} is it',
        'for example {"a": 0}:\n```json\n{"a": tru}\n```',
        'for example {"a": 0}:\n```\n{"a": tru}\n```',
    ],
)
def test_what_is_broken_is_refused_and_no_part_of_it_is_taken(text: str) -> None:
    with pytest.raises(NotJSON) as caught:
        read_json(text)
    assert caught.value.raw == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \n\ufeff", "empty"),
        ("no json here", "no JSON in the reply, which begins 'no json here'"),
        ('<think>{"plan": [9]}', "nothing but reasoning"),
        ('{"a": tru}', "line 1 column 7"),
    ],
)
def test_the_error_says_what_was_found_and_where(text: str, said: str) -> None:
    with pytest.raises(NotJSON, match=said):
        read_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "{" * 200_000,
        '{"a":' * 50_000,
        "9" * 9000 + "x",
        '["' * 50_000,
        "<think>" * 20_000,
        "<think></think>" * 5_000,
        "```\n" * 10_000,
        "{} [] " * 10_000,
        '{"a": {x} ' * 10_000,
    ],
    ids=range(10),
)
def test_hostile_text_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(NotJSON):
        read_json(text, want={"plan"})
