"""A model that says what it was told to say, so that a graph can be tested without a network.

`FakeLLM` takes a script (a list of what comes back, in order) or a function of the request, and keeps every request.
Its rule: a call that the script does not have, and a line of the script that nobody asked for, are both errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from threading import Lock
from types import TracebackType
from typing import TypeAlias

from graph_agent.protocols import GraphAgentError, Reply, Request

Scripted: TypeAlias = object
"""A text, a `Reply`, an error to raise, JSON data (dict or list), or a dataclass, which is sent as its JSON."""


class FakeLLMError(GraphAgentError, AssertionError):
    """The script and the calls do not fit. It is no `LLMError`: code that copes with bad models must not hide it."""


class FakeLLM:
    """A scripted model. `requests` is what it was asked, in order, unexpected calls included.

    Safe to share between threads; as a context manager it checks at the end that the script was used up.
    """

    def __init__(self, script: Iterable[Scripted] | Callable[[Request], Scripted]) -> None:
        self.requests: list[Request] = []
        self._lock = Lock()
        self._unexpected: list[str] = []
        self._function = script if callable(script) else None
        self._script = () if callable(script) else _prepared(script)

    def complete(self, request: Request, /) -> Reply:
        """The next reply of the script, or what the function makes of the request."""
        with self._lock:
            self.requests.append(request)
            call = len(self.requests)
            if self._function is None and call > len(self._script):
                self._unexpected.append(_unexpected(call, request, len(self._script)))
                raise FakeLLMError(self._unexpected[-1])
        if self._function is not None:
            said = _outcome(self._function(request), f"the function's answer to call {call}")
        else:
            said = self._script[call - 1]
        if isinstance(said, Exception):
            raise said
        return said

    def assert_consumed(self) -> None:
        """Raise `FakeLLMError` when replies are left over, or when an unexpected call was made and swallowed."""
        with self._lock:
            left = self._script[len(self.requests) :]
            unexpected = tuple(self._unexpected)
        if unexpected:
            raise FakeLLMError(unexpected[0])
        if left:
            said = f"{len(left)} of {len(self._script)} scripted replies were never asked for"
            raise FakeLLMError(f"{said}; the first is number {len(self._script) - len(left) + 1}: {_short(left[0])}")

    def __enter__(self) -> FakeLLM:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:  # an error on its way out says more than the leftovers that it caused
            self.assert_consumed()


def _prepared(script: Iterable[Scripted]) -> tuple[Reply | Exception, ...]:
    if isinstance(script, str | Mapping | Reply) or not isinstance(script, Iterable):
        raise FakeLLMError(f"a script is a list of replies, not one {type(script).__name__}: write FakeLLM([...])")
    return tuple(_outcome(item, f"scripted reply {number}") for number, item in enumerate(script, 1))


def _outcome(item: Scripted, where: str) -> Reply | Exception:
    if isinstance(item, Reply | Exception):
        return item
    if isinstance(item, str):
        return Reply(text=item)
    try:
        return Reply(text=json.dumps(_data(item), ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        allowed = "a text, a Reply, an error, JSON data, or a dataclass"
        raise FakeLLMError(f"{where} is {_short(item)}, which is not {allowed}: {error}") from error


def _data(item: Scripted) -> object:
    if isinstance(item, dict | list):
        return item
    if is_dataclass(item) and not isinstance(item, type):
        from graph_agent.runtime.codec import encode

        return encode(item)
    raise TypeError(f"found {type(item).__name__}")


def _unexpected(call: int, request: Request, scripted: int) -> str:
    asked = _short(request.instructions, 300)
    return f"call {call} of the model was not expected: the script has {scripted} replies. It was asked: {asked}"


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."
