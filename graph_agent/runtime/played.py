"""What was recorded of a visit, given out again: a model and tools that answer what they were asked then, and no more.

The rule: an answer is given once, and only to the very question that it was an answer to. For any other the visit ends,
by a signal that is no `Exception`, so that no node goes on from what nobody said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock, get_ident
from typing import Any

from graph_agent.protocols import Effect, Request, Tool, ToolDenied
from graph_agent.runtime import recording
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.graph import Step
from graph_agent.runtime.jsontext import quote, shown

_MOST = 50  # characters of a long text


class NotRecorded(BaseException):
    """The node asked something to which there is no answer. No `Exception`, so that no node goes on after it."""


@dataclass
class Played:
    """What was recorded of one kind, each given out once; `wrong`: what was asked besides, or can't be given."""

    kind: str
    recorded: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = list(enumerate(self.recorded))
        self.wrong: list[str] = []
        self._order: list[int] = []
        self._visit, self._side_by_side = get_ident(), any(told.get("awaited") for told in self.recorded)
        self._lock = Lock()

    def take(self, asked: dict[str, Any]) -> Any:
        """The first that was the answer to this and is not given out yet; None where there is none."""
        with self._lock:
            self._side_by_side |= get_ident() != self._visit
            wanted = _key(asked)
            for place, (number, told) in enumerate(self.left):
                if _key({name: told[name] for name in asked}) == wanted:
                    del self.left[place]
                    self._order.append(number)
                    return told
            return None

    def refused(self, *found: str) -> NotRecorded:
        self.wrong += found
        return NotRecorded()

    def rest(self) -> Iterator[str]:
        """What was not asked again, or not in that order, which means nothing where it was asked side by side."""
        for _, told in self.left:
            yield f"a {self.kind} was not made: {_named(told)}"
        if not self._side_by_side and self._order != sorted(self._order):
            numbers = ", ".join(str(number + 1) for number in self._order)
            yield f"the {self.kind}s were made in another order: as recorded they are {numbers}"


class Models:
    """A model that gives the recorded replies."""

    def __init__(self, played: Played) -> None:
        self._played, self._asked = played, 0

    def complete(self, request: Request, /) -> Any:
        self._asked += 1
        now = recording.request_data(request)
        told = self._played.take({"request": now})
        if told is None:
            raise self._played.refused(*self._unlike(now, self._asked))
        return _given(told, recording.reply_of, self._played, f"the reply to request {self._asked}")

    def _unlike(self, now: dict[str, Any], number: int) -> list[str]:
        if not self._played.left:
            return [f"request {number} was not made then: {quote(now['instructions'])}"]
        then = self._played.left[0][1]["request"]
        return [text for name in now for text in differs(f"{name} of request {number}", now[name], then[name])]


class Tools:
    """Tools that give the recorded results."""

    def __init__(self, played: Played, entry: Step, tools: Iterable[Tool]) -> None:
        metered = {told["tool"]: told.get("metered", True) for told in played.recorded}
        given = {tool.name: tool for tool in tools}
        self._specs = tuple(given.get(name) or _Spec(name, metered.get(name, True)) for name in entry.tools)
        self._played = played

    def specs(self) -> tuple[Tool, ...]:
        return self._specs

    def only(self, _: Collection[str], /) -> Tools:
        return self

    def call(self, name: str, /, **arguments: Any) -> Any:
        told = self._played.take(recording.call_data(name, arguments))
        if told is None:
            words = ", ".join(f"{key}={quote(shown(value))}" for key, value in arguments.items())
            raise self._played.refused(f"a call was not made then: {name}({words})")
        return _given(told, recording.result_of, self._played, f"what {name} gave")


def differs(what: str, now: Any, then: Any) -> Iterator[str]:
    """Where two values of JSON data first differ, as deep as that can be told."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        for name in now:
            yield from differs(f"{what}.{name}", now[name], then[name])
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for number, pair in enumerate(zip(now, then, strict=True)):
            yield from differs(f"{what}[{number}]", *pair)
    elif _key(now) != _key(then):
        yield f"{what} is {_part(now, then)}; recorded: {_part(then, now)}"


def _named(told: dict[str, Any]) -> str:
    if "request" in told:
        return quote(told["request"]["instructions"])
    return f"{told['tool']}({', '.join(told['arguments'])})"


@dataclass(frozen=True)
class _Spec:
    """A tool of which no more is known than that it was called."""

    name: str
    metered: bool
    description: str = "not described here: give replay_step the tools"
    effect: Effect = "read"
    schema: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, /, **_: Any) -> Any:
        raise ToolDenied("a replay calls no tool")


def _given(told: dict[str, Any], read: Callable[[dict[str, Any]], Any], played: Played, what: str) -> Any:
    """The answer, as it came then: at once or awaited, returned or raised."""
    try:
        answer = read(told)
    except CodecError as error:
        raise played.refused(f"{what} can't be given again: {error}") from error
    if told.get("awaited"):
        return _later(answer)
    if isinstance(answer, Exception):
        raise answer
    return answer


async def _later(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


def _part(text: Any, other: Any) -> str:
    """A value in short; of a long text the part where it differs from the other."""
    if not isinstance(text, str) or not isinstance(other, str) or max(len(text), len(other)) <= _MOST:
        return quote(text)
    common = next((at for at, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), None)
    start = max(0, (min(len(text), len(other)) if common is None else common) - 10)
    return f"{'...' if start else ''}{quote(text[start : start + _MOST])}"


def _key(data: Any) -> str:
    return json.dumps(data, sort_keys=True)
