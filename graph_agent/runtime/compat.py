"""Does a stored run fit the code of today? The shape that was stored beside it, against the graph as it is now.

Two numbers are declared on the graph: `schema_version` for the state's fields, `workflow_version` for what the stages
mean. The rule: added stages and added fields with a default fit; what the run needs and can't find is refused, with the
differences and the way out, which is a migration. Nothing on the disk changes by looking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields
from typing import Any

from graph_agent.protocols import Json
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError, RunMisfit, nearest
from graph_agent.runtime.fold import Folded, appended_fields
from graph_agent.runtime.graph import Graph, Migration, Of, Pause, stage_name
from graph_agent.runtime.state import RUNTIME_FIELDS
from graph_agent.runtime.typecheck import hints, type_name

WAY_OUT = "raise the graph's schema_version and give it a migration, or run it with the code that it was made with"

_COUNTED = ("task_id", "steps", "spent_turns")


def migration(of: Of, before: int, after: int) -> Callable[[Callable[[dict[str, Any]], dict[str, Any]]], Migration]:
    """Decorate a function of the raw state (a dict as JSON has it) to list it in `Graph(migrations=...)`.

    It is given a copy and returns the dict of the next version: `after` is `before` + 1.
    """
    return lambda change: Migration(of, before, after, change)


def shape_of_graph(graph: Graph[Any]) -> dict[str, Json]:
    """What a header keeps of the graph: stages and what stands there, fields and their types, which are appended."""
    return {
        "stages": {stage_name(stage): _kind(graph, stage) for stage in graph.stages},
        "fields": {name: type_name(tp) for name, tp in hints(graph.state).items()},
        "appended": appended_fields(graph.state),
    }


@dataclass(frozen=True)
class Fitted:
    """A stored state that fits, and the migrations that made it so."""

    state: Any
    migrated: tuple[str, ...] = ()


def fitted(graph: Graph[Any], folded: Folded, run: str) -> Fitted:
    """The typed state of a stored run, migrated where that is needed. Raises `RunMisfit`."""
    raw, done = _migrated(graph, folded, run)
    wrong = tuple(_differences(graph, folded.shape, raw, migrated=bool(done)))
    if not wrong:
        try:
            return Fitted(decode(graph.state, raw, "state"), tuple(done))
        except CodecError as error:
            wrong = (str(error),)
    listed = "".join(f"\n  {number}. {text}" for number, text in enumerate(wrong, 1))
    raise RunMisfit(f"the run {run} does not fit the code of today:{listed}\nThe way out: {WAY_OUT}.", wrong)


def _migrated(graph: Graph[Any], folded: Folded, run: str) -> tuple[dict[str, Any], list[str]]:
    raw, done = folded.raw, []
    of: Of
    for of, wanted in (("schema", graph.schema_version), ("workflow", graph.workflow_version)):
        at = folded.versions[of]
        if at > wanted:
            text = f"{of}_version {at} of the run {run} is newer than the {wanted} of this code"
            raise RunMisfit(f"{text}: run it with the newer code", (text,))
        while at < wanted:
            step = next((known for known in graph.migrations if (known.of, known.before) == (of, at)), None)
            if step is None:
                text = f"there is no migration of the {of} from version {at} (the run {run}) to {wanted} (this code)"
                raise RunMisfit(f"{text}: give the graph one with @migration({of!r}, {at}, {at + 1})", (text,))
            raw = _changed(step, raw, run)
            done.append(f"{of} {at} -> {step.after}")
            at = step.after
    return raw, done


def _changed(step: Migration, raw: dict[str, Any], run: str) -> dict[str, Any]:
    try:
        changed: Any = step.change(deepcopy(raw))
    except Exception as error:  # the workflow's own function
        text = f"the migration of the {step.of} from {step.before} to {step.after} failed: {error!r}"
        raise RunMisfit(f"{text}; the run {run} is as it was", (text,)) from error
    if wrong := _wrong(raw, changed):
        text = f"the migration of the {step.of} from {step.before} to {step.after} {wrong}"
        raise RunMisfit(f"{text}; the run {run} is as it was", (text,))
    return changed  # type: ignore[no-any-return]


def _wrong(raw: dict[str, Any], changed: Any) -> str:
    """A run that has lost its place would begin anew, and repeat what it did."""
    if not isinstance(changed, dict):
        return "returned no dict"
    lost = sorted(name for name in RUNTIME_FIELDS & raw.keys() if name not in changed)
    if lost:
        return f"dropped {', '.join(lost)}: return these fields too, they say where the run stands"
    other = [name for name in _COUNTED if changed.get(name) != raw.get(name)]
    return f"changed {', '.join(other)}: leave what the runtime counts as it is" if other else ""


def _differences(graph: Graph[Any], shape: Any, raw: dict[str, Any], *, migrated: bool) -> Iterator[str]:
    types = hints(graph.state)
    then: dict[str, str] = {} if migrated else shape["fields"]
    for name in raw:
        if name not in types:
            yield f"the field {name} is gone from {graph.state.__name__}{nearest(name, types)}"
        elif name not in ("stage", "came_from") and name in then and then[name] != type_name(types[name]):
            yield f"the field {name} was {then[name]} and is {type_name(types[name])}"
    for declared in fields(graph.state):
        has_default = declared.default is not MISSING or declared.default_factory is not MISSING
        if declared.name not in raw and not has_default:
            yield f"the field {declared.name} is new and has no default"
    kinds = {stage_name(stage): _kind(graph, stage) for stage in graph.stages}
    for where in ("stage", "came_from"):
        stage: Any = raw.get(where)
        was = None if migrated else shape["stages"].get(stage)
        if stage is not None and stage not in kinds:
            yield f"the run stands at the stage {stage!r}, which is gone{nearest(stage, kinds)}"
        elif was is not None and was != kinds[stage]:
            yield f"the stage {stage!r}, at which the run stands, was {was} and is {kinds[stage]}"


def _kind(graph: Graph[Any], stage: Any) -> str:
    return "an end" if stage in graph.ends else "a pause" if isinstance(graph.nodes[stage], Pause) else "a node"
