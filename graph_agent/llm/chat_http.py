"""One POST over HTTP: where it goes, with which key, and by when it has ended.

A socket's timeout starts anew at every read, so a server that drips holds a caller for ever; here a watchdog shuts the
socket. The rules: no redirect is followed, this machine is reached without a proxy, the key leaves only as a header.
"""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead, RemoteDisconnected
from ipaddress import ip_address
from socket import SHUT_RDWR, gaierror, socket
from ssl import SSLEOFError, SSLError
from threading import Timer
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from graph_agent.llm.chat_reply import ChatError, ChatSettingError, failure

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
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or not _VISIBLE_ASCII.fullmatch(base_url):
        shown = "with an @" if "@" in base_url else repr(shown_url(base_url))
        raise ChatSettingError(
            f"the base URL {shown} is of no use: give one like http://localhost:11434/v1, with http:// or https://, "
            "and without spaces, #fragment or password (the key goes into api_key)"
        )
    path = re.sub("/{2,}", "/", parts.path).rstrip("/")
    if not path.endswith("/chat/completions"):
        path = f"{path or '/v1'}/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def shown_url(url: str) -> str:
    """The URL for a message or a header of a run: without what a query may hold."""
    return re.split("[?#]", url)[0]


@dataclass(frozen=True)
class Pace:
    """The limits in seconds: to connect, to wait for the next byte, and for all calls that share this pace."""

    connect: float
    idle: float
    total: float
    started: float

    def left(self) -> float:
        return self.started + self.total - time.monotonic()


def post(url: str, headers: Mapping[str, str], body: bytes, pace: Pace) -> bytes:
    """Send `body` to `url`, and return the body of a success. Raises `ChatError`."""
    return _exchange("POST", url, headers, body, pace)


def get(url: str, headers: Mapping[str, str], pace: Pace) -> bytes:
    """The body of a success. Raises `ChatError`."""
    return _exchange("GET", url, headers, None, pace)


def _exchange(method: str, url: str, headers: Mapping[str, str], body: bytes | None, pace: Pace) -> bytes:
    target, via = urlsplit(url), ""
    path = f"{target.path}?{target.query}" if target.query else target.path
    try:
        proxy = _proxy_for(target)
        if proxy:
            via = f" through the proxy {proxy.netloc.rpartition('@')[2]} (of the environment, see NO_PROXY)"
            if target.scheme == "http":
                path, headers = url, {**headers, **_proxy_headers(proxy)}
        with closing(_connection(target, proxy, pace)) as connection:
            connection.connect()
            with _watched(connection.sock, pace):
                connection.request(method, path, body, {"Connection": "close", **headers})
                with closing(connection.getresponse()) as response:
                    data = response.read()
        if pace.left() <= 0:  # a body without a length ends when the watchdog shuts the socket
            raise TimeoutError
    except (OSError, HTTPException, ValueError) as error:
        raise _fault(error, pace, via) from None
    if not 200 <= response.status < 300:
        raise failure(response.status, response.headers, data, via)
    return data


def _connection(target: SplitResult, proxy: SplitResult | None, pace: Pace) -> HTTPConnection:
    kind, port = (HTTPSConnection, 443) if target.scheme == "https" else (HTTPConnection, 80)
    through, timeout = proxy or target, min(pace.connect, pace.left())
    connection = kind(through.hostname or "", through.port or port, timeout=timeout)
    if proxy and target.scheme == "https":
        connection.set_tunnel(target.hostname or "", target.port, _proxy_headers(proxy))
    return connection


@contextmanager
def _watched(sock: socket, pace: Pace) -> Iterator[None]:
    sock.settimeout(min(pace.idle, pace.left()))
    watchdog = Timer(pace.left(), _shut, (sock,))
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _shut(sock: socket) -> None:
    with suppress(OSError):
        socket.shutdown(sock, SHUT_RDWR)  # not the method of a TLS socket, which takes away what a reader uses


def _proxy_for(target: SplitResult) -> SplitResult | None:
    value = getproxies().get(target.scheme)
    if not value or _is_this_machine(target.hostname or "") or proxy_bypass(target.netloc):
        return None
    return urlsplit(value if "://" in value else f"http://{value}")


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    user, at, _ = proxy.netloc.rpartition("@")
    return {"Proxy-Authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}


def _is_this_machine(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _fault(error: Exception, pace: Pace, via: str) -> ChatError:
    over = pace.left() <= 0
    if over or isinstance(error, TimeoutError):
        limit = "total_timeout" if over else f"connect_timeout={pace.connect:g} s or idle_timeout={pace.idle:g} s"
        told = f"too slow for {limit}{via}: gave up after {time.monotonic() - pace.started:.1f} s"
        return ChatError("timeout", told, retryable=not over)
    broken = isinstance(error, (RemoteDisconnected, IncompleteRead, SSLEOFError))
    lasting = isinstance(error, (SSLError, gaierror, HTTPException, ValueError))
    # The words of http.client may quote a page of what the server sent.
    words = type(error).__name__ if isinstance(error, HTTPException) else error
    told = f"no whole answer{via}: {words}; is a server running there, with this scheme and port?"
    return ChatError("connection", told, retryable=broken or not lasting)
