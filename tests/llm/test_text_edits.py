"""Edits of a text: exactly one place, byte for byte, all or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.llm.edits import Edit, EditError, apply_edits, file_edit, unique_edit

LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "é\f"]), min_size=1, max_size=12)
TEXTS = st.builds(
    lambda lines, ends: "".join(map("".join, zip(lines, ends, strict=False))),
    LINES,
    st.lists(st.sampled_from(["\n", "\r\n"]), min_size=12, max_size=12),
).filter(str.strip)


def places(text: str) -> st.SearchStrategy[int]:
    """Offsets that do not lie within a line end."""
    return st.sampled_from([at for at in range(len(text) + 1) if text[max(at - 1, 0) : at + 1] != "\r\n"])


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def replaced(text: str, old: str, new: str) -> str:
    return apply_edits(text, [Edit(path="f", old=old, new=new)])


def made_whole(text: str, source: str) -> str:
    edit = file_edit("f", text, source)
    return apply_edits(text, [edit] if edit else [])


@settings(deadline=None)
@given(TEXTS, st.data())
def test_a_place_becomes_an_edit_that_finds_it_again(text: str, data: st.DataObject) -> None:
    start, end = sorted((data.draw(places(text)), data.draw(places(text))))
    edit = unique_edit("f", text, start, end, "NEW")
    assert apply_edits(text, [edit]) == text[:start] + "NEW" + text[end:]


def test_the_edit_takes_no_more_lines_than_it_needs() -> None:
    text = "def f():\n    return 1\n\ndef g():\n    return 1\n"
    assert unique_edit("f", text, 4, 5, "h") == Edit(path="f", old="def f():\n", new="def h():\n")
    edit = unique_edit("f", text, text.rindex("1"), text.rindex("1") + 1, "2")
    assert edit.old == "def g():\n    return 1\n"


def test_no_place_in_an_empty_file_can_be_named() -> None:
    with pytest.raises(EditError, match="empty") as caught:
        unique_edit("f", " \n", 0, 0, "x")
    assert caught.value.kind == "empty_file"


def test_a_text_that_occurs_twice_is_refused_with_its_lines() -> None:
    with pytest.raises(EditError, match="2 times in 'f', on lines 1, 3") as caught:
        replaced("x=1\ny=1\nx=1\n", "x=1", "x=2")
    assert (caught.value.kind, caught.value.lines) == ("ambiguous", (1, 3))


def test_matches_that_overlap_count_as_two() -> None:
    with pytest.raises(EditError) as caught:
        replaced("aaa", "aa", "b")
    assert caught.value.kind == "ambiguous"


def test_a_miss_quotes_the_closest_line_with_its_number() -> None:
    with pytest.raises(EditError) as caught:
        replaced("x=1\ny=1\nx=1\n", "y = 1", "y=3")
    assert (caught.value.kind, caught.value.lines) == ("no_match", (2,))
    assert "2: y=1" in caught.value.hint


def test_a_miss_of_several_lines_quotes_as_many() -> None:
    with pytest.raises(EditError) as caught:
        replaced("def f(a):\n    b = a\n    return b\n", "def f(a):\n    b = a + 1\n", "")
    assert caught.value.lines == (1, 2) and "2:     b = a" in caught.value.hint


@pytest.mark.parametrize("old", ["", " \n\t"])
def test_an_edit_of_nothing_is_refused(old: str) -> None:
    with pytest.raises(EditError) as caught:
        replaced("a \n\t", old, "x")
    assert caught.value.kind == "empty_old"


def test_an_edit_that_changes_nothing_is_refused() -> None:
    with pytest.raises(EditError) as caught:
        replaced("a\r\nb\r\n", "a\nb", "a\nb")
    assert (caught.value.kind, caught.value.lines) == ("no_change", (1,))


def test_plain_line_ends_match_those_of_the_file_and_the_new_text_takes_them() -> None:
    assert replaced("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n") == "x\r\ny\r\nz\r\nc\r\n"
    assert replaced("a\r\nb\r\nc\r\n", "b", "p\nq") == "a\r\np\r\nq\r\nc\r\n"


def test_in_a_file_of_both_line_ends_the_rest_stays_as_it_was() -> None:
    assert replaced("a\r\nb\nc\r\nd\n", "b\nc\n", "x\n") in ("a\r\nx\nd\n", "a\r\nx\r\nd\n")


def test_a_batch_is_all_or_nothing() -> None:
    edits = [Edit(path="f", old="y=1", new="y=2"), Edit(path="f", old="zz", new="q")]
    with pytest.raises(EditError) as caught:
        apply_edits("x=1\ny=1\n", edits)
    assert caught.value.kind == "no_match"


def test_places_are_those_of_the_original_text() -> None:
    edits = [Edit(path="f", old="one", new="two"), Edit(path="f", old="two", new="three")]
    assert apply_edits("one two", edits) == "two three"


def test_edits_that_overlap_are_refused() -> None:
    edits = [Edit(path="f", old="ab", new="x"), Edit(path="f", old="bc", new="y")]
    with pytest.raises(EditError) as caught:
        apply_edits("abc", edits)
    assert caught.value.kind == "overlap"


def test_a_backslash_in_the_new_text_is_a_backslash() -> None:
    assert replaced("a", "a", r"\1\n\g<0>") == r"\1\n\g<0>"


@settings(deadline=None)
@given(TEXTS, LINES)
def test_a_whole_file_becomes_edits_that_make_it(text: str, lines: list[str]) -> None:
    source = "\n".join(lines) + "\n"
    after = made_whole(text, source)
    assert plain(after).removesuffix("\n") == source.removesuffix("\n")
    assert after.endswith("\n") == text.endswith("\n")


def test_in_a_whole_file_all_but_the_characters_that_differ_stays() -> None:
    assert made_whole("\ufeffa\r\nb\nc\r\nd", "a\nB\nc\nd\n") == "\ufeffa\r\nB\nc\r\nd"


def test_the_edit_of_a_whole_file_goes_from_the_first_line_that_differs_to_the_last() -> None:
    text = "".join(f"line {n}\n" for n in range(40))
    edit = file_edit("f", text, text.replace("line 3\n", "LINE 3\n").replace("line 5\n", ""))
    assert edit == Edit(path="f", old="line 3\nline 4\nline 5\n", new="LINE 3\nline 4\n")
    assert file_edit("f", text, text) is None
