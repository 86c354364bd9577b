"""What a server can do to a single call, and how the call ends."""

from __future__ import annotations

import socket
import sys
import threading
import time

import pytest

from graph_agent.llm.chat import ChatError, ChatLLM
from graph_agent.llm.chat_http import _is_this_machine
from graph_agent.protocols import Reply, Request
from tests.llm.chat_server import Server, answer, drips, raw, says, serve, silence

ASK = Request(instructions="Say hello.", context={"to": "you"})


def ask(server: Server, **options: object) -> Reply:
    return ChatLLM(server.url, "m", **{"retries": 0, **options}).complete(ASK)  # type: ignore[arg-type]


def failing(server: Server, **options: object) -> ChatError:
    with pytest.raises(ChatError) as caught:
        ask(server, **options)
    return caught.value


def test_a_body_that_drips_ends_at_the_total_deadline_and_not_per_byte():
    with serve(drips(0.05)) as server:
        start = time.monotonic()
        error = failing(server, idle_timeout=5, total_timeout=0.4)
    assert error.kind == "timeout" and "total_timeout" in str(error)
    assert time.monotonic() - start < 3
    assert not error.retryable


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b'HTTP/1.0 200 OK\r\n\r\n{"choices":[]}'])
def test_headers_or_a_body_without_a_length_that_drip_end_at_the_total_deadline(head):
    with serve(drips(0.05, head=head)) as server:
        assert failing(server, idle_timeout=5, total_timeout=0.3).kind == "timeout"


def test_a_server_that_never_replies_ends_at_the_idle_timeout_and_says_how_long_it_took():
    with serve(silence) as server:
        error = failing(server, idle_timeout=0.2)
    assert error.kind == "timeout" and error.retryable
    assert "idle_timeout=0.2 s" in str(error) and "gave up after 0." in str(error)


def test_a_silence_in_the_middle_of_the_body_ends_at_the_idle_timeout():
    def act(wire):
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{")
        silence(wire)

    with serve(act) as server:
        assert failing(server, idle_timeout=0.2).kind == "timeout"


@pytest.mark.skipif(sys.platform == "win32", reason="a full queue refuses there")
def test_a_connection_that_is_never_accepted_ends_at_the_connect_timeout():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]  # more than the queue holds
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", port))
            with pytest.raises(ChatError) as caught:
                llm = ChatLLM(f"http://127.0.0.1:{port}", "m", connect_timeout=0.3, idle_timeout=0.3, retries=0)
                llm.complete(ASK)
        finally:
            for one in waiting:
                one.close()
    assert caught.value.kind == "timeout"


def test_nobody_listening_is_a_refused_connection_that_names_the_url():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ChatError) as caught:
        ChatLLM(f"http://127.0.0.1:{port}", "m", retries=0).complete(ASK)
    assert caught.value.kind == "connection" and caught.value.retryable
    assert f"http://127.0.0.1:{port}/v1/chat/completions" in str(caught.value)


def test_a_host_without_an_address_is_not_asked_again():
    with pytest.raises(ChatError) as caught:
        ChatLLM(f"http://{'x' * 64}.invalid", "m").complete(ASK)
    assert caught.value.kind == "connection" and not caught.value.retryable


def test_a_redirect_is_not_followed_so_the_key_stays_here():
    with serve(says()) as other:
        there = f"{other.url}/chat/completions?token=t0ken"
        with serve(answer(307, "", {"Location": there})) as server:
            error = failing(server, api_key="sk-secret-123", retries=3)
        assert other.asked == []
    assert error.kind == "redirect" and error.status == 307
    assert f"127.0.0.1:{other.port}" in str(error) and "t0ken" not in str(error)
    assert len(server.asked) == 1


def test_a_chunked_body_is_read():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b'{"choices":[{"message":{"content":"in parts"}}]}'
    parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:9], body[9:]))
    with serve(raw(head + parts + b"0\r\n\r\n")) as server:
        assert ask(server).text == "in parts"


def test_a_chunked_body_that_breaks_off_is_not_taken_for_whole():
    whole = b'{"choices":[{"message":{"content":"x"}}]}'
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(whole), whole)
    with serve(raw(data)) as server:
        assert failing(server).kind == "connection"


def test_a_content_length_longer_than_the_body_is_a_broken_connection():
    data = b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices":[{"message":{"content":"x"}}]}'
    with serve(raw(data)) as server:
        error = failing(server)
    assert error.kind == "connection" and error.retryable and "no whole answer" in str(error)


def test_something_that_is_not_http_says_so():
    with serve(raw(b"220 mail.example ESMTP\r\n")) as server:
        error = failing(server)
    assert error.kind == "connection" and "scheme and port" in str(error) and not error.retryable


def test_https_to_a_plain_server_says_so_and_is_not_asked_again():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        def speak():
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=speak)
        thread.start()
        with pytest.raises(ChatError) as caught:
            ChatLLM(f"https://127.0.0.1:{port}", "m").complete(ASK)
        thread.join()
    assert caught.value.kind == "connection" and "SSL" in str(caught.value) and not caught.value.retryable


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_reached_without_the_proxy_of_the_environment(host, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    with serve(says("direct")) as server:
        assert ChatLLM(f"http://{host}:{server.port}", "m").complete(ASK).text == "direct"


def test_another_host_is_asked_through_the_proxy(monkeypatch):
    with serve(says("by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", f"http://user:p%40ss@127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert ChatLLM("http://models.invalid/v1", "m").complete(ASK).text == "by proxy"
    asked = proxy.asked[0]
    assert asked.line == "POST http://models.invalid/v1/chat/completions HTTP/1.1"
    assert asked.headers["host"] == "models.invalid"
    assert asked.headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"


def test_an_error_that_came_by_a_proxy_names_the_proxy_without_its_password(monkeypatch):
    with serve(answer(403, "no")) as proxy:
        monkeypatch.setenv("http_proxy", f"http://user:passw0rd@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(ChatError) as caught:
            ChatLLM("http://models.invalid/v1", "m").complete(ASK)
    assert f"the proxy 127.0.0.1:{proxy.port}" in str(caught.value) and "passw0rd" not in str(caught.value)


def test_https_goes_through_a_tunnel_and_a_proxy_that_refuses_one_is_named(monkeypatch):
    with serve(answer(407, "")) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(ChatError) as caught:
            ChatLLM("https://models.invalid/v1", "m", "sk-secret-123", retries=0).complete(ASK)
    assert proxy.asked[0].line.startswith("CONNECT models.invalid:443 ")
    assert "authorization" not in proxy.asked[0].headers
    assert "407" in str(caught.value) and "NO_PROXY" in str(caught.value)


def test_no_proxy_is_respected(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "models.invalid")
    with pytest.raises(ChatError) as caught:
        ChatLLM("http://models.invalid/v1", "m", retries=0).complete(ASK)
    assert "proxy" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost.example.org", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_which_hosts_are_this_machine(host, local):
    assert _is_this_machine(host) is local


def test_the_loopback_of_ipv6_works_where_there_is_one():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 loopback here")
    with pytest.raises(ChatError) as caught:
        ChatLLM("http://[::1]:9/v1", "m", retries=0).complete(ASK)
    assert caught.value.kind == "connection" and "[::1]:9" in str(caught.value)
