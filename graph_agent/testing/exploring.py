"""Every run that is possible: breadth first over real states, through the real step and the real limits.

Each node may return any of its outcomes, each pause be given any of its answers. The rule: a run that breaks a law is
found if there is one within the bounds, the shortest first, and what was not looked at is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Generic, TypeVar

from graph_agent.runtime.advance import advance, check_state, may_start, stop_at_error, stop_at_limit
from graph_agent.runtime.answer import answer
from graph_agent.runtime.errors import AnswerError, PatchError, RouteError, RunError
from graph_agent.runtime.graph import Graph
from graph_agent.runtime.state import GraphState
from graph_agent.testing.laws import Law, law_of
from graph_agent.testing.outcomes import Choice, ExplorationError, Fails, HitsLimit, NodeFailed, Outcome, Took, choices
from graph_agent.testing.report import Broken, Report
from graph_agent.testing.space import Keys, Space, Taken
from graph_agent.testing.tracing import reads

S = TypeVar("S", bound=GraphState)
Given = Law | type[Law] | Callable[[Any, Taken, Any], str | None]
WATCHED = 200  # steps of a stage at which its router is looked at


def explore(
    graph: Graph[S],
    start: S | Sequence[S],
    outcomes: Mapping[Any, Choice],
    *,
    laws: Iterable[Given] = (),
    max_states: int = 100_000,
    max_depth: int | None = None,
    view: Callable[[S], Hashable] | None = None,
) -> Report:
    """Walk every run from `start` and hold each to the laws; returns the `Report`.

    `outcomes[stage]` is a list of outcomes or a function `state -> outcomes`; for a pause, the answers. Two states are
    one place when all but their steps and reasons is equal (all but their reasons, where a router is seen to read the
    steps), or, with `view`, when `view` of both is: leave out what only grows and decides nothing. Raises
    `ExplorationError` for outcomes that leave a node without any, `StateError`.
    """
    options, held = choices(graph, outcomes), tuple(law_of(law) for law in laws)
    starts = _starts(graph, start)
    try:
        return _Search(graph, options, held, Keys(graph, view), watch=view is None).run(starts, max_states, max_depth)
    except _StepsMatter:
        keys = Keys(graph, view, steps=True)
        return _Search(graph, options, held, keys, watch=False).run(starts, max_states, max_depth)


class _StepsMatter(Exception):
    """A router, or a function of outcomes, looks at the steps, so states that differ in them are not one place."""


class _Search(Generic[S]):
    """A breadth-first search. `watch`: whether to look out for routers that read the steps."""

    def __init__(self, graph: Graph[S], options: Any, laws: tuple[Law, ...], keys: Keys, *, watch: bool) -> None:
        self.graph, self.options, self.laws, self._keys = graph, options, laws, keys
        self.space, self.broken = Space(graph), Broken(laws)
        self._places: dict[Hashable, int] = {}
        self._known: list[Any] = []
        self._waiting: deque[int] = deque()
        self._watched = dict.fromkeys(graph.nodes, WATCHED if watch else 0)

    def run(self, starts: Iterable[S], max_states: int, max_depth: int | None) -> Report:
        space, waiting = self.space, self._waiting
        for state in starts:
            self._place(state, self._keys.key(state), None)
        while waiting and len(space.states) <= max_states:
            place = waiting.popleft()
            if max_depth is not None and space.depths[place] >= max_depth:
                if space.states[place].stage in self.graph.nodes:
                    space.open.append(place)
            else:
                self._expand(place)
        space.open += waiting
        self.broken.by_whole(space)
        return Report(space=space, violations=self.broken.found(), max_states=max_states, max_depth=max_depth)

    def _expand(self, place: int) -> None:
        space = self.space
        state, steps = space.states[place], space.steps[place]
        for taken, after in steps_from(self.graph, state, self.options, space):
            to = None
            if after is not None:
                if self._watched[state.stage]:
                    self._look(state, after)
                to = self._place(after, self._keys.key(after, state, self._known[place]), (place, taken))
            steps.append((taken, to))
            self.broken.by_step(space, place, taken, to, after)

    def _place(self, state: S, key: Hashable, came: tuple[int, Taken] | None) -> int:
        """The number of a state's place, a new one when no state with that key was seen."""
        known = self._places.get(key)
        if known is not None:
            return known
        self._places[key] = number = self.space.add(state, came)
        self._known.append(key)
        self._waiting.append(number)
        return number

    def _look(self, state: S, after: S) -> None:
        self._watched[state.stage] -= 1
        step = self.graph.steps[state.stage]
        asked = [step.router, getattr(step.entry, "check", None)]
        seen = copy(after)
        seen.__dict__.update(stage=state.stage, came_from=state.came_from, route_reason=state.route_reason)
        looked = [reads(function, seen) for function in asked if function is not None]
        if any("steps" in fields for fields in (*looked, reads(self.options[state.stage], state))):
            raise _StepsMatter


def follow(graph: Graph[S], start: S, run: Iterable[Outcome], *, laws: Iterable[Given] = ()) -> S:
    """Walk one run, an outcome a step, and hold it to the laws; returns the state at its end.

    Raises `LawBroken` with the story; what `advance` and `answer` raise, when the run can't be walked.
    """
    space, broken = Space(graph), Broken(tuple(law_of(law) for law in laws))
    check_state(graph, start)
    place, state = space.add(start, None), start
    for number, outcome in enumerate(run, 1):
        walked = list(steps_from(graph, state, {state.stage: lambda _, given=outcome: (given,)}, space))
        if not walked:
            raise ExplorationError(f"step {number} can't be taken: the run stands at {state.stage!r} with {outcome!r}")
        ((taken, after),) = walked
        to = None if after is None else space.add(after, (place, taken))
        space.steps[place].append((taken, to))
        broken.by_step(space, place, taken, to, after)
        if after is None or to is None:
            break
        place, state = to, after
    broken.on_path(space)
    Report(space=space, violations=broken.found()).raise_on_violation()
    return state


def steps_from(graph: Graph[S], state: S, options: Mapping[Any, Any], space: Space) -> Iterator[tuple[Taken, S | None]]:
    """All steps that can follow a state, by the real rules; the state is None where the run stops with an error."""
    stage = state.stage
    if stage in graph.ends or stage not in options:
        return
    if stage in graph.pauses:
        yield from _answers(graph, state, options[stage](state), space)
        return
    if not may_start(graph, state):
        yield _tried("limit", state, None, 0, lambda: stop_at_limit(graph, state, started=False))
        return
    for outcome in options[stage](state):
        step = _outcome(graph, state, outcome)
        if step is not None:
            yield step


def _starts(graph: Graph[S], start: S | Sequence[S]) -> Sequence[S]:
    if not isinstance(start, GraphState | Iterable):
        raise ExplorationError(f"start is {start!r}: give the state at which runs begin, or a list of them")
    starts = [start] if isinstance(start, GraphState) else list(start)
    if not starts:
        raise ExplorationError("start is empty: give the state at which runs begin")
    for state in starts:
        check_state(graph, state)
    return starts


def _answers(graph: Graph[S], state: S, offered: Iterable[Any], space: Space) -> Iterator[tuple[Taken, S | None]]:
    """A refused answer changes nothing, so it is no step; it is counted."""
    for patch in offered:
        given = patch.patch if isinstance(patch, Took) else patch
        try:
            after = answer(graph, state, given)
        except AnswerError:
            space.refused += 1
        except (PatchError, RouteError) as error:
            yield Taken("broken", state.stage, None, str(error), patch, error=error), None
        else:
            yield Taken("answered", state.stage, after.stage, after.route_reason, patch), after


def _outcome(graph: Graph[S], state: S, outcome: Outcome) -> tuple[Taken, S | None] | None:
    left = None if state.max_turns is None else state.max_turns - state.spent_turns
    turns = 0 if isinstance(outcome, HitsLimit) else getattr(outcome, "turns", 0)
    metered = graph.runs_on[state.stage].metered
    if isinstance(outcome, HitsLimit) or (metered and left is not None and turns > left):
        if left is None or not metered:
            return None
        return _tried("limit", state, outcome, left, lambda: stop_at_limit(graph, state, turns=left))
    turns = turns if metered else 0
    if isinstance(outcome, Fails):
        error = NodeFailed(outcome.reason)
        return _tried("failed", state, outcome, turns, lambda: stop_at_error(graph, state, error, turns=turns))
    patch = outcome.patch if isinstance(outcome, Took) else outcome
    return _tried("finished", state, outcome, turns, lambda: advance(graph, state, patch, turns=turns))


def _tried(kind: Any, state: S, outcome: Outcome, turns: int, step: Callable[[], S]) -> tuple[Taken, S | None]:
    try:
        after = step()
    except (PatchError, RouteError) as error:
        return Taken("broken", state.stage, None, str(error), outcome, turns, error), None
    except RunError as error:  # no on_limit or no on_error: a legal way to stop, with the state
        return Taken(kind, state.stage, None, str(error), outcome, turns, error), None
    return Taken(kind, state.stage, after.stage, after.route_reason, outcome, turns), after
