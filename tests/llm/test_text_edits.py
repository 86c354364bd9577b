"""Edits of a text: exactly one place, byte for byte, all or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.llm.edits import Edit, EditError, apply_edits, file_edits, replace_edit, unique_edit
from graph_agent.llm.textedits import Change, edits_from_changes
from graph_agent.tools.textedit import TextEdit, edited

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


def occurrences(text: str, piece: str) -> int:
    return sum(text.startswith(piece, at) for at in range(len(text)))


@settings(deadline=None)
@given(TEXTS, st.data())
def test_a_place_becomes_an_edit_that_finds_it_again(text: str, data: st.DataObject) -> None:
    start, end = sorted((data.draw(places(text)), data.draw(places(text))))
    edit = unique_edit("f", text, start, end, "NEW")
    assert occurrences(text, edit.old) == 1
    assert apply_edits(text, [edit]) == text[:start] + "NEW" + text[end:]


@settings(deadline=None)
@given(TEXTS, st.data())
def test_several_places_become_edits_that_work_together(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(places(text), min_size=2, max_size=8)))
    changes = [Change(a, b, str(n)) for n, (a, b) in enumerate(zip(cuts[::2], cuts[1::2], strict=False))]
    expected, at = "", 0
    for change in changes:
        expected += text[at : change.start] + change.new
        at = change.end
    after = apply_edits(text, edits_from_changes("f", text, changes))
    assert plain(after) == plain(expected + text[at:])
    if plain(text).count("\n") in (text.count("\n") - text.count("\r\n"), text.count("\r\n")):
        assert after == expected + text[at:]


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
        replace_edit("f", "x=1\ny=1\nx=1\n", "x=1", "x=2")
    assert (caught.value.kind, caught.value.lines) == ("ambiguous", (1, 3))


def test_matches_that_overlap_count_as_two() -> None:
    with pytest.raises(EditError) as caught:
        replace_edit("f", "aaa", "aa", "b")
    assert caught.value.kind == "ambiguous"


def test_a_miss_quotes_the_closest_line_with_its_number() -> None:
    with pytest.raises(EditError) as caught:
        replace_edit("f", "x=1\ny=1\nx=1\n", "y = 1", "y=3")
    assert (caught.value.kind, caught.value.lines) == ("no_match", (2,))
    assert "2: y=1" in caught.value.hint


def test_a_miss_of_several_lines_quotes_as_many() -> None:
    with pytest.raises(EditError) as caught:
        replace_edit("f", "def f(a):\n    b = a\n    return b\n", "def f(a):\n    b = a + 1\n", "")
    assert caught.value.lines == (1, 2) and "2:     b = a" in caught.value.hint


@pytest.mark.parametrize("old", ["", " \n\t"])
def test_an_edit_of_nothing_is_refused(old: str) -> None:
    with pytest.raises(EditError) as caught:
        replace_edit("f", "a \n\t", old, "x")
    assert caught.value.kind == "empty_old"


def test_an_edit_that_changes_nothing_is_refused() -> None:
    with pytest.raises(EditError) as caught:
        replace_edit("f", "a\r\nb\r\n", "a\nb", "a\nb")
    assert (caught.value.kind, caught.value.lines) == ("no_change", (1,))


def test_plain_line_ends_match_those_of_the_file_and_the_new_text_takes_them() -> None:
    text = "a\r\nb\r\nc\r\n"
    edit = replace_edit("f", text, "a\nb\n", "x\ny\nz\n")
    assert edit == Edit(path="f", old="a\r\nb\r\n", new="x\r\ny\r\nz\r\n")
    assert apply_edits(text, [edit]) == "x\r\ny\r\nz\r\nc\r\n"
    assert replace_edit("f", text, "b", "p\nq").new == "p\r\nq"


def test_in_a_file_of_both_line_ends_the_rest_stays_as_it_was() -> None:
    text = "a\r\nb\nc\r\nd\n"
    edit = replace_edit("f", text, "b\nc\n", "x\n")
    assert edit == Edit(path="f", old="b\nc\r\n", new="x\r\n")
    assert apply_edits(text, [edit]) == "a\r\nx\r\nd\n"


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


def test_edits_of_two_files_are_not_applied_to_one_text() -> None:
    with pytest.raises(EditError) as caught:
        apply_edits("ab", [Edit(path="f", old="a", new="x"), Edit(path="g", old="b", new="y")])
    assert caught.value.kind == "several_files"


def test_a_backslash_in_the_new_text_is_a_backslash() -> None:
    assert apply_edits("a", [replace_edit("f", "a", "a", r"\1\n\g<0>")]) == r"\1\n\g<0>"


@settings(deadline=None)
@given(TEXTS, LINES)
def test_a_whole_file_becomes_edits_that_make_it(text: str, lines: list[str]) -> None:
    source = "\n".join(lines) + "\n"
    try:
        after = apply_edits(text, file_edits("f", text, source))
    except EditError as error:
        assert error.kind == "no_change"
        after = text
    assert after.replace("\r\n", "\n").removesuffix("\n") == source.removesuffix("\n")
    assert after.endswith("\n") == text.endswith("\n")


def test_in_a_whole_file_all_but_the_characters_that_differ_stays() -> None:
    text = "\ufeffa\r\nb\nc\r\nd"
    after = apply_edits(text, file_edits("f", text, "a\nB\nc\nd\n"))
    assert after == "\ufeffa\r\nB\nc\r\nd"


def test_what_may_be_applied_here_the_tool_that_writes_files_makes_the_same_of() -> None:
    text = "a\r\nb\r\na\nb\n"
    edits = file_edits("f", text, "a\nb\nA\nb\n")
    written = edited(text, [TextEdit(edit.old, edit.new) for edit in edits], "f")
    assert written == apply_edits(text, edits) == "a\r\nb\r\nA\nb\n"


def test_a_whole_file_changes_only_where_it_differs() -> None:
    text = "".join(f"line {n}\n" for n in range(40))
    edits = file_edits("f", text, text.replace("line 3\n", "LINE 3\n").replace("line 33\n", ""))
    assert [edit.old for edit in edits] == ["line 3\n", "line 33\n"]
