import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graph_agent.protocols import ToolError
from graph_agent.tools.textedit import TextEdit, edited, edited_bytes, placed


def edit(text, *pairs):
    return edited(text, [TextEdit(old, new) for old, new in pairs], "f")


def refusal(text, *pairs):
    with pytest.raises(ToolError) as caught:
        edit(text, *pairs)
    return caught.value


def test_only_the_span_changes_and_new_lines_take_the_line_end_around_them():
    assert edit("a\r\nb\r\nc\nlast", ("b\nc", "B\nX\nc")) == "a\r\nB\r\nX\r\nc\nlast"


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "a\r\nx\r\nb", "a\r\nx\r\nb\r\n"),
        ("a\nb\n", "a\r\nb", "a\r\nx\r\nb", "a\nx\nb\n"),
        ("a\r\nb\nc\n", "b", "b\nx", "a\r\nb\nx\nc\n"),
        ("a\r\nb\nc\n", "a", "a\nx", "a\r\nx\r\nb\nc\n"),
        ("one", "one", "one\ntwo", "one\ntwo"),
        ("one", "one", "one\r\ntwo", "one\r\ntwo"),
        ("a\r\nlast", "last", "last\nmore", "a\r\nlast\r\nmore"),
        ("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"),
        ("a\rb\n", "a\rb", "a\rc", "a\rc\n"),
    ],
)
def test_line_ends(text, old, new, expected):
    assert edit(text, (old, new)) == expected


def test_a_match_that_would_cut_a_line_end_in_two_is_none():
    assert refusal("x\r\ny\r\n", ("x\r\ny\r", "z")).kind == "no_match"
    assert edit("q\r\n\nb\r\nc", ("\nb\r\n", "\nB\r\n")) == "q\r\n\nB\r\nc"


def test_new_text_is_literal():
    assert edit("name", ("name", r"\1 \g<0> \n")) == r"\1 \g<0> \n"


@pytest.mark.parametrize("old", ["", " ", "\n", "\t\r\n "])
def test_blank_text_to_find_is_refused(old):
    assert refusal("a b\n", (old, "x")).kind == "empty_old"


@pytest.mark.parametrize(("old", "new"), [("a", "a"), ("a\nb", "a\r\nb")])
def test_an_edit_that_changes_nothing_is_refused(old, new):
    assert refusal("a\nb\n", (old, new)).kind == "no_change"


def test_no_edits_at_all_are_refused():
    assert refusal("a").kind == "bad_arguments"


def test_a_text_that_occurs_twice_is_refused_with_its_lines():
    error = refusal("x=1\ny=1\nx=1\n", ("x=1", "x=2"))
    assert (error.kind, error.lines) == ("ambiguous", (1, 3))
    assert "2 times" in error.message


def test_an_edit_that_changes_nothing_is_refused_with_its_line():
    assert refusal("a\nb\n", ("b", "b")).lines == (2,)


def test_overlapping_matches_count_as_two():
    assert refusal("aaa", ("aa", "b")).kind == "ambiguous"


def test_two_matches_with_different_line_ends_are_two():
    assert refusal("a\r\nb\nx\na\nb\n", ("a\nb", "c")).kind == "ambiguous"


def test_a_batch_is_all_or_nothing():
    assert refusal("x=1\ny=1\nx=1\n", ("y=1", "y=2"), ("zz", "q")).kind == "no_match"


def test_offsets_are_those_of_the_original():
    assert edit("a\nb\nc\n", ("a", "b"), ("b", "a"), ("c", "")) == "b\na\n\n"
    assert edit("a\nb\n", ("b", "B"), ("a", "A")) == "A\nB\n"


def test_two_edits_of_the_same_text_are_refused_with_their_lines():
    error = refusal("a\nb\nc\n", ("a\nb", "a\nX"), ("b\nc", "Y\nc"))
    assert (error.kind, error.lines) == ("overlap", (1, 2))
    assert refusal("a\nb\n", ("a", "a1"), ("a\n", "a2\n")).kind == "overlap"


def test_edits_of_neighbouring_places_may_both_put_something_in_between():
    assert edit("a\nb\n", ("b\n", "y\nb\n"), ("a\n", "a\nx\n")) == "a\nx\ny\nb\n"


def test_in_a_file_of_both_line_ends_the_lines_that_stay_keep_theirs():
    assert edit("a\r\nb\nc\r\nd\n", ("a\nb\nc", "A\nb\nC")) == "A\r\nb\nC\r\nd\n"
    assert edit("a\nb\r\nc\nd", ("a\nb\nc\nd", "x\nb\ny\nz\nc\nw")) == "x\nb\r\ny\nz\nc\nw"


def test_a_miss_quotes_the_closest_lines():
    error = refusal("x=1\ny=1\nx=1\n", ("y = 1", "y=3"))
    assert error.kind == "no_match" and "2: y=1" in error.hint and error.lines == (2,)


def test_a_miss_of_several_lines_quotes_as_many():
    text = "def f(a):\n    total = 0\n    return total\n\ndef g():\n    pass\n"
    error = refusal(text, ("def f(a):\n    total = 1\n    return total", "x"))
    assert error.lines == (1, 2, 3) and "2:     total = 0" in error.hint


def test_a_miss_with_nothing_close_says_what_to_do():
    error = refusal("x=1\n", ("something quite different", "y"))
    assert error.lines == () and "Read the file again" in error.hint


def test_a_miss_in_a_large_file_is_quick_to_report():
    text = "".join(f"value_{number} = compute({number})\n" for number in range(200_000))
    assert refusal(text, ("value = compute", "x" * 100_000)).kind == "no_match"


def test_a_byte_order_mark_stays():
    assert edited_bytes(b"\xef\xbb\xbfa\r\n", [TextEdit("a", "b\nc")], "f") == b"\xef\xbb\xbfb\r\nc\r\n"


def test_bytes_that_are_no_utf8_stay_and_only_ascii_is_put_beside_them():
    raw = b"# caf\xe9\nx = 1\n"
    assert edited_bytes(raw, [TextEdit("x = 1", "x = 2")], "f") == b"# caf\xe9\nx = 2\n"
    with pytest.raises(ToolError) as caught:
        edited_bytes(raw, [TextEdit("x = 1", "x = 'é'")], "f")
    assert caught.value.kind == "binary"


@pytest.mark.parametrize("new", ["\0", "\ud800"])
def test_characters_that_no_text_file_holds_are_refused(new):
    with pytest.raises(ToolError) as caught:
        edited_bytes(b"a\n", [TextEdit("a", new)], "f")
    assert caught.value.kind == "bad_arguments"


def test_a_binary_file_is_refused():
    with pytest.raises(ToolError) as caught:
        edited_bytes(b"a\0b", [TextEdit("a", "b")], "f")
    assert caught.value.kind == "binary"


lines = st.lists(st.tuples(st.text("abé ", max_size=3), st.sampled_from(["\n", "\r\n"])), max_size=8)
texts = st.builds(lambda pairs, last: "".join(a + b for a, b in pairs) + last, lines, st.text("ab", max_size=2))


def line_ends(text):
    return set(re.findall("\r?\n", text))


@settings(max_examples=50)
@given(texts, st.data())
def test_the_rest_of_the_bytes_is_untouched(text, data):
    start = data.draw(st.integers(0, len(text)))
    old = text[start : data.draw(st.integers(start, len(text)))]
    assume(old.strip() and not old.startswith("\n") and not old.endswith("\r"))
    seen = text.replace("\r\n", "\n")
    assume(seen.count(old.replace("\r\n", "\n")) == 1)
    try:
        result = edit(text, (old, "NEW"))
    except ToolError as error:
        assert error.kind == "ambiguous"  # overlapping matches, which count() does not see
        return
    assert result.replace("NEW", old, 1) == text


@given(texts, st.text("abé\n", min_size=1, max_size=6), st.text("abé\n", max_size=6))
def test_the_lines_are_those_of_a_plain_replace(text, old, new):
    seen = text.replace("\r\n", "\n")
    try:
        result = edit(text, (old, new))
    except ToolError as error:
        assert error.kind in ("empty_old", "no_change", "no_match", "ambiguous")
        return
    assert result.replace("\r\n", "\n") == seen.replace(old, new, 1)
    for line_end in ("\n", "\r\n"):
        if line_end in text and line_ends(text) == {line_end}:
            assert line_ends(result) <= {line_end}


@given(texts, st.data())
def test_an_edit_as_it_is_in_the_file_does_the_same(text, data):
    seen = text.replace("\r\n", "\n")
    start = data.draw(st.integers(0, len(seen)))
    old = seen[start : data.draw(st.integers(start, len(seen)))]
    wanted = TextEdit(old, data.draw(st.text("ab\n", max_size=4)))
    try:
        change = placed(text, wanted, "f")
    except ToolError:
        return
    exact = TextEdit(text[change.start : change.end], change.new)
    assert exact.old in text
    assert edited(text, [exact], "f") == edited(text, [wanted], "f") == text.replace(exact.old, exact.new, 1)


@given(texts, st.text("abX\n", min_size=1, max_size=4), st.text("XY\n", min_size=1, max_size=4))
def test_an_edit_can_be_taken_back(text, old, new):
    assume(new.strip())
    try:
        back = edit(edit(text, (old, new)), (new, old))
    except ToolError:
        return
    assert back.replace("\r\n", "\n") == text.replace("\r\n", "\n")
