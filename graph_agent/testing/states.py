"""States made from their annotations: odd ones too, since a router must bear them all.

With hypothesis it is a strategy, which shrinks; without, they are made from a seed, the same in each run. The rule:
values are few and small, so that counters meet their limits often, and each fits its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import NoneType
from typing import Annotated, Any, Generic, Protocol, TypeVar, get_args, get_origin, get_type_hints

from graph_agent.runtime.errors import nearest
from graph_agent.runtime.shapes import Choice, Constants, Fixed, Many, Plain, Record, Shape, Table, Text, shape_of
from graph_agent.testing.outcomes import ExplorationError

T = TypeVar("T")

LONGEST = 2  # items of a tuple, a frozenset or a dict
ATTEMPTS = 200  # at a state that its class does not refuse
_WORDS = ("", "x", "a b", "é\n")
_MOMENTS = (datetime(2020, 2, 29, tzinfo=UTC), datetime(1999, 12, 31, 23, 59, 59))
_PATHS = (Path("a"), Path("a/b.py"))
_SAMPLES: dict[type, Sequence[Any]] = {
    bool: (False, True),
    int: range(5),
    float: (0.0, 0.5, 1.0, -1.0),
    str: _WORDS,
    NoneType: (None,),
    datetime: _MOMENTS,
    Path: _PATHS,
}


class Chooser(Protocol):
    """Where chance comes from: hypothesis or a seed."""

    def among(self, values: Sequence[Any], /) -> Any: ...
    def drawn(self, strategy: Any, /) -> Any:
        """From a strategy of hypothesis."""
        ...


def states_of(state: type[T], *, count: int = 500, seed: int = 0, **overrides: Any) -> Any:
    """States of a class: a hypothesis strategy, or, where that is not installed, `count` of them from a `seed`.

    An override is, for a field: a list, a range or a set of values to choose from; a strategy; anything else is the
    value itself. `Annotated[int, range(0, 3)]` in the class says the same for all. Values that the class refuses in its
    `__post_init__` are left out. Raises `ExplorationError` for a field that is not there.
    """
    source = Source(state, overrides)
    if find_spec("hypothesis") is None:
        return Seeded(source, count, seed)
    return _strategy(source)


@dataclass(frozen=True)
class Seeded(Generic[T]):
    """The same states each time that it is gone through."""

    source: Source
    count: int = 500
    seed: int = 0

    def __iter__(self) -> Iterator[T]:
        chance = _Seed(Random(self.seed))
        for _ in range(self.count):
            yield self._one(chance)

    def __len__(self) -> int:
        return self.count

    def _one(self, chance: Chooser) -> T:
        for _ in range(ATTEMPTS):
            try:
                made: T = self.source.make(chance)
            except _Refused as refused:
                error = refused
            else:
                return made
        text = f"{self.source.name} refuses what its annotations allow: give overrides"
        raise ExplorationError(f"{text} ({error.__cause__})")


class Source:
    """How a value of a class is made, by chance."""

    def __init__(self, cls: type[Any], overrides: Mapping[str, Any]) -> None:
        shape = shape_of(cls)
        if not isinstance(shape, Record):
            raise ExplorationError(f"{cls!r} is no dataclass: give the class of a state")
        unknown = next((name for name in overrides if name not in shape.parts), None)
        if unknown is not None:
            raise ExplorationError(f"{shape.name} has no field {unknown!r}{nearest(unknown, shape.parts)}")
        self.name, self._shape, self._overrides = shape.name, shape, dict(overrides)

    def make(self, chance: Chooser) -> Any:
        return _record(self._shape, chance, self._overrides)


class _Refused(Exception):
    """The class would not have these values."""


class _Seed:
    def __init__(self, random: Random) -> None:
        self._random = random

    def among(self, values: Sequence[Any], /) -> Any:
        return values[self._random.randrange(len(values))]

    def drawn(self, strategy: Any, /) -> Any:
        raise ExplorationError(f"{strategy!r} needs hypothesis, which is not installed")


def _strategy(source: Source) -> Any:
    from hypothesis import reject
    from hypothesis import strategies as st

    class Drawn:
        def __init__(self, draw: Any) -> None:
            self.drawn = draw

        def among(self, values: Sequence[Any], /) -> Any:
            return self.drawn(st.sampled_from(values))

    @st.composite
    def states(draw: Any) -> Any:
        try:
            return source.make(Drawn(draw))
        except _Refused:
            reject()

    return states()


def _record(shape: Record, chance: Chooser, overrides: Mapping[str, Any]) -> Any:
    bounds, values = _bounds(shape.cls), {}
    for name, part in shape.parts.items():
        if name in shape.computed:
            continue
        given = overrides.get(name, bounds.get(name, _NONE))
        values[name] = _value(part, chance) if given is _NONE else _chosen(given, chance)
    try:
        return shape.cls(**values)
    except Exception as error:  # the class's own rules
        raise _Refused from error


_NONE: Any = object()


def _bounds(cls: type[Any]) -> dict[str, Any]:
    """What `Annotated` says of the fields."""
    found = {}
    for name, tp in get_type_hints(cls, include_extras=True).items():
        if get_origin(tp) is Annotated:
            values = [one for one in get_args(tp)[1:] if isinstance(one, list | range | set | frozenset)]
            if values:
                found[name] = values[0]
    return found


def _chosen(given: Any, chance: Chooser) -> Any:
    if isinstance(given, list | range):
        return chance.among(given)
    if isinstance(given, set | frozenset):
        return chance.among(sorted(given, key=repr))
    return chance.drawn(given) if hasattr(given, "example") else given


def _value(shape: Shape, chance: Chooser) -> Any:
    match shape:
        case Plain(cls=cls) | Text(cls=cls):
            return chance.among(_SAMPLES[cls])
        case Constants(values=values):
            return chance.among(tuple(values.values()))
        case Many(cls=cls, item=item):
            return cls(_value(item, chance) for _ in range(chance.among(range(LONGEST + 1))))
        case Fixed(items=items):
            return tuple(_value(item, chance) for item in items)
        case Table(item=item):
            return {word: _value(item, chance) for word in _WORDS[1 : 1 + chance.among(range(LONGEST + 1))]}
        case Record():
            return _record(shape, chance, {})
        case Choice(members=members):
            none_first = sorted(members, key=lambda one: one.name != "None")  # what hypothesis shrinks to
            return _value(chance.among(none_first), chance)
