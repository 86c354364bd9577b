"""Run one node again on the state that it had, with what models and tools had answered then, and tell what differs.

For a node whose code changed since, or that is not sure to give the same twice. The rule: nothing outside is touched,
and an answer is given only to the question that it was an answer to; a visit that asks anything else ends there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from graph_agent.protocols import Context, Tool
from graph_agent.runtime.advance import said
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.codec import encode
from graph_agent.runtime.compat import fitted
from graph_agent.runtime.errors import JournalError, NodeError, RunError, StepLimitReached
from graph_agent.runtime.events import Event
from graph_agent.runtime.fold import STEPS, at_step, fold, folds
from graph_agent.runtime.graph import Graph, Step
from graph_agent.runtime.played import Models, NotRecorded, Played, Tools, differs
from graph_agent.runtime.records import Record
from graph_agent.runtime.run import arun_graph, run_graph
from graph_agent.runtime.state import GraphState
from graph_agent.runtime.texts import Texts

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
    """Run the node of a step again. `tools` are for a node that looks at their `specs()`, and are not called.

    An asynchronous node gets an event loop of its own. What tools returned is read as the classes that the program has
    loaded. Raises `JournalError` for a step that is not there, at which no node ran, or that was not recorded;
    `RunMisfit`, `BlobError`.
    """
    records = tuple(records)
    where = str(records[0]["run"]) if records else "the run"
    at = _place(records, where, step)
    record: Any = records[at]
    state: GraphState = fitted(graph, fold(records[:at], where), where).state
    entry = graph.steps[state.stage]
    models, calls = Played("request"), Played("call")
    if "recorded" in record:
        told = json.loads(blobs.read(record["recorded"]))
        models, calls = Played("request", told["models"]), Played("call", told["tools"])
    elif "model_calls" in record or "tools" in record:
        text = f"step {step} asked a model or tools, and what they answered was not recorded"
        raise JournalError(f"{text}: {HOW_TO_RECORD}")
    has_tools = entry.tools or calls.left
    texts = Texts(behind=blobs.read)
    own_tools = Tools(calls, entry, tools) if has_tools else None
    ctx = Context(llm=Models(models), tools=own_tools, policy=policy, keep=texts.keep, read=texts.read)
    event = _ran(graph, entry, state, ctx)
    found = [*models.wrong, *calls.wrong]
    if event is not None:
        after = fold(records[: at + 1], where).raw
        found += [*_ended(record, event, after), *models.rest(), *calls.rest()]
    return Replayed(step=step, stage=entry.stage, differences=tuple(found))


def _place(records: tuple[Record, ...], where: str, step: int) -> int:
    """Where the record of a step's node is: the last of its visits, should it have been stopped and made again."""
    found, before = 0, None
    for number, folded in enumerate(folds(records, where)):
        record: Any = records[number]
        made = record["type"] in STEPS and (record.get("stopped") or record["step"] == step)
        if made and before == step - 1:
            found = number
        before = folded.raw["steps"]
    if not found:
        at_step(records, where, step)  # raises for one that is not there
        text = f"step {step} is where the journal of {where} begins"
    elif "seconds" not in records[found] or records[found].get("attempts") == 0:
        text = f"at step {step} {_NO_NODE.get(str(records[found]['type']), 'a resume went on')}"
    else:
        return found
    raise JournalError(f"{text}: no node can be run again there")


_NO_NODE = {"answered": "a person answered", "limit": "the budget let no node start"}


def _ran(graph: Graph[Any], entry: Step, state: GraphState, ctx: Context) -> Event | None:
    """The one visit; None when it was ended by a question to which there is no answer."""
    events: list[Event] = []
    try:
        if iscoroutinefunction(entry.run) or iscoroutinefunction(getattr(entry.run, "__call__", None)):  # noqa: B004
            asyncio.run(arun_graph(graph, state, ctx, on_event=events.append, max_steps=1))
        else:
            run_graph(graph, state, ctx, on_event=events.append, max_steps=1)
    except StepLimitReached:
        pass
    except RunError:
        if not events:
            raise
    except NotRecorded:
        return None
    return events[0]


def _ended(record: Any, event: Event, after: Mapping[str, Any]) -> Iterator[str]:
    """How the visit ended, and if that is the same, the state that it led to."""
    same = (record["type"], bool(record.get("stopped"))) == (event.kind, event.to is None)
    if not same or (event.kind == "failed" and record["reason"] != event.reason):
        cause = event.error.error if isinstance(event.error, NodeError) else event.error
        now = f"failed: {said(cause)}" if event.kind == "failed" and cause else _ENDED[event.kind]
        yield f"it {now}; recorded: {record['reason']}"
        return
    if event.attempts != record.get("attempts", 1):
        yield f"it took {event.attempts} attempts; recorded: {record.get('attempts', 1)}"
    state: Any = encode(event.state)
    for name, value in state.items():
        if name in after:  # what is not there is a field that came later
            yield from differs(name, value, after[name])


_ENDED = {"finished": "did not fail", "limit": "was stopped by the budget", "failed": "failed"}
