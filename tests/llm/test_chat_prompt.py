"""How a request reads for a model: short data as a list, code and long text in fences that nothing can end."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.llm.chat import messages, render
from graph_agent.llm.chat_dialect import Dialect
from graph_agent.protocols import Request

SCHEMA = {"type": "object", "properties": {"plan": {"type": "string", "description": "what to do"}}}


def test_code_stands_in_a_fence_under_the_name_of_its_file_and_not_as_escapes():
    context = {
        "request": "Make the tests pass.",
        "files": {"shop/cart.py": 'def total():\n    return "\\n"\n'},
        "failing": ["tests/test_cart.py::test_total"],
        "observations": [
            {"id": "O1", "source": "pytest", "text": "E  assert 3 == 4\nE  + where"},
            {"id": "O2", "source": "git", "text": "clean"},
        ],
    }
    assert render(context) == dedent(
        """\
        - request: "Make the tests pass."
        - failing: ["tests/test_cart.py::test_total"]

        # files

        ## shop/cart.py

        ```python
        def total():
            return "\\n"
        ```

        # observations
        - 2 of 2: {"id": "O2", "source": "git", "text": "clean"}

        ## 1 of 2
        - id: "O1"
        - source: "pytest"

        ### text

        ```
        E  assert 3 == 4
        E  + where
        ```"""
    )


def test_a_long_list_of_short_items_is_one_item_a_line_and_numbers_stay_on_one():
    rows = [{"path": f"src/module_{number}.py", "lines": number} for number in range(4)]
    text = render({"rows": rows, "lines": list(range(100))})
    assert '- 4 of 4: {"path": "src/module_3.py", "lines": 3}' in text.splitlines()
    assert len(text.splitlines()) == 7


def test_instructions_go_to_the_system_and_the_context_to_the_user():
    asked = Request(instructions="Be brief.", context={"a": 1})
    assert messages(asked, Dialect()) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "- a: 1"},
    ]


def test_without_a_context_the_instructions_are_the_users_message():
    assert messages(Request(instructions="Be brief."), Dialect()) == [{"role": "user", "content": "Be brief."}]


def test_without_a_schema_nothing_is_said_about_json():
    assert "JSON" not in str(messages(Request(instructions="Write a function.", context={"a": 1}), Dialect()))


@pytest.mark.parametrize(
    ("form", "fence"),
    [("json_schema", False), ("json_object", False), ("prompt", True)],
)
def test_the_schema_with_its_descriptions_is_in_the_prompt_in_every_form(form, fence):
    asked = Request(instructions="Plan.", context={"a": 1}, schema=SCHEMA)
    system = messages(asked, Dialect(format=form))[0]["content"]
    assert '"description": "what to do"' in system and "json" in system
    assert ("Put it into a ```json fence" in system) is fence


names = st.text(min_size=1, max_size=8)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(alphabet=st.sampled_from('ab `#-"\\\n'), max_size=60) | st.text(max_size=20)
values = st.recursive(
    leaves | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)


@given(texts)
def test_no_text_can_end_its_own_fence_or_is_changed_in_it(text):
    whole = f"{text}\n\t"
    rendered = render({"a": {"b": whole}})
    opening = next(line for line in rendered.split("\n") if line.startswith("```"))
    assert opening not in whole
    assert rendered == f"# a\n\n## b\n\n{opening}\n{whole}\n{opening}"


@settings(max_examples=60)
@given(st.dictionaries(names, values, max_size=4))
def test_equal_contexts_read_the_same_and_every_long_text_is_there_as_it_was(context):
    assert render(context) == render(dict(context))
    for text in _texts(context):
        if "\n" in text:
            assert text.removesuffix("\n") in render(context)


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def test_headings_stop_at_six_marks():
    value: object = "a\nb"
    for _ in range(9):
        value = {"k": value}
    assert max(len(run) for run in re.findall("^#+", render({"top": value}), re.MULTILINE)) == 6


def test_data_that_is_not_json_is_an_error():
    with pytest.raises(TypeError):
        render({"when": object()})
    with pytest.raises(ValueError):
        render({"x": float("nan")})
