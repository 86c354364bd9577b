"""`audits.jsonl`: lines are added and never changed, and what is torn is left out and said."""

from __future__ import annotations

import os
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from graph_agent.cli.auditlog import FILE, add_to_log, read_log
from graph_agent.verify.audit import Entry

ENTRY = Entry(
    kind="judged", run="a", workflow="W", ended=1.5, passed=True, policy="p", at="now", who="mo", word="accept",
    why="so\nit \u2028is",
)  # fmt: skip


def test_what_was_added_is_read_back_in_order(tmp_path: Path) -> None:
    assert read_log(tmp_path).entries == ()
    add_to_log(tmp_path, ENTRY)
    before = (tmp_path / FILE).read_bytes()
    add_to_log(tmp_path, replace(ENTRY, run="b"))
    assert [one.run for one in read_log(tmp_path).entries] == ["a", "b"]
    assert read_log(tmp_path).entries[0] == ENTRY
    assert (tmp_path / FILE).read_bytes().startswith(before)


def test_a_torn_line_is_left_out_and_said_and_the_next_one_is_whole(tmp_path: Path) -> None:
    add_to_log(tmp_path, ENTRY)
    whole = (tmp_path / FILE).read_bytes()
    for cut in range(1, len(whole)):
        (tmp_path / FILE).write_bytes(whole + whole[:cut])
        add_to_log(tmp_path, replace(ENTRY, run="b"))
        log = read_log(tmp_path)
        assert [one.run for one in log.entries][0 :: len(log.entries) - 1] == ["a", "b"]
        assert len(log.entries) + len(log.unread) == 3
    (tmp_path / FILE).write_bytes(whole + whole[:40])
    (said,) = read_log(tmp_path).unread
    assert said.startswith(f"{FILE}, line 2 is left out: ")


def _add(folder: str, who: str) -> None:
    for _ in range(20):
        add_to_log(Path(folder), replace(ENTRY, who=who))


@pytest.mark.skipif(os.name == "nt", reason="appending is not one step there")
def test_two_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    makers = [get_context("spawn").Process(target=_add, args=(str(tmp_path), who)) for who in ("mo", "jo")]
    for one in makers:
        one.start()
    for one in makers:
        one.join(60)
    log = read_log(tmp_path)
    assert (len(log.entries), log.unread) == (40, ())
