"""A pause, seen from a person: what is asked, under which id, and what an answer makes of the state.

An answer is a patch by a person, checked like a node's, then against the question's choices and the pause's own check.
The rule: one that is late, foreign or wrong is refused, and nothing has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from graph_agent.runtime.advance import advance, apply_patch, step_at
from graph_agent.runtime.errors import AnswerError
from graph_agent.runtime.graph import Graph, Pause, Question, stage_name
from graph_agent.runtime.state import GraphState

S = TypeVar("S", bound=GraphState)


def pause_id(state: GraphState) -> str:
    """The id of the present pause, `task_id:steps`: no two pauses of a run share one."""
    return f"{state.task_id}:{state.steps}"


def question(graph: Graph[S], state: S) -> Question:
    """What is asked at the present pause. Raises `AnswerError` when the run stands at none."""
    asks = _pause(graph, state).ask
    return asks(state) if asks else Question(state.route_reason)


def answer(graph: Graph[S], state: S, patch: Mapping[str, Any] | None, *, pause_id: str | None = None) -> S:
    """The state after a person answered, ready for `run_graph`. Pure; counts as one visit.

    Raises `AnswerError` when nothing is asked, `pause_id` is another pause's, or the choices or the pause's check
    refuse it; `PatchError` for a field that the pause does not own or a wrong type.
    """
    pause = _pause(graph, state)
    _check_id(state, pause_id)
    merged = apply_patch(graph, state, patch)
    allowed, grows = question(graph, state).choices, step_at(graph, state).writes
    for name, value in (patch or {}).items():
        for given in (value if grows[name][1] else (value,)) if name in allowed else ():
            if not any(type(one) is type(given) and one == given for one in allowed[name]):
                choices = ", ".join(map(repr, allowed[name]))
                raise AnswerError(f"{name}={given!r} is not among the choices: {choices}", state=state, field=name)
    refusal = pause.check(merged) if pause.check else None
    if refusal:
        raise AnswerError(f"{stage_name(state.stage)} refuses this answer: {refusal}", state=state)
    if "max_turns" in (patch or {}):
        _check_limit(state, merged.max_turns)
    return advance(graph, state, patch)


def raised_limit(graph: Graph[S], state: S, max_turns: int | None) -> S:
    """The state with more turns allowed (None: any number), for a run that no pause stopped. Pure; counts as no visit.

    Raises `AnswerError` when that many are spent already, or the run stands at a pause, which is answered, or an end.
    """
    where = stage_name(state.stage)
    if state.stage in graph.ends:
        raise AnswerError(f"the run is over, at {where}: more turns would change nothing", state=state)
    if state.stage in graph.pauses:
        raise AnswerError(f"the run waits at {where}: answer it, with max_turns if the pause owns that", state=state)
    _check_limit(state, max_turns)
    return replace(state, max_turns=max_turns)


def _check_limit(state: GraphState, max_turns: object) -> None:
    if max_turns is None:
        return
    if type(max_turns) is not int or max_turns < 0:
        raise AnswerError(f"max_turns={max_turns!r}: give a whole number, or None for no limit", state=state)
    if max_turns <= state.spent_turns:
        text = f"max_turns={max_turns}: {state.spent_turns} are spent already, give more than that"
        raise AnswerError(text, state=state, field="max_turns")


def _pause(graph: Graph[S], state: S) -> Pause:
    if state.stage not in graph.pauses:
        where = stage_name(state.stage)
        raise AnswerError(f"nothing is asked: the run stands at {where}, which is no pause", state=state)
    entry = step_at(graph, state).entry
    assert isinstance(entry, Pause)
    return entry


def _check_id(state: GraphState, given: str | None) -> None:
    expected = pause_id(state)
    if given is not None and given != expected:
        task, _, steps = str(given).rpartition(":")
        earlier = task == state.task_id and steps.isdecimal() and int(steps) < state.steps
        why = "was answered before" if earlier else "is not of this run"
        raise AnswerError(f"pause {given} {why}: the run waits at {expected}", state=state)
