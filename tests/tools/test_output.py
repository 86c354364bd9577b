"""What is kept of an output, and how it looks."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.tools.process import HeadAndTail, printable


def kept(raw: bytes, limit: int = 1000, chunk: int = 64) -> tuple[str, int]:
    buffer = HeadAndTail(limit)
    for start in range(0, len(raw), chunk):
        buffer.add(raw[start : start + chunk])
    return buffer.text()


def test_a_short_output_is_kept_whole() -> None:
    assert kept(b"one\ntwo\n") == ("one\ntwo\n", 0)
    assert kept(b"x" * 1000) == ("x" * 1000, 0)


def test_of_a_long_output_head_and_tail_are_kept_and_the_gap_is_counted() -> None:
    raw = b"first\n" + b"".join(b"line %d\n" % n for n in range(1000)) + b"FAILED t.py::a\n"
    text, dropped = kept(raw)
    head, gap, tail = text.partition(f"\n[... {dropped} bytes dropped ...]\n")
    assert gap and head.startswith("first\n") and tail.endswith("FAILED t.py::a\n")
    assert len(head) + len(tail) + dropped == len(raw)
    assert raw.startswith(head.encode()) and raw.endswith(tail.encode())
    assert raw[len(head) :].startswith(b"\n") and raw[: -len(tail)].endswith(b"\n")  # whole lines at both sides


@settings(max_examples=50)
@given(st.text(min_size=1, max_size=8), st.integers(200, 2000), st.integers(1, 300))
def test_no_character_is_cut_in_two(unit: str, limit: int, chunk: int) -> None:
    raw = (unit.replace("\ufffd", "?") * 700).encode("utf-8", "replace")
    text, dropped = kept(raw, limit, chunk)
    assert ("\ufffd" in text) == ("\ufffd" in printable(raw))
    assert len(text.encode()) <= 3 * limit + 60
    assert (dropped > 0) == (len(raw) > limit // 2 * 2)


def test_memory_does_not_grow_with_the_output() -> None:
    buffer, chunk = HeadAndTail(20_000), b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(3000):
            buffer.add(chunk)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert buffer.text()[1] == 3000 * 65536 - 20_000


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"ok \xff\xfe \x00 \x1b[31mred caf\xc3", "ok \ufffd\ufffd \u2400 red caf\ufffd"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\x1b]0;title\x07x\x1b]8;;http://h\x1b\\link\x1b[0m\x1b(B", "xlink"),
        (b"\x1b[31\n", "\u241b[31\n"),
        ("a\u202eb\u2028c".encode(), "a\ufffdb\ufffdc"),
        ("tab\tnaïve 日本 🙂\n".encode(), "tab\tnaïve 日本 🙂\n"),
    ],
)
def test_what_a_terminal_would_act_on_is_out_or_visible(raw: bytes, shown: str) -> None:
    assert printable(raw) == shown


@given(st.binary(max_size=300))
def test_any_bytes_become_text_that_json_and_utf8_can_carry(raw: bytes) -> None:
    text = printable(raw)
    assert json.loads(json.dumps({"o": text}))["o"] == text
    assert text.encode("utf-8").decode("utf-8") == text
    assert all(sign in "\n\t" or sign >= " " for sign in text)
