"""A judge as a service: `graph_agent.verify.service:app` is for any WSGI server, and has the rules behind it.

It takes a task, an output and the criteria, and nothing else, so that no excuse can come along; it keeps no state and
writes down nothing that it was sent. The rule: what can't be read is an error with a status, never a judgement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graph_agent.protocols import GraphAgentError
from graph_agent.runtime import jsontext
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.verify.judge import VERSION, Item, Judge, score_of
from graph_agent.verify.rulejudge import RuleJudge

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

MOST_BYTES = 64 * 1024
"""Of a body. A longer one is turned away and not judged in part."""

MOST_CRITERIA = 50
"""Of one call: behind it there may be a model that is asked for every six."""

_DRAINED = 1024 * 1024
"""Bytes of a body too long that are read and thrown away: a client that still sends would never see the answer."""

_FIELDS = ("task", "output", "criterion")
_METHODS = {"/": ("GET", "HEAD"), "/judge": ("POST",)}
_REASONS = {
    200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 411: "Length Required",
    413: "Content Too Large", 415: "Unsupported Media Type", 500: "Internal Server Error",
}  # fmt: skip


class _Refused(GraphAgentError):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


def make_app(judge: Judge | None = None) -> WSGIApplication:
    """The application with `judge` behind it, such as a `ModelJudge`; the rules by default."""
    behind = RuleJudge() if judge is None else judge

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            data = _answer(environ, behind)
        except _Refused as error:
            said = {"error": str(error), "status": error.status}
            return _sent(start_response, environ, error.status, said, *error.headers)
        return _sent(start_response, environ, 200, data)

    return app


app = make_app()


def _answer(environ: WSGIEnvironment, judge: Judge) -> dict[str, Any]:
    path, method = environ.get("PATH_INFO") or "/", environ["REQUEST_METHOD"]
    if path not in _METHODS:
        raise _Refused(404, "there is no such path: GET / says what there is")
    allowed = _METHODS[path]
    if method not in allowed:
        _drain(environ, _length(environ) or 0)
        raise _Refused(405, f"{path} takes {' and '.join(allowed)}", ("Allow", ", ".join(allowed)))
    return _about(judge) if path == "/" else _judged(judge, *_read(_body(environ)))


def _about(judge: Judge) -> dict[str, Any]:
    return {
        "service": "graph_agent judge",
        "version": VERSION,
        "judge": type(judge).__name__,
        "POST /judge": {"task": "text", "output": "text", "criterion": "text, or a list of texts"},
        "gives": ["items", "score", "reason", "version"],
        "most": {"bytes": MOST_BYTES, "criteria": MOST_CRITERIA},
    }


def _body(environ: WSGIEnvironment) -> bytes:
    """The whole body. Its kind and length are looked at before a byte of it."""
    kind, _, rest = environ.get("CONTENT_TYPE", "").partition(";")
    length = _length(environ)
    if kind.strip().casefold() != "application/json":
        # A page in a browser can send any other kind to this machine without asking first.
        _drain(environ, length or 0)
        raise _Refused(415, "the body must be JSON: send Content-Type: application/json")
    if "charset" in rest.casefold() and "utf-8" not in rest.casefold():
        _drain(environ, length or 0)
        raise _Refused(415, "the JSON must be in UTF-8, as JSON is")
    if length is None:
        raise _Refused(411, "the body has no Content-Length: say how many bytes it has")
    if length > MOST_BYTES:
        _drain(environ, length)
        raise _Refused(413, f"the body has {length} bytes, and {MOST_BYTES} are allowed: send fewer criteria at once")
    pieces = list(_pieces(environ, length))
    if (came := sum(map(len, pieces))) < length:
        raise _Refused(400, f"the body ended after {came} of {length} bytes")
    return b"".join(pieces)


def _length(environ: WSGIEnvironment) -> int | None:
    """None where the client says none, as with a body in chunks."""
    said = str(environ.get("CONTENT_LENGTH") or "").strip()
    if not said:
        return None
    if not (said.isascii() and said.isdecimal() and len(said) < 16):
        raise _Refused(400, "the Content-Length is no number of bytes")
    return int(said)


def _pieces(environ: WSGIEnvironment, length: int) -> Iterable[bytes]:
    """The body in pieces. One that breaks off ends early."""
    while length > 0:
        try:
            piece = environ["wsgi.input"].read(min(length, MOST_BYTES))
        except OSError:  # the client is gone, or too slow for the server
            return
        if not piece:
            return
        length -= len(piece)
        yield piece


def _drain(environ: WSGIEnvironment, length: int) -> None:
    for _ in _pieces(environ, min(length, _DRAINED)):
        pass


def _read(body: bytes) -> tuple[str, tuple[str, ...], str]:
    """Task, criteria and output."""
    try:
        data = jsontext.loads(body)
    except CodecError as error:
        raise _Refused(400, f"the body can't be read: {error}") from None
    if not isinstance(data, dict):
        raise _Refused(400, f"the body must be an object with {', '.join(_FIELDS)}")
    for key in data:
        if key not in _FIELDS:
            shown = jsontext.quote(key)
            raise _Refused(400, f"{shown} is not taken{nearest(key, _FIELDS)}: give {', '.join(_FIELDS)} and no more")
    for key in _FIELDS:
        if key not in data:
            raise _Refused(400, f"{key} is missing: give {', '.join(_FIELDS)}")
    task, output, asked = (data[key] for key in _FIELDS)
    for key, text in (("task", task), ("output", output)):
        if not isinstance(text, str):
            raise _Refused(400, f"{key} must be a text")
    return str(task), _criteria(asked), str(output)


def _criteria(asked: Any) -> tuple[str, ...]:
    criteria = asked if isinstance(asked, list) else [asked]
    if not all(isinstance(one, str) and one.strip() for one in criteria) or not criteria:
        raise _Refused(400, "criterion must be a text that says something, or a list of such texts")
    if len(criteria) > MOST_CRITERIA:
        raise _Refused(400, f"there are {len(criteria)} criteria, and {MOST_CRITERIA} are allowed at once")
    return tuple(criteria)


def _judged(judge: Judge, task: str, criteria: tuple[str, ...], output: str) -> dict[str, Any]:
    try:
        items = judge.judge(task, criteria, output)
        said = [{"criterion": one.criterion, "status": one.status, "why": one.why} for one in items]
    except Exception as error:  # noqa: BLE001  # a stranger's judge; its message may quote what it was sent
        raise _Refused(500, f"the judge failed with a {type(error).__name__}") from None
    if [one["criterion"] for one in said] != list(criteria):
        raise _Refused(500, f"the judge gave {len(said)} items, which are not those of the {len(criteria)} criteria")
    return {"items": said, "score": score_of(items), "reason": reason_of(items), "version": VERSION}


def reason_of(items: Sequence[Item]) -> str:
    """In a line, how many criteria are met and the first that is not."""
    met = sum(one.status == "satisfied" for one in items)
    said = f"{met} of {len(items)} criteria satisfied"
    missed = next((one for one in items if one.status != "satisfied"), None)
    if missed is None:
        return said
    why = f": {missed.why}" if missed.why else ""
    return f"{said}; {jsontext.quote(missed.criterion)} is {missed.status.replace('_', ' ')}{why}"


def _sent(
    start_response: StartResponse,
    environ: WSGIEnvironment,
    status: int,
    data: dict[str, Any],
    *more: tuple[str, str],
) -> list[bytes]:
    body = json.dumps(data, ensure_ascii=True, allow_nan=False).encode("ascii")
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    start_response(f"{status} {_REASONS[status]}", [*headers, *more])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
