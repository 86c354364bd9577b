from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from graph_agent.runtime import checkpoint
from graph_agent.runtime.checkpoint import FORMATS, load_checkpoint, replace_file, save_checkpoint
from graph_agent.runtime.errors import CheckpointAbsent, CheckpointCorrupt, CheckpointError
from tests.runtime.samples import Circle, Stage

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Note:
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class State:
    stage: Stage = Stage.DRAFT
    notes: tuple[Note, ...] = ()
    score: float = 0.0
    file: Path = Path("a")
    visits: int = field(default=0, init=False)


@dataclass(frozen=True)
class Growing:
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", self.n + 1)


OLD, NEW = State(notes=(Note("old"),)), State(notes=(Note("new é"),), stage=Stage.DONE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def _only(path: Path) -> bool:
    return [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_state_comes_back_equal_and_nothing_else_is_left_in_the_folder(path: Path) -> None:
    save_checkpoint(OLD, path)
    save_checkpoint(NEW, str(path))
    assert load_checkpoint(path, State) == NEW
    assert type(load_checkpoint(path, State).stage) is Stage
    assert _only(path)


def test_a_file_of_format_1_is_read(path: Path) -> None:
    path.write_bytes(
        b'{"format":1,"state_type":"State","state":{"stage":"done","notes":[{"text":"new \xc3\xa9"}],'
        b'"score":0.0,"file":"a","visits":0}}'
    )
    assert load_checkpoint(path, State) == NEW
    before = path.read_bytes()
    save_checkpoint(NEW, path)
    assert path.read_bytes() == before


def test_a_field_that_the_file_does_not_have_takes_its_default(path: Path) -> None:
    path.write_text('{"format": 1, "state_type": "State", "state": {}}', encoding="utf-8")
    assert load_checkpoint(path, State) == State()


def test_an_absent_file_is_absent_and_not_corrupt(path: Path) -> None:
    with pytest.raises(CheckpointAbsent, match="there is no checkpoint"):
        load_checkpoint(path, State)


def test_every_truncation_of_a_file_is_corrupt(path: Path) -> None:
    save_checkpoint(NEW, path)
    raw = path.read_bytes()
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(CheckpointCorrupt):
            load_checkpoint(path, State)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"{}",
        b'{"format": "1"}',
        b'{"format": true, "state_type": "State", "state": {}}',
        b'{"format": 0, "state_type": "State", "state": {}}',
        b'{"format": -1}',
        b'{"format": 1, "state": {}}',
        b'{"format": 1, "state_type": "State", "state": {}, "more": 1}',
        b'{"format": 1, "state_type": "State", "state": {"score": NaN}}',
        b'{"format": 1, "state_type": "State", "state": {"score": 1, "score": 2}}',
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_not_a_whole_checkpoint_is_corrupt(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    with pytest.raises(CheckpointCorrupt) as caught:
        load_checkpoint(path, State)
    assert len(str(caught.value)) < 300 + len(str(path))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"stage": "dne"}, "state.stage: expected one of 'draft', 'done'"),
        ({"notes": [{"text": 1}]}, "state.notes[0].text: expected str, got 1 (int)"),
        ({"note": []}, "state.note: not a field of State, did you mean 'notes'?"),
    ],
)
def test_a_whole_checkpoint_that_does_not_fit_the_class_names_file_and_field(
    path: Path, state: Any, words: str
) -> None:
    path.write_text(json.dumps({"format": 1, "state_type": "State", "state": state}), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, State)
    assert not isinstance(caught.value, CheckpointCorrupt)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_checkpoint_of_another_class_is_refused(path: Path) -> None:
    save_checkpoint(Circle(1), path)
    with pytest.raises(CheckpointError, match="holds a Circle, not a State"):
        load_checkpoint(path, State)


def test_a_newer_format_is_refused_and_the_file_is_not_touched(path: Path) -> None:
    path.write_text(json.dumps({"format": max(FORMATS) + 1, "new": "things"}), encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="is of format 2, this version reads up to 1: update") as caught:
        load_checkpoint(path, State)
    assert not isinstance(caught.value, CheckpointCorrupt)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State(score=float("nan")), "state.score: expected float, got nan"),
        (State(score=float("-inf")), "state.score"),
        (State(notes=[Note()]), "state.notes: expected tuple[Note, ...], got [Note(text='')] (list)"),  # type: ignore[arg-type]
        (State(notes=(Note("\ud800"),)), "state.notes[0].text"),
        (State(stage="draft"), "state.stage: expected Stage, got 'draft' (str)"),  # type: ignore[arg-type]
        (Growing(1), "__post_init__ of Growing would change the values"),
        ({"stage": "draft"}, "dict cannot be saved"),
        (State, "type cannot be saved"),
    ],
)
def test_a_state_that_would_not_come_back_is_refused_and_the_old_file_stays(path: Path, state: Any, words: str) -> None:
    save_checkpoint(OLD, path)
    with pytest.raises(CheckpointError) as caught:
        save_checkpoint(state, path)
    assert words in str(caught.value)
    assert load_checkpoint(path, State) == OLD
    assert _only(path)


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save_checkpoint(OLD, tmp_path / "runs" / "run.json")


@pytest.mark.parametrize("error", [OSError(28, "no space"), PermissionError(13, "no"), KeyboardInterrupt()])
def test_when_the_file_cannot_be_replaced_the_old_one_stays_and_no_other_is_left(
    path: Path, error: BaseException
) -> None:
    save_checkpoint(OLD, path)
    with patch("os.replace", side_effect=error) as replace, pytest.raises(type(error)):
        save_checkpoint(NEW, path)
    assert replace.call_count == 1
    assert load_checkpoint(path, State) == OLD
    assert _only(path)


def test_on_windows_a_held_file_is_tried_again(path: Path) -> None:
    real, calls = os.replace, [PermissionError(13, "held"), PermissionError(13, "held")]

    def replace(source: Any, target: Any) -> None:
        if calls:
            raise calls.pop()
        real(source, target)

    with patch.object(checkpoint, "IS_WINDOWS", True), patch("os.replace", side_effect=replace):
        save_checkpoint(NEW, path)
    assert load_checkpoint(path, State) == NEW
    assert _only(path)


def test_on_windows_trying_again_has_an_end(path: Path) -> None:
    with (
        patch.object(checkpoint, "IS_WINDOWS", True),
        patch.object(checkpoint, "_WAITS", (0.0, 0.0)),
        patch("os.replace", side_effect=PermissionError(13, "held")) as replace,
        pytest.raises(PermissionError),
    ):
        save_checkpoint(NEW, path)
    assert replace.call_count == 3
    assert list(path.parent.iterdir()) == []


def test_the_content_is_on_the_disk_before_it_gets_its_name(path: Path) -> None:
    order: list[str] = []
    sync, real = os.fsync, os.replace
    with (
        patch("os.fsync", side_effect=lambda handle: (order.append("sync"), sync(handle))),
        patch("os.replace", side_effect=lambda *names: (order.append("replace"), real(*names))),
    ):
        save_checkpoint(NEW, path)
    assert order == (["sync", "replace"] if os.name == "nt" else ["sync", "replace", "sync"])


def test_a_file_that_lies_beside_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("somebody's", encoding="utf-8")
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "f", b"new", beside="beside", mode=None)
    assert (tmp_path / "beside").read_text(encoding="utf-8") == "somebody's"
    assert not (tmp_path / "f").exists()


@pytest.mark.skipif(os.name == "nt", reason="mode bits of POSIX")
def test_before_a_file_has_its_own_mode_nobody_else_can_read_it(tmp_path: Path) -> None:
    modes: list[int] = []
    sync = os.fsync

    def look(handle: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
        sync(handle)

    with patch("os.fsync", side_effect=look):
        replace_file(tmp_path / "f", b"new", beside="beside", mode=0o644)
    assert modes[0] == 0o600
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


@pytest.mark.skipif(os.name == "nt", reason="Windows syncs no folder")
def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path: Path) -> None:
    sync = os.fsync

    def refuse(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(22, "Invalid argument")
        sync(handle)

    with patch("os.fsync", side_effect=refuse):
        replace_file(tmp_path / "f", b"new", beside="beside")
    assert (tmp_path / "f").read_bytes() == b"new"


CLASSES = """
import sys
from dataclasses import dataclass
from graph_agent.runtime.checkpoint import save_checkpoint

@dataclass(frozen=True)
class Note:
    text: str

@dataclass(frozen=True)
class State:
    notes: tuple[Note, ...]
"""
FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save_checkpoint(State(notes=(Note("x" * 5000),)), sys.argv[1])
except OSError:
    sys.exit(3)
"""
SAVE_FOREVER = """
states = [State(notes=(Note(letter * 20_000),)) for letter in "ab"]
while True:
    for state in states:
        save_checkpoint(state, sys.argv[1])
"""


def _start(code: str, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CLASSES + code, str(path)], cwd=ROOT)


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_disk_that_takes_no_more_leaves_the_old_file_and_no_other(path: Path) -> None:
    save_checkpoint(OLD, path)
    assert _start(FULL_DISK, path).wait(30) == 3
    assert load_checkpoint(path, State) == OLD
    assert _only(path)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_process_killed_while_it_saves_leaves_a_whole_state(path: Path) -> None:
    save_checkpoint(State(notes=(Note("a" * 20_000),)), path)
    for wait in (0.0, 0.003, 0.011):
        before = path.stat().st_mtime_ns
        writer = _start(SAVE_FOREVER, path)
        deadline = time.monotonic() + 20
        while path.stat().st_mtime_ns == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait(30)
        (note,) = load_checkpoint(path, State).notes
        assert note.text in ("a" * 20_000, "b" * 20_000)
