"""A model that says what it was told to say, so that a graph can be tested without a network.

`FakeLLM` takes a script (a list of what comes back, in order) or a function of the request, and keeps every request.
Its rule: a call that the script does not have, and a line of the script that nobody asked for, are both errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from threading import Lock
from typing import TypeAlias

from graph_agent.protocols import GraphAgentError, Reply, Request
from graph_agent.runtime.codec import encode
from graph_agent.runtime.jsontext import quote

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
        self._function = script if callable(script) else None
        self._script = () if callable(script) else _prepared(script)

    def complete(self, request: Request, /) -> Reply:
        """The next reply of the script, or what the function makes of the request."""
        with self._lock:
            self.requests.append(request)
            call = len(self.requests)
        if self._function:
            said = _outcome(self._function(request), f"the function's answer to call {call}")
        elif call <= len(self._script):
            said = self._script[call - 1]
        else:
            raise self._unexpected(call)
        if isinstance(said, Exception):
            raise said
        return said

    def assert_consumed(self) -> None:
        """Raise `FakeLLMError` when replies are left over, or when an unexpected call was made and swallowed."""
        made, scripted = len(self.requests), len(self._script)
        if self._function is None and made > scripted:
            raise self._unexpected(scripted + 1)
        if made < scripted:
            first = f"the first is number {made + 1}: {quote(self._script[made])}"
            raise FakeLLMError(f"{scripted - made} of {scripted} scripted replies were never asked for; {first}")

    def __enter__(self) -> FakeLLM:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:  # an error on its way out says more than the leftovers that it caused
            self.assert_consumed()

    def _unexpected(self, call: int) -> FakeLLMError:
        asked = quote(self.requests[call - 1].instructions)
        said = f"call {call} of the model was not expected: the script has {len(self._script)} replies"
        return FakeLLMError(f"{said}. It was asked: {asked}")


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
        if is_dataclass(item) and not isinstance(item, type):
            item = encode(item)
        if not isinstance(item, dict | list):
            raise TypeError(f"found {type(item).__name__}")
        return Reply(text=json.dumps(item, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        allowed = "a text, a Reply, an error, JSON data, or a dataclass"
        raise FakeLLMError(f"{where} is {quote(item)}, which is not {allowed}: {error}") from error
