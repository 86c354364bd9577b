"""Laws of a graph's runs, each a sentence that every run must bear out.

A law looks at single steps, or at the whole space that was explored. A function `(before, taken, after) -> None | str`
is one too: what it returns is what is wrong. The rule: a law that can't be decided, since not all was explored, is
broken and not kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeAlias

from graph_agent.runtime.graph import stage_name
from graph_agent.testing.cycles import cycle
from graph_agent.testing.space import Space, Taken, Walked, edge_text

Told: TypeAlias = "tuple[str, tuple[Walked, ...]]"
Judge: TypeAlias = Callable[[Any, Taken, Any], "str | None"]


class Law:
    """`step` judges each step; `whole` the space, after all; `on_path` what can be seen on one run alone."""

    @property
    def name(self) -> str:
        """As it is written, without what is left at its default."""
        given = [(one.name, getattr(self, one.name), one.default) for one in fields(self)]  # type: ignore[arg-type]
        words = [
            f"{name}={_shown(value)}" if at else _shown(value)
            for at, (name, value, default) in enumerate(given)
            if value != default
        ]
        return f"{type(self).__name__}({', '.join(words)})"

    def step(self, before: Any, taken: Taken, after: Any) -> str | None:
        """What is wrong with a step; `after` is None where the run stopped with an error."""
        return None

    def whole(self, space: Space) -> Iterator[Told]:
        """What is wrong with the space, and the shortest run that shows it."""
        yield from ()

    def on_path(self, space: Space) -> Iterator[Told]:
        """As `whole`, of a space that is one run."""
        yield from ()


@dataclass(frozen=True)
class Own(Law):
    """A user's own function."""

    judge: Judge

    @property
    def name(self) -> str:
        return str(getattr(self.judge, "__name__", self.judge))

    def step(self, before: Any, taken: Taken, after: Any) -> str | None:
        return self.judge(before, taken, after)


def law_of(law: Law | type[Law] | Judge) -> Law:
    """A law as it is given: made, named alone where it needs nothing (`terminates`), or a function."""
    if isinstance(law, type):
        return law_of(law())
    return law if isinstance(law, Law) else Own(law)


@dataclass(frozen=True)
class never(Law):
    """The stage is never entered, or (`when`) never in such a state."""

    stage: Any
    when: Callable[[Any], bool] | None = None

    def step(self, before: Any, taken: Taken, after: Any) -> str | None:
        if after is None or after.stage is not self.stage or (self.when and not self.when(after)):
            return None
        how = f" when {_called(self.when)}" if self.when else ""
        return f"{stage_name(self.stage)} is entered{how}"


@dataclass(frozen=True)
class always_before(Law):
    """No run enters `second` that has not been at `first` (or, with `when`, at it in such a state)."""

    first: Any
    second: Any
    when: Callable[[Any], bool] | None = None

    def whole(self, space: Space) -> Iterator[Told]:
        came: dict[int, tuple[int, Taken] | None] = {
            place: None for place, way in enumerate(space.came) if way is None and not self._met(space.states[place])
        }
        waiting = deque(came)
        while waiting:
            place = waiting.popleft()
            for taken, after in space.steps[place]:
                if after is None or after in came:
                    continue
                if space.states[after].stage is self.second:
                    yield self._text(), _way(space, came, place, (taken, after))
                    return
                if not self._met(space.states[after]):
                    came[after] = (place, taken)
                    waiting.append(after)

    on_path = whole

    def _met(self, state: Any) -> bool:
        return state.stage is self.first and (self.when is None or self.when(state))

    def _text(self) -> str:
        how = f" when {_called(self.when)}" if self.when else ""
        return f"{stage_name(self.second)} is entered and {stage_name(self.first)} was not{how}"


@dataclass(frozen=True)
class budget_holds(Law):
    """A number in the state never exceeds a limit: another field's, or a number. None as limit: anything goes."""

    field: str = "spent_turns"
    limit: str | int = "max_turns"

    def step(self, before: Any, taken: Taken, after: Any) -> str | None:
        state = before if after is None else after
        limit = getattr(state, self.limit) if isinstance(self.limit, str) else self.limit
        value = getattr(state, self.field)
        return None if limit is None or value <= limit else f"{self.field} is {value}, more than {self.limit}={limit}"


@dataclass(frozen=True)
class monotone(Law):
    """A field only grows: a number is never less than before, a tuple begins with what it was."""

    field: str

    def step(self, before: Any, taken: Taken, after: Any) -> str | None:
        if after is None:
            return None
        old, new = getattr(before, self.field), getattr(after, self.field)
        grew = new[: len(old)] == old if isinstance(old, tuple) else new >= old
        return None if grew else f"{self.field} was {old!r} and became {new!r}"


@dataclass(frozen=True)
class reason_given(Law):
    """Each step says why: no reason is empty."""

    def step(self, before: Any, taken: Taken, after: Any) -> str | None:
        return None if taken.reason.strip() else f"{stage_name(taken.stage)} is left without a reason"


@dataclass(frozen=True)
class terminates(Law):
    """Without a person no run goes on for ever: there is no way from a place back to itself.

    A run that comes to a place again, where nothing but its steps and reasons has changed, can do so without end; a
    counter that grows makes it another place. `Report.longest` is the number of steps of the longest run.
    """

    def whole(self, space: Space) -> Iterator[Told]:
        if space.open:
            yield f"it can't be told: {len(space.open)} states were not explored", ()
            return
        found = cycle(space)
        if found is not None:
            place, steps = found
            yield _round(space, place, steps), space.path_to(place, *steps)

    def on_path(self, space: Space) -> Iterator[Told]:
        seen: dict[Any, int] = {}
        for place, state in enumerate(space.states):
            key = tuple(v for name, v in state.__dict__.items() if name not in ("steps", "route_reason"))
            first = seen.setdefault(key, place)
            steps = [space.steps[one][0] for one in range(first, place)]
            if steps and all(taken.kind != "answered" for taken, _ in steps):
                yield _round(space, place, steps), space.path_to(place)
                return


@dataclass(frozen=True)
class every_stage_reached(Law):
    """Each stage of the table is entered in some run, but for those excused."""

    but: Collection[Any] = ()

    def whole(self, space: Space) -> Iterator[Told]:
        missing = [stage for stage in space.graph.stages if stage not in space.stages and stage not in self.but]
        if missing:
            yield f"no run enters {', '.join(map(stage_name, missing))}", ()


@dataclass(frozen=True)
class every_exit_taken(Law):
    """Each edge of the table is taken in some run, but for those excused, as (from, to).

    What only a resume may do (the edges of `on_doubt`) is none of an exploration's.
    """

    but: Collection[tuple[Any, Any]] = ()

    def whole(self, space: Space) -> Iterator[Told]:
        missing = [edge for edge in untaken(space) if edge[:2] not in self.but]
        if missing:
            yield f"never taken: {', '.join(map(edge_text, missing))}", ()


@dataclass(frozen=True)
class can_reach(Law):
    """From wherever a run stands there is a way to one of these stages, or it has come to an end of the table."""

    stages: tuple[Any, ...]

    def __init__(self, *stages: Any) -> None:
        object.__setattr__(self, "stages", stages)

    @property
    def name(self) -> str:
        return f"can_reach({', '.join(map(_shown, self.stages))})"

    def whole(self, space: Space) -> Iterator[Told]:
        before: dict[int, list[int]] = {}
        for place, _, after in space.walked():
            if after is not None:
                before.setdefault(after, []).append(place)
        good = {
            n for n, state in enumerate(space.states) if state.stage in self.stages or state.stage in space.graph.ends
        }
        waiting = list(good)
        while waiting:
            for place in before.get(waiting.pop(), ()):
                if place not in good:
                    good.add(place)
                    waiting.append(place)
        lost = next((n for n in range(len(space.states)) if n not in good and n not in space.open), None)
        if lost is not None:
            wanted = " or ".join(map(stage_name, self.stages))
            text = f"from {stage_name(space.states[lost].stage)} there is no way to {wanted}"
            yield text, space.path_to(lost)


@dataclass(frozen=True)
class pauses_are_left(Law):
    """Wherever a run waits for a person, one of the given answers is accepted."""

    def whole(self, space: Space) -> Iterator[Told]:
        for place, state in enumerate(space.states):
            if state.stage in space.graph.pauses and place not in space.open and not space.steps[place]:
                yield f"at {stage_name(state.stage)} no answer is accepted", space.path_to(place)
                return


def untaken(space: Space) -> list[tuple[Any, Any, str]]:
    taken = space.edges
    return [edge for edge in space.graph.edges if edge not in taken and edge[2] != "doubt"]


def _called(function: Any) -> str:
    name = getattr(function, "__name__", repr(function))
    return "(a lambda)" if name == "<lambda>" else str(name)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return _called(value) if callable(value) else repr(value)


def _way(
    space: Space, came: dict[int, tuple[int, Taken] | None], place: int, last: tuple[Taken, int]
) -> tuple[Walked, ...]:
    steps = [Walked(space.states[place], last[0], space.states[last[1]])]
    while (way := came[place]) is not None:
        before, taken = way
        steps.append(Walked(space.states[before], taken, space.states[place]))
        place = before
    return tuple(reversed(steps))


def _round(space: Space, place: int, steps: Sequence[tuple[Taken, int | None]]) -> str:
    around = " -> ".join(stage_name(taken.stage) for taken, _ in steps)
    return f"a run can go {around} -> {stage_name(space.states[place].stage)} for ever: no counter grows"
