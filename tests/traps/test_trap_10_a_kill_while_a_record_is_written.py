"""Killed while a record is being written: the last whole record stands, it is said, and nothing else is lost."""

from __future__ import annotations

from pathlib import Path

from graph_agent import Run, read_run, resume
from tests.traps.durable import Stage, graph_that, start

AGAIN = graph_that(lambda state, ctx: {"sent": True}, on_interrupted="retry")


def test_half_a_record_is_dropped_and_said_and_the_run_goes_on(tmp_path: Path) -> None:
    with Run.create(tmp_path / "whole", AGAIN, start()) as run:
        straight = resume(run)
    raw = (tmp_path / "whole" / "journal.jsonl").read_bytes()
    last = raw[:-1].rindex(b"\n") + 1
    for cut in range(last + 1, len(raw)):
        folder = tmp_path / f"cut{cut}"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(raw[:cut])
        before = len(read_run(folder)[0])
        with Run.open(folder, AGAIN) as run:
            assert run.notes[0].startswith("dropped: the last line")
            assert run.seq == before - 1
            final = resume(run)
        assert (final, final.stage) == (straight, Stage.DONE)
