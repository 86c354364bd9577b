"""Citation marks: what is one, what only looks like one, and that code is none."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.citations import code_blocks, marks, without_blocks, without_code, without_marks

READ: list[tuple[str, tuple[str, ...]]] = [
    ("a [E1, E3] b [E2][E2] c [E4-E6]", ("E1", "E3", "E2", "E4", "E5", "E6")),
    ("`x[E1]` ```\nrow[E2]\n``` and [E3]", ("E3",)),
    ("It ends so [E1][E2].", ("E1", "E2")),
    ("It ends so. [E1] [E2]", ("E1", "E2")),
    ("[E1; E2] [E3,E4]", ("E1", "E2", "E3", "E4")),
    ("[E1\u2013E3] with a dash, [E7 - E8] with blanks", ("E1", "E2", "E3", "E7", "E8")),
    ("[E9-E9] is one", ("E9",)),
    ("**[E1]** and | cell [E2] | and [E3](https://example.org)", ("E1", "E2", "E3")),
    ("\u4e0a\u9650\u662f25\u6b65[E1]\uff0c\u4ee5\u524d\u662f20\u6b65\u3002[E2]", ("E1", "E2")),
    ("[E1000000]", ("E1000000",)),
    ("E1 says so, as E2 does", ()),
    ("[1] [Error] [e2e] [x] [E] [see below] (see E) [EE1]", ()),
]

MALFORMED = [
    "[E0]", "[E01]", "[e3]", "[E 3]", "[E3", "[^E3]", "[ E3 ]", "[E3, p. 3]", "[E3: the limit]", "[see E3]", "[E1-3]",
    "[E1/E2]", "[E1 and E2]", "[E1\uff0cE2]", "[E3-E1]", "[E1-E9999]", "[E-3]", "[E12345678]", "[evidence E3]",
    "[Evidence 3]", "[E3a]", "\u3010E3\u3011", "\uff3bE3\uff3d", "(E3)", "(E1, E2)", "\uff08E3\uff09", "[E\uff13]",
]  # fmt: skip

CODE = [
    "`x[E1]`", "``x[E1] ` y``", "```\nrow[E1]\n```", "```python\nrow[E1]\n```\n", "~~~\nrow[E1]\n~~~",
    "  ```\n  a[E1]\n  ```", "````\n```\nrow[E1]\n````", "```\nnever closed [E1]", "`over\ntwo lines [E1]`",
]  # fmt: skip

NO_CODE = [
    "a stray ` here\n\n[E1] and a stray ` there", "\\`x [E1] \\`", "```x``` is [E1]\n", "```\ncode\n```\n[E1]",
    "~~ [E1] ~~",
]  # fmt: skip


@pytest.mark.parametrize(("text", "ids"), READ)
def test_the_documented_forms_are_read_in_order_and_once(text: str, ids: tuple[str, ...]) -> None:
    found = marks(text)
    assert (found.ids, found.malformed) == (ids, ())


@pytest.mark.parametrize("mark", MALFORMED)
def test_what_only_looks_like_a_mark_is_said_and_is_none(mark: str) -> None:
    found = marks(f"It is 25 {mark} and no more [E5].")
    assert found.ids == ("E5",)
    assert [one.startswith(mark) for one in found.malformed] == [True]


@pytest.mark.parametrize("code", CODE)
def test_code_is_no_citation(code: str) -> None:
    assert marks(code).ids == marks(code).malformed == ()
    assert without_marks(code) == code


@pytest.mark.parametrize("text", NO_CODE)
def test_what_is_not_code_hides_no_citation(text: str) -> None:
    assert marks(text).ids == ("E1",)


def test_those_that_name_no_evidence_are_told() -> None:
    assert marks("ok [E9] [E1] [E8]").unknown({"E1", "E2", "E3"}) == ("E9", "E8")
    assert marks("ok [E1]").unknown(frozenset({"E1"})) == ()


def test_marks_go_with_the_blank_before_them_and_malformed_ones_stay() -> None:
    assert without_marks("It is 25 [E1][E2], not 20 [E3].") == "It is 25, not 20."
    assert without_marks("Run `make test` [E1], then ```x``` [E2].") == "Run `make test`, then ```x```."
    assert without_marks("It is 25 [E3-E1] `x[E1]`.") == "It is 25 [E3-E1] `x[E1]`."


def test_a_mark_that_comes_of_taking_one_out_goes_too() -> None:
    assert without_marks("so [E[E1]2] it is") == "so it is"


def test_only_blocks_are_taken_out_where_spans_are_to_stay() -> None:
    text = "`span`\n```\nblock\n```\nend"
    assert without_blocks(text).split() == ["`span`", "end"]
    assert without_code(text).split() == ["end"]


def test_the_inside_of_each_block_is_told_and_a_line_of_tildes_begins_none() -> None:
    text = "a\n```py\nx = 1\n\ny = 2\n```\n`span`\n~~~\nz\n~~~\nHeading\n~~~~~~~\ntext\n````\nopen\n```\nto the end"
    assert code_blocks(text) == ["x = 1\n\ny = 2", "z", "open\n```\nto the end"]
    assert code_blocks("no block, ```x``` here") == []


PIECES = [
    "[E1]", "[E2, E3]", "[E4-E5]", "[", "]", "E1", "e", "`", "``", "```", "~~~", "\n", "\n\n", " ", "x", "\\", "(", ")",
    "\u3010", "1", "-", "0",
]  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))


@given(TEXTS)
def test_any_text_is_read(text: str) -> None:
    found = marks(text)
    assert len(set(found.ids)) == len(found.ids)
    assert all(one in text for one in found.malformed)


@given(TEXTS)
def test_what_is_left_without_marks_has_none(text: str) -> None:
    left = without_marks(text)
    assert marks(left).ids == ()
    assert len(left) <= len(text)
    assert sum(map(str.isalnum, left)) >= sum(map(str.isalnum, re.sub(r"\[[E\d\s,;\u2013-]*\]", "", text)))


@given(TEXTS)
def test_a_text_without_code_keeps_its_lines_and_their_length(text: str) -> None:
    assert all(one in text for one in code_blocks(text))
    for kept in (without_code(text), without_blocks(text)):
        assert [len(line) for line in kept.split("\n")] == [len(line) for line in text.split("\n")]
        assert all(new in (old, " ") for new, old in zip(kept, text, strict=True))


@given(st.lists(st.integers(1, 9_999_999), min_size=1, max_size=6), st.sampled_from([", ", ",", "; ", "]["]))
def test_every_list_of_numbers_is_read_back(some: list[int], between: str) -> None:
    assert marks(f"so [{between.join(f'E{n}' for n in some)}].").ids == tuple(f"E{n}" for n in dict.fromkeys(some))


@pytest.mark.parametrize("piece", ["` `` ", "[E", "[E1", "```\n", "[E1]", "a `b", "[[[", "~~~ ", "(E1,", "\u3010E1"])
def test_a_long_text_of_any_kind_is_read_in_bounded_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    begun = time.perf_counter()
    marks(text)
    assert time.perf_counter() - begun < 5
