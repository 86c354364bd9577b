"""The pure step of a graph: check a patch, merge it, count, route. No clock, no disk, no call.

`advance(graph, state, patch)` is all that happens between two nodes. The rule: a step is taken whole or not at all;
what breaks the contract raises, and the state that was handed in is still the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NoReturn, TypeVar

from graph_agent.runtime.errors import (
    ArgumentError,
    LimitReached,
    NodeError,
    PatchError,
    RouteError,
    StateError,
    nearest,
)
from graph_agent.runtime.graph import BACK, Graph, Route, Step, stage_name
from graph_agent.runtime.state import RUNTIME_FIELDS, Append, GraphState
from graph_agent.runtime.typecheck import checker, hints, misfit

S = TypeVar("S", bound=GraphState)

_is_text = checker(str)
_NOT_OWNED = (lambda _: False, None)
_new: Any = object.__new__
_set_fields: Any = GraphState.__dict__["__dict__"].__set__  # the cheap way into a frozen instance


def advance(graph: Graph[S], state: S, patch: Mapping[str, Any] | None, *, turns: int = 0) -> S:
    """The state after the node at `state.stage` returned `patch` and spent `turns`.

    Raises `PatchError` or `RouteError`: nothing is applied, and the error's `state` has the turns spent.
    """
    return take(graph, step_at(graph, state), state, patch, _whole(turns))


def take(graph: Graph[S], step: Step, state: S, patch: Mapping[str, Any] | None, turns: int) -> S:
    """`advance`, for a loop that knows the step. Most of what a step costs is here, so it makes few calls."""
    fields = {**state.__dict__}
    try:
        if patch is not None:
            _merge(graph, step, state, fields, patch)
        fields["steps"] += 1
        if turns:
            fields["spent_turns"] += turns
        route = step.fixed or _routed(graph, step, state, {**fields})  # what a router saw must never change
        stage = _origin(state) if route.stage is BACK else route.stage
        fields["stage"] = stage
        fields["route_reason"] = route.reason
        fields["came_from"] = state.stage if stage in graph.pauses else None
        after: S = _new(type(state))
        _set_fields(after, fields)
        if graph.invariants:
            _run_invariants(after, state)
        return after
    except (PatchError, RouteError) as error:
        error.state = charged(graph, state, turns)
        raise


def apply_patch(graph: Graph[S], state: S, patch: Mapping[str, Any] | None) -> S:
    """The state with the patch merged in, neither counted nor routed. Raises `PatchError`."""
    fields = {**state.__dict__}
    if patch is not None:
        _merge(graph, step_at(graph, state), state, fields, patch)
    return _made(graph, state, fields)


def may_start(graph: Graph[S], state: S) -> bool:
    """Whether the node may run: one that can spend may not once all turns are spent."""
    return not (step_at(graph, state).spends and state.max_turns is not None and state.spent_turns >= state.max_turns)


def stop_at_limit(graph: Graph[S], state: S, *, turns: int = 0, started: bool = True, wanted: int = 1) -> S:
    """The state after the budget stopped the node: at `on_limit`, its patch lost, its turns kept.

    `started=False`: it was not begun, which is no visit. Raises `LimitReached` where there is no `on_limit`.
    """
    step, spent = step_at(graph, state), state.spent_turns + turns
    what = f"stopped before a call that needed {wanted}" if started else "did not start"
    reason = f"{spent} of {state.max_turns} turns are spent: {step.stage} {what}"
    if graph.on_limit is None:
        raise LimitReached(f"{reason}; raise max_turns to go on", state=charged(graph, state, turns))
    return move_to(graph, state, graph.on_limit, reason, turns=turns, visits=int(started))


def stop_at_error(graph: Graph[S], state: S, error: Exception, *, turns: int = 0) -> S:
    """The state after the node raised: at `on_error`, its patch lost, its turns kept.

    Raises `NodeError` where there is no `on_error`, or it is the one that raised.
    """
    step = step_at(graph, state)
    reason = f"{step.stage} failed: {said(error)}"
    if graph.on_error is None or step.member is graph.on_error:
        raise NodeError(reason, state=charged(graph, state, turns), error=error) from error
    return move_to(graph, state, graph.on_error, reason, turns=turns, visits=1)


def move_to(graph: Graph[S], state: S, stage: Enum, reason: str, *, turns: int = 0, visits: int = 1) -> S:
    """The state at another stage, sent there by the runtime and by no router."""
    back = state.came_from if state.stage in graph.pauses else state.stage  # BACK from a pause leads to no other
    changed = {
        "stage": stage,
        "route_reason": reason,
        "steps": state.steps + visits,
        "spent_turns": state.spent_turns + turns,
        "came_from": back if stage in graph.pauses else None,
    }
    return _made(graph, state, {**state.__dict__, **changed})


def charged(graph: Graph[S], state: S, turns: int) -> S:
    """What holds after a step that failed: the same state with its turns spent."""
    return _made(graph, state, {**state.__dict__, "spent_turns": state.spent_turns + turns}) if turns else state


def step_at(graph: Graph[S], state: S) -> Step:
    """What stands at the state's stage. Raises `StateError` at an end, or for a state of another graph."""
    if type(state) is not graph.state:
        raise _foreign(graph, state)
    try:
        return graph.steps[state.stage]
    except (KeyError, TypeError):
        known = ", ".join(map(stage_name, graph.nodes))
        raise StateError(f"no node at {stage_name(state.stage)}: the graph has {known}", state=state) from None


def check_state(graph: Graph[S], state: S) -> None:
    """Raise `StateError` unless each field of a state fits: a run does so once, before its first step."""
    if type(state) is not graph.state:
        raise _foreign(graph, state)
    for name, check in graph.checks.items():
        if not check(getattr(state, name)):
            path, wrong = _misfit(graph, name, getattr(state, name))
            raise StateError(f"the state does not fit: {path} {wrong}", state=state)
    for name in ("max_turns", "spent_turns", "steps"):
        if (getattr(state, name) or 0) < 0:
            raise StateError(f"{name} is {getattr(state, name)}: give 0 or more", state=state)


def _foreign(graph: Graph[Any], state: object) -> StateError:
    return StateError(f"the state is {_shown(state)}: this graph runs on {graph.state.__name__}", state=state)


def _merge(graph: Graph[S], step: Step, state: S, fields: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Put a patch into a copy of the state's fields, which is given up at the first thing that does not fit."""
    if type(patch) is not dict and not isinstance(patch, Mapping):
        _refuse_value(step, state, patch)
    writes = step.writes
    for name, value in patch.items():
        try:
            fits, append = writes[name]
        except KeyError:
            fits, append = _NOT_OWNED
        if not fits(value):
            _refuse_patch(graph, step, state, patch)
        fields[name] = value if append is None else _grown(step, state, name, append, value)


def _grown(step: Step, state: GraphState, name: str, append: Append, new: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return append(getattr(state, name), new)
    except Exception as error:  # the key is the workflow's own function
        text = f"{step.stage} returned items for {name} whose key failed: {type(error).__name__}: {error}"
        raise PatchError(text, state=state, field=name) from error


def _whole(turns: int) -> int:
    if type(turns) is not int or turns < 0:
        raise ArgumentError(f"turns={turns!r}: give 0 or more")
    return turns


def _made(graph: Graph[S], state: S, fields: dict[str, Any]) -> S:
    """An instance with these fields, each checked before: only the class's own rules are left to run."""
    made: S = _new(type(state))
    _set_fields(made, fields)
    if graph.invariants:
        _run_invariants(made, state)
    return made


def _run_invariants(made: Any, state: GraphState) -> None:
    try:
        made.__post_init__()
    except Exception as error:  # the state's own rules may raise anything
        text = f"{stage_name(state.stage)} made a state that {type(state).__name__} refuses: {error}"
        raise PatchError(text, state=state) from error


def _routed(graph: Graph[S], step: Step, before: S, fields: dict[str, Any]) -> Route:
    merged, router = _made(graph, before, fields), step.router
    assert router is not None
    try:
        route = router(merged)
    except Exception as error:  # and so may a router
        text = f"the router after {step.stage} failed: {said(error)}"
        raise RouteError(text, state=before) from error
    if (
        type(route) is Route
        and _is_text(route.reason)
        and (type(route.stage) is type(before.stage) or route.stage is BACK)  # a StrEnum's member equals its text
        and route.stage in step.exits
    ):
        return route
    _closed(route)
    allowed = ", ".join(sorted(stage_name(stage) for stage in step.exits))
    text = f"the router after {step.stage} returned {_shown(route)}: it may return a Route to {allowed}"
    raise RouteError(text, state=before)


def _origin(state: GraphState) -> Enum:
    if state.came_from is None:
        text = f"{stage_name(state.stage)} goes BACK, but nothing says where from"
        raise RouteError(text, state=state)
    return state.came_from


def said(error: BaseException) -> str:
    """An error as text that a state can hold, whatever its own `__str__` does."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # a stranger's __str__
        text = type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()


def _closed(value: object) -> bool:
    """Close what nobody will await, so that no warning comes besides the error."""
    coroutine = hasattr(value, "cr_frame") and hasattr(value, "close")
    if coroutine:
        value.close()  # type: ignore[attr-defined]
    return coroutine


def _refuse_value(step: Step, state: GraphState, patch: object) -> NoReturn:
    if _closed(patch):
        text = f"{step.stage} is a coroutine function: run it with arun_graph"
    elif isinstance(patch, GraphState):
        text = f"{step.stage} returned a whole {type(patch).__name__}: return a dict of the fields that changed"
    else:
        text = f"{step.stage} returned {_shown(patch)}: return a dict of the fields that changed, or None"
    raise PatchError(text, state=state)


def _refuse_patch(graph: Graph[Any], step: Step, state: GraphState, patch: Mapping[str, Any]) -> NoReturn:
    known, found = hints(type(state)), []
    for name, value in patch.items():
        if name not in known:
            found.append((name, f"{name!r} is no field of {type(state).__name__}{nearest(name, known)}"))
        elif name not in step.writes:
            owned = ", ".join(sorted(step.writes)) or "nothing"
            whose = _whose(graph, name)
            found.append((name, f"{name} is not {step.stage}'s to write but {whose}: {step.stage} owns {owned}"))
        elif not step.writes[name][0](value):
            path, wrong = misfit(known[name], value, name) or (name, "does not fit")
            found.append((name, f"{path}: {wrong}"))
    text = f"{step.stage} returned a patch that may not be applied: {'; '.join(text for _, text in found)}"
    raise PatchError(text, state=state, field=found[0][0])


def _whose(graph: Graph[Any], name: str) -> str:
    """Who may write a field: "check's and human's"; "nobody's" for a constant of the run."""
    owners = [f"{stage_name(stage)}'s" for stage, entry in graph.nodes.items() if name in entry.owns]
    if not owners:
        return "the runtime's" if name in RUNTIME_FIELDS else "nobody's"
    return " and ".join(owners)


def _misfit(graph: Graph[Any], name: str, value: object) -> tuple[str, str]:
    return misfit(hints(graph.state)[name], value, name) or (name, f"is {_shown(value)}")


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"
