"""The lines of a journal: whole, or an error with its number; only the last may be damaged, and that is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import CodecError, JournalCorrupt
from graph_agent.runtime.records import line_of, read_records

ONE, TWO, THREE = ({"seq": number, "text": "é\u2028\x85\r \x0b"} for number in (1, 2, 3))
RAW = b"".join(map(line_of, (ONE, TWO, THREE)))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "\ud800" not in repr(value))


@given(st.lists(st.dictionaries(st.text(max_size=5), json_values, min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read_again(records):
    raw = b"".join(map(line_of, records))
    reading = read_records(raw, "run")
    assert list(reading.records) == records
    assert (reading.good, reading.dropped) == (len(raw), "")


def test_a_line_is_plain_json_in_utf8():
    assert json.loads(line_of(ONE)) == ONE | {"crc": json.loads(line_of(ONE))["crc"]}
    assert "é".encode() in line_of(ONE)


@pytest.mark.parametrize("cut", range(1, len(line_of(THREE))))
def test_an_unfinished_last_line_is_dropped_and_said(cut: int):
    """Also where the cut is within a character."""
    reading = read_records(RAW[:-cut], "run")
    assert reading.records == (ONE, TWO)
    assert reading.good == len(RAW) - len(line_of(THREE))
    assert reading.dropped.startswith(f"the last line ({len(line_of(THREE)) - cut} bytes): ")


@pytest.mark.parametrize(
    "tail", [b'{"seq":3,"ty', '{"m":"é'.encode()[:-1], b'{"seq":3}', b'{"seq":3,"ty\n', b"\0" * 40, b"\n"]
)
def test_a_tail_that_is_no_record_is_dropped_and_said(tail: bytes):
    good = line_of(ONE) + line_of(TWO)
    reading = read_records(good + tail, "run")
    assert (reading.records, reading.good) == ((ONE, TWO), len(good))
    assert reading.dropped


@pytest.mark.parametrize("at", range(len(line_of(ONE))))
def test_a_changed_byte_anywhere_else_is_an_error_with_its_line(at: int):
    changed = bytearray(RAW)
    place = len(line_of(ONE)) + at
    changed[place] = 0x20 if RAW[place] != 0x20 else 0x21
    with pytest.raises(JournalCorrupt) as error:
        read_records(bytes(changed), "run")
    assert error.value.line == 2
    assert str(error.value).startswith("run, line 2: ")


def test_line_ends_that_are_gone_are_damage_and_no_unfinished_line():
    with pytest.raises(JournalCorrupt, match="line 1"):
        read_records(RAW.replace(b"\n", b" "), "run")
    with pytest.raises(JournalCorrupt, match="line 2"):
        read_records(line_of(ONE) + line_of(TWO)[:-1] + line_of(THREE), "run")


def test_a_line_end_that_is_gone_is_damage_though_the_line_after_it_is_torn():
    glued = line_of(TWO)[:-1] + b" " + line_of(THREE)[:7]
    for raw in (line_of(ONE) + glued, line_of(ONE) + glued + b"\n"):
        with pytest.raises(JournalCorrupt) as error:
            read_records(raw, "run")
        assert error.value.line == 2


@pytest.mark.parametrize("cut", range(2, 60))  # 1 is the line end
def test_a_torn_line_that_has_checksums_of_its_own_in_it_is_torn_and_no_more(cut: int):
    """A field of a state may have the name of ours."""
    last = line_of({"seq": 2, "files": [{"name": "a", "crc": "x"}, {"name": "b", "crc": "00000000"}], "crc": "y"})
    for end in (b"", b"\n", b"\0" * 9):
        reading = read_records(line_of(ONE) + last[:-cut] + end, "run")
        assert (reading.records, reading.good) == ((ONE,), len(line_of(ONE)))
        assert reading.dropped
    with pytest.raises(JournalCorrupt):
        read_records(line_of(ONE) + last[:-cut] + b"\n" + line_of(TWO), "run")


def test_garbage_between_whole_lines_is_an_error_with_its_line():
    with pytest.raises(JournalCorrupt, match="line 2: its checksum does not fit; the lines before it are whole"):
        read_records(line_of(ONE) + b"garbage\n" + line_of(TWO), "run")


def test_line_ends_of_another_system_are_damage():
    with pytest.raises(JournalCorrupt, match="line 1"):
        read_records(RAW.replace(b"\n", b"\r\n"), "run")


def test_nothing_is_nothing():
    assert read_records(b"", "run").records == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", b"x", {1}, object()], ids=repr)
def test_what_json_cannot_hold_is_refused_before_it_is_written(value: Any):
    with pytest.raises(CodecError, match="cannot be written as JSON"):
        line_of({"value": value})
