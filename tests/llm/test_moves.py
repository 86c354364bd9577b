"""A move: a call or a result, as a model sends it, and as a tool takes its arguments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.llm.ask import NotAccepted, NotSchema, ask
from graph_agent.llm.fake import FakeLLM
from graph_agent.llm.moves import Argument, Call, Delivery, Move, args_of, arguments_of, move_problem
from graph_agent.protocols import Request
from graph_agent.runtime.codec import decode, encode, json_schema

CALL = Call(tool="search", args=(Argument(name="query", value="snow"), Argument(name="limit", value=5)))
RESULT = Delivery(text="It snows [E1].", claim="It says so.")
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.text(),
    st.lists(st.text(), max_size=3),
)  # fmt: skip


def asked(reply: object, corrections: int = 0) -> Move:
    return ask(FakeLLM([reply]), Request(instructions="Go on."), Move, corrections=corrections, check=move_problem)


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        ({"call": encode(CALL), "result": None}, Move(call=CALL)),
        ({"call": encode(CALL)}, Move(call=CALL)),
        ({"call": {"tool": "list"}}, Move(call=Call(tool="list"))),
        ({"result": encode(RESULT), "call": None}, Move(result=RESULT)),
        ({"result": {"text": "INSUFFICIENT: no snow"}}, Move(result=Delivery(text="INSUFFICIENT: no snow"))),
    ],
)  # fmt: skip
def test_a_call_or_a_result_is_read(reply: dict[str, Any], move: Move) -> None:
    assert asked(reply) == move


@pytest.mark.parametrize(
    ("move", "word"),
    [(Move(), "neither a call nor a result"), (Move(call=CALL, result=RESULT), "both a call and a result")],
)
def test_both_and_neither_are_turned_down(move: Move, word: str) -> None:
    with pytest.raises(NotAccepted, match=word):
        asked(encode(move))


def test_a_move_that_is_one_of_the_two_has_no_problem() -> None:
    assert move_problem(Move(call=CALL)) is None
    assert move_problem(Move(result=RESULT)) is None


def test_the_model_is_told_what_was_wrong_and_may_mend_it() -> None:
    with FakeLLM([{}, {"call": encode(CALL)}]) as fake:
        assert ask(fake, Request(instructions="Go on."), Move, check=move_problem) == Move(call=CALL)
    assert "give one of them" in fake.requests[1].context["what_was_wrong"]


@pytest.mark.parametrize(
    "call",
    [
        {"tool": 5},
        {"args": []},
        {"tool": "search", "args": {"query": "snow"}},
        {"tool": "search", "args": [{"value": "snow"}]},
        {"tool": "search", "args": [{"name": "query", "value": {"deep": 1}}]},
        {"tool": "search", "args": [{"name": "lines", "value": [1, 2]}]},
        {"tool": "search", "arguments": []},
    ],
)
def test_a_call_of_another_shape_is_no_call(call: object) -> None:
    with pytest.raises(NotSchema):
        asked({"call": call})


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_arguments_survive_the_way_to_the_model_and_back(arguments: dict[str, Any]) -> None:
    move = Move(call=Call(tool="t", args=args_of(arguments)))
    back = decode(Move, encode(move))
    assert back.call is not None
    assert arguments_of(back.call.args) == arguments


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_a_truth_value_does_not_become_a_number(arguments: dict[str, Any]) -> None:
    back = arguments_of(args_of(arguments))
    assert [(name, type(value)) for name, value in back.items()] == [(n, type(v)) for n, v in arguments.items()]


def test_the_schema_names_no_open_object() -> None:
    """A strict schema can't describe an object whose keys are not known."""
    left: list[Any] = [json_schema(Move)]
    seen = 0
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if part.get("type") == "object":
                seen += 1
                assert part["additionalProperties"] is False
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
    assert seen >= 4
