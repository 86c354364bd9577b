"""Steps in layers: what is ready together, in which order, and what is refused before anything runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.runtime.dag import layers, step_problems
from graph_agent.runtime.errors import PlanError

Steps = list[tuple[str, list[str]]]

REFUSED: list[tuple[Steps, str]] = [
    ([("a", ["b"]), ("b", ["a"])], "cycle"),
    ([("a", ["zz"])], "zz"),
    ([("a", []), ("a", [])], "duplicate"),
    ([("a", ["a"])], "itself"),
    ([], "empty"),
]


@pytest.mark.parametrize(("steps", "word"), REFUSED, ids=[word for _, word in REFUSED])
def test_a_table_that_can_not_be_carried_out_is_refused(steps: Steps, word: str) -> None:
    with pytest.raises(PlanError, match=word):
        layers(steps)


def test_every_fault_stands_in_one_error() -> None:
    with pytest.raises(PlanError) as caught:
        layers([("a", ["lokk", "a"]), ("look", []), ("b", ["c"]), ("c", ["b"]), ("look", []), ("look", [])])
    assert caught.value.problems == (
        "duplicate id 'look': 3 steps have it",
        "step 'a' depends on 'lokk', which is no step, did you mean 'look'?",
        "step 'a' depends on itself",
        "the steps go round in a cycle: b -> c -> b",
    )


def test_the_path_of_a_cycle_names_who_goes_round_and_nobody_else() -> None:
    steps: Steps = [("start", ["x"]), ("x", ["y"]), ("y", ["z", "end"]), ("z", ["x"]), ("end", [])]
    assert list(step_problems(steps)) == ["the steps go round in a cycle: x -> y -> z -> x"]


def test_a_cycle_is_found_though_one_of_its_steps_stands_twice() -> None:
    steps: Steps = [("a", ["b"]), ("b", ["a"]), ("a", [])]
    assert any("cycle: " in problem for problem in step_problems(steps))


def test_a_dependency_that_is_named_twice_is_one() -> None:
    assert layers([("b", ["a", "a"]), ("a", [])]) == [["a"], ["b"]]


def test_within_a_layer_the_order_is_that_of_the_plan() -> None:
    assert layers([("d", ["b", "c"]), ("c", ["a"]), ("b", ["a"]), ("a", [])]) == [["a"], ["c", "b"], ["d"]]


def test_within_a_layer_what_others_depend_on_comes_first() -> None:
    assert layers([("a", []), ("b", []), ("c", []), ("d", ["c"])]) == [["c", "a", "b"], ["d"]]


def test_a_long_chain_needs_no_recursion() -> None:
    chain = [(f"s{n}", [f"s{n + 1}"] if n < 1_999 else []) for n in range(2_000)]
    assert layers(chain) == [[f"s{n}"] for n in reversed(range(2_000))]


@st.composite
def plans(draw: st.DrawFn) -> Steps:
    """Steps without a cycle, in any order."""
    names = [f"s{n}" for n in range(draw(st.integers(1, 10)))]
    steps = [
        (name, draw(st.lists(st.sampled_from(names[:at]), max_size=4)) if at else []) for at, name in enumerate(names)
    ]
    random.Random(draw(st.integers())).shuffle(steps)
    return steps


@given(plans())
def test_each_step_stands_in_one_layer_and_all_that_it_needs_before_it(steps: Steps) -> None:
    found = layers(steps)
    level = {name: at for at, layer in enumerate(found) for name in layer}
    assert sorted(name for layer in found for name in layer) == sorted(name for name, _ in steps)
    for name, needs in steps:
        assert level[name] == max((level[other] + 1 for other in needs), default=0)


@given(plans())
def test_layers_are_stable(steps: Steps) -> None:
    order = [name for name, _ in steps]
    needed = {other for _, others in steps for other in others}
    for layer in layers(steps):
        assert layer == sorted(layer, key=lambda name: (name not in needed, order.index(name)))


@given(plans(), st.data())
def test_one_edge_back_is_a_cycle_and_its_path_is_one(steps: Steps, data: st.DataObject) -> None:
    first = data.draw(st.sampled_from([name for name, _ in steps]))
    below = _all_below(first, dict(steps)) - {first}
    if not below:
        return
    last = data.draw(st.sampled_from(sorted(below)))
    turned = [(name, [*needs, first] if name == last else needs) for name, needs in steps]
    (problem,) = step_problems(turned)
    path = problem.partition("cycle: ")[2].split(" -> ")
    assert path[0] == path[-1]
    assert all(other in dict(turned)[name] for name, other in pairwise(path))


def _all_below(name: str, needs: dict[str, list[str]]) -> set[str]:
    return {name}.union(*(_all_below(other, needs) for other in needs[name]))


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.lists(st.sampled_from("abcdz"), max_size=3)), max_size=6))
def test_any_table_is_laid_out_or_refused(steps: Sequence[tuple[str, list[str]]]) -> None:
    problems = list(step_problems(steps))
    if problems:
        with pytest.raises(PlanError) as caught:
            layers(steps)
        assert caught.value.problems == tuple(problems)
    else:
        assert {name for layer in layers(steps) for name in layer} == {name for name, _ in steps}
