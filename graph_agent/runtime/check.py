"""What a table must be before anything runs on it: `check_graph` lists every problem, and how to mend it.

A mistake shows at import and not in the third hour of a run. The rule: a graph that passes here has no unknown stage,
no field with two masters, no stage that nothing leads to, and none from which no end can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

from graph_agent.runtime.errors import GraphError, nearest
from graph_agent.runtime.graph import BACK, Graph, Look, Migration, Node, Pause, Route, Step, stage_name
from graph_agent.runtime.state import RUNTIME_FIELDS, Append, GraphState, append_of
from graph_agent.runtime.typecheck import checker, hints, misfit, problem, type_name

Checks = Mapping[str, Callable[[object], bool]]


def check_graph(graph: Graph[Any]) -> tuple[str, ...]:
    """All problems of a table, one sentence each."""
    of_state = tuple(_state_problems(graph.state))
    if of_state:
        return of_state  # the rest needs the stages and the fields
    return (
        *_stage_problems(graph),
        *(text for stage, entry in graph.nodes.items() for text in _entry_problems(graph, stage, entry)),
        *_owner_problems(graph),
        *_fallback_problems(graph),
        *_resume_problems(graph),
        *_path_problems(graph),
    )


def compiled(graph: Graph[Any]) -> tuple[Checks, dict[Enum, Step]]:
    """Check the table, then work out once what each step of a run needs. Raises `GraphError`."""
    problems = check_graph(graph)
    if problems:
        raise GraphError(getattr(graph.state, "__name__", repr(graph.state)), problems)
    checks = {name: checker(tp) for name, tp in hints(graph.state).items()}
    appends = {f.name: reducer for f in fields(graph.state) if (reducer := append_of(f))}
    return checks, {stage: _step(stage, entry, checks, appends) for stage, entry in graph.nodes.items()}


def _step(stage: Enum, entry: Node | Pause, checks: Checks, appends: Mapping[str, Append]) -> Step:
    node, to = entry if isinstance(entry, Node) else None, entry.to
    return Step(
        member=stage,
        stage=stage_name(stage),
        entry=entry,
        run=node.run if node else _waits,
        writes={name: (checks[name], appends.get(name)) for name in entry.owns},
        router=None if isinstance(to, Enum) else to,
        fixed=Route(to, f"{stage_name(stage)} is followed by {stage_name(to)}") if isinstance(to, Enum) else None,
        exits=frozenset((to,) if isinstance(to, Enum) else entry.exits or ()),
        calls=bool(node and (node.model or node.tools)),
        spends=bool(node and node.spends),
        metered=bool(node and node.metered),
        effects=bool(node and node.effects),
        retry=node.retry if node else 0,
        tools=tuple(node.tools) if node else (),
        model=bool(node and node.model),
    )


def _waits(state: Any, _: object) -> NoReturn:
    raise AssertionError(f"{state.stage!r} is a pause, and nothing runs there")


def edges_of(graph: Graph[Any]) -> tuple[tuple[Enum, Enum, str], ...]:
    found: list[tuple[Enum, Enum, str]] = []
    for stage, entry in graph.nodes.items():
        found += [(stage, target, "route") for target in _targets(graph, entry)]
        if graph.on_limit is not None and isinstance(entry, Node) and entry.spends:
            found.append((stage, graph.on_limit, "limit"))
        if graph.on_error is not None and isinstance(entry, Node) and stage is not graph.on_error:
            found.append((stage, graph.on_error, "error"))
        if graph.on_doubt not in (None, stage) and (graph.look or _may_ask(entry)):
            found.append((stage, graph.on_doubt, "doubt"))
    for stage, entry in graph.nodes.items():
        if BACK in (entry.exits or ()):
            entered_from = dict.fromkeys(a for a, b, _ in found if b is stage and a is not stage)
            found += [(stage, origin, "back") for origin in entered_from]
    return tuple(found)


def _may_ask(entry: Node | Pause) -> bool:
    return isinstance(entry, Node) and entry.effects and entry.on_interrupted == "ask"


def _targets(graph: Graph[Any], entry: Node | Pause) -> tuple[Enum, ...]:
    """In the order of the Stage enum."""
    named = {entry.to} if isinstance(entry.to, Enum) else set(entry.exits or ())
    return tuple(stage for stage in type(graph.start) if stage in named)


def _state_problems(state: Any) -> Iterator[str]:
    if not (isinstance(state, type) and issubclass(state, GraphState)):
        yield f"state is {state!r}: give a frozen dataclass derived from GraphState"
        return
    name = state.__name__
    if "__dataclass_fields__" not in vars(state) or not state.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield f"{name} is no frozen dataclass: decorate it with @dataclass(frozen=True, kw_only=True)"
        return
    if "__slots__" in vars(state):
        yield f"{name} has slots: leave slots=True away"
    start = state.__dataclass_fields__["stage"].default
    if not isinstance(start, Enum):
        yield f"{name}.stage has no default: write `stage: Stage = Stage.FIRST`"
    for field in fields(state):
        yield from _field_problems(name, field.name, hints(state)[field.name], field, start)


def _field_problems(owner: str, name: str, tp: Any, field: Any, start: Any) -> Iterator[str]:
    if name in ("stage", "came_from") and tp in (Enum, Enum | None):
        return  # the base's own annotation
    reason = problem(tp) or _unhashable(tp)
    if reason:
        yield f"field {name} of {owner} can't be part of a state: {reason}"
        return
    if append_of(field) and not (get_origin(tp) is tuple and get_args(tp)[-1:] == (...,)):
        yield f"field {name} of {owner} is appended() and has the type {type_name(tp)}: use tuple[T, ...]"
    elif reducer := append_of(field):
        yield from _key_problems(owner, name, get_args(tp)[0], reducer)
    if field.default is not MISSING and (wrong := misfit(tp, field.default, name)):
        yield f"the default of {owner}.{wrong[0]} does not fit: {wrong[1]}"


def _key_problems(owner: str, name: str, item: Any, reducer: Append) -> Iterator[str]:
    kinds = get_args(item) if isinstance(item, UnionType) or get_origin(item) is Union else (item,)
    for kind in kinds:
        known = hints(kind) if is_dataclass(kind) else ()
        first = (reducer.attribute or "").partition(".")[0]
        if first and first not in known and not hasattr(kind, first):
            text = f"appended(key={reducer.attribute!r}), but {type_name(kind)} has no {first!r}"
            yield f"field {name} of {owner} is {text}{nearest(first, known)}"


def _unhashable(tp: Any) -> str | None:
    """Why a type that can be saved can't be in a state: whoever holds a dict could edit it."""
    if tp is dict or get_origin(tp) is dict:
        return f"{type_name(tp)} can be edited in place: use a tuple of frozen dataclasses or of pairs"
    nested = hints(tp).values() if isinstance(tp, type) and is_dataclass(tp) else get_args(tp)
    return next((reason for inner in nested if inner is not tp and (reason := _unhashable(inner))), None)


def _stage_problems(graph: Graph[Any]) -> Iterator[str]:
    stages = type(graph.start)
    for stage in graph.nodes:
        if not isinstance(stage, stages):
            yield f"nodes has {stage!r}, which is no member of {stages.__name__}"
    for end in graph.ends:
        if not isinstance(end, stages):
            yield f"ends has {end!r}, which is no member of {stages.__name__}"
        elif end in graph.nodes:
            yield f"{stage_name(end)} is an end and has a node too"
    if not graph.ends:
        yield "ends is empty: name one"
    for stage in stages:
        if stage not in graph.nodes and stage not in graph.ends:
            yield f"{stage_name(stage)} has no node and is no end: give it a Node, a Pause, or a place in ends"


def _entry_problems(graph: Graph[Any], stage: Any, entry: Any) -> Iterator[str]:
    where = stage_name(stage)
    if not isinstance(entry, Node | Pause):
        yield f"{where} is {entry!r}: give a Node or a Pause"
        return
    yield from _exit_problems(graph, where, entry)
    for what in ("owns", "reads"):
        yield from _name_problems(graph, where, what, getattr(entry, what, None))
    for name in sorted(set(entry.owns) & RUNTIME_FIELDS if not isinstance(entry.owns, str) else ()):
        if name != "max_turns":
            yield f"{where} owns {name}, which only the runtime writes"
        elif isinstance(entry, Node):
            yield f"{where} owns max_turns: a node may not set its own budget, only a Pause may own it"
    if isinstance(entry, Node):
        yield from _node_problems(where, entry)


def _node_problems(where: str, node: Node) -> Iterator[str]:
    if not callable(node.run):
        yield f"{where} runs {node.run!r}, which can't be called"
    if isinstance(node.tools, str):
        yield f"{where} has tools={node.tools!r}, a string: write tools=({node.tools!r},)"
    if type(node.retry) is not int or node.retry < 0:
        yield f"{where} has retry={node.retry!r}: give the number of extra attempts, 0 or more"
    if node.on_interrupted not in ("retry", "ask", "fail"):
        yield f"{where} has on_interrupted={node.on_interrupted!r}: give 'retry', 'ask' or 'fail'"
    elif node.on_interrupted != "retry" and not node.effects:
        yield f"{where} has on_interrupted={node.on_interrupted!r} without effects=True: nothing notes that it began"


def _exit_problems(graph: Graph[Any], where: str, entry: Node | Pause) -> Iterator[str]:
    stages = type(graph.start)
    if isinstance(entry.to, Enum):
        if not isinstance(entry.to, stages):
            yield f"{where} leads to {entry.to!r}, which is no member of {stages.__name__}"
        if entry.exits is not None:
            yield f"{where} leads to a fixed stage and lists exits too: give one of the two"
        return
    if not callable(entry.to):
        yield f"{where} leads to {entry.to!r}: give a stage or a router"
    elif not entry.exits:
        yield f"{where} has a router without exits: list all the stages that it may return"
    for target in sorted(entry.exits or (), key=repr):
        if target is BACK and isinstance(entry, Node):
            yield f"{where} has BACK among its exits, which only a Pause may"
        elif target is not BACK and not isinstance(target, stages):
            yield f"{where} has the exit {target!r}, which is no member of {stages.__name__}"


def _name_problems(graph: Graph[Any], where: str, what: str, names: Collection[str] | None) -> Iterator[str]:
    known = hints(graph.state)
    if isinstance(names, str):
        yield f"{where} has {what}={names!r}, a string: write {what}={{{names!r}}}"
        return
    for name in sorted(names or (), key=str):
        if name not in known:
            yield f"{where} {what} {name!r}, which {graph.state.__name__} does not have{nearest(name, known)}"


def _owner_problems(graph: Graph[Any]) -> Iterator[str]:
    if isinstance(graph.shared, str):
        yield f"shared={graph.shared!r} is a string: write shared={{{graph.shared!r}}}"
        return
    yield from _name_problems(graph, "the graph", "shares", graph.shared)
    owners: dict[str, list[str]] = {}
    for stage, entry in graph.nodes.items():
        if isinstance(entry, Node | Pause) and not isinstance(entry.owns, str):
            for name in entry.owns:
                owners.setdefault(name, []).append(stage_name(stage))
    persons = {stage_name(stage) for stage, entry in graph.nodes.items() if isinstance(entry, Pause)}
    for name, stages in sorted(owners.items(), key=lambda item: str(item[0])):
        if len(stages) > 1 and name not in graph.shared and not persons.issuperset(stages):  # a person is one owner
            yield f"{name} is owned by {' and '.join(stages)}: give it one owner, or name it in shared"


def _fallback_problems(graph: Graph[Any]) -> Iterator[str]:
    for what, target in (("on_limit", graph.on_limit), ("on_error", graph.on_error)):
        if target is not None and not (isinstance(target, type(graph.start)) and target in (*graph.nodes, *graph.ends)):
            yield f"{what} is {target!r}, which is neither a node nor an end of this graph"
    handler = graph.nodes.get(graph.on_limit)
    if isinstance(handler, Node) and handler.spends:
        name = stage_name(graph.on_limit)
        yield f"on_limit is {name}, which could spend again: name a pause, an end, or a node that can't"


def _resume_problems(graph: Graph[Any]) -> Iterator[str]:
    """What a resume would meet in the third week."""
    named = isinstance(graph.on_doubt, type(graph.start)) and isinstance(graph.nodes.get(graph.on_doubt), Pause)
    if graph.on_doubt is not None and not named:
        yield f"on_doubt is {graph.on_doubt!r}: name a pause, since only a person can tell"
    if graph.look is not None and (not isinstance(graph.look, Look) or not callable(graph.look.run)):
        yield f"look is {graph.look!r}: give a Look with a function"
    elif graph.look is not None and isinstance(graph.look.tools, str):
        yield f"look has tools={graph.look.tools!r}, a string: write tools=({graph.look.tools!r},)"
    elif graph.look is not None and graph.on_doubt is None:
        yield "look is given and on_doubt is not: name the pause where a problem that it finds goes"
    for name in ("schema_version", "workflow_version"):
        number = getattr(graph, name)
        if type(number) is not int or number < 1:
            yield f"{name} is {number!r}: give a whole number from 1 on"
    seen: set[tuple[str, int]] = set()
    for step in graph.migrations:
        if not isinstance(step, Migration):
            yield f"migrations has {step!r}: decorate the function with @migration"
            continue
        wanted = getattr(graph, f"{step.of}_version", 0) if step.of in ("schema", "workflow") else 0
        if not wanted or step.after != step.before + 1 or not 1 <= step.before < wanted:
            made = f"migration({step.of!r}, {step.before!r}, {step.after!r})"
            yield f"{made} leads nowhere: each goes from one version to the next, up to {step.of}_version"
        if (step.of, step.before) in seen:
            yield f"there are two migrations of the {step.of} from version {step.before}"
        seen.add((step.of, step.before))


def _path_problems(graph: Graph[Any]) -> Iterator[str]:
    if not all(isinstance(entry, Node | Pause) for entry in graph.nodes.values()):
        return
    edges = edges_of(graph)
    reached = _closure({graph.start}, {(a, b) for a, b, _ in edges})
    ending = _closure(set(graph.ends), {(b, a) for a, b, _ in edges})
    for stage in type(graph.start):
        if stage not in graph.nodes and stage not in graph.ends:
            continue
        if stage not in reached:
            yield f"{stage_name(stage)} is unreachable: no path leads to it from {stage_name(graph.start)}"
        elif stage not in ending and graph.ends:
            yield f"{stage_name(stage)} has no way to an end: no path leads from it to {_either(graph.ends)}"


def _closure(start: set[Enum], pairs: set[tuple[Enum, Enum]]) -> set[Enum]:
    found, new = set(start), set(start)
    while new:
        new = {b for a, b in pairs if a in new} - found
        found |= new
    return found


def _either(stages: Collection[Any]) -> str:
    return " or ".join(sorted(stage_name(stage) for stage in stages))
