"""The fold: from a journal's records to the state, on plain JSON data.

A record of a step holds what that step changed: the new value of a replaced field, the added items of an appended one,
and where the run went. The rule: the fold asks no node and no router, so it gives the state that was, whatever the code
says today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from graph_agent.protocols import Json
from graph_agent.runtime.codec import writer_of
from graph_agent.runtime.errors import JournalCorrupt, JournalError, StateError
from graph_agent.runtime.graph import stage_name
from graph_agent.runtime.records import Record
from graph_agent.runtime.state import RUNTIME_FIELDS, GraphState, append_of
from graph_agent.runtime.typecheck import hints

STEPS = ("finished", "limit", "failed", "doubt", "answered", "limit_raised")
FACTS = ("started", "asked", "checked", "forked", "migrated")
_OURS = RUNTIME_FIELDS - {"max_turns"}


@dataclass
class Folded:
    """Where a run stands by its records. `raw` is the state as JSON.

    `in_flight` is the `started` that nothing ended, `asked` the question that nobody answered, `checked` the last look
    at the world and `answered_since` whether a person was there after it; `shape` and `versions` are those of `raw`.
    """

    header: Record
    raw: dict[str, Any]
    seq: int
    shape: Any
    versions: dict[str, int]
    in_flight: Record | None = None
    asked: Record | None = None
    checked: Record | None = None
    answered_since: bool = False
    appended: frozenset[str] = field(default_factory=frozenset)


def fold(records: Iterable[Record], where: str) -> Folded:
    """Fold all records. Raises `JournalCorrupt`: no header, a gap or a repetition in `seq`, an unknown type."""
    folded: Folded | None = None
    for folded in folds(records, where):  # noqa: B007  # the last one
        pass
    if folded is None:
        raise JournalCorrupt(f"{where} has no header: nothing of the run is left", line=1)
    return folded


def folds(records: Iterable[Record], where: str) -> Iterator[Folded]:
    """Where the run stood after each record, in order: one object, which the next record changes."""
    folded: Folded | None = None
    for number, record in enumerate(records, 1):
        if folded is None:
            folded = _begun(record, where)
        elif record.get("seq") != folded.seq + 1:
            found = f"{where}, line {number}: seq is {record.get('seq')!r} after {folded.seq}"
            raise JournalCorrupt(f"{found}: a record is missing, or stands twice", line=number)
        else:
            _fold(folded, record, f"{where}, line {number}", number)
            folded.seq += 1
        yield folded


def at_step(records: Iterable[Record], where: str, step: int) -> tuple[int, dict[str, Any]]:
    """The `seq` of the last record after which so many steps were made, and the state there, as JSON.

    Raises `JournalError` when no record has it: the journal begins later, or does not go so far.
    """
    found: tuple[int, dict[str, Any]] | None = None
    first = last = 0
    shortened = False
    for number, folded in enumerate(folds(records, where)):
        shortened = "compacted" in folded.header
        last = folded.raw["steps"]
        first = first if number else last
        if last == step:
            found = folded.seq, {**folded.raw, **{name: list(folded.raw[name]) for name in folded.appended}}
    if found is None:
        text = f"the run {where} has no step {step}: its journal has {first} to {last}"
        raise JournalError(f"{text}, the ones before were compacted" if shortened and 0 <= step < first else text)
    return found


def changed(
    record: Record, before: GraphState, after: GraphState, to: str = "", names: Iterable[str] | None = None
) -> Record:
    """The record, with what the step changed added to it: the inverse of the fold.

    `to` is the name of the stage that follows and `names` the fields of the patch that was merged, for who knows that
    already; by default all are looked at. Raises `StateError` for an appended field that did not grow.
    """
    record["to"], record["reason"] = to or stage_name(after.stage), after.route_reason
    record["step"] = after.steps
    if patch := _patch(before, after, names):
        record["patch"] = patch
    if after.spent_turns:
        record["spent"] = after.spent_turns
    if after.came_from is not None:
        record["came_from"] = stage_name(after.came_from)
    return record


def _patch(before: GraphState, after: GraphState, names: Iterable[str] | None) -> dict[str, Json]:
    """Those that are not the same object any more. What a merge let grow did grow: no look at all that was before."""
    patch: dict[str, Json] = {}
    its_class: Any = type(after)
    writers, old, new = _writers(its_class), before.__dict__, after.__dict__
    for name in new if names is None else names:
        value, was = new[name], old[name]
        if value is was or name not in writers:
            continue
        write, grows = writers[name]
        if grows:
            if names is None and value[: len(was)] != was:
                raise StateError(f"{name} only grows, and is not what it was before this step", state=before)
            value = value[len(was) :]
        patch[name] = value if write is None else write(value)
    return patch


def appended_fields(state: type[GraphState]) -> list[Json]:
    return [declared.name for declared in fields(state) if append_of(declared) is not None]


@cache
def _writers(state: Any) -> dict[str, tuple[Callable[[Any], Json] | None, bool]]:
    """For each field that a step may change: how it is written (None: as it is), and whether it grows."""
    types = hints(state)
    return {
        declared.name: (writer_of(types[declared.name]), append_of(declared) is not None)
        for declared in fields(state)
        if declared.name not in _OURS
    }


def _begun(record: Any, where: str) -> Folded:
    raw, seq, shape = record.get("state"), record.get("seq"), record.get("shape")
    if record.get("type") != "header" or not isinstance(raw, dict) or not isinstance(seq, int):
        raise JournalCorrupt(f"{where}, line 1: the first record is no header", line=1)
    versions = {"schema": record["schema_version"], "workflow": record["workflow_version"]}
    folded = Folded(header=record, raw=_copied(raw), seq=seq, shape=shape, versions=versions)
    folded.appended = frozenset(shape["appended"])
    folded.checked, folded.answered_since = record.get("checked"), record.get("answered_since", False)
    return folded


def _fold(folded: Folded, record: Any, where: str, line: int) -> None:
    kind = record.get("type")
    if kind in STEPS:
        _step(folded, record)
        folded.answered_since |= kind == "answered"
    elif kind == "started":
        folded.in_flight = record
    elif kind == "asked":
        folded.asked = record
    elif kind == "checked":
        folded.checked, folded.answered_since = record, record.get("let_pass", False)
    elif kind == "forked":
        folded.raw["task_id"] = record["task_id"]
        folded.in_flight = folded.asked = None
    elif kind == "migrated":
        folded.raw, folded.shape, folded.versions = _copied(record["state"]), record["shape"], record["versions"]
        folded.appended = frozenset(record["shape"]["appended"])
    else:
        raise JournalCorrupt(f"{where}: there is no record type {kind!r}", line=line)


def _step(folded: Folded, record: Any) -> None:
    raw = folded.raw
    folded.in_flight = folded.asked = None
    for name, value in record.get("patch", {}).items():
        if name in folded.appended:
            raw[name].extend(value)
        else:
            raw[name] = value
    raw["spent_turns"] = record.get("spent", 0)
    if not record.get("stopped"):
        raw["steps"] = record["step"]
        raw["stage"], raw["route_reason"] = record["to"], record["reason"]
        raw["came_from"] = record.get("came_from")


def _copied(raw: Any) -> dict[str, Any]:
    """The fold grows lists in place, so it works on its own."""
    return {name: list(value) if isinstance(value, list) else value for name, value in raw.items()}
