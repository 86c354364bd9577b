"""What is made of an answer: a Reply, or an error that says what was there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.llm.chat import ChatError, ChatLLM
from graph_agent.llm.chat_reply import read_reply
from graph_agent.protocols import Reply, Request
from tests.llm.chat_server import Act, answer, completion, says, serve, success

ASK = Request(instructions="Say hello.", context={"to": "you"})


def reply_to(*script: Act, **options: object) -> Reply:
    with serve(*script) as server:
        return ChatLLM(server.url, "m-1", **{"retries": 0, **options}).complete(ASK)  # type: ignore[arg-type]


def error_of(*script: Act, **options: object) -> ChatError:
    with pytest.raises(ChatError) as caught:
        reply_to(*script, **options)
    return caught.value


def test_a_plain_reply_has_its_text_and_its_tokens():
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    assert reply_to(says("hello", usage=usage)) == Reply(text="hello", finish="stop", tokens_in=11, tokens_out=3)


@pytest.mark.parametrize("usage", [None, {}, [], "x", {"prompt_tokens": None}, {"prompt_tokens": "9"}])
def test_usage_that_is_missing_or_odd_counts_as_no_tokens(usage):
    assert reply_to(says("hello", usage=usage)) == Reply(text="hello")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        (None, "stop"),
        ("eos_token", "stop"),
        ("STOP", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "refused"),
    ],
)
def test_the_finish_reason_decides_how_a_reply_ended(reason, finish):
    assert reply_to(says("some text", finish=reason)) == Reply(text="some text", finish=finish)


def test_an_unknown_finish_reason_is_taken_as_stop_and_said():
    notes: list[str] = []
    assert reply_to(says("text", finish="tired"), on_note=notes.append).finish == "stop"
    assert notes == ["finish_reason tired is not known; taken as stop"]


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "I will not."},
        {"content": "", "finish": "content_filter"},
        {"content": None, "finish": "content_filter"},
    ],
)
def test_a_refusal_is_a_reply_that_says_so_and_is_not_asked_again(message):
    with serve(says(**message)) as server:
        reply = ChatLLM(server.url, "m").complete(ASK)
    assert reply.finish == "refused" and reply.text == (message.get("refusal") or "")
    assert len(server.asked) == 1


def test_a_reply_cut_before_its_first_word_is_cut_and_not_empty():
    assert reply_to(says(None, finish="length", reasoning_content="hmm")) == Reply(text="", finish="length")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("{}", "no JSON that has choices with a message; is the base URL right? It is: {}"),
        ('{"choices":null}', 'It is: {"choices": null}'),
        ('{"choices":[]}', 'It is: {"choices": []}'),
        ('{"choices":[{}]}', 'It is: {"choices": [{}]}'),
        ('{"choices":[{"message":null}]}', 'It is: {"choices": [{"message": null}]}'),
        ('{"choices":["hello"]}', '["hello"]'),
        ("[]", "It is: []"),
        ("null", "It is: null"),
        ("<html>nginx</html>", "It is: <html>nginx</html>"),
        ("", "It is: empty"),
        ("[" * 100_000, "It is: [[["),
        ('{"error":{"message":"Provider is down"}}', "Provider is down"),
    ],
)
def test_a_success_that_is_no_chat_completion_says_what_it_is_and_where(body, found):
    error = error_of(answer(200, body))
    assert error.kind == "bad_reply" and found in str(error)
    assert str(error).startswith("m-1 at http://127.0.0.1:") and "/v1/chat/completions" in str(error)


@pytest.mark.parametrize("content", [None, "", " \n", []])
def test_a_reply_without_text_is_asked_again_and_then_an_error(content):
    with serve(*[says(content)] * 3) as server:
        llm = ChatLLM(server.url, "m", retries=2)
        llm._sleep = lambda seconds: None
        with pytest.raises(ChatError) as caught:
            llm.complete(ASK)
    assert caught.value.kind == "empty" and len(server.asked) == 3
    assert "finish_reason stop" in str(caught.value)


def test_an_empty_reply_says_what_was_there_instead():
    assert "the message has: role, content, reasoning_content" in str(error_of(says(None, reasoning_content="hmm")))


def test_a_content_of_parts_is_joined_without_the_thinking():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "no"}]},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        "c",
    ]
    assert reply_to(says(parts)).text == "abc"


def test_a_tool_call_in_place_of_text_is_an_error_and_not_an_empty_reply():
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    error = error_of(says(None, finish="tool_calls", tool_calls=[call]))
    assert error.kind == "bad_reply" and "tool" in str(error) and not error.retryable


def test_a_byte_order_mark_does_not_matter():
    assert reply_to(answer(200, b"\xef\xbb\xbf" + json.dumps(completion("fine")).encode())).text == "fine"


def test_bytes_that_are_not_utf_8_are_an_error_and_never_replaced():
    error = error_of(answer(200, b'{"choices":[{"message":{"content":"\xff"}}]}'))
    assert error.kind == "bad_reply" and "no JSON" in str(error)


def test_half_of_a_surrogate_pair_becomes_a_question_mark():
    assert reply_to(says("cut \ud83d")).text == "cut ?"


def test_a_model_that_broke_off_is_asked_again():
    assert error_of(says("half a", finish="error")).retryable


def test_fields_that_are_not_known_do_not_matter():
    body = {**completion("fine", audio=None, annotations=[]), "service_tier": "x", "timings": {"n": 1.5}}
    assert reply_to(success(body)).text == "fine"


KEYS = ["choices", "message", "content", "finish_reason", "usage", "error", "refusal", "tool_calls", "type", "text"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(json_values)
def test_no_json_at_all_makes_anything_but_a_reply_or_a_chat_error(body):
    try:
        reply = read_reply(json.dumps(body).encode(), lambda text: None)
    except ChatError:
        return
    assert isinstance(reply.text, str) and reply.finish in ("stop", "length", "refused")
