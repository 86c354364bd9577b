"""Run one node again on the state that it had, with what models and tools had answered then, and tell what differs.

For a node whose code changed since, or that is not sure to give the same twice. The rule: nothing outside is touched;
an answer is given only to the question that it was an answer to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from graph_agent.protocols import Context, Reply, Request, Tool, ToolResult
from graph_agent.runtime import recording
from graph_agent.runtime.advance import advance, said
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError, JournalError, RunError
from graph_agent.runtime.fold import STEPS, folds
from graph_agent.runtime.graph import Graph, Step
from graph_agent.runtime.jsontext import quote, shown
from graph_agent.runtime.limits import BudgetSpent, Meter
from graph_agent.runtime.records import Record
from graph_agent.runtime.state import GraphState

HOW_TO_RECORD = "runs that are made with GRAPH_AGENT_RECORD=1 are recorded"


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a step was and what differs now, a sentence each; none: it is the same."""

    step: int
    stage: str
    differences: tuple[str, ...]


def replay_step(
    records: Iterable[Record],
    blobs: Blobs,
    graph: Graph[Any],
    step: int,
    *,
    tools: Iterable[Tool] = (),
    policy: Any = None,
) -> Replayed:
    """Run the node of a step again. `tools` are asked for the types of their values alone, and not called.

    Raises `JournalError` for a step that is not there, at which no node ran, or that was not recorded; `BlobError`.
    """
    record, before, after = _found(records, step)
    entry = graph.steps[decode(type(graph.start), record["stage"])]
    if "recorded" not in record and entry.calls:
        text = f"step {step} asked a model or tools, and what they answered was not recorded"
        raise JournalError(f"{text}: {HOW_TO_RECORD}")
    import json

    told: Any = json.loads(blobs.read(record["recorded"])) if "recorded" in record else {"models": [], "tools": []}
    state: GraphState = decode(graph.state, before, "state")
    models, calls = _Models(told["models"]), _Calls(told["tools"], {tool.name: tool for tool in tools}, entry.tools)
    ctx = Context(llm=models, tools=calls, policy=policy)
    differences = [*_ran(graph, entry, state, ctx, record, after), *models.left(), *calls.left()]
    return Replayed(step=step, stage=entry.stage, differences=(*models.wrong, *calls.wrong, *differences))


def _found(records: Iterable[Record], step: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The record of a step, and the state before and after it."""
    found: Any = None
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    last: dict[str, Any] | None = None
    listed = tuple(records)
    for record, folded in zip(listed, folds(listed, "the run"), strict=True):
        if record["type"] in STEPS and record["step"] == step and last is not None:
            found, before, after = record, last, _copy(folded.raw)
        last = _copy(folded.raw)
    if found is None:
        raise JournalError(f"there is no step {step} in the journal")
    if found["type"] not in ("finished", "failed"):
        said_ = {
            "answered": "a person answered",
            "limit": "the budget stopped the run",
            "doubt": "a resume was in doubt",
        }
        raise JournalError(f"at step {step} {said_.get(found['type'], found['type'])}: no node can be run again there")
    return found, before, after


def _copy(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, list) else value for name, value in raw.items()}


def _ran(graph: Graph[Any], entry: Step, state: Any, ctx: Context, record: Any, after: dict[str, Any]) -> Iterator[str]:
    left = None if state.max_turns is None else max(0, state.max_turns - state.spent_turns)
    meter = Meter(left, metered=entry.metered)
    try:
        patch = entry.run(state, ctx.bind(entry, meter, state))
        if isawaitable(patch):
            patch = asyncio.run(_awaited(patch))
    except (Exception, BudgetSpent) as error:  # noqa: BLE001  # a result, like any other
        now = f"{entry.stage} failed: {said(error)}"
        if record["type"] != "failed" or record["reason"] != now:
            yield f"it failed: {said(error)}; recorded: {record['reason']}"
        return
    if record["type"] == "failed":
        yield f"it did not fail; recorded: {record['reason']}"
    try:
        then: Any = encode(advance(graph, state, patch, turns=meter.close()))
    except RunError as error:
        yield str(error)
        return
    for name, value in then.items():
        if value != after[name]:
            yield f"{name} is {quote(value)}; recorded: {quote(after[name])}"


async def _awaited(coming: Any) -> Any:
    return await coming


class _Models:
    """A model that gives the recorded replies, in their order."""

    def __init__(self, recorded: list[Any]) -> None:
        self._recorded, self._next, self.wrong = recorded, 0, list[str]()

    def complete(self, request: Request, /) -> Reply:
        self._next += 1
        if self._next > len(self._recorded):
            self.wrong.append(f"request {self._next} was not made then: {quote(request.instructions)}")
            raise CodecError("", "there is no recorded reply to it")
        told = self._recorded[self._next - 1]
        now = recording.request_data(request)
        for name, value in now.items():
            if value != told["request"][name]:
                self.wrong.append(
                    f"{name} of request {self._next} is {quote(value)}; recorded: {quote(told['request'][name])}"
                )
        return recording.reply_of(told)

    def left(self) -> Iterator[str]:
        for told in self._recorded[self._next :]:
            yield f"a request was not made: {quote(told['request']['instructions'])}"


class _Calls:
    """Tools that give the recorded results; side by side calls may come in any order."""

    def __init__(self, recorded: list[Any], tools: dict[str, Tool], names: Collection[str]) -> None:
        self._recorded, self._tools, self._names, self.wrong = list(recorded), tools, tuple(names), list[str]()

    def specs(self) -> tuple[Tool, ...]:
        return tuple(self._tools[name] for name in self._names if name in self._tools)

    def only(self, names: Collection[str], /) -> _Calls:
        return self

    def call(self, name: str, /, **arguments: Any) -> ToolResult:
        asked = recording.call_data(name, arguments)
        told = next((one for one in self._recorded if all(one[key] == asked[key] for key in asked)), None)
        if told is None:
            self.wrong.append(f"a call was not made then: {name}({_words(arguments)})")
            raise CodecError("", "there is no recorded result of it")
        self._recorded.remove(told)
        return recording.result_of(told, getattr(self._tools.get(name), "returns", None))

    def left(self) -> Iterator[str]:
        for told in self._recorded:
            yield f"a call was not made: {told['tool']}({', '.join(told['arguments'])})"


def _words(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={quote(shown(value))}" for name, value in arguments.items())
