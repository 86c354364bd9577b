"""A real HTTP server on loopback that answers from a script, well or badly, for the tests of `ChatLLM`.

Each item of the script answers one request, in order; a request too many gets a 599. It keeps what it was asked.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Act = Callable[["Wire"], None]


@dataclass(frozen=True)
class Asked:
    line: str
    headers: dict[str, str]
    body: dict[str, Any]


class Wire:
    """One connection: `send` bytes, `pause` while the client is there and the test runs."""

    def __init__(self, sock: socket.socket, server: Server, asked: Asked) -> None:
        self.sock, self.server, self.asked = sock, server, asked

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def pause(self, seconds: float) -> None:
        self.server.closing.wait(seconds)


@dataclass
class Server:
    script: list[Act]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.asked]


@contextmanager
def serve(*script: Act) -> Iterator[Server]:
    server = Server(list(script))

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked = _read(self.request)
            if asked is None:
                return
            server.asked.append(asked)
            act = server.script.pop(0) if server.script else answer(599, "the script of the test is at its end")
            try:
                act(Wire(self.request, server, asked))
            except (BrokenPipeError, ConnectionResetError):
                return

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Listener(("127.0.0.1", 0), Handler) as listener:
        server.port = listener.server_address[1]
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            listener.shutdown()
            thread.join()


def _read(sock: socket.socket) -> Asked | None:
    sock.settimeout(5)
    data = b""
    while b"\r\n\r\n" not in data:
        part = sock.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (item.partition(":") for item in rest)}
    while len(body) < int(headers.get("content-length", "0")):
        body += sock.recv(65536)
    return Asked(line, headers, json.loads(body) if body else {})


def answer(status: int, body: str | bytes, headers: Mapping[str, str] | None = None) -> Act:
    raw = body.encode("utf-8") if isinstance(body, str) else body
    found = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in found.items())
    return lambda wire: wire.send(f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode("latin-1") + raw)


def success(body: Any, headers: Mapping[str, str] | None = None) -> Act:
    return answer(200, json.dumps(body), headers)


def completion(content: Any = "hello", *, finish: Any = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


def says(content: Any = "hello", **rest: Any) -> Act:
    return success(completion(content, **rest))


def refuses(message: str, *, status: int = 400, **rest: Any) -> Act:
    return answer(status, json.dumps({"error": {"message": message, "type": "invalid_request_error", **rest}}))


def drips(every: float, *, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n") -> Act:
    def act(wire: Wire) -> None:
        wire.send(head)
        end = time.monotonic() + 10
        while time.monotonic() < end and not wire.server.closing.is_set():
            wire.send(b"a")
            wire.pause(every)

    return act


def silence(wire: Wire) -> None:
    wire.pause(10)


def hangs_up(wire: Wire) -> None:
    """Close without a word."""


def raw(data: bytes) -> Act:
    return lambda wire: wire.send(data)
