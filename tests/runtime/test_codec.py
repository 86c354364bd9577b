from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from tests.runtime.samples import Art, Base, Circle, Derived, Level, Outer, Stage


@dataclass(frozen=True)
class Observation:
    id: str
    source: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class State:
    observations: tuple[Observation, ...] = ()
    stage: Stage | None = None
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Positive:
    amount: int
    doubled: int = field(init=False)

    def __post_init__(self) -> None:
        if self.amount <= 0:
            raise ValueError("amount must be above zero")
        object.__setattr__(self, "doubled", 2 * self.amount)


@dataclass(frozen=True, eq=False)
class Unhashable:
    x: int
    __hash__ = None  # type: ignore[assignment]


def test_a_dataclass_is_written_with_all_its_fields_by_value() -> None:
    derived = Derived(name="n", art=Art(Outer.Phase.SEVEN, ("t",)), seen=frozenset(Stage))
    assert encode(derived) == {
        "name": "n",
        "level": 1,
        "art": {"phase": 7, "tags": ["t"], "n": 0},
        "seen": ["done", "draft"],
        "score": 0.0,
    }


def test_what_is_left_out_takes_its_default_and_what_has_none_is_missed() -> None:
    assert decode(Derived, {"art": {"phase": 7}}) == Derived(art=Art(Outer.Phase.SEVEN))
    with pytest.raises(CodecError, match="art: missing: Derived has no default for it"):
        decode(Derived, {})


def test_a_field_that_the_class_computes_comes_back_as_saved() -> None:
    art = Art(Outer.Phase.QUERY)
    object.__setattr__(art, "n", 5)
    assert decode(Art, encode(art)).n == 5


def test_a_computed_field_that_is_absent_is_what_the_class_computes() -> None:
    assert decode(Positive, {"amount": 2}).doubled == 4


def test_a_class_may_refuse_the_data() -> None:
    with pytest.raises(CodecError) as caught:
        decode(tuple[Positive, ...], [{"amount": 1}, {"amount": 0}], "orders")
    assert caught.value.path == "orders[1]"
    assert caught.value.message == "Positive refuses these values: amount must be above zero"
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_int_in_a_float_field_stays_an_int() -> None:
    assert type(decode(Circle, encode(Circle(3))).radius) is int


def test_a_set_is_written_in_an_order_that_does_not_depend_on_how_it_was_made() -> None:
    words = [f"w{number}" for number in range(50)]
    assert encode(frozenset(words), frozenset[str]) == encode(frozenset(reversed(words)), frozenset[str])


def test_a_literal_none_is_read_also_within_a_union() -> None:
    assert decode(Literal["a", None] | int, None) is None


def test_times_are_read_as_a_model_writes_them() -> None:
    assert decode(datetime, "2024-05-01T12:30:00Z") == datetime(2024, 5, 1, 12, 30, tzinfo=UTC)


BAD: tuple[tuple[Any, Any, str, str], ...] = (
    (State, {"observations": [{"id": "O1", "sorce": ""}]}, "state.observations[0].sorce", "did you mean 'source'?"),
    (State, {"other": 1}, "state.other", "its fields are observations, stage, scores"),
    (State, {"observations": [{}]}, "state.observations[0].id", "missing"),
    (State, {"observations": [{"id": "a"}, {"id": 3}]}, "state.observations[1].id", "expected str, got 3 (int)"),
    (State, {"observations": {}}, "state.observations", "expected a list for tuple[Observation, ...], got {} (dict)"),
    (State, {"observations": ({"id": "a"},)}, "state.observations", "expected a list"),
    (State, {"observations": [{"id": "a", "lines": [1, True]}]}, "state.observations[0].lines[1]", "expected int"),
    (State, {"stage": "don"}, "state.stage", "expected one of 'draft', 'done', got 'don' (str)"),
    (State, {"stage": 1}, "state.stage", "expected Stage | None, got 1 (int)"),
    (State, {"stage": []}, "state.stage", "expected Stage | None, got [] (list)"),
    (State, {"scores": {"a": "1"}}, "state.scores['a']", "expected float, got '1' (str)"),
    (State, {"scores": {"a": float("nan")}}, "state.scores['a']", "only finite numbers"),
    (State, {"scores": {1: 1.0}}, "state.scores", "expected dict[str, float], got {1: 1.0} (dict)"),
    (State, None, "state", "expected an object for State, got None"),
    (State, [["observations", []]], "state", "expected an object for State"),
    (State, {1: 2}, "state.1", "not a field of State"),
    (Level, True, "state", "expected one of 1, 2, got True (bool)"),
    (Level, 1.0, "state", "got 1.0 (float)"),
    (Level, 10**5000, "state", "expected one of 1, 2"),
    (Literal["a"], "b", "state", "expected one of 'a', got 'b' (str)"),
    (tuple[int, str], [1], "state", "expected 2 items for tuple[int, str], got 1"),
    (tuple[int, str], [1, 2], "state[1]", "expected str, got 2 (int)"),
    (frozenset[int], [1, 2, 1], "state", "an item is there twice"),
    (frozenset[dict[str, int]], [{}], "state", "cannot be in a frozenset"),
    (frozenset[Unhashable], [{"x": 1}], "state", "cannot be in a frozenset"),
    (datetime, "2024-05-01", "state", "write it like"),
    (datetime, "2024-02-30T00:00:00", "state", "day"),
    (datetime, "2024-05-01T12:30:00.1234567", "state", "write it like"),
    (datetime, "٢٠٢٤-05-01T12:30:00", "state", "write it like"),
    (datetime, 5, "state", "expected a string for datetime, got 5 (int)"),
    (Path, "\udcff", "state", "it would not come back equal"),
    (str, "\ud800", "state", "lone surrogates"),
    (int, 10**4300, "state", "more than 4300 digits"),
    (int, 1.0, "state", "expected int, got 1.0 (float)"),
    (list[int], [1], "", "list[int] cannot be saved"),
)


@pytest.mark.parametrize(("tp", "data", "path", "words"), BAD, ids=range(len(BAD)))
def test_data_that_does_not_fit_is_refused_with_its_path(tp: Any, data: Any, path: str, words: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode(tp, data, "state")
    assert caught.value.path == path
    assert words in caught.value.message
    assert len(str(caught.value)) < 400


def test_a_hostile_key_is_cut_in_the_message_and_refused_quickly() -> None:
    with pytest.raises(CodecError) as caught:
        decode(State, {"x" * 10**6: 1})
    assert len(str(caught.value)) < 400


def test_a_field_of_another_type_is_refused_when_it_is_written() -> None:
    with pytest.raises(CodecError) as caught:
        encode(State(observations=(Observation("O1", source=None),)), path="state")  # type: ignore[arg-type]
    assert str(caught.value) == "state.observations[0].source: expected str, got None"


def test_a_subclass_is_not_written_as_its_base() -> None:
    with pytest.raises(CodecError, match=r"expected Base, got Derived\(.*\(Derived\)"):
        encode(Derived(art=Art(Outer.Phase.SEVEN)), Base)
