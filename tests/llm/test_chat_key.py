"""The API key leaves as a header and in no other way."""

from __future__ import annotations

import json
import pickle
import traceback

import pytest

from graph_agent.llm.chat import ChatError, ChatLLM, ChatSettingError
from graph_agent.llm.chat_http import ApiKey
from graph_agent.protocols import Request
from tests.llm.chat_server import Wire, answer, raw, says, serve

KEY = "zz-CANARY/123+x"
ASK = Request(instructions="Say hello.", context={"to": "you"})


def test_the_key_is_sent_as_a_bearer_header_and_nowhere_else():
    with serve(says()) as server:
        ChatLLM(server.url, "m", KEY).complete(ASK)
    asked = server.asked[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in asked.line and KEY not in json.dumps(asked.body)


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_no_header_is_sent(key):
    with serve(says()) as server:
        ChatLLM(server.url, "m", key).complete(ASK)
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("key", ["abcdef\n", "abc\r\nX-Evil: 1", "abc def", "kéy-abcdef", "abc\0def"])
def test_a_key_that_could_forge_a_header_is_refused_without_being_shown(key):
    with pytest.raises(ChatSettingError) as caught:
        ChatLLM("http://localhost", "m", key)
    assert key not in str(caught.value) and "abc" not in str(caught.value) and ".strip()" in str(caught.value)


def echo_in_error(wire: Wire) -> None:
    echoed = wire.asked.headers["authorization"]
    answer(400, json.dumps({"error": {"message": "x" * 280 + f" your {echoed} is bad", "param": echoed}}))(wire)


def echo_with_escapes(wire: Wire) -> None:
    text = json.dumps({"error": wire.asked.headers["authorization"]}).replace("/", "\\/").replace("C", "\\u0043")
    answer(401, text)(wire)


def echo_in_page(wire: Wire) -> None:
    answer(404, f"<html><title>{wire.asked.headers['authorization']}</title></html>")(wire)


def echo_in_redirect(wire: Wire) -> None:
    answer(302, "", {"Location": f"http://elsewhere/{KEY}/x"})(wire)


def echo_in_prose(wire: Wire) -> None:
    answer(200, f"debug: {wire.asked.headers}")(wire)


def echo_in_status_line(wire: Wire) -> None:
    raw(f"HTTP/1.1 2x0 {KEY}\r\n\r\n".encode())(wire)


def echo_in_finish_reason(wire: Wire) -> None:
    says("", finish=KEY)(wire)


@pytest.mark.parametrize(
    "echo",
    [
        echo_in_error,
        echo_with_escapes,
        echo_in_page,
        echo_in_redirect,
        echo_in_prose,
        echo_in_status_line,
        echo_in_finish_reason,
    ],
)
def test_a_key_that_the_server_echoes_is_in_no_error(echo):
    notes: list[str] = []
    with serve(*[echo] * 3) as server:
        llm = ChatLLM(server.url, "m", KEY, on_note=notes.append)
        llm._sleep = lambda seconds: None
        with pytest.raises(ChatError) as caught:
            llm.complete(ASK)
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)) + repr(llm) + repr(notes)
    assert KEY not in shown and "CANARY" not in shown
    assert KEY not in repr(pickle.dumps(error))


def test_a_key_that_the_model_repeats_is_taken_out_of_the_reply():
    with serve(says(f"the key is {KEY}.")) as server:
        assert ChatLLM(server.url, "m", KEY).complete(ASK).text == "the key is [API key]."


def test_a_word_that_stands_for_no_key_is_left_in_a_reply():
    with serve(says("def test_none(): ...")) as server:
        assert ChatLLM(server.url, "m", "none").complete(ASK).text == "def test_none(): ..."


def test_no_repr_and_no_pickle_of_the_model_holds_the_key():
    llm = ChatLLM("http://localhost", "m", KEY)
    assert "CANARY" not in repr(llm) + str(llm.describe()) + repr(vars(llm))


def test_the_spellings_of_urls_and_json_are_scrubbed_too():
    key = ApiKey('a"b/c+d%e')
    assert key.scrub('a"b/c+d%e a\\"b/c+d%e a%22b%2Fc%2Bd%25e') == "[API key] [API key] [API key]"
