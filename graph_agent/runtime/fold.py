"""The fold: from a journal's records to the state, on plain JSON data.

A record of a step holds what that step changed: the new value of a replaced field, the added items of an appended one,
and where the run went. The rule: the fold asks no node and no router, so it gives the state that was, whatever the code
says today.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from graph_agent.protocols import Json
from graph_agent.runtime.codec import encode
from graph_agent.runtime.errors import JournalCorrupt
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.records import Record
from graph_agent.runtime.state import RUNTIME_FIELDS, GraphState, append_of
from graph_agent.runtime.typecheck import hints

STEPS = ("finished", "limit", "failed", "doubt", "answered")
FACTS = ("started", "asked", "checked", "forked", "migrated")
_OURS = RUNTIME_FIELDS - {"max_turns", "task_id"}


@dataclass
class Folded:
    """Where a run stands by its records. `raw` is the state as JSON; `in_flight` the `started` without an end."""

    header: Record
    raw: dict[str, Any]
    seq: int
    in_flight: Record | None = None
    asked: Record | None = None
    appended: frozenset[str] = field(default_factory=frozenset)


def fold(records: Iterable[Record], where: str) -> Folded:
    """Fold all records. Raises `JournalCorrupt`: no header, a gap or a repetition in `seq`, an unknown type."""
    folded: Folded | None = None
    for number, record in enumerate(records, 1):
        if folded is None:
            folded = _begun(record, where)
            continue
        if record.get("seq") != folded.seq + 1:
            found = f"{where}, line {number}: seq is {record.get('seq')!r} after {folded.seq}"
            raise JournalCorrupt(f"{found}: a record is missing, or stands twice", line=number)
        folded.seq += 1
        if record["type"] in STEPS:
            _step(folded, record)
        elif record["type"] in FACTS:
            _fact(folded, record)
        else:
            raise JournalCorrupt(f"{where}, line {number}: there is no record type {record['type']!r}", line=number)
    if folded is None:
        raise JournalCorrupt(f"{where} has no header: nothing of the run is left", line=1)
    return folded


def changes(graph: Graph[Any], before: GraphState, after: GraphState) -> Record:
    """What a step changed, as a record's fields: the inverse of the fold."""
    types, patch = hints(graph.state), {}
    for declared in fields(graph.state):
        name = declared.name
        old, new = getattr(before, name), getattr(after, name)
        if new is old or name in _OURS:
            continue
        if append_of(declared) is not None:
            new = new[len(old) :]
        patch[name] = encode(new, types[name], name)
    came_from = after.came_from
    return {
        "patch": patch,
        "step": after.steps,
        "spent": after.spent_turns,
        "to": stage_name(after.stage),
        "reason": after.route_reason,
        **({"came_from": stage_name(came_from)} if came_from is not None else {}),
    }


def appended_fields(graph: Graph[Any]) -> list[Json]:
    return [declared.name for declared in fields(graph.state) if append_of(declared) is not None]


def _begun(record: Record, where: str) -> Folded:
    raw, seq, shape = record.get("state"), record.get("seq"), record.get("shape")
    if record.get("type") != "header" or not isinstance(raw, dict) or not isinstance(seq, int):
        raise JournalCorrupt(f"{where}, line 1: the first record is no header", line=1)
    appended = shape.get("appended", []) if isinstance(shape, dict) else []
    return Folded(header=record, raw=_copied(raw), seq=seq, appended=frozenset(map(str, _list(appended))))


def _step(folded: Folded, record: Any) -> None:
    raw = folded.raw
    folded.in_flight = folded.asked = None
    for name, value in record["patch"].items():
        if name in folded.appended:
            raw[name].extend(value)
        else:
            raw[name] = value
    raw["steps"], raw["spent_turns"] = record["step"], record["spent"]
    if not record.get("stopped"):
        raw["stage"], raw["route_reason"] = record["to"], record["reason"]
        raw["came_from"] = record.get("came_from")


def _fact(folded: Folded, record: Any) -> None:
    if record["type"] == "started":
        folded.in_flight = record
    elif record["type"] == "asked":
        folded.asked = record
    elif record["type"] == "migrated":
        folded.raw = _copied(record["state"])
        folded.appended = frozenset(record["appended"])


def _copied(raw: Any) -> dict[str, Any]:
    """The fold grows lists in place, so it works on its own."""
    return {name: list(value) if isinstance(value, list) else value for name, value in raw.items()}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
