"""One POST over HTTP: where it goes, with which key, and by when it has ended.

A socket's timeout starts anew at every read, so a server that drips holds a caller for ever; here a watchdog shuts the
socket when the total time is over. The rules: no redirect is followed, nothing on this machine is reached through a
proxy, and the key leaves only as a header.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead, RemoteDisconnected
from ipaddress import ip_address
from socket import SHUT_RDWR, gaierror, socket
from typing import Any
from urllib.error import URLError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import AbstractHTTPHandler, OpenerDirector, ProxyHandler, Request, UnknownHandler

from graph_agent.llm.chat_reply import ChatError, ChatSettingError, failure

MAX_BYTES = 32 * 1024 * 1024
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")


class ApiKey:
    """A key, or none (None or an empty string): shown in no repr, and taken out of texts by its value."""

    def __init__(self, value: str | None) -> None:
        if value and not _VISIBLE_ASCII.fullmatch(value):
            raise ChatSettingError("the API key holds a space, a line break or what is not ASCII: use .strip()")
        self._value = value or ""

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def scrub(self, text: str, shortest: int = 4) -> str:
        """The text without the key, also as URLs and JSON spell it. A key below `shortest` characters stays.

        Local servers take any word for a key ("none", "ollama"), which a text may hold in its own right.
        """
        if len(self._value) >= shortest:
            for spelling in (self._value, quote(self._value, safe=""), json.dumps(self._value)[1:-1]):
                text = text.replace(spelling, "[API key]")
        return text

    def __repr__(self) -> str:
        return f"ApiKey({'set' if self._value else 'none'})"


def chat_url(base_url: str) -> str:
    """The URL of the chat completions below `base_url`. Raises `ChatSettingError`, which is a `ValueError`.

    A URL without a path gets /v1; any other path is kept, and one that is complete is taken as it is.

    >>> chat_url("http://localhost:11434")
    'http://localhost:11434/v1/chat/completions'
    >>> chat_url("https://example.org/api/v1/")
    'https://example.org/api/v1/chat/completions'
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or not _VISIBLE_ASCII.fullmatch(base_url):
        raise ChatSettingError(
            f"the base URL {shown_url(base_url)!r} is of no use: give one like http://localhost:11434/v1, with http:// "
            "or https:// and a host, without spaces, #fragment or password (the key goes into api_key)"
        )
    path = re.sub("/{2,}", "/", parts.path).rstrip("/")
    if not path.endswith("/chat/completions"):
        path = f"{path or '/v1'}/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def shown_url(url: str) -> str:
    """The URL for a message or a header of a run: without user, password, query and fragment."""
    return re.sub("(^|//)[^/]*@", r"\1", re.split("[?#]", url)[0])


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The limits in seconds: to connect, to wait for the next byte, and for all calls that share this pace."""

    connect: float
    idle: float
    total: float
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """What is left of the total, never quite nothing: a timeout of 0 has another meaning for a socket."""
        return max(0.001, self.started + self.total - time.monotonic())

    def late(self) -> ChatError | None:
        """The error when the total is over."""
        took = time.monotonic() - self.started
        return ChatError("timeout", f"total_timeout: gave up after {took:.1f} s") if took >= self.total else None


def post(url: str, headers: Mapping[str, str], body: bytes, pace: Pace) -> tuple[bytes, str]:
    """Send `body` to `url`: the body of the answer, and its content type. Raises `ChatError`."""
    request, wires = Request(url, body, dict(headers), method="POST"), _Wires(pace)
    host, via = request.host, ""
    proxies = {} if _is_this_machine(urlsplit(url).hostname or "") else None  # None: those of the environment
    opener = OpenerDirector()  # without the handlers that follow a redirect, or raise for a status
    for handler in (ProxyHandler(proxies), wires, UnknownHandler()):
        opener.add_handler(handler)
    try:
        with closing(opener.open(request, timeout=min(pace.connect, pace.left()))) as response:
            data = response.read(MAX_BYTES + 1)
        if response.length and len(data) <= MAX_BYTES:
            raise IncompleteRead(data, response.length)
    except (OSError, HTTPException, ValueError) as error:
        raise pace.late() or _fault(error, pace, _via(request, host)) from None
    finally:
        wires.watchdog.cancel()
    if late := pace.late():
        raise late
    if len(data) > MAX_BYTES:
        raise ChatError("bad_reply", f"the answer is larger than {MAX_BYTES >> 20} MB, so it was not read")
    found = {name.lower(): value for name, value in response.headers.items()}
    if not 200 <= response.status < 300:
        raise failure(response.status, found, data, _via(request, host))
    return data, found.get("content-type", "")


class _Wires(AbstractHTTPHandler):
    """Makes connections that wait for a byte only as long as they may, and that are shut when the time is over."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace, self._sock = pace, socket()
        self.watchdog = threading.Timer(pace.left(), self._shut)
        self.watchdog.daemon = True
        self.watchdog.start()

    http_request = https_request = AbstractHTTPHandler.do_request_

    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(_Plain, request, wires=self)

    def https_open(self, request: Request) -> HTTPResponse:
        return self.do_open(_Tls, request, wires=self)

    def connected(self, sock: socket) -> None:
        self._sock = sock
        sock.settimeout(min(self._pace.idle, self._pace.left()))

    def _shut(self) -> None:
        with suppress(OSError):
            # Not the method of a TLS socket, which would take the state away under the one who reads.
            socket.shutdown(self._sock, SHUT_RDWR)


class _Plain(HTTPConnection):
    def __init__(self, host: str, *, wires: _Wires, **options: Any) -> None:
        super().__init__(host, **options)
        self._wires = wires

    def connect(self) -> None:
        super().connect()
        self._wires.connected(self.sock)


class _Tls(_Plain, HTTPSConnection):
    """The same in TLS."""


def _is_this_machine(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _via(request: Request, host: str) -> str:
    return "" if request.host == host else f" through the proxy {request.host} (set in the environment, see NO_PROXY)"


def _fault(error: Exception, pace: Pace, via: str) -> ChatError:
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        told = f"nothing came{via} within connect_timeout={pace.connect:g} s or idle_timeout={pace.idle:g} s"
        took = time.monotonic() - pace.started
        return ChatError("timeout", f"{told}; gave up after {took:.1f} s", retryable=True)
    broken = isinstance(cause, (RemoteDisconnected, IncompleteRead, ssl.SSLEOFError))
    lasting = isinstance(cause, (ssl.SSLError, gaierror, HTTPException, ValueError, str))
    # The words of http.client may quote a page of what the server sent.
    words = type(cause).__name__ if isinstance(cause, HTTPException) else cause
    told = f"no whole answer{via}: {words}; is a server running there, with this scheme and port?"
    return ChatError("connection", told, retryable=broken or not lasting)
