"""`resume`: whatever stopped a run, it goes on to the end that it would have had; and what is over stays as it is."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_agent.cli import main
from graph_agent.runtime import linefile
from graph_agent.runtime.reading import read_run
from graph_agent.workflows.repair.state import Stage
from tests.cli.running import UNITTEST, cli, repair
from tests.cli.runs import (
    REPAIR,
    STEPS,
    as_they_are,
    killed_after,
    only_run,
    patch_of,
    same_in_all_runs,
    shop,
    started,
    state_of,
    typed,
)

pytestmark = pytest.mark.slow

posix = pytest.mark.skipif(os.name != "posix", reason="signals and shells are POSIX's here")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run that nothing disturbed."""
    home = tmp_path_factory.mktemp("home")
    shop(home / "ws")
    assert cli(*REPAIR, home=home).code == 0
    return home


@posix
@pytest.mark.parametrize("line", [1, 4, 6, 8, 10])
def test_a_run_that_was_killed_goes_on_to_the_same_end(tmp_path: Path, done: Path, line: int) -> None:
    shop(tmp_path / "ws")
    killed_after(tmp_path, line, *REPAIR)
    folder = only_run(tmp_path)
    kept = (folder / "journal.jsonl").read_bytes()
    ended = cli("resume", "last", home=tmp_path)
    assert ended.code == 0, ended.err
    assert "done: V3 passed" in ended.out
    assert same_in_all_runs(folder) == same_in_all_runs(only_run(done))
    whole = kept[: kept.rfind(b"\n") + 1]
    assert (folder / "journal.jsonl").read_bytes().startswith(whole)


@posix
def test_a_run_that_is_killed_again_and_again_comes_to_the_same_end(tmp_path: Path, done: Path) -> None:
    shop(tmp_path / "ws")
    killed_after(tmp_path, 2, *REPAIR)
    for _ in range(3):
        killed_after(tmp_path, 2, "resume", "last")
    assert cli("resume", "last", home=tmp_path).code == 0
    assert same_in_all_runs(only_run(tmp_path)) == same_in_all_runs(only_run(done))


def test_a_finished_run_is_told_again_and_nothing_on_the_disk_changes(done: Path) -> None:
    folder = only_run(done)
    before = as_they_are(done)
    for _ in range(2):
        again = cli("resume", folder.name, home=done)
        assert again.code == 0
        assert "V3 passed" in again.out
        assert patch_of(folder) in again.out
        assert again.next_words == ["apply", folder.name]
    assert as_they_are(done) == before


def test_a_finished_run_in_json_is_the_document_that_it_was(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    first = repair("ws", "--json", home=tmp_path)
    assert cli("resume", "last", "--json", home=tmp_path).data == first.data


def test_what_was_verified_is_told_again_though_the_copy_was_changed_since(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", home=tmp_path).code == 0
    folder = only_run(tmp_path)
    patch = patch_of(folder)
    (folder / "workspace" / "calc.py").write_text("# a stranger's\n", encoding="utf-8")
    again = cli("resume", "last", home=tmp_path)
    assert again.code == 0
    assert patch in again.out
    assert patch_of(folder) == patch
    (folder / "patch.diff").unlink()
    shutil.rmtree(folder / "workspace")
    gone = cli("resume", "last", home=tmp_path)
    assert gone.code == 1
    assert f"{folder / 'workspace'} is gone" in gone.err


def test_a_failed_run_stays_failed(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--request", " ", home=tmp_path).code == 1
    before = as_they_are(tmp_path)
    ended = cli("resume", "last", home=tmp_path)
    assert ended.code == 1
    assert "the request is empty" in ended.err
    assert as_they_are(tmp_path) == before


def test_more_turns_for_a_run_that_is_over_are_refused(done: Path) -> None:
    before = read_run(only_run(done))[0]
    ended = cli("resume", "last", "--turns", "9000", home=done)
    assert ended.code == 1
    assert "the run is over" in ended.err
    assert read_run(only_run(done))[0] == before


def test_a_run_that_waits_is_not_moved_and_what_it_asks_is_printed(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    first = repair("ws", "--approve", "plan", home=tmp_path)
    assert first.code == 3
    before = as_they_are(tmp_path)
    again = cli("resume", "last", home=tmp_path)
    assert again.code == 3
    assert "the plan waits for approval" in again.err
    assert again.next_words == first.next_words
    assert again.next_words[:2] == ["answer", only_run(tmp_path).name]
    assert as_they_are(tmp_path) == before


def test_more_retries_at_a_pause_are_the_answer_to_it(tmp_path: Path, done: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--retries", "1", "--turns", "1260", home=tmp_path).code == 3
    few = cli("resume", "last", "--retries", "1", home=tmp_path)
    assert few.code == 1
    assert "raise max_retries" in few.err
    ended = cli("resume", "last", "--retries", "300", home=tmp_path)
    assert ended.code == 0, ended.err
    assert patch_of(only_run(tmp_path)) == patch_of(only_run(done))


def test_more_turns_at_a_pause_are_the_answer_to_it(tmp_path: Path, done: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--turns", "6", home=tmp_path).code == 3
    few = cli("resume", "last", "--turns", "6", home=tmp_path)
    assert few.code == 1
    assert "6 are spent already" in few.err or "6 of 6 turns are spent" in few.err
    assert cli("resume", "last", "--turns", "1260", home=tmp_path).code == 0
    assert patch_of(only_run(tmp_path)) == patch_of(only_run(done))


# Hangs when the mark is not there yet, so that a run hangs once and not when it is resumed.
HANGS_ONCE = """\
import pathlib
import time
import unittest

MARK = pathlib.Path({mark!r})


class OnceTest(unittest.TestCase):
    def test_it_takes_its_time_once(self):
        if not MARK.exists():
            MARK.touch()
            time.sleep(600)
"""


def hanging(home: Path, *words: str) -> tuple[str, str, int]:
    """A run that is interrupted in its tests: what it printed, and its exit code."""
    mark = home / "mark"
    shop(home / "ws", **{"tests/test_once.py": HANGS_ONCE.format(mark=str(mark))})
    process = started(home, *REPAIR, "--timeout", "900", *words)
    until(mark.exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return out.decode(), err.decode(), process.returncode


def until(seen: Callable[[], bool], process: Any) -> None:
    end = time.monotonic() + 60
    while not seen():
        assert time.monotonic() < end and process.poll() is None, "it never came"
        time.sleep(0.02)


@posix
def test_the_last_line_after_ctrl_c_is_run_as_it_stands_and_works(tmp_path: Path) -> None:
    out, err, code = hanging(tmp_path, "--apply")
    assert code == 130
    assert err.startswith("graph_agent: interrupted: during diagnose, after 1 steps")
    last = out.splitlines()[-1]
    assert shlex.split(last) == ["python3", "-m", "graph_agent", "resume", only_run(tmp_path).name, "--apply"]
    again = typed(last, tmp_path)
    assert again.returncode == 0, again.stderr
    assert "intake ->" not in again.stdout
    assert state_of(only_run(tmp_path)).stage is Stage.DONE
    assert "price <= limit" in (tmp_path / "ws" / "calc.py").read_text(encoding="utf-8")


@posix
def test_ctrl_c_in_a_resume_is_as_in_repair(tmp_path: Path) -> None:
    _, _, code = hanging(tmp_path)
    assert code == 130
    (tmp_path / "mark").unlink()
    process = started(tmp_path, "resume", "last")
    until((tmp_path / "mark").exists, process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert b"Traceback" not in err
    assert typed(out.decode().splitlines()[-1], tmp_path).returncode == 0


@posix
def test_a_run_under_way_is_not_taken_over(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    shop(tmp_path / "ws", **{"tests/test_once.py": HANGS_ONCE.format(mark=str(mark))})
    process = started(tmp_path, *REPAIR, "--timeout", "900")
    until(mark.exists, process)
    before = (only_run(tmp_path) / "journal.jsonl").read_bytes()
    ended = cli("resume", "last", home=tmp_path)
    process.kill()
    process.communicate()
    assert ended.code == 1
    assert f"is held by process {process.pid}" in ended.err
    assert (only_run(tmp_path) / "journal.jsonl").read_bytes() == before
    assert cli("resume", "last", home=tmp_path).code == 0


@posix
def test_limits_of_a_run_under_way_are_raised_and_retries_are_for_a_pause(tmp_path: Path) -> None:
    hanging(tmp_path, "--turns", "6")
    refused = cli("resume", "last", "--retries", "4", home=tmp_path)
    assert refused.code == 1
    assert "--retries is for a run that waits for a person" in refused.err
    assert cli("resume", "last", "--turns", "1260", home=tmp_path).code == 0
    assert state_of(only_run(tmp_path)).max_turns == 1260


def words_of(home: Path, *more: str) -> list[str]:
    options = ["--test", UNITTEST, "--isolation", "none", "--run-dir", str(home / "kept" / "runs")]
    return ["repair", str(home / "ws"), *options, *more]


def test_the_last_line_after_the_last_fuse_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    shop(tmp_path / "ws")
    with monkeypatch.context() as short:
        short.setattr("graph_agent.cli.repair_desk.most_steps", lambda state: 3)
        assert main(words_of(tmp_path)) == 4
    last = capsys.readouterr().out.splitlines()[-1]
    assert main(shlex.split(last)[3:]) == 0


def test_a_full_disk_ends_a_run_with_the_line_that_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    shop(tmp_path / "ws")
    write_all, written = linefile.write_all, []

    def full(descriptor: int, data: bytes) -> None:
        written.append(data)
        if len(written) > 7:
            write_all(descriptor, data[:20])
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(descriptor, data)

    with monkeypatch.context() as small:
        small.setattr(linefile, "write_all", full)
        assert main(words_of(tmp_path)) == 1
    out, err = capsys.readouterr()
    assert "No space left on device; its 7 records are whole" in err
    assert "Traceback" not in err
    assert main(shlex.split(out.splitlines()[-1])[3:]) == 0
    assert "done: V3 passed" in capsys.readouterr().out


def test_a_torn_last_line_is_dropped_and_said(tmp_path: Path, done: Path) -> None:
    shop(tmp_path / "ws")
    killed_after(tmp_path, 4, *REPAIR)
    with (only_run(tmp_path) / "journal.jsonl").open("ab") as file:
        file.write(b'{"seq":99,"type":"fin')
    ended = cli("resume", "last", home=tmp_path)
    assert ended.code == 0
    assert "dropped: the last line (21 bytes)" in ended.err
    assert same_in_all_runs(only_run(tmp_path)) == same_in_all_runs(only_run(done))


def test_resume_can_apply_what_was_verified(tmp_path: Path) -> None:
    ws = shop(tmp_path / "ws")
    assert repair("ws", home=tmp_path).code == 0
    ended = cli("resume", "last", "--apply", "--quiet", home=tmp_path)
    assert ended.code == 0
    assert f"applied to {ws}: calc.py" in ended.out
    assert "price <= limit" in (ws / "calc.py").read_text(encoding="utf-8")
    before = as_they_are(ws)
    again = cli("resume", "last", "--apply", "--quiet", home=tmp_path)
    assert again.code == 0
    assert again.next_words[:1] == cli("show", "last", home=tmp_path).next_words[:1] == ["why"]
    assert as_they_are(ws) == before
    assert f"the patch is in {ws} already" in cli("resume", "last", home=tmp_path).out


def test_a_name_that_is_none_is_told_with_the_nearest(done: Path) -> None:
    name = only_run(done).name
    ended = cli("resume", name[:-1] + "x", home=done)
    assert ended.code == 1
    assert f"did you mean '{name}'" in ended.err
    assert cli("resume", f"runs/{name}", home=done).code == 2


def test_the_journal_has_a_record_a_step(done: Path) -> None:
    records = read_run(only_run(done))[0]
    assert len([record for record in records if record["type"] == "finished"]) == STEPS
