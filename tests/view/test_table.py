"""The layout of tables: nothing lost, nothing too wide, nothing a terminal would obey."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.view.steps import table

CELLS = st.text(st.characters(codec="utf-8"), max_size=30)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, 90))
def test_a_table_keeps_to_its_width_and_loses_no_letter(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = table(("a", "b", "c"), rows, width=width).splitlines()
    assert all(len(line) <= max(width, 7) for line in lines)
    assert all(char.isprintable() for line in lines for char in line)
    given_letters = sorted(char for row in rows for cell in row for char in cell if char.isalnum())
    assert sorted(char for line in lines[2:] for char in line if char.isalnum()) == given_letters


def test_the_widest_column_is_the_one_that_wraps() -> None:
    text = table(("n", "text"), [("1", "one two three four five")], width=15)
    assert text.splitlines() == ["n  text", "-  ------------", "1  one two", "   three four", "   five"]


def test_numbers_stand_to_the_right() -> None:
    assert table(("n", "m"), [("1", "x"), ("10", "y")], right={0}).splitlines()[2:] == [" 1  x", "10  y"]


def test_a_cell_cannot_break_a_line_or_move_the_cursor() -> None:
    assert table(("n",), [("a\r\nb\x1b[2J",)]).splitlines()[2:] == ["a b\ufffd[2J"]
