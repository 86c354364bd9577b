"""Forks and compaction: a new journal of an old one, whose bytes nobody touches until the new one is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graph_agent import (
    BlobError,
    Context,
    JournalError,
    Run,
    RunAbsent,
    RunBusy,
    compact,
    fork,
    pause_id,
    read_run,
    resume,
)
from graph_agent.runtime import checkpoint
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.reading import FILE
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import Died, bytes_of, graph, interrupted, lines_of, run_on, sent, whole, with_changes

WAITS = with_changes(counting(tools=("hammer",), on_limit=Stage.HUMAN))


def waiting(folder: Path) -> Path:
    with Run.create(folder / "run", WAITS, start(task_id="run", max_turns=0)) as run:
        run_on(run)
    return folder / "run"


@pytest.mark.parametrize("at", range(5))
def test_a_fork_goes_on_from_any_record_to_the_same_end(tmp_path: Path, at: int) -> None:
    parent = whole(tmp_path)
    before = bytes_of(parent)
    child = fork(parent, at=at, new_id="child")
    assert child == tmp_path / "child"
    with Run.open(child, counting()) as run:
        assert (run.header["run"], run.header["parent"]) == ("child", {"run": "run", "seq": at})
        assert (run.state.task_id, run.state.steps) == ("child", at)
        final = resume(run)
    with Run.open(parent, counting()) as run:
        straight = run.state
    assert (final.log, final.steps, final.stage) == (straight.log, straight.steps, straight.stage)
    assert bytes_of(parent) == before


def test_parent_and_child_go_on_without_each_other(tmp_path: Path) -> None:
    parent = tmp_path / "run"
    with Run.create(parent, counting(), start(task_id="run")) as run:
        with pytest.raises(Exception, match="max_steps"):
            run_on(run, max_steps=2)
    child = fork(parent, at=2, new_id="child")
    with Run.open(child, counting(lambda s, c: {"count": 9, "log": ("child's",)})) as run:
        assert resume(run).log == ("visit 1", "child's")
    with Run.open(parent, counting()) as run:
        assert resume(run).log == ("visit 1", "visit 2")


def test_a_fork_has_keys_and_pauses_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Run.create(folder, graph(tmp_path), start(task_id="run")) as run:
        resume(run)
    with Run.open(fork(folder, at=0, new_id="child"), graph(tmp_path)) as run:
        resume(run)
    assert sent(tmp_path) == ["run:work:1", "run:work:3", "child:work:1", "child:work:3"]
    with Run.open(fork(waiting(tmp_path / "w"), at=2, new_id="child"), WAITS) as run:
        assert pause_id(run.state) == "child:0"
        with pytest.raises(Exception, match="is not of this run"):
            run.answer({"max_turns": 3}, pause_id="run:0")
    assert [one["pause"] for one in read_run(tmp_path / "w" / "child")[0] if one["type"] == "asked"][-1] == "child:0"


def test_what_was_in_flight_in_the_parent_is_not_in_the_fork(tmp_path: Path) -> None:
    parent = interrupted(tmp_path)
    with Run.open(fork(parent, at=1, new_id="child"), graph(tmp_path)) as run:
        assert run.in_flight is None
        assert resume(run).stage is Stage.DONE
    assert sent(tmp_path) == ["run:work:1", "child:work:1", "child:work:3"]


@pytest.mark.parametrize(
    ("at", "name", "said"),
    [
        (9, "child", "the run run has no record 9: give one from 0 to 4"),
        (-1, "child", "has no record -1"),
        (True, "child", "has no record True"),
        (1, "run", "there is a run run already: give the fork another name"),
        (1, "../child", "is no name"),
        (1, "a/b", "is no name"),
        (1, "", "is no name"),
    ],
)
def test_a_fork_that_cannot_be_is_refused(tmp_path: Path, at: Any, name: str, said: str) -> None:
    parent = whole(tmp_path / "runs")
    before = bytes_of(tmp_path)
    with pytest.raises(JournalError) as error:
        fork(parent, at=at, new_id=name)
    assert said in str(error.value)
    assert bytes_of(tmp_path) == before


def test_a_fork_does_not_take_the_place_of_a_file(tmp_path: Path) -> None:
    parent = whole(tmp_path)
    (tmp_path / "child").write_text("mine", encoding="utf-8")
    with pytest.raises(JournalError, match=r"'child' is a file in .*: give the fork another name"):
        fork(parent, at=1, new_id="child")
    assert (tmp_path / "child").read_text(encoding="utf-8") == "mine"


def test_a_fork_of_nothing_is_absent(tmp_path: Path) -> None:
    with pytest.raises(RunAbsent):
        fork(tmp_path / "nope", at=0, new_id="child")
    assert list(tmp_path.iterdir()) == []


def test_a_fork_keeps_the_blobs_and_an_altered_one_is_not_the_parents(tmp_path: Path) -> None:
    def keeps(state: Count, ctx: Context) -> Any:
        return {"count": 2, "answer": ctx.keep("a long text")}

    with Run.create(tmp_path / "run", counting(keeps), start(task_id="run")) as run:
        ref = resume(run).answer
        assert ref is not None
    child = fork(tmp_path / "run", at=2, new_id="child")
    with Run.open(child, counting()) as run:
        assert run.read(ref) == "a long text"


@pytest.mark.parametrize("keep", range(5))
def test_a_compacted_run_is_the_same_and_goes_on(tmp_path: Path, keep: int) -> None:
    with Run.create(tmp_path / "run", counting(), start(task_id="run", need=3)) as run:
        with pytest.raises(Exception, match="max_steps"):
            run_on(run, max_steps=4)
        then = run.state
    before, after = compact(tmp_path / "run", keep=keep)
    assert (after == before) == (keep == 4)
    assert len([one for one in read_run(tmp_path / "run")[0] if one["type"] == "finished"]) == min(keep, 4)
    with Run.open(tmp_path / "run", counting()) as run:
        assert run.state == then
        final = resume(run)
    assert (final.count, final.steps, final.log) == (3, 6, ("visit 1", "visit 2", "visit 3"))
    assert compact(tmp_path / "run", keep=99)[0] == compact(tmp_path / "run", keep=99)[1]


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_compacted_run_is_forked_where_it_still_has_records_and_nowhere_else(tmp_path: Path, at: int) -> None:
    parent = whole(tmp_path)
    with Run.open(parent, counting()) as run:
        straight = run.state
    compact(parent, keep=2)
    before = bytes_of(parent)
    with pytest.raises(JournalError, match="the run run has no record 1: give one from 2 to 4"):
        fork(parent, at=1, new_id="child")
    with Run.open(fork(parent, at=at, new_id="child"), counting()) as run:
        assert (run.state.steps, run.header["parent"]) == (at, {"run": "run", "seq": at})
        assert resume(run).log == straight.log
    with Run.open(fork(tmp_path / "child", at=at, new_id="grandchild"), counting()) as run:
        assert (run.state.task_id, run.header["parent"]) == ("grandchild", {"run": "child", "seq": at})
        assert resume(run).log == straight.log
    assert bytes_of(parent) == before


def test_a_run_with_a_torn_end_is_forked_from_what_is_whole(tmp_path: Path) -> None:
    parent = whole(tmp_path)
    (parent / FILE).write_bytes((parent / FILE).read_bytes()[:-9])
    before = bytes_of(parent)
    with pytest.raises(JournalError, match="has no record 4: give one from 0 to 3"):
        fork(parent, at=4, new_id="child")
    with Run.open(fork(parent, at=3, new_id="child"), counting()) as run:
        assert (run.notes, resume(run).stage) == ((), Stage.DONE)
    assert bytes_of(parent) == before


def test_compacting_a_long_run_makes_it_short(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", counting(), start(task_id="run", need=200), durability="flush") as run:
        run_on(run)
    before, after = compact(tmp_path / "run", keep=5)
    assert after < before / 5


def test_a_run_that_waits_still_asks_and_can_be_answered(tmp_path: Path) -> None:
    folder = waiting(tmp_path)
    compact(folder, keep=0)
    assert [one["type"] for one in read_run(folder)[0]] == ["header", "asked"]
    with Run.open(folder, WAITS) as run:
        assert run.answer({"max_turns": 5}, pause_id="run:0").stage is Stage.WORK


def test_what_is_in_flight_stays_in_flight(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    compact(folder, keep=0)
    with Run.open(folder, graph(tmp_path)) as run:
        assert run.in_flight is not None
        assert resume(run).stage is Stage.HUMAN
    assert sent(tmp_path) == ["run:work:1"]


def test_a_run_that_is_held_is_left_alone(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    before = (folder / FILE).read_bytes()
    with Run.open(folder, counting()), pytest.raises(RunBusy):
        compact(folder, keep=0)
    assert (folder / FILE).read_bytes() == before


@pytest.mark.parametrize("keep", [-1, True, "1", None])
def test_how_many_steps_stay_is_a_number(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(JournalError, match="give the number of steps to keep, 0 or more"):
        compact(whole(tmp_path), keep=keep)


def test_compacting_nothing_is_absent(tmp_path: Path) -> None:
    with pytest.raises(RunAbsent):
        compact(tmp_path / "nope", keep=1)


@pytest.mark.parametrize("step", ["_write", "_rename"])
def test_a_compaction_that_is_stopped_in_the_middle_leaves_the_old_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder = whole(tmp_path)
    before = lines_of(folder)

    def stopped(path: Path, *rest: Any) -> None:
        if step == "_write":
            path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, step, stopped)
    with pytest.raises(OSError, match="No space"):
        compact(folder, keep=0)
    monkeypatch.undo()
    assert lines_of(folder) == before
    assert {path.name for path in folder.iterdir()} == {FILE, "lock"}, "no leftovers"


def test_a_text_is_kept_once_and_read_back(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    ref = blobs.put("é\ud800\n")
    assert blobs.put("é\ud800\n") == ref
    assert blobs.read(ref) == "é\ud800\n"
    assert blobs.read_bytes(blobs.put(b"\xff")) == b"\xff"
    assert len(list((tmp_path / "blobs").iterdir())) == 2


def test_a_blob_is_missed_when_it_is_read_and_not_before(tmp_path: Path) -> None:
    def keeps(state: Count, ctx: Context) -> Any:
        return {"count": 2, "answer": ctx.keep("a long text")}

    with Run.create(tmp_path / "run", counting(keeps), start(task_id="run")) as run:
        ref = resume(run).answer
        assert ref is not None
    (blob,) = (tmp_path / "run" / "blobs").iterdir()
    blob.write_text("altered", encoding="utf-8")
    with Run.open(tmp_path / "run", counting()) as run:
        with pytest.raises(BlobError, match=f"the blob {ref} was altered"):
            run.read(ref)
        blob.unlink()
        with pytest.raises(BlobError, match=f"the blob {ref} is gone from blobs"):
            run.read(ref)
        with pytest.raises(BlobError, match="is no name of a blob"):
            run.read("../journal.jsonl")


def test_a_blob_is_on_the_disk_before_the_record_that_names_it(tmp_path: Path) -> None:
    found: list[Any] = []

    def keeps(state: Count, ctx: Context) -> Any:
        ref = ctx.keep("a long text")
        found.append(((tmp_path / "run" / "blobs" / ref).is_file(), len(lines_of(tmp_path / "run"))))
        return {"count": 2, "answer": ref}

    with Run.create(tmp_path / "run", counting(keeps), start(task_id="run")) as run:
        resume(run)
    assert found == [(True, 1)]
    assert read_run(tmp_path / "run")[0][1]["blobs"] == [read_run(tmp_path / "run")[1].raw["answer"]]


def test_a_text_whose_record_was_never_written_is_kept_again_by_the_next_visit(tmp_path: Path) -> None:
    def keeping(died: bool) -> Any:
        def keeps(state: Count, ctx: Context) -> Any:
            ref = ctx.keep("a long text")
            if died:
                raise Died
            return {"count": 2, "answer": ref}

        return counting(keeps)

    with Run.create(tmp_path / "run", keeping(True), start(task_id="run")) as run, pytest.raises(Died):
        resume(run)
    left = bytes_of(tmp_path / "run" / "blobs")
    with Run.open(tmp_path / "run", keeping(False)) as run:
        final = resume(run)
        assert run.read(str(final.answer)) == "a long text"
    assert bytes_of(tmp_path / "run" / "blobs") == left
    assert read_run(tmp_path / "run")[0][1]["blobs"] == [final.answer]


def test_without_a_journal_a_text_has_the_same_reference_and_is_not_kept(tmp_path: Path) -> None:
    from graph_agent import run_graph

    def keeps(state: Count, ctx: Context) -> Any:
        return {"count": 2, "answer": ctx.keep("a long text")}

    with Run.create(tmp_path / "run", counting(keeps), start(task_id="run")) as run:
        kept = resume(run)
    assert run_graph(counting(keeps), start(task_id="run")) == kept
