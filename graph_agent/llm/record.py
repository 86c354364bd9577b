"""Record what a model was asked and answered, and play it back without the model.

A recording is a file of JSON lines, one a call: key, request, and the reply or the error. The rule: a reply is played
back only for the very request it was given to, as often as it was recorded; anything else is an error that says what
differs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from inspect import isawaitable
from pathlib import Path
from threading import Lock
from typing import Any

from graph_agent.protocols import LLM, GraphAgentError, LLMError, Reply, Request
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.quoting import quote


class RecordingError(GraphAgentError):
    """A recording that cannot be read or written, or a request that JSON cannot hold."""


class ReplayMiss(GraphAgentError):
    """A request that the recording has no reply for, or none any more. `key` is the request's."""

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


class RecordedError(LLMError):
    """An error that the model raised while it was recorded. `kind` is the name that it had then."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class RecordingLLM:
    """Passes every request on to `llm`, and adds a line to `path` for each reply and each `LLMError`.

    Each line is written whole and flushed before the reply is handed on. Threads may share it.
    """

    def __init__(self, llm: LLM, path: Path | str) -> None:
        self._llm, self._path, self._lock = llm, Path(path), Lock()
        _check_can_add(self._path)

    def complete(self, request: Request, /) -> Any:
        """The model's reply, or an awaitable of it when the model is asynchronous."""
        asked = {"key": request_key(request), "request": _data(request)}
        try:
            reply = self._llm.complete(request)
        except LLMError as error:
            self._write({**asked, "error": _described(error)})
            raise
        if isawaitable(reply):
            return self._record_later(asked, reply)
        self._write({**asked, "reply": asdict(reply)})
        return reply

    async def _record_later(self, asked: Mapping[str, Any], coming: Awaitable[Reply]) -> Reply:
        try:
            reply = await coming
        except LLMError as error:
            self._write({**asked, "error": _described(error)})
            raise
        self._write({**asked, "reply": asdict(reply)})
        return reply

    def _write(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry) + "\n"
        with self._lock, self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line)


class ReplayLLM:
    """A model that answers from a recording. A request that was recorded several times gets its replies in order.

    A recorded error is raised again, as `RecordedError`. Raises `ReplayMiss` for any request too many.
    """

    def __init__(self, path: Path | str) -> None:
        self._path, self._lock = Path(path), Lock()
        self._entries: dict[str, list[_Entry]] = {}
        self._used: dict[str, int] = {}
        for entry in _entries(self._path):
            self._entries.setdefault(entry.key, []).append(entry)

    def complete(self, request: Request, /) -> Reply:
        """The next reply that was recorded for this request."""
        key = request_key(request)
        recorded = self._entries.get(key, [])
        with self._lock:
            used = self._used.get(key, 0)
            self._used[key] = used + 1
        if not recorded:
            raise ReplayMiss(self._miss(request), key=key)
        if used >= len(recorded):
            times = f"{len(recorded)} time{'s' * (len(recorded) > 1)}"
            said = f"{self._path.name} has this request {times}, and it was asked once more: {_begins(request)}"
            raise ReplayMiss(said, key=key)
        outcome = recorded[used].outcome
        if isinstance(outcome, RecordedError):
            raise RecordedError(outcome.kind, outcome.message)
        return outcome

    def _miss(self, request: Request) -> str:
        said = f"{self._path.name} has no reply to this request: {_begins(request)}."
        wanted = dict(_leaves(_data(request)))
        recorded = ((dict(_leaves(_data(group[0].request))), group[0]) for group in self._entries.values())
        ranked = [(_differing(wanted, other), other, entry) for other, entry in recorded]
        if not ranked:
            return f"{said} The file is empty: record it first."
        paths, nearest, entry = min(ranked, key=lambda one: len(one[0]))
        shown = "; ".join(_difference(path, nearest, wanted) for path in paths[:5])
        more = f"; and {len(paths) - 5} more" if len(paths) > 5 else ""
        return (
            f"{said} The nearest is on line {entry.line}, and differs in {shown}{more}. Record again if that is meant."
        )


@dataclass(frozen=True, kw_only=True)
class _Entry:
    line: int
    key: str
    request: Request
    outcome: Reply | RecordedError


def request_key(request: Request) -> str:
    """The SHA-256 of the request as canonical JSON: equal requests, equal keys. What is None does not count."""
    return sha256(_canonical(request).encode("ascii")).hexdigest()


def _canonical(request: Request) -> str:
    return json.dumps(_data(request), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _data(request: Request) -> dict[str, Any]:
    """The request as JSON data, without the fields that are None; `0` and `0.0` are one temperature."""
    given = {field.name: getattr(request, field.name) for field in fields(request)}
    if request.temperature is not None:
        given["temperature"] = float(request.temperature)
    try:
        text = json.dumps(
            {name: value for name, value in given.items() if value is not None}, allow_nan=False, default=_plain
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(f"the request is not JSON data: {error}; found in: {_begins(request)}") from error
    data: dict[str, Any] = json.loads(text)
    return data


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in a request's context")


def _described(error: LLMError) -> dict[str, str]:
    return {"kind": str(getattr(error, "kind", type(error).__name__)), "message": str(error)}


def _check_can_add(path: Path) -> None:
    """Find out now, not after the first call: the file can be written, and what is in it is a recording."""
    try:
        path.open("a", encoding="utf-8").close()
        whole = path.read_bytes()[-1:] in (b"", b"\n")
    except OSError as error:
        raise RecordingError(f"the recording {path.name} cannot be written: {error}") from error
    tuple(_entries(path))
    if not whole:
        raise RecordingError(f"the last line of {path.name} has no end: remove it, or end it, and start again")


def _entries(path: Path) -> Iterator[_Entry]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"the recording {path.name} cannot be read: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _entry(line, number, path.name)


def _entry(line: str, number: int, name: str) -> _Entry:
    try:
        data = json.loads(line)
        request = Request(**data["request"])
        key = request_key(request)
        outcome = RecordedError(**data["error"]) if "error" in data else decode(Reply, data["reply"])
    except (ValueError, TypeError, KeyError, RecursionError, CodecError) as error:
        raise RecordingError(f"line {number} of {name} is no recorded call: {quote(line)}: {error!r}") from error
    if data["key"] != key:
        raise RecordingError(f"line {number} of {name} was changed by hand: its request has the key {key}")
    return _Entry(line=number, key=key, request=request, outcome=outcome)


def _begins(request: Request) -> str:
    return quote(request.instructions)


def _leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value of JSON data, by its path: `context.files['a.py']`, `context.tried[2]`."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            name = (f".{key}" if path else key) if key.isidentifier() else f"[{key!r}]"
            yield from _leaves(value, f"{path}{name}")
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _leaves(value, f"{path}[{index}]")
    else:
        yield path, data


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [path for path in {**one, **other} if path not in one or path not in other or one[path] != other[path]]


def _difference(path: str, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    one, other = recorded.get(path), now.get(path)
    if isinstance(one, str) and isinstance(other, str):
        parts = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        same = next(parts, min(len(one), len(other)))
        cut = max(same - 20, 0)  # of two long texts, show the part where they part
        return f"{path} from character {same} on: {quote(one[cut:])} was recorded, now {quote(other[cut:])}"
    was, now_is = (quote(leaves[path]) if path in leaves else "nothing" for leaves in (recorded, now))
    return f"{path}: {was} was recorded, now {now_is}"
