"""Does a stored run fit the code of today? The shape that was stored beside it, against the graph as it is now.

Two numbers are declared on the graph: `schema_version` for the state's fields, `workflow_version` for what the stages
mean. The rule: added stages and added fields with a default fit; what the run needs and can't find is refused, with the
differences and the way out, which is a migration. Nothing on the disk changes by looking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from graph_agent.protocols import Json
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError, RunMisfit, nearest
from graph_agent.runtime.fold import Folded, appended_fields
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.typecheck import hints, type_name

Of = Literal["schema", "workflow"]
Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Migration:
    """Makes the raw state of one version one of the next. It is given a copy, and returns the new dict."""

    of: Of
    before: int
    after: int
    change: Change


def migration(of: Of, before: int, after: int) -> Callable[[Change], Migration]:
    """Decorate a function of the raw state (a dict as JSON has it) to list it in `Graph(migrations=...)`."""
    return lambda change: Migration(of, before, after, change)


def shape_of(graph: Graph[Any]) -> dict[str, Json]:
    """What a run's header keeps of the graph: stages, fields with their types, which fields are appended."""
    return {
        "stages": [stage_name(stage) for stage in graph.stages],
        "fields": {name: type_name(tp) for name, tp in hints(graph.state).items()},
        "appended": appended_fields(graph),
    }


@dataclass(frozen=True)
class Fitted:
    """A stored state that fits, and whether migrations made it so."""

    state: Any
    raw: dict[str, Any]
    migrated: tuple[str, ...] = ()


def fitted(graph: Graph[Any], folded: Folded, versions: dict[str, int], run: str) -> Fitted:
    """The typed state of a stored run, migrated where that is needed. Raises `RunMisfit`."""
    raw, done = _migrated(graph, dict(folded.raw), versions, run)
    wrong = tuple(_differences(graph, folded.header, raw, migrated=bool(done)))
    if not wrong:
        try:
            return Fitted(decode(graph.state, raw, "state"), raw, tuple(done))
        except CodecError as error:
            wrong = (str(error),)
    listed = "".join(f"\n  {number}. {text}" for number, text in enumerate(wrong, 1))
    way_out = "raise the graph's schema_version and give it a migration, or run it with the code that it was made with"
    raise RunMisfit(f"the run {run} does not fit the code of today:{listed}\nThe way out: {way_out}.", wrong)


def _migrated(
    graph: Graph[Any], raw: dict[str, Any], versions: dict[str, int], run: str
) -> tuple[dict[str, Any], list[str]]:
    done: list[str] = []
    for of, wanted in (("schema", graph.schema_version), ("workflow", graph.workflow_version)):
        at = versions[of]
        if at > wanted:
            text = f"{of}_version {at} of the run {run} is newer than the {wanted} of this code"
            raise RunMisfit(f"{text}: run it with the newer code", (text,))
        while at < wanted:
            step = next((m for m in graph.migrations if m.of == of and m.before == at), None)
            if step is None:
                text = f"there is no migration of the {of} from version {at} (the run {run}) to {wanted} (this code)"
                raise RunMisfit(f"{text}: give the graph one with @migration({of!r}, {at}, {at + 1})", (text,))
            raw = step.change(dict(raw))
            done.append(f"{of} {at} -> {step.after}")
            at = step.after
    return raw, done


def _differences(graph: Graph[Any], header: Any, raw: dict[str, Any], *, migrated: bool) -> Iterator[str]:
    types = hints(graph.state)
    then: dict[str, str] = {} if migrated else header["shape"]["fields"]
    for name in raw:
        if name not in types:
            yield f"the field {name} is gone from {graph.state.__name__}{nearest(name, types)}"
        elif name in then and then[name] != type_name(types[name]):
            yield f"the field {name} was {then[name]} and is {type_name(types[name])}"
    for declared in fields(graph.state):
        has_default = declared.default is not MISSING or declared.default_factory is not MISSING
        if declared.name not in raw and not has_default:
            yield f"the field {declared.name} is new and has no default"
    stages = {stage_name(stage) for stage in graph.stages}
    for where in ("stage", "came_from"):
        if raw.get(where) is not None and raw[where] not in stages:
            yield f"the run stands at the stage {raw[where]!r}, which is gone{nearest(raw[where], stages)}"
