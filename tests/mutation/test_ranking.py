"""The order in which candidates come: suspicious lines first, likely edits first, hints shift what is likely."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.mutation import Candidate, Lines, candidates
from graph_agent.mutation.scoring import read_hints

SAME = "def f(a, b):\n    x = a < b\n    y = a < b\n    z = a < b\n    w = a < b\n    return x, y, z, w\n"
MIXED = (
    "def f(values, key):\n    if key < 0 and values:\n        return None\n"
    "    total = key + 2\n    first = values[key]\n    return sorted(first)\n"
)


def order(source: str, lines: Lines, family: str, new: str) -> list[int]:
    found = candidates({"m.py": source}, lines={"m.py": lines})
    return [c.mutant.line for c in found if c.mutant.family == family and c.mutant.new == new]


def rank(source: str, output: str, fixed: str) -> int:
    found = candidates({"m.py": source}, lines={"m.py": Lines(failing=frozenset(range(9)))}, hints=output)
    return next(at for at, c in enumerate(found) if c.mutant.apply(source) == fixed)


def test_lines_come_from_the_traceback_inwards_to_what_no_failing_test_runs() -> None:
    lines = Lines(failing=frozenset({2, 3, 4}), passing=frozenset({3, 4, 5}), traceback=(4,))
    assert order(SAME, lines, "comparison", "<=") == [4, 2, 3, 5]


def test_the_innermost_frame_comes_before_the_other_ones() -> None:
    lines = Lines(failing=frozenset({2, 3, 4, 5}), passing=frozenset(), traceback=(5, 3))
    assert order(SAME, lines, "comparison", "<=")[:2] == [3, 5]


def test_among_lines_that_passing_tests_run_too_the_one_that_fewest_run_comes_first() -> None:
    shared = frozenset({2, 3, 4})
    lines = Lines(failing=shared, passing=shared, passing_tests={2: 9, 3: 1, 4: 4})
    assert order(SAME, lines, "comparison", "<=") == [3, 4, 2, 5]


def test_among_lines_that_passing_tests_run_too_the_one_that_most_failing_tests_run_comes_first() -> None:
    shared = frozenset({2, 3})
    lines = Lines(failing=shared, passing=shared, failing_tests={2: 1, 3: 4}, passing_tests={2: 3, 3: 3}, failed=4)
    assert order(SAME, lines, "comparison", "<=")[:2] == [3, 2]


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 10_000), st.integers(0, 10_000))
def test_no_number_of_tests_takes_a_line_out_of_its_place(failing: int, other: int, passing: int, more: int) -> None:
    shared = frozenset({3, 4})
    lines = Lines(
        failing=shared | {1, 2},
        passing=shared | {5},
        traceback=(1,),
        failing_tests=dict.fromkeys((1, 2, 3, 4), failing),
        passing_tests={3: passing, 4: passing + more, 5: passing},
        failed=failing + other,
    )
    traceback, only_failing, fewer, many, rest = map(lines.suspicion, (1, 2, 3, 4, 5))
    assert traceback > only_failing > fewer >= many > rest
    assert (fewer == many) == (more == 0)


def test_a_line_without_a_count_is_run_by_one_test() -> None:
    shared = frozenset({2})
    counted = Lines(failing=shared, passing=shared, failing_tests={2: 1}, passing_tests={2: 1}, failed=1)
    assert Lines(failing=shared, passing=shared).suspicion(2) == counted.suspicion(2)


def test_without_knowledge_likelier_edits_come_first() -> None:
    scores = [candidate.score for candidate in candidates({"m.py": SAME})]
    assert scores == sorted(scores, reverse=True)


def test_several_files_are_ranked_together() -> None:
    files = {"a.py": SAME, "b.py": SAME, "c.py": SAME}
    lines = {"b.py": Lines(failing=frozenset({2, 3, 4, 5, 6}), passing=frozenset(), traceback=())}
    found = list(candidates(files, lines=lines))
    scores = [candidate.score for candidate in found]
    assert scores == sorted(scores, reverse=True)
    assert {candidate.path for candidate in found[:20]} == {"b.py"}
    assert {candidate.path for candidate in found} == set(files)


def test_a_file_that_does_not_parse_is_skipped() -> None:
    found = list(candidates({"bad.py": "def f(:\n", "good.py": SAME}))
    assert found and {candidate.path for candidate in found} == {"good.py"}


def test_a_file_that_is_not_suspected_is_not_read_before_its_turn() -> None:

    class Text(str):
        __slots__ = ()

        def startswith(self, *_: object) -> bool:
            raise AssertionError("was read")

    lines = {"a.py": Lines(failing=frozenset({2, 3}), passing=frozenset(), traceback=(2,))}
    first = list(islice(candidates({"b.py": Text(SAME), "a.py": SAME}, lines=lines), 5))
    assert {candidate.path for candidate in first} == {"a.py"}


def test_no_files_give_no_candidates() -> None:
    assert list(candidates({})) == []


def test_candidates_are_the_same_every_time() -> None:
    def again() -> list[Candidate]:
        return list(candidates({"a.py": SAME, "b.py": MIXED}, hints="E   IndexError: list index out of range"))

    assert again() == again()


@pytest.mark.parametrize(
    ("output", "fixed"),
    [
        ("E   assert [1, 2] == [2, 1]", MIXED.replace("sorted(first)", "sorted(first, reverse=True)")),
        ("E   IndexError: list index out of range", MIXED.replace("values[key]", "values[key - 1]")),
        ("E   assert None == [1]", MIXED.replace("return None", "return values")),
        ("AssertionError: [3, 1] != [1, 3]", MIXED.replace("sorted(first)", "sorted(first, reverse=True)")),
    ],
)
def test_a_hint_brings_its_fix_forward(output: str, fixed: str) -> None:
    assert rank(MIXED, output, fixed) < rank(MIXED, "", fixed)


@pytest.mark.parametrize(
    ("output", "sign"),
    [
        ("E   assert 3 == 4\nE    +  where 3 = f(1)", "off by one"),
        ("AssertionError: 3 != 4", "off by one"),
        ("E   assert -3 == 3", "sign"),
        ("E   assert 'ab' == 'AB'", "case"),
        ("E   assert 'ab' == 'ba'", "order"),
        ("E   assert [1] == [1, 2]", "length"),
        ("E   assert False is True", "truth"),
        ("E   assert None == 1", "none"),
        ("E   assert '1' == 1", "sort of thing"),
        ("E   RecursionError: maximum recursion depth exceeded", "RecursionError"),
        ("E   NameError: name 'x' is not defined", "NameError"),
        ("the command timed out after 5 s", "timeout"),
    ],
)
def test_output_is_read_as_a_sign(output: str, sign: str) -> None:
    assert sign in read_hints(output)


@pytest.mark.parametrize(
    "output", ["", "assert", "E  assert [[[ == ]]]", "assert 1" + "0" * 9999 + " == 1", "\0\ud800 assert 'a == b"]
)
def test_odd_output_is_no_hint_and_no_error(output: str) -> None:
    assert read_hints(output) == frozenset()


def test_what_a_test_expects_is_never_written_into_a_mutant() -> None:
    source = "def f(a):\n    return a\n"
    for candidate in candidates({"m.py": source}, hints="E   assert 'spam' == 'eggs 4711'\nE   assert 1 == 4711"):
        assert "4711" not in candidate.mutant.new
        assert "eggs" not in candidate.mutant.new
