"""One POST over HTTP, with a limit on connecting, on waiting for the next byte, and on the whole.

`urlopen(timeout=...)` starts its clock anew at every read, so a server that drips holds a caller for ever; here every
read and write looks at the deadline first. The rules it keeps: no redirect is followed, nothing on this machine is
reached through a proxy, an answer has at most 32 MB, and no error quotes what the server sent. (The look-up of a
host's name is the operating system's; it has limits of its own.)
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from graph_agent.llm.chat_errors import ChatError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES = 32 * 1024 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back, whatever its status. Header names are in lower case; `via` names the proxy, if there was one."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    via: str = ""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The three limits, in seconds. `started` and `deadline` are times on `clock`: several calls can share them."""

    connect: float
    idle: float
    started: float
    deadline: float
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float:
        left = self.deadline - self.clock()
        if left <= 0:
            raise self.late("total_timeout is over")
        return left

    def late(self, what: str) -> ChatError:
        took = f"gave up after {self.clock() - self.started:.1f} s"
        return ChatError("timeout", f"{what}; {took}", retryable=self.clock() < self.deadline)


def post(url: str, headers: Mapping[str, str], body: bytes, pace: Pace) -> Answer:
    """Send `body` to `url` and read the answer. Raises `ChatError`: kind timeout, connection or bad_reply."""
    target = urlsplit(url)
    proxy = _proxy_for(target)
    via = f" through the proxy {proxy.hostname}:{proxy.port or 80} (set in the environment)" if proxy else ""
    with _told_as_chat_errors(via), ExitStack() as stack:
        wire = _connect(target, proxy, pace, stack)
        if proxy and target.scheme == "http":
            headers = {**headers, **_proxy_headers(proxy)}
            path = url
        else:
            path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        return _exchange(wire, path, {"Host": target.netloc, **headers}, body, via)


def is_this_machine(host: str) -> bool:
    """Whether the host is loopback: localhost, 127.0.0.0/8, ::1, and the "any" address that stands for it."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _exchange(wire: _Wire, path: str, headers: Mapping[str, str], body: bytes, via: str) -> Answer:
    connection = http.client.HTTPConnection("unused", 80)
    connection.sock = wire
    connection.request("POST", path, body, {"Connection": "close", **headers})
    response = connection.getresponse()
    with closing(response):
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(status=response.status, headers=found, body=_read(response), via=via)


def _read(response: http.client.HTTPResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if max(size, response.length or 0) > MAX_BYTES:
            raise ChatError(
                "bad_reply", f"the answer is larger than {MAX_BYTES // 1024 // 1024} MB, so it was not read"
            )
        part = response.read(_CHUNK)
        if not part:
            break
        parts.append(part)
        size += len(part)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


class _Wire:
    """A connected socket, for `http.client`, that looks at the clock before every read and write."""

    def __init__(self, sock: socket.socket, pace: Pace) -> None:
        self._sock, self._pace = sock, pace

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            with self.timed():
                view = view[self._sock.send(view) :]

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self), _CHUNK)

    def recv_into(self, buffer: WriteableBuffer) -> int:
        with self.timed():
            return self._sock.recv_into(buffer)

    def close(self) -> None:
        """Nothing: http.client closes while the body is still to be read. Who opened the socket closes it."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        self._sock.settimeout(min(self._pace.idle, self._pace.left()))
        try:
            yield
        except TimeoutError:
            self._pace.left()
            raise self._pace.late(
                f"the server was silent for {self._pace.idle:g} s (idle_timeout; a slow local model needs more)"
            ) from None


class _Reader(io.RawIOBase):
    def __init__(self, wire: _Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._wire.recv_into(buffer)


def _connect(target: SplitResult, proxy: SplitResult | None, pace: Pace, stack: ExitStack) -> _Wire:
    """A wire to the target: direct or by way of the proxy, in TLS or not, closed with the stack."""
    until = min(pace.clock() + pace.connect, pace.clock() + pace.left())
    through = proxy or target
    port = through.port or (443 if through.scheme == "https" else 80)
    try:
        sock = stack.enter_context(closing(_dial(through.hostname or "", port, until, pace.clock)))
        if target.scheme == "https":
            if proxy:
                _open_tunnel(_Wire(sock, pace), target, proxy)
            sock.settimeout(max(until - pace.clock(), 0.001))
            context = ssl.create_default_context()
            sock = stack.enter_context(closing(context.wrap_socket(sock, server_hostname=target.hostname)))
    except TimeoutError:
        pace.left()
        raise pace.late(f"no connection within {pace.connect:g} s (connect_timeout)") from None
    return _Wire(sock, pace)


def _dial(host: str, port: int, until: float, clock: Callable[[], float]) -> socket.socket:
    """Try each address of the host; each gets its share of the time, so that a dead first one does not eat it all."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failed: OSError | None = None
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(max((until - clock()) / (len(addresses) - tried), 0.001))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            failed = error
        except BaseException:
            sock.close()
            raise
    raise failed or OSError(f"the name {host} has no address")


def _open_tunnel(wire: _Wire, target: SplitResult, proxy: SplitResult) -> None:
    where = f"{target.hostname}:{target.port or 443}"
    lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
    lines += [f"{name}: {value}" for name, value in _proxy_headers(proxy).items()]
    wire.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode("ascii"))
    response = http.client.HTTPResponse(wire, method="CONNECT")  # type: ignore[arg-type]  # makefile() is all it uses
    with closing(response):
        response.begin()
        if response.status != 200:
            raise ChatError(
                "connection",
                f"no way through the proxy {proxy.hostname}:{proxy.port or 80} to {where}: it answered "
                f"{response.status}. Mend https_proxy, or put the host into NO_PROXY",
                status=response.status,
                retryable=response.status >= 500,
            )


def _proxy_for(target: SplitResult) -> SplitResult | None:
    host = target.hostname or ""
    value = getproxies().get(target.scheme)
    if not value or is_this_machine(host) or proxy_bypass(target.netloc):
        return None
    try:
        proxy = urlsplit(value if "://" in value else f"http://{value}")
        usable = proxy.scheme == "http" and proxy.hostname and proxy.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ChatError(
            "connection",
            f"{target.scheme}_proxy in the environment is not of the form http://host:port, the only one that is "
            f"understood. Mend it, unset it, or put {host} into NO_PROXY",
        )
    return proxy


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(user.encode('utf-8')).decode('ascii')}"}


@contextmanager
def _told_as_chat_errors(via: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        hint = "if the certificate is your own, name it in SSL_CERT_FILE"
        raise ChatError(
            "connection", f"the certificate was not accepted{via}: {error.verify_message}; {hint}"
        ) from None
    except (http.client.RemoteDisconnected, http.client.IncompleteRead, ssl.SSLEOFError):
        message = f"the server closed the connection before its answer was whole{via}"
        raise ChatError("connection", message, retryable=True) from None
    except ssl.SSLError as error:
        reason = (error.reason or "no reason given").replace("_", " ").lower()
        raise ChatError("connection", f"no TLS connection{via}: {reason}; is it an http:// server?") from None
    except (socket.gaierror, UnicodeError) as error:
        again = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
        message = f"the host's name could not be looked up{via}; check the base URL"
        raise ChatError("connection", message, retryable=again) from None
    except ConnectionRefusedError:
        message = f"the connection was refused{via}: is the server running, and on this port?"
        raise ChatError("connection", message, retryable=True) from None
    except http.client.HTTPException as error:
        message = f"what answered does not speak HTTP{via} ({type(error).__name__}): is it https, or another port?"
        raise ChatError("bad_reply", message) from None
    except OSError as error:
        message = f"the connection failed{via}: {error.strerror or type(error).__name__}"
        raise ChatError("connection", message, retryable=True) from None
