"""Types and values for the tests of the codec: a strategy of types, one of their values, and an exact comparison."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePosixPath
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st

from graph_agent.runtime.typecheck import hints, problem


class Stage(StrEnum):
    DRAFT = "draft"
    DONE = "done"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Outer:
    class Phase(Enum):
        QUERY = "query_ready"
        SEVEN = 7


@dataclass(frozen=True)
class Art:
    phase: Outer.Phase
    tags: tuple[str, ...] = ()
    n: int = field(default=0, init=False)


@dataclass(frozen=True, kw_only=True)
class Base:
    name: str = field(default="", metadata={"description": "what it is called"})
    level: Level = Level.LOW


@dataclass(frozen=True, kw_only=True, slots=True)
class Derived(Base):
    art: Art
    seen: frozenset[Stage] = frozenset()
    score: float = 0.0


@dataclass(frozen=True)
class Circle:
    radius: float
    kind: Literal["circle"] = "circle"


@dataclass(frozen=True)
class Square:
    side: int
    kind: Literal["square"] = "square"


Pair = namedtuple("Pair", "a b")


class Word(str):
    pass


class Zone(tzinfo):
    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "Here"


PLAIN = (str, int, float, bool, NoneType, Stage, Level, Outer.Phase, Literal["a", "b"], Literal["a", 1, True, None])
LEAVES = (*PLAIN, datetime, Path, Art, Derived, Circle | None, Square)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ZONES = st.none() | st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds)))


def _record(parts: list[Any]) -> type:
    return make_dataclass("Made", [(f"part{index}", tp) for index, tp in enumerate(parts)], frozen=True)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda tp: tuple[tp, ...]),
        st.lists(inner, max_size=3).map(lambda tps: tuple[tuple(tps)]),
        inner.map(lambda tp: frozenset[tp]),
        inner.map(lambda tp: dict[str, tp]),
        st.lists(inner, min_size=1, max_size=3).map(_record),
        st.lists(inner, min_size=2, max_size=3).map(lambda tps: Union[tuple(tps)]),  # noqa: UP007
    )


TYPES: st.SearchStrategy[Any] = st.recursive(st.sampled_from(LEAVES), _wider, max_leaves=6).filter(
    lambda tp: problem(tp) is None
)


def values(tp: Any) -> st.SearchStrategy[Any]:
    """Values of a type that has no problem."""
    origin, args = get_origin(tp), get_args(tp)
    if tp in _VALUES:
        return _VALUES[tp]
    if isinstance(tp, type) and origin is None and is_dataclass(tp):
        return _instances(tp)
    if isinstance(tp, type) and origin is None:
        return st.sampled_from(list(tp))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple) if args[1:] == (...,) else st.tuples(*map(values, args))
    if origin is frozenset:
        return st.lists(values(args[0]).filter(_can_hash), max_size=3).map(frozenset)
    if origin is dict:
        return st.dictionaries(TEXT, values(args[1]), max_size=3)
    return st.one_of(*map(values, args))


_VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(),
    float: NUMBERS | st.integers(),
    bool: st.booleans(),
    NoneType: st.none(),
    datetime: st.datetimes(timezones=ZONES).map(lambda moment: moment.replace(fold=0)),
    Path: TEXT.map(Path),
}


def _can_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _instances(cls: Any) -> st.SearchStrategy[Any]:
    def build(given: dict[str, Any]) -> Any:
        late = {item.name for item in fields(cls) if not item.init}
        made = cls(**{key: value for key, value in given.items() if key not in late})
        for key in late:
            object.__setattr__(made, key, given[key])
        return made

    return st.fixed_dictionaries({key: values(tp) for key, tp in hints(cls).items()}).map(build)


def same(one: Any, other: Any) -> bool:
    """Equal, with the same type at every depth; -0.0 is not 0.0."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, datetime):
        return (one.isoformat(), one.tzname(), one.fold) == (other.isoformat(), other.tzname(), other.fold)
    if isinstance(one, tuple):
        return all(map(same, one, other))
    if isinstance(one, frozenset):
        return all(any(same(item, twin) for twin in other) for item in one)
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if is_dataclass(one):
        return all(same(getattr(one, item.name), getattr(other, item.name)) for item in fields(one))
    return True


ODD = (
    *(None, True, False, 0, 1, 2, 1.0, -0.0, 7, "", "a", "draft", "circle", "query_ready", float("nan"), float("inf")),
    *(10**4299, 10**4300, -(10**4300), "\ud800", "a\udcff", Word("a"), b"a", Stage.DRAFT, Level.LOW, Outer.Phase.SEVEN),
    *(
        [],
        [1],
        {},
        {"a": 1},
        {1: "a"},
        {"\ud800": 1},
        set(),
        frozenset(),
        frozenset({1}),
        (),
        (1,),
        (1, "a"),
        ("a", (1,)),
    ),
    *(Pair(1, 2), defaultdict(int), Counter("aa"), OrderedDict(a=1), deque([1]), object(), int, len),
    *(Path("a"), Path("a\udcff"), PurePosixPath("a/b")),
    *(datetime(2024, 1, 2), datetime(2024, 1, 2, fold=1), datetime(2024, 1, 2, tzinfo=Zone())),
    *(datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=1), "CET")), datetime(1, 1, 1, tzinfo=UTC)),
    *(Art(Outer.Phase.QUERY), Art("query_ready"), Circle(1), Circle(True), Square(2), Square(2, "circle")),
)
