"""Texts of a run without a journal: kept under their hash, read back word for word, or an error."""

from __future__ import annotations

from hashlib import sha256
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.protocols import Context, blob_ref
from graph_agent.runtime.errors import BlobError
from graph_agent.runtime.texts import Texts


@given(st.lists(st.text()))
def test_each_text_is_read_back_word_for_word(written: list[str]) -> None:
    texts = Texts()
    refs = [texts.keep(text) for text in written]
    assert [texts.read(ref) for ref in refs] == written


def test_the_reference_is_the_hash_that_a_journal_would_give() -> None:
    assert Texts().keep("snow\n") == blob_ref("snow\n") == sha256(b"snow\n").hexdigest()


def test_line_ends_and_half_of_a_pair_are_kept() -> None:
    texts = Texts()
    for text in ("a\r\nb\rc\n", "\ud83d", "", "\x00"):
        assert texts.read(texts.keep(text)) == text


def test_the_same_text_twice_has_one_reference() -> None:
    texts = Texts()
    assert texts.keep("twice") == texts.keep("twice")


def test_a_text_that_nobody_kept_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(BlobError, match=r"no text is kept under 'abc'.*one Texts for its whole life"):
        Texts().read("abc")


def test_a_reference_of_any_length_is_shown_in_part() -> None:
    with pytest.raises(BlobError) as caught:
        Texts().read("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_what_is_not_held_is_asked_for_behind_and_what_is_held_is_not() -> None:
    asked: list[str] = []

    def behind(ref: str) -> str:
        asked.append(ref)
        return "from the disk"

    texts = Texts(behind)
    ref = texts.keep("held")
    assert (texts.read(ref), texts.read("elsewhere"), asked) == ("held", "from the disk", ["elsewhere"])


def test_what_is_not_behind_either_is_the_error_of_who_was_asked() -> None:
    inner = Texts()
    with pytest.raises(BlobError):
        Texts(inner.read).read("abc")


def test_a_context_keeps_and_reads_with_it() -> None:
    texts = Texts()
    ctx = Context(keep=texts.keep, read=texts.read)
    assert ctx.read(ctx.keep("a long text")) == "a long text"


def test_branches_may_keep_at_the_same_time() -> None:
    texts = Texts()
    threads = [Thread(target=lambda n=n: [texts.keep(f"{n}:{i}") for i in range(200)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(texts.read(blob_ref(f"{n}:{i}")) == f"{n}:{i}" for n in range(4) for i in range(200))
