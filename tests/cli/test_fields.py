"""FIELD=VALUE by the codec: an offer that was written is read as that offer; what a person types is understood."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.cli.exits import UsageError
from graph_agent.cli.fields import read_patch, read_value, written_answer, written_value
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Decision, Stage, TaskState

MEANT = [
    (int, "7", 7),
    (int | None, "null", None),
    (bool, "true", True),
    (str, "7", "7"),
    (str, '"7"', "7"),
    (str, "a b", "a b"),
    (str, "", ""),
    (str | None, "null", None),
    (tuple[str, ...], "abc", ("abc",)),
    (tuple[str, ...], "1234567890123456", ("1234567890123456",)),
    (tuple[str, ...], "12e4567890123456", ("12e4567890123456",)),
    (tuple[str, ...], "1e99", ("1e99",)),
    (tuple[str, ...], '["a","b"]', ("a", "b")),
    (tuple[str, ...], "[]", ()),
    (tuple[int, ...], "3", (3,)),
    (tuple[Decision, ...], '{"pause":"r:3","to":"plan"}', (Decision(pause="r:3", to="plan"),)),
    (Literal["plan", "finish"], "plan", "plan"),
    (float, "2.5", 2.5),
]


@pytest.mark.parametrize("tp, text, value", MEANT)
def test_what_a_person_types_is_read_as_the_fields_type(tp: Any, text: str, value: Any) -> None:
    found = read_value(tp, text, "field")
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "tp, text, said",
    [
        (int, "many", "field: expected int, got 'many'"),
        (int, "2.5", "field: expected int, got 2.5"),
        (bool, "yes", "field: expected bool"),
        (tuple[int, ...], "x", "field[0]: expected int"),
        (tuple[Decision, ...], '{"pause":"r:3"}', "field[0].to: missing"),
    ],
)
def test_what_does_not_fit_says_where_and_what_was_expected(tp: Any, text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_value(tp, text, "field")
    assert said in str(raised.value)


texts = st.text(st.characters(exclude_categories=["Cs"]))
JSON_LIKE = st.sampled_from(
    ["null", "true", "1", "-0", "1.5", "1e9", "[]", '["a"]', "{}", '"x"', " 1", "NaN", "[", "="]
)
VALUES = {
    str: texts | JSON_LIKE,
    tuple[str, ...]: st.lists(texts | JSON_LIKE).map(tuple),
    int | None: st.none() | st.integers(),
    bool: st.booleans(),
    str | None: st.none() | texts | JSON_LIKE,
    tuple[Decision, ...]: st.lists(st.builds(Decision, pause=texts, to=st.sampled_from(["back", "plan", "done"]))).map(
        tuple
    ),
}


@pytest.mark.parametrize("tp", VALUES)
@given(data=st.data())
def test_what_is_written_for_a_value_is_read_as_that_value(tp: Any, data: st.DataObject) -> None:
    value = data.draw(VALUES[tp])
    assert read_value(tp, written_value(tp, value, "field"), "field") == value


def test_an_offer_is_written_as_a_person_would_type_it() -> None:
    state = TaskState(task_id="r", request="x", workspace="x", stage=Stage.HUMAN, came_from=Stage.PLAN)
    patch = {"approval": ("0af3",), "max_turns": 12, "give_up": True, "request": "a b"}
    words = written_answer(GRAPH, patch)
    assert words == ["approval=0af3", "max_turns=12", "give_up=true", "request=a b"]
    assert read_patch(GRAPH, state, words) == patch
