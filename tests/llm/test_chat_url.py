"""One rule for base URLs, in every spelling that people use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.llm.chat import ChatLLM, ChatSettingError, chat_url


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1//v1//", "http://h:1/v1/chat/completions"),
        ("https://r/api/v1", "https://r/api/v1/chat/completions"),
        ("https://g/v1beta/openai/", "https://g/v1beta/openai/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
        ("HTTP://h/v1", "http://h/v1/chat/completions"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
        ("https://a/openai/d/chat/completions?api-version=1", "https://a/openai/d/chat/completions?api-version=1"),
    ],
)
def test_a_base_url_becomes_the_url_of_the_chat_completions(base, url):
    assert chat_url(base) == url


@pytest.mark.parametrize(
    "base",
    [
        "",
        "h:1",
        "localhost",
        "ftp://h",
        "http://",
        "http://[::1",
        " http://h\n",
        "http://h/a b",
        "http://hé",
        "http://h:port",
        "http://h:99999",
        "http://h:0",
        "http://h/v1#part",
        "http://user:pass@h/v1",
        "http://sk-key@h",
    ],
)
def test_what_is_no_http_url_is_refused_when_the_model_is_built(base):
    with pytest.raises(ValueError) as caught:
        ChatLLM(base, "m")
    assert isinstance(caught.value, ChatSettingError)


def test_a_password_in_the_url_is_refused_without_being_shown():
    with pytest.raises(ChatSettingError) as caught:
        chat_url("https://user:hunter2@example.org/v1")
    assert "hunter2" not in str(caught.value) and "api_key" in str(caught.value)


def test_a_query_is_called_but_never_shown():
    llm = ChatLLM("https://example.org/v1?key=hunter2", "m")
    assert llm.describe() == {"llm": "chat", "url": "https://example.org/v1/chat/completions", "model": "m"}
    assert "hunter2" not in repr(llm)


@given(st.lists(st.sampled_from(["v1", "api", "chat", "completions", "/", "openai"]), max_size=5))
def test_no_spelling_doubles_a_slash_or_the_tail(parts):
    path = chat_url("http://h/" + "/".join(parts)).removeprefix("http://h")
    assert "//" not in path and path.endswith("/chat/completions")
    assert chat_url(f"http://h{path}") == f"http://h{path}"
