"""Record what a model was asked and answered, and play it back without the model.

A recording is a file of JSON lines, one a call: key, request, and the reply or the error. The rule: a reply is played
back only for the very request it was given to, as often as it was recorded; anything else is an error that says what
differs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator
from dataclasses import asdict
from difflib import unified_diff
from hashlib import sha256
from inspect import isawaitable
from pathlib import Path
from threading import Lock
from typing import Any

from graph_agent.protocols import LLM, GraphAgentError, LLMError, Reply, Request
from graph_agent.runtime.codec import decode
from graph_agent.runtime.jsontext import quote


class RecordingError(GraphAgentError):
    """A recording that cannot be read or written, or a request that JSON cannot hold."""


class ReplayMiss(GraphAgentError):
    """A request that the recording has no reply for, or none any more."""


class RecordedError(LLMError):
    """An error that the model raised while it was recorded. `kind` is the name that it had then."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class RecordingLLM:
    """Passes every request on to `llm`, and adds a line to `path` for each reply and each `LLMError`.

    Each line is written whole and flushed before the reply is handed on. Threads may share it.
    """

    def __init__(self, llm: LLM, path: Path | str) -> None:
        self._llm, self._path, self._lock = llm, Path(path), Lock()
        try:
            self._path.touch()  # what cannot be written is found out now, not after the first call
        except OSError as error:
            raise RecordingError(f"the recording {self._path.name} cannot be written: {error}") from error
        list(_calls(self._path))

    def complete(self, request: Request, /) -> Any:
        """The model's reply, or an awaitable of it when the model is asynchronous."""
        asked = _canonical(request)
        try:
            reply = self._llm.complete(request)
        except LLMError as error:
            self._add(asked, error)
            raise
        if isawaitable(reply):
            return self._complete_later(asked, reply)
        self._add(asked, reply)
        return reply

    async def _complete_later(self, asked: str, coming: Awaitable[Reply]) -> Reply:
        try:
            reply = await coming
        except LLMError as error:
            self._add(asked, error)
            raise
        self._add(asked, reply)
        return reply

    def _add(self, asked: str, said: Reply | LLMError) -> None:
        entry = {"key": _key(asked), "request": json.loads(asked)}
        if isinstance(said, Reply):
            entry["reply"] = asdict(said)
        else:
            entry["error"] = {"kind": getattr(said, "kind", type(said).__name__), "message": str(said)}
        with self._lock, self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(entry) + "\n")


class ReplayLLM:
    """A model that answers from a recording. A request that was recorded several times gets its replies in order.

    A recorded error is raised again, as `RecordedError`. Raises `ReplayMiss` for any request too many.
    """

    def __init__(self, path: Path | str) -> None:
        self._name, self._lock = Path(path).name, Lock()
        self._left: dict[str, list[Reply | RecordedError]] = {}
        self._lines: dict[str, int] = {}
        for line, (asked, said) in enumerate(_calls(Path(path)), 1):
            self._lines.setdefault(asked, line)
            self._left.setdefault(asked, []).append(said)

    def complete(self, request: Request, /) -> Reply:
        """The next reply that was recorded for this request."""
        asked = _canonical(request)
        with self._lock:
            if not self._left.get(asked):
                raise ReplayMiss(self._miss(asked, quote(request.instructions)))
            said = self._left[asked].pop(0)
        if isinstance(said, RecordedError):
            raise said
        return said

    def _miss(self, asked: str, begins: str) -> str:
        if asked in self._lines:
            return f"{self._name} has no further reply to this request, which was asked once more: {begins}"
        said = f"{self._name} has no reply to this request: {begins}."
        if not self._lines:
            return f"{said} The file is empty: record it first."
        now = _shown(asked)
        near = max(self._lines, key=lambda other: len(set(now).intersection(_shown(other))))
        changed = [f"\n{line[:120]}" for line in unified_diff(_shown(near), now, n=0, lineterm="") if line[:2] != "@@"]
        more = f"\nand {len(changed) - 8} more lines" if len(changed) > 8 else ""
        differences = "".join(changed[2:8]) + more
        return f"{said} The nearest is on line {self._lines[near]}:{differences}\nRecord again if that is meant."


def _key(asked: str) -> str:
    return sha256(asked.encode("ascii")).hexdigest()


def _canonical(request: Request) -> str:
    """The request as JSON, keys sorted, without the fields that are None; `0` and `0.0` are one temperature."""
    given = {name: value for name, value in vars(request).items() if value is not None}
    if request.temperature is not None:
        given["temperature"] = float(request.temperature)
    try:
        return json.dumps(given, sort_keys=True, separators=(",", ":"), allow_nan=False, default=dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(f"the request {quote(request.instructions)} is not JSON data: {error}") from error


def _calls(path: Path) -> Iterator[tuple[str, Reply | RecordedError]]:
    """Each call of a recording: the request as canonical JSON, and what came of it."""
    try:
        *lines, rest = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"the recording {path.name} cannot be read: {error}") from error
    if rest:
        raise RecordingError(f"the last line of {path.name} has no end: remove it, or end it, and start again")
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            asked = _canonical(Request(**data["request"]))
            if data["key"] != _key(asked):
                raise ValueError("it was changed by hand, its key is that of another request")
            yield asked, RecordedError(**data["error"]) if "error" in data else decode(Reply, data["reply"])
        except (ValueError, TypeError, KeyError, RecursionError, GraphAgentError) as error:
            raise RecordingError(
                f"line {number} of {path.name} is no recorded call: {quote(line)}: {error!r}"
            ) from error


def _shown(asked: str) -> list[str]:
    """A request one value a line, and the texts in it line by line."""
    return json.dumps(json.loads(asked), indent=1, ensure_ascii=False).replace("\\n", "\n").splitlines()
