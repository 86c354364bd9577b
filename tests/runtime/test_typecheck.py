from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, Flag, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NewType, Optional, TypeVar, Union

import pytest

from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.typecheck import checker, hints, misfit, problem, type_name
from tests.runtime.samples import ODD, Art, Circle, Derived, Level, Outer, Pair, Square, Stage, Word, Zone

if TYPE_CHECKING:
    from decimal import Decimal

T = TypeVar("T")


class Halves(Enum):
    HALF = 0.5


class Perm(Flag):
    READ = 1


class Colour(StrEnum):
    RED = "red"
    DRAFT = "draft"


@dataclass
class Loose:
    x: int


@dataclass(frozen=True)
class Tree:
    children: tuple[Tree, ...] = ()


@dataclass(frozen=True)
class Ping:
    pong: Pong | None = None


@dataclass(frozen=True)
class Pong:
    ping: Ping | None = None


@dataclass(frozen=True)
class Step:
    lines: list[int]


@dataclass(frozen=True)
class Plan:
    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Box(Generic[T]):
    item: T


class Undecorated(Circle):
    extra: int


@dataclass(frozen=True)
class Lost:
    price: Decimal


@dataclass(frozen=True)
class Noted:
    stage: Annotated[Stage, "told to the model"]
    many: Annotated[tuple[Annotated[int, 1], ...], 2] = ()


@dataclass(frozen=True)
class Unfinished:
    x: int = field(init=False)


GOOD: tuple[Any, ...] = (
    *(str, int, float, bool, None, Stage, Level, Outer.Phase, datetime, Path),
    *(Literal["a"], Literal["a", 1, True, None], Optional[int], int | str | None, float | int),  # noqa: UP045
    *(tuple[()], tuple[int], tuple[int, str], tuple[int, ...], frozenset[Stage], dict[str, tuple[int, ...]]),
    *(Art, Derived, Noted, Circle | None | tuple[int, ...], Literal["a"] | int, Stage | None, Stage | int),
    *(Outer.Phase | bool, Path | int, bool | int | None, dict[str, int] | tuple[int, ...] | str),
)
WAY_OUT = "cannot be saved: use str, int, float, bool, None, Enum, Literal, tuple[T, ...]"
BAD: tuple[tuple[Any, str], ...] = (
    *(
        (tp, f"{type_name(tp)} {WAY_OUT}")
        for tp in (list[int], set[str], dict[int, str], defaultdict[str, int], Counter)
    ),
    *(
        (tp, f"{type_name(tp)} {WAY_OUT}")
        for tp in (list, dict, tuple, frozenset, deque[int], bytes, object, Any, Pair)
    ),
    *((tp, WAY_OUT) for tp in (Sequence[str], Callable[[int], str], NewType("Id", int), T, Box[int], Perm, "Stage")),
    ([int], "[<class 'int'>] is not a type"),
    (Literal[Stage.DONE], "cannot be saved as a constant: use str, int, bool or None"),
    (Halves, "Halves: 0.5 cannot be saved as a constant"),
    (Loose, "Loose is no frozen dataclass: use @dataclass(frozen=True)"),
    (Undecorated, "Undecorated is no frozen dataclass"),
    (Plan, "Step.lines: list[int] cannot be saved"),
    (tuple[Plan, ...] | None, "Step.lines: list[int] cannot be saved"),
    (Tree, "Tree.children: Tree contains itself"),
    (Ping, "Pong.ping: Ping contains itself"),
    (Box, "Box.item: ~T cannot be saved"),
    (Lost, "Lost: an annotation cannot be resolved (name 'Decimal' is not defined)"),
    (str | Path, "str and Path cannot be told apart in JSON, keep one of them"),
    (Path | datetime, "Path and datetime cannot be told apart"),
    (str | Stage, "cannot be told apart"),
    (float | Level, "cannot be told apart"),
    (Stage | Colour, "Stage and Colour cannot be told apart"),
    (tuple[int, ...] | frozenset[int], "cannot be told apart"),
    (dict[str, int] | Circle, "dict[str, int] and Circle cannot be told apart in JSON, keep one"),
    (Circle | Square, "Circle and Square cannot be told apart"),
)


@pytest.mark.parametrize("tp", GOOD, ids=type_name)
def test_a_type_that_can_be_saved_has_no_problem(tp: Any) -> None:
    assert problem(tp) is None


@pytest.mark.parametrize(("tp", "words"), BAD, ids=[type_name(tp) for tp, _ in BAD])
def test_a_type_that_cannot_be_saved_says_which_part_and_what_to_use(tp: Any, words: str) -> None:
    found = problem(tp)
    assert found is not None and words in found
    with pytest.raises(CodecError):
        checker(tp)


FITS: tuple[tuple[Any, Any], ...] = (
    (int, 0),
    (int, 10**4300 - 1),
    (float, 1.5),
    (float, 3),
    (bool, False),
    (str, "é🙂\0"),
    (None, None),
    (Literal["a", 1], 1),
    (tuple[int, ...], ()),
    (tuple[int, str], (1, "a")),
    (frozenset[int], frozenset({1})),
    (dict[str, int | None], {"a": None}),
    (datetime, datetime(2024, 1, 1, tzinfo=UTC)),
    (datetime, datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))),
    (datetime, datetime(2024, 1, 1, tzinfo=timezone(timedelta(seconds=-1)))),
    (Path, Path("a/b")),
)
MISFITS: tuple[tuple[Any, Any, str, str], ...] = (
    (int, True, "", "expected int, got True (bool)"),
    (int, Level.LOW, "", "expected int, got <Level.LOW: 1> (Level)"),
    (int, 1.0, "", "expected int, got 1.0 (float)"),
    (int, 10**4300, "", "more than 4300 digits"),
    (float, True, "", "expected float, got True (bool)"),
    (float, float("nan"), "", "expected float, got nan (float): only finite numbers fit"),
    (float | None, float("-inf"), "", "only finite numbers"),
    (float, -(10**4300), "", "expected float"),
    (bool, 1, "", "expected bool, got 1 (int)"),
    (str, Stage.DRAFT, "", "expected str, got <Stage.DRAFT: 'draft'> (Stage)"),
    (str, Word("a"), "", "expected str, got 'a' (Word)"),
    (str, "\ud800", "", "lone surrogates"),
    (str, None, "", "expected str, got None"),
    (Stage, "draft", "", "expected Stage, got 'draft' (str)"),
    (Literal[1], True, "", "expected Literal[1], got True (bool)"),
    (Literal[1], 1.0, "", "expected Literal[1], got 1.0 (float)"),
    (Literal["a"], [], "", "got [] (list)"),
    (tuple[int, ...], [1], "", "expected tuple[int, ...], got [1] (list)"),
    (tuple[int, int], Pair(1, 2), "", "(Pair)"),
    (tuple[int, int], (1,), "", "expected tuple[int, int], got (1,) (tuple)"),
    (tuple[int, ...], (1, True), "[1]", "expected int, got True (bool)"),
    (frozenset[int], {1}, "", "expected frozenset[int], got {1} (set)"),
    (frozenset[str], frozenset({1}), "[0]", "expected str, got 1 (int)"),
    (dict[str, int], defaultdict(int), "", "(defaultdict)"),
    (dict[str, int], {1: 1}, "", "expected dict[str, int], got {1: 1} (dict)"),
    (dict[str, int], {"a b": "x"}, "['a b']", "expected int, got 'x' (str)"),
    (datetime, datetime(2024, 1, 1, fold=1), "", "it would not come back equal"),
    (datetime, datetime(2024, 1, 1, tzinfo=Zone()), "", "it would not come back equal"),
    (datetime, datetime(2024, 1, 1, tzinfo=timezone(timedelta(0), "Z")), "", "it would not come back equal"),
    (datetime, datetime(2024, 1, 1, tzinfo=timezone(timedelta(microseconds=1))), "", "it would not come back equal"),
    (Path, Path("\udcff"), "", "it would not come back equal"),
    (Art, Art("query_ready"), "phase", "expected Outer.Phase, got 'query_ready' (str)"),  # type: ignore[arg-type]
    (Art, {"phase": "query_ready"}, "", "expected Art, got {'phase': 'query_ready'} (dict)"),
    (Circle, Undecorated(1), "", "(Undecorated)"),
    (Derived, Derived(art=Art(Outer.Phase.QUERY, ("a", 2))), "art.tags[1]", "expected str, got 2 (int)"),  # type: ignore[arg-type]
    (tuple[Square, ...], (Square(1), Square("x")), "[1].side", "expected int, got 'x' (str)"),  # type: ignore[arg-type]
    (Unfinished, Unfinished(), "x", "expected int, got Ellipsis"),
)


@pytest.mark.parametrize(("tp", "value"), FITS, ids=[type_name(tp) for tp, _ in FITS])
def test_a_value_of_its_type_fits(tp: Any, value: Any) -> None:
    assert checker(tp)(value) is True
    assert misfit(tp, value) is None


@pytest.mark.parametrize(
    ("tp", "value", "path", "words"), MISFITS, ids=[f"{type_name(t)}-{p}" for t, _, p, _ in MISFITS]
)
def test_a_value_of_another_type_does_not_fit_and_the_place_is_said(tp: Any, value: Any, path: str, words: str) -> None:
    assert checker(tp)(value) is False
    found = misfit(tp, value)
    assert found is not None
    assert found[0] == path
    assert words in found[1]


def test_the_place_begins_with_the_path_that_was_given() -> None:
    assert misfit(tuple[int, ...], ("a",), "state.counts") == ("state.counts[0]", "expected int, got 'a' (str)")


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_a_complaint_about_any_value_is_short_and_shows_no_address(value: Any) -> None:
    found = misfit(Derived, value)
    assert found is not None
    assert len(found[1]) < 150
    assert " at 0x" not in found[1]


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("value", ["x" * 10**6, tuple(range(10**5)), (10**5000,), Hostile(), [[[[[[[[]]]]]]]]])
def test_a_huge_or_hostile_value_is_quoted_in_at_most_80_characters(value: Any) -> None:
    found = misfit(int, value)
    assert found is not None
    assert len(found[1]) < len("expected int, got  (list)") + 90


def test_hints_are_resolved_in_field_order_and_without_annotated() -> None:
    assert hints(Noted) == {"stage": Stage, "many": tuple[int, ...]}
    assert list(hints(Derived)) == ["name", "level", "art", "seen", "score"]


NAMES: tuple[tuple[Any, str], ...] = (
    (int, "int"),
    (None, "None"),
    (Optional[Stage], "Stage | None"),  # noqa: UP045
    (Union[int, str], "int | str"),  # noqa: UP007
    (tuple[str, ...], "tuple[str, ...]"),
    (tuple[()], "tuple[()]"),
    (dict[str, tuple[int, Stage]], "dict[str, tuple[int, Stage]]"),
    (Literal["a", 1, None], "Literal['a', 1, None]"),
    (Outer.Phase, "Outer.Phase"),
    (Any, "Any"),
    (list[list[int]], "list[list[int]]"),
)


@pytest.mark.parametrize(("tp", "name"), NAMES, ids=[name for _, name in NAMES])
def test_a_type_is_named_as_a_person_writes_it(tp: Any, name: str) -> None:
    assert type_name(tp).removeprefix("collections.abc.") == name


def test_a_class_made_in_a_function_is_named_without_the_function() -> None:
    class Inner:
        pass

    assert type_name(Inner) == "Inner"
