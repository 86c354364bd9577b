"""A run that is kept: each step safe before the next, one owner, and errors that leave what is written as it is."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph_agent import (
    AnswerError,
    ArgumentError,
    Context,
    Graph,
    GraphState,
    JournalCorrupt,
    JournalError,
    LimitReached,
    Node,
    NodeError,
    PatchError,
    RouteError,
    Run,
    RunAbsent,
    RunBusy,
    StateError,
    advance,
    pause_id,
    read_run,
    resume,
    run_graph,
)
from graph_agent.runtime import linefile
from graph_agent.runtime.fold import at_step
from graph_agent.runtime.reading import FILE
from graph_agent.runtime.records import line_of
from tests.runtime.counting import Count, Echo, Finding, Stage, Two, ask_model, counting, start
from tests.runtime.kept import bytes_of, lines_of, run_on, whole, with_changes

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Deriving(GraphState):
    """A class that works out a field itself."""

    stage: Two = Two.WORK
    count: int = 0
    doubled: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubled", 2 * self.count)


DERIVING = Graph(
    state=Deriving,
    nodes={Two.WORK: Node(lambda state, ctx: {"count": 3}, owns={"count"}, to=Two.DONE)},
    ends={Two.DONE},
)
WAITS = with_changes(counting(on_limit=Stage.HUMAN, tools=("hammer",)))


def records(folder: Path) -> list[Any]:
    return list(read_run(folder)[0])


def waiting(folder: Path) -> Path:
    """A run that waits for a person, since it has no turns."""
    with Run.create(folder / "run", WAITS, start(task_id="run", max_turns=0)) as run:
        run_on(run)
    return folder / "run"


def test_a_run_is_a_header_and_a_record_a_step(tmp_path: Path) -> None:
    header, *steps = records(whole(tmp_path))
    assert (header["type"], header["run"], header["workflow"], header["state"]["task_id"]) == (
        "header",
        "run",
        "Count",
        "run",
    )
    assert header["shape"]["fields"]["log"] == "tuple[str, ...]"
    assert header["shape"]["stages"]["human"] == "a pause"
    assert [(one["seq"], one["type"], one["stage"], one["to"], one["step"]) for one in steps] == [
        (1, "finished", "work", "check", 1),
        (2, "finished", "check", "work", 2),
        (3, "finished", "work", "check", 3),
        (4, "finished", "check", "done", 4),
    ]
    assert steps[0]["patch"] == {"count": 1, "log": ["visit 1"]}
    assert steps[2]["patch"] == {"count": 2, "log": ["visit 2"]}, "what was added, and not the whole"


def test_the_facts_of_a_step_are_in_its_record(tmp_path: Path) -> None:
    def noted(state: Count, ctx: Context) -> Any:
        ctx.note("so it was")
        return ask_model(state, ctx)

    with Run.create(tmp_path / "run", counting(noted, model=True), start(task_id="run", need=1)) as run:
        run_graph(run.graph, run.state, Context(llm=Echo()), journal=run)
    record = records(tmp_path / "run")[1]
    assert (record["turns"], record["spent"], record["model_calls"], record["tokens"]) == (1, 1, 1, [3, 5])
    assert record["notes"] == ["so it was"]
    assert record["seconds"] >= 0
    assert record["time"] > 1_700_000_000


def test_a_key_that_drops_an_item_drops_it_from_the_record_too(tmp_path: Path) -> None:
    def found(state: Count, ctx: Context) -> Any:
        return {"count": state.count + 1, "findings": (Finding("a"), Finding("b", state.count))}

    with Run.create(tmp_path / "run", counting(found), start(task_id="run")) as run:
        final = run_on(run)
    assert [one["patch"]["findings"] for one in records(tmp_path / "run") if "findings" in one.get("patch", {})] == [
        [{"name": "a", "line": 0}, {"name": "b", "line": 0}]
    ]
    with Run.open(tmp_path / "run", counting(found)) as run:
        assert run.state == final


def test_a_record_is_in_the_file_before_the_next_node_starts(tmp_path: Path) -> None:
    seen: list[int] = []

    def looks(state: Count, ctx: Context) -> Any:
        seen.append(len(lines_of(tmp_path / "run")))
        return {"count": state.count + 1}

    with Run.create(tmp_path / "run", counting(looks), start(task_id="run")) as run:
        run_on(run)
    assert seen == [1, 3]


def test_a_node_with_effects_finds_that_it_has_begun_on_the_disk(tmp_path: Path) -> None:
    found: list[Any] = []

    def looks(state: Count, ctx: Context) -> Any:
        found.append((records(tmp_path / "run")[-1], ctx.key))
        return {"count": state.count + 2}

    with Run.create(tmp_path / "run", counting(looks, effects=True), start(task_id="run")) as run:
        run_on(run)
    ((record, key),) = found
    assert (record["type"], record["stage"], record["step"], record["key"]) == ("started", "work", 1, key)
    assert key == "run:work:1"


def test_each_record_is_synced_before_the_next_node_and_flush_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(linefile, "datasync", synced.append)
    at_work: list[int] = []

    def looks(state: Count, ctx: Context) -> Any:
        at_work.append(len(synced))
        return {"count": state.count + 1}

    with Run.create(tmp_path / "run", counting(looks), start(task_id="run")) as run:
        run_on(run)
    assert (at_work, len(synced)) == ([1, 3], 5)
    synced.clear()
    with Run.create(tmp_path / "other", counting(), start(task_id="run"), durability="flush") as run:
        run_on(run)
    assert synced == []
    assert [one["type"] for one in records(tmp_path / "other")] == [one["type"] for one in records(tmp_path / "run")]


@pytest.mark.parametrize("name", ["..", "", "a b", "-x", ".hidden", "x" * 121, "é", "a\n"])
def test_a_run_is_named_and_not_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises((JournalError, RunAbsent)):
        Run.create(f"{tmp_path}/{name}" if name not in ("", "..") else f"{tmp_path}/..", counting(), start())
    assert list(tmp_path.iterdir()) == []


def test_there_is_one_run_of_a_name(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    before = bytes_of(folder)
    with pytest.raises(JournalError, match="there is a run run already: open it, or give another name"):
        Run.create(folder, counting(), start())
    assert bytes_of(folder) == before


def test_a_state_that_does_not_fit_begins_no_run(tmp_path: Path) -> None:
    with pytest.raises(StateError):
        Run.create(tmp_path / "run", counting(), start(count="one"))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_not_there_is_absent_and_is_not_made(tmp_path: Path) -> None:
    for look in (lambda path: Run.open(path, counting()), read_run):
        with pytest.raises(RunAbsent, match="there is no run nope in "):
            look(tmp_path / "nope")
    assert list(tmp_path.iterdir()) == []


def test_a_second_owner_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    with Run.open(folder, counting()) as run:
        with pytest.raises(RunBusy, match=f"the run run is held by process {os.getpid()}"):
            Run.open(folder, counting())
        assert read_run(folder)[1].raw["stage"] == run.state.stage


def test_a_run_that_is_over_is_told_again_and_nothing_is_written(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    before, calls = bytes_of(folder), []
    graph = counting(lambda state, ctx: calls.append(1))
    with Run.open(folder, graph) as run:
        final = resume(run)
    assert (final.stage, final.count, calls) == (Stage.DONE, 2, [])
    assert bytes_of(folder) == before


def test_a_run_that_waits_is_not_moved_by_a_resume_however_often(tmp_path: Path) -> None:
    folder = waiting(tmp_path)
    before = bytes_of(folder)
    for _ in range(3):
        with Run.open(folder, WAITS) as run:
            assert resume(run).stage is Stage.HUMAN
    assert bytes_of(folder) == before


def test_what_is_asked_is_recorded_with_its_id_and_a_fingerprint_of_what_is_shown(tmp_path: Path) -> None:
    asked = records(waiting(tmp_path))[-1]
    assert (asked["type"], asked["pause"], asked["text"]) == ("asked", "run:0", "Go on?")
    assert asked["choices"] == {"need": ["1", "2", "3"]}
    other = records(waiting(tmp_path / "other"))[-1]
    assert asked["shown"] == other["shown"]
    assert len(asked["shown"]) == 64


def test_an_answer_is_recorded_and_the_run_goes_on_in_another_process_as_if_it_had_not_waited(tmp_path: Path) -> None:
    folder = waiting(tmp_path)
    with Run.open(folder, WAITS) as run:
        run.answer({"max_turns": 9}, pause_id="run:0")
    with Run.open(folder, WAITS) as run:
        assert (run.state.stage, run.state.max_turns) == (Stage.WORK, 9)
        from graph_agent import FakeTools

        assert resume(run, Context(tools=FakeTools({"hammer": "ok"}))).stage is Stage.DONE
    answered = next(one for one in records(folder) if one["type"] == "answered")
    assert (answered["pause"], answered["patch"], answered["to"]) == ("run:0", {"max_turns": 9}, "work")


@pytest.mark.parametrize(
    ("patch", "pause", "said"),
    [
        ({"max_turns": 9}, "run:7", "pause run:7 is not of this run"),
        ({"max_turns": 9}, "other:0", "is not of this run"),
        ({"max_turns": 0}, None, "max_turns=0 is no more than the 0 that are spent"),
        ({"max_turns": "9"}, None, "expected int | None"),
        ({"need": 7}, None, "need=7 is not among the choices: 1, 2, 3"),
        ({"count": 7}, None, "count is not human's to write"),
        ({"max_turn": 7}, None, "did you mean 'max_turns'?"),
    ],
    ids=str,
)
def test_an_answer_that_will_not_do_changes_nothing(tmp_path: Path, patch: Any, pause: Any, said: str) -> None:
    folder = waiting(tmp_path)
    before = bytes_of(folder)
    with Run.open(folder, WAITS) as run:
        with pytest.raises(PatchError) as error:
            run.answer(patch, pause_id=pause)
        assert said in str(error.value)
        assert pause_id(run.state) == "run:0"
    assert bytes_of(folder) == before


def test_false_and_0_and_nothing_are_answers(tmp_path: Path) -> None:
    folder = waiting(tmp_path)
    with Run.open(folder, with_changes(WAITS, on_limit=Stage.HUMAN)) as run:
        after = run.answer({"give_up": False, "max_turns": None})
        assert (after.give_up, after.max_turns, after.stage) == (False, None, Stage.WORK)


def test_the_first_answer_wins_and_a_second_one_is_late(tmp_path: Path) -> None:
    folder = waiting(tmp_path)
    with Run.open(folder, WAITS) as run:
        run.answer({"max_turns": 9}, pause_id="run:0")
    before = bytes_of(folder)
    with Run.open(folder, WAITS) as run, pytest.raises(AnswerError, match="nothing is asked"):
        run.answer({"max_turns": 3}, pause_id="run:0")
    assert bytes_of(folder) == before


ANSWERS = """
import sys
from graph_agent import GraphAgentError, Run
from tests.runtime.test_journal import WAITS
try:
    with Run.open(sys.argv[1], WAITS) as run:
        run.answer({"max_turns": 9}, pause_id="run:0")
except GraphAgentError as error:
    print(type(error).__name__)
else:
    print("taken")
"""


def test_of_four_processes_that_answer_one_is_heard(tmp_path: Path) -> None:
    folder = waiting(tmp_path)
    command = [sys.executable, "-c", ANSWERS, str(folder)]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = sorted(process.communicate()[0].strip() for process in processes)
    assert told.count("taken") == 1
    assert set(told) <= {"taken", "RunBusy", "AnswerError"}
    assert [one["type"] for one in records(folder)].count("answered") == 1


def test_a_limit_is_raised_where_no_pause_asks_for_it(tmp_path: Path) -> None:
    graph = counting(ask_model, model=True)
    with Run.create(tmp_path / "run", graph, start(task_id="run", max_turns=1)) as run:
        with pytest.raises(LimitReached):
            resume(run, Context(llm=Echo()))
    before = bytes_of(tmp_path / "run")
    with Run.open(tmp_path / "run", graph) as run:
        for few in (0, 1, -1, True, "2"):
            with pytest.raises(AnswerError, match="max_turns="):
                run.raise_limit(few)  # type: ignore[arg-type]
        assert bytes_of(tmp_path / "run").get(FILE) == before[FILE]
        run.raise_limit(2)
    assert records(tmp_path / "run")[-1]["type"] == "limit_raised"
    with Run.open(tmp_path / "run", graph) as run:
        assert resume(run, Context(llm=Echo())).stage is Stage.DONE
        with pytest.raises(AnswerError, match="the run is over"):
            run.raise_limit(9)


def test_a_limit_is_not_raised_past_a_pause_that_asks_for_it(tmp_path: Path) -> None:
    with (
        Run.open(waiting(tmp_path), WAITS) as run,
        pytest.raises(AnswerError, match="the run waits at human: answer it"),
    ):
        run.raise_limit(9)


@pytest.mark.parametrize(
    ("work", "error", "kind"),
    [
        (lambda state, ctx: {"nothing": 1}, PatchError, "failed"),
        (lambda state, ctx: 1 // 0, NodeError, "failed"),
    ],
    ids=["patch", "node"],
)
def test_what_stops_a_run_with_an_error_is_recorded_and_the_state_stays(
    tmp_path: Path, work: Any, error: Any, kind: str
) -> None:
    with Run.create(tmp_path / "run", counting(work), start(task_id="run")) as run, pytest.raises(error):
        run_on(run)
    record = records(tmp_path / "run")[-1]
    assert (record["type"], record["stopped"], record["stage"]) == (kind, True, "work")
    with Run.open(tmp_path / "run", counting()) as run:
        assert (run.state.stage, run.state.steps) == (Stage.WORK, 0)
        assert resume(run).stage is Stage.DONE, "mended, it goes on"


def test_a_wrong_route_is_recorded_and_the_state_stays(tmp_path: Path) -> None:
    wrong = counting(to=lambda state: Stage.DONE, exits={Stage.CHECK})
    with Run.create(tmp_path / "run", wrong, start(task_id="run")) as run, pytest.raises(RouteError):
        run_on(run)
    record = records(tmp_path / "run")[-1]
    assert (record["type"], record["stopped"]) == ("failed", True)
    assert "returned <Stage.DONE: 'done'>" in record["reason"]


def test_a_step_from_elsewhere_is_refused_before_it_is_written(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        for stranger in (start(task_id="other"), start(task_id="run", steps=5)):
            with pytest.raises(StateError, match="hand run_graph the run's own state"):
                run_graph(run.graph, stranger, journal=run)
    assert len(records(tmp_path / "run")) == 1


def test_a_run_that_was_closed_takes_no_more(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", counting(), start(task_id="run"))
    run.close()
    run.close()
    with pytest.raises(JournalError, match="is closed: open it to go on"):
        run_on(run)
    with pytest.raises(JournalError, match="is closed"):
        run.keep("x")


def test_a_gap_and_a_twin_are_errors_with_their_line(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    lines = lines_of(folder)
    for damaged, line in (
        ([*lines[:2], *lines[3:]], 3),
        ([*lines[:3], *lines[2:]], 4),
        ([lines[0], lines[2], lines[1]], 2),
    ):
        (folder / FILE).write_bytes(b"".join(damaged))
        with pytest.raises(
            JournalCorrupt, match=f"line {line}: seq is .* a record is missing, or stands twice"
        ) as error:
            Run.open(folder, counting())
        assert error.value.line == line


@pytest.mark.parametrize("content", [b"", b'{"seq":0,"type":"hea'], ids=["nothing", "half a header"])
def test_a_journal_without_a_whole_header_is_damaged_and_not_absent(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / FILE).write_bytes(content)
    with pytest.raises(JournalCorrupt, match="has no header: nothing of the run is left"):
        Run.open(folder, counting())
    assert (folder / FILE).read_bytes() == content


def test_a_record_type_that_is_not_known_and_a_newer_format_are_refused(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    raw = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(raw + line_of({"seq": 5, "type": "dreamt"}))
    with pytest.raises(JournalCorrupt, match="line 6: there is no record type 'dreamt'"):
        read_run(folder)
    header = {**records_of(raw)[0], "format": 2}
    (folder / FILE).write_bytes(line_of(header) + raw[raw.index(b"\n") + 1 :])
    with pytest.raises(JournalError, match="is of format 2, this version reads up to 1: update graph_agent"):
        Run.open(folder, counting())


def records_of(raw: bytes) -> list[Any]:
    from graph_agent.runtime.records import read_records

    return list(read_records(raw, "run").records)


def test_a_torn_tail_is_cut_off_before_the_next_record_is_written(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    lines = lines_of(folder)
    (folder / FILE).write_bytes(b"".join(lines[:4]) + lines[4][:20])
    with Run.open(folder, counting()) as run:
        assert run.notes == ("dropped: the last line (20 bytes): it has no end, its writer was stopped in the middle",)
        resume(run)
    assert [one["seq"] for one in records(folder)] == [0, 1, 2, 3, 4]


def test_looking_at_a_torn_journal_mends_nothing(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-5])
    before = bytes_of(folder)
    _, folded, dropped = read_run(folder)
    assert folded.raw["steps"] == 3
    assert "the last line" in dropped
    assert bytes_of(folder) == before


@pytest.mark.parametrize("written", [0, 1, 40, -1])
def test_a_full_disk_is_a_clear_error_and_the_records_before_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The write takes some bytes, and then there is no space left."""
    real, calls = os.write, [0]

    def full(descriptor: int, data: Any) -> int:
        calls[0] += 1
        if calls[0] == 3:
            return real(descriptor, bytes(data)[:written]) if written else _no_space()
        return real(descriptor, data) if calls[0] < 3 else _no_space()

    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        monkeypatch.setattr(linefile.os, "write", full)
        with pytest.raises(JournalError) as error:
            run_on(run)
        monkeypatch.undo()
        assert "the run run can't be written: No space left on device; its 3 records are whole" in str(error.value)
        assert isinstance(error.value.__cause__, OSError)
        assert (run.state.steps, run.state.stage) == (2, Stage.WORK), "the state of the last whole record"
        with pytest.raises(JournalError, match="is closed"):
            run_on(run)
    assert (read_run(tmp_path / "run")[1].seq, read_run(tmp_path / "run")[2]) == (2, "")
    with Run.open(tmp_path / "run", counting()) as run:
        assert resume(run).stage is Stage.DONE


def _no_space() -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_cannot_sync_is_an_error_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        monkeypatch.setattr(linefile, "datasync", broken)
        with pytest.raises(JournalError, match="Input/output error"):
            run_on(run)
    assert len(records(tmp_path / "run")) == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            Run.create(tmp_path / "run", counting(), start())
    finally:
        tmp_path.chmod(0o700)


def test_the_state_at_a_step_is_the_state_that_was(tmp_path: Path) -> None:
    states: list[Any] = []
    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        run_on(run, on_event=lambda event: states.append(event.state))
    from graph_agent import encode

    kept = read_run(tmp_path / "run")[0]
    for state in states:
        assert at_step(kept, "run", state.steps)[1] == encode(state)
    assert at_step(kept, "run", 0) == (0, encode(start(task_id="run")))
    with pytest.raises(JournalError, match="has no step 9: its journal has 0 to 4"):
        at_step(kept, "run", 9)


def test_what_a_header_was_given_is_there_when_it_is_opened(tmp_path: Path) -> None:
    about = {"workspace": "/w", "policy": {"tests": ["a"]}}
    Run.create(tmp_path / "run", counting(), start(), about=about).close()
    with Run.open(tmp_path / "run", counting()) as run:
        assert run.header["about"] == about


def test_a_step_made_by_hand_is_no_step_of_the_run(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        advance(run.graph, run.state, {"count": 1})
        assert run.state.count == 0


def test_what_the_class_of_a_state_sets_itself_is_recorded_too(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", DERIVING, Deriving(task_id="run")) as run:
        final = run_on(run)
    assert (final.count, final.doubled) == (3, 6)
    with Run.open(tmp_path / "run", DERIVING) as run:
        assert run.state == final


def test_a_state_that_was_changed_from_outside_is_recorded_as_it_is_or_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        final = run_graph(run.graph, replace(run.state, need=1), journal=run)
    with Run.open(tmp_path / "run", counting()) as run:
        assert (run.state, run.state.need) == (final, 1)
    with Run.create(tmp_path / "other", counting(), start(task_id="run", log=("a", "b"))) as run:
        with pytest.raises(StateError, match="log only grows, and is not what it was before this step"):
            run_graph(run.graph, replace(run.state, log=("b",)), journal=run)


def test_how_safe_a_step_is_to_be_is_one_of_two_words(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="durability is 'sync': give 'fsync', or 'flush'"):
        Run.create(tmp_path / "run", counting(), start(), durability="sync")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", [b"", b'{"seq":0,"type":"hea'])
def test_a_run_whose_header_was_never_whole_can_be_begun_anew(tmp_path: Path, left: bytes) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / FILE).write_bytes(left)
    with Run.create(folder, counting(), start(task_id="run")) as run:
        assert run_on(run).stage is Stage.DONE


def test_a_disk_that_is_full_at_the_header_leaves_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        _no_space()

    monkeypatch.setattr(linefile, "write_all", full)
    with pytest.raises(JournalError, match="No space left on device"):
        Run.create(tmp_path / "run", counting(), start(task_id="run"))
    monkeypatch.undo()
    with Run.create(tmp_path / "run", counting(), start(task_id="run")) as run:
        assert run_on(run).stage is Stage.DONE
