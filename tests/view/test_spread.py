"""Percentiles are figures that occurred; bars fit, and are never empty for something; numbers have no exponent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.view.spread import bars, shown, spread


@pytest.mark.parametrize(
    ("figures", "p50", "p90", "most", "mean"),
    [
        ([], 0, 0, 0, 0),
        ([7], 7, 7, 7, 7),
        ([1, 2], 1, 2, 2, 1.5),
        (range(1, 11), 5, 9, 10, 5.5),
        ([1] * 9 + [100], 1, 1, 100, 10.9),
    ],
)
def test_a_percentile_is_a_figure_that_occurred(figures: Any, p50: float, p90: float, most: float, mean: float) -> None:
    found = spread(figures)
    assert (found.p50, found.p90, found.max) == (p50, p90, most)
    assert found.mean == pytest.approx(mean)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40))
def test_at_least_nine_in_ten_do_not_exceed_the_90th_and_no_smaller_figure_will_do(figures: list[int]) -> None:
    found = spread(figures)
    assert found.p50 in figures and found.p90 in figures
    for share, of in ((0.5, found.p50), (0.9, found.p90)):
        assert sum(one <= of for one in figures) >= share * len(figures) > sum(one < of for one in figures)
    assert found.p50 <= found.p90 <= found.max == max(figures)


def test_bars_are_as_long_as_their_share_of_the_largest_and_never_empty_for_something() -> None:
    lines = bars({"a": 200, "bb": 100, "c": 1, "none": 0}, width=27, plain=True)
    assert lines == [
        "a     ##########  200 (66%)",
        "bb    #####       100 (33%)",
        "c     #           1 (0%)",
        "none              0 (0%)",
    ]
    assert bars({"a": 1, "b": 0.5}, width=17)[1].split()[1] == "\u2588" * 2
    assert bars({}) == []


@given(
    st.dictionaries(st.text(max_size=50), st.floats(0, 1e9), min_size=1, max_size=5),
    st.integers(40, 130),
    st.booleans(),
)
def test_bars_fit_the_terminal_on_one_line_each(counts: dict[str, float], width: int, plain: bool) -> None:
    lines = bars(counts, width=width, plain=plain)
    assert len(lines) == len(counts)
    assert all(len(line) <= width and line.isprintable() for line in lines)
    assert not plain or all(line.isascii() for line in lines)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (0, "0"), (3, "3"), (12345678, "12345678"), (999.6, "1000"), (99.96, "100"), (1.5, "1.5"), (0.25, "0.25"),
        (0.0123, "0.012"), (0.00009, "<0.001"), (10.93, "10.9"),
    ],
)  # fmt: skip
def test_a_number_has_three_digits_that_count_and_no_exponent(figure: float, text: str) -> None:
    assert shown(figure) == text
