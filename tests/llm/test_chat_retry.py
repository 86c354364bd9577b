"""Which faults are worth another try, how long to wait for it, and when to stop."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from graph_agent.llm.chat import ChatError, ChatLLM, ChatSettingError
from graph_agent.protocols import Request
from tests.llm.chat_server import Server, answer, hangs_up, refuses, says, serve, silence

ASK = Request(instructions="Say hello.", context={"to": "you"})
BACKOFF, CAP = 1.0, 60.0


def unhurried(server: Server, **options: Any) -> tuple[ChatLLM, list[float]]:
    """A model that does not sleep, and how long it would have slept."""
    sleeps: list[float] = []
    llm = ChatLLM(server.url, "m", **options)
    llm._sleep = sleeps.append
    return llm, sleeps


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2),
        ("0", 0),
        ("1.5", 1.5),
        (3, 3),
        (-9, 0),
        ("soon", BACKOFF),
        ("-1", BACKOFF),
        ("nan", BACKOFF),
        ("inf", BACKOFF),
        ("", BACKOFF),
        ("99999", CAP),
        ("9" * 400, BACKOFF),
        ("Wed, 99 Foo 2020 10:00:00 GMT", BACKOFF),
        (None, BACKOFF),
    ],
)
def test_the_wait_is_what_the_server_asks_for_in_any_form_up_to_a_cap(header, seconds):
    notes: list[str] = []
    value = formatdate(time.time() + header, usegmt=True) if isinstance(header, int) else header
    headers = {} if value is None else {"Retry-After": value}
    with serve(answer(429, "{}", headers), says()) as server:
        llm, sleeps = unhurried(server, on_note=notes.append)
        llm.complete(ASK)
    assert sleeps == [pytest.approx(seconds, abs=1.01 if isinstance(header, int) else 1e-6)]
    assert f"asking again in {sleeps[0]:.1f} s (try 2 of 3)" in notes[0]


def test_milliseconds_come_before_seconds():
    with serve(answer(429, "{}", {"Retry-After-Ms": "250", "Retry-After": "9"}), says()) as server:
        llm, sleeps = unhurried(server)
        llm.complete(ASK)
    assert sleeps == [0.25]


def test_without_a_word_from_the_server_the_wait_doubles():
    with serve(*[answer(503, "")] * 3, says()) as server:
        llm, sleeps = unhurried(server, retries=3)
        llm.complete(ASK)
    assert sleeps == [1, 2, 4]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 501])
def test_what_cannot_pass_is_never_asked_again(status):
    with serve(answer(status, '{"error":"no"}', {"Retry-After": "0"})) as server:
        with pytest.raises(ChatError) as caught:
            ChatLLM(server.url, "m").complete(ASK)
    assert len(server.asked) == 1
    assert caught.value.status == status and not caught.value.retryable


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_what_may_pass_is_asked_again_as_often_as_allowed_and_no_more(status):
    with serve(*[answer(status, "busy")] * 9) as server:
        llm, _ = unhurried(server, retries=2)
        with pytest.raises(ChatError) as caught:
            llm.complete(ASK)
    assert len(server.asked) == 3
    assert "busy" in str(caught.value)


def test_a_timeout_and_a_broken_connection_are_asked_again():
    with serve(silence, hangs_up, says("third")) as server:
        llm = ChatLLM(server.url, "m", idle_timeout=0.2, retries=2)
        llm._sleep = lambda seconds: None
        assert llm.complete(ASK).text == "third"


def test_a_wait_past_the_total_deadline_is_not_begun():
    with serve(answer(429, "{}", {"Retry-After": "50"})) as server:
        llm, sleeps = unhurried(server, total_timeout=40)
        with pytest.raises(ChatError) as caught:
            llm.complete(ASK)
    assert sleeps == [] and caught.value.kind == "rate_limited" and caught.value.wait == 50


def test_all_tries_share_one_total_deadline():
    with serve(*[silence] * 9) as server:
        start = time.monotonic()
        llm = ChatLLM(server.url, "m", idle_timeout=0.3, total_timeout=0.7, retries=8)
        llm._sleep = lambda seconds: None
        with pytest.raises(ChatError):
            llm.complete(ASK)
    assert time.monotonic() - start < 4
    assert len(server.asked) <= 3


def test_a_404_names_the_url_that_was_called_and_reads_the_page():
    page = "<html><head><title>404 Not Found</title></head><body><h1>nginx</h1></body></html>"
    with serve(answer(404, page, {"Content-Type": "text/html"})) as server:
        with pytest.raises(ChatError) as caught:
            ChatLLM(f"http://127.0.0.1:{server.port}/api", "m").complete(ASK)
    assert caught.value.kind == "not_found"
    assert f"http://127.0.0.1:{server.port}/api/chat/completions" in str(caught.value)
    assert "404 Not Found nginx" in str(caught.value) and "<" not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_says_what_to_check(status):
    with serve(refuses("Incorrect API key provided", status=status)) as server:
        with pytest.raises(ChatError, match="check the API key") as caught:
            ChatLLM(server.url, "m", "sk-wrong-key").complete(ASK)
    assert caught.value.kind == "unauthorized"


def test_a_list_of_faults_is_shown_without_what_was_echoed():
    fault = {"type": "missing", "loc": ["body", "model"], "msg": "Field required", "input": {"messages": "long" * 99}}
    with serve(answer(422, json.dumps({"detail": [fault]}))) as server:
        with pytest.raises(ChatError) as caught:
            ChatLLM(server.url, "m").complete(ASK)
    assert "Field required" in str(caught.value) and "longlong" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"connect_timeout": 0},
        {"idle_timeout": -1},
        {"total_timeout": float("inf")},
        {"total_timeout": float("nan")},
        {"retries": -1},
        {"max_wait": -1},
        {"extra": {"messages": []}},
        {"extra": {"stream": True}},
    ],
)
def test_settings_that_make_no_sense_are_refused_when_the_model_is_built(options):
    with pytest.raises(ChatSettingError) as caught:
        ChatLLM("http://localhost", "m", **options)
    assert next(iter(options)) in str(caught.value)


def test_context_that_is_not_json_is_an_error_before_any_call():
    with serve() as server:
        with pytest.raises(ChatError, match="not JSON") as caught:
            ChatLLM(server.url, "m").complete(Request(instructions="x", context={"when": object()}))
    assert caught.value.kind == "bad_request" and server.asked == []
