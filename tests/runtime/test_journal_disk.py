"""What can happen to a run's file: no space, no right to write, Ctrl-C in the middle, a forked process, odd tails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, JournalCorrupt, JournalError, Run, read_run, resume
from graph_agent.runtime import checkpoint, linefile
from graph_agent.runtime.reading import FILE
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import bytes_of, lines_of, run_on, whole

ROOT = Path(__file__).parents[2]
IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


def begun(folder: Path) -> Run[Count]:
    return Run.create(folder / "run", counting(), start(task_id="run"), durability="flush")


def no_space(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_after_any_byte_of_a_record_leaves_the_records_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when what was written cannot be taken back: then the torn line is dropped by whoever opens it next."""
    real = os.write
    length = len(lines_of(whole(tmp_path / "whole"))[1])
    for written in range(length):
        for taken_back in (True, False):
            folder, pieces = tmp_path / f"{written}-{taken_back}", [written]

            def full(descriptor: int, data: bytes, pieces: list[int] = pieces) -> int:
                return real(descriptor, data[: min(pieces.pop(), len(data) - 1)]) if any(pieces) else no_space()

            with begun(folder) as run:
                with monkeypatch.context() as disk:
                    disk.setattr(linefile.os, "write", full)
                    if not taken_back:
                        disk.setattr(linefile.os, "ftruncate", no_space)
                    with pytest.raises(JournalError, match="No space left on device; its 1 records are whole"):
                        run_on(run)
                assert (run.seq, run.state.steps) == (0, 0)
            assert bool(read_run(folder / "run")[2]) == (written > 0 and not taken_back)
            with Run.open(folder / "run", counting(), durability="flush") as run:
                assert resume(run).stage is Stage.DONE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_device_that_is_full_says_so_and_the_run_is_as_it_was(tmp_path: Path) -> None:
    with begun(tmp_path) as run:
        before = bytes_of(tmp_path)[f"run/{FILE}"]
        assert run._file is not None
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, run._file._descriptor)
        os.close(full)
        with pytest.raises(JournalError, match="No space left on device"):
            run_on(run)
    assert bytes_of(tmp_path)[f"run/{FILE}"] == before


ON_A_SMALL_DISK = """
import subprocess, sys
from pathlib import Path
from graph_agent import JournalError, Run, compact, read_run, resume
from tests.runtime.counting import Stage, counting, start

def remount(how):
    subprocess.run(["mount", "-o", "remount," + how, sys.argv[1]], check=True)

def work(state, ctx):
    return {"count": state.count + 1, "log": (f"{state.count} " + 4096 * "x",)}

disk = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True)
with Run.create(disk / "run", counting(work), start(task_id="run", need=40)) as run:
    try:
        resume(run)
    except JournalError as error:
        print(error)
    stood = run.state
(*_, last), folded, dropped = read_run(disk / "run")
print(4 <= stood.count < 40, folded.raw["steps"] == stood.steps, last["seq"], dropped)
remount("ro,size=64k")
try:
    Run.open(disk / "run", counting(work))
except JournalError as error:
    print(error)
print(len(read_run(disk / "run")[0]) == last["seq"] + 1)
remount("rw,size=1m")
with Run.open(disk / "run", counting(work)) as run:
    print(run.state == stood, resume(run).log == tuple(f"{at} " + 4096 * "x" for at in range(40)))
"""


def in_a_namespace() -> bool:
    try:
        return subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_a_small_disk_that_fills_up_and_one_that_is_read_only(tmp_path: Path) -> None:
    if not in_a_namespace():
        pytest.skip("this process may not mount a disk of its own")
    command = [*IN_A_NAMESPACE, sys.executable, "-c", ON_A_SMALL_DISK, str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    full, counted, refused, readable, went_on = ended.stdout.splitlines()
    number = int(counted.split()[2]) + 1
    assert full == f"the run run can't be written: No space left on device; its {number} records are whole, " + (
        "resume it when that is mended"
    )
    assert counted.strip() == f"True True {number - 1}"
    assert refused == f"the run run can't be taken: Read-only file system: {tmp_path}/run/lock; " + (
        "read_run looks without taking"
    )
    assert (readable, went_on) == ("True", "True True")


def test_a_lock_that_cannot_be_made_is_a_typed_error(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder / "lock").unlink()
    (folder / "lock").mkdir()
    before = bytes_of(folder)
    with pytest.raises(JournalError, match=r"the run run can't be taken: .*lock; read_run looks without taking"):
        Run.open(folder, counting())
    assert bytes_of(folder) == before


def test_a_text_that_cannot_be_kept_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(tmp_path) as run, monkeypatch.context() as disk:
        disk.setattr(checkpoint, "_write", no_space)
        with pytest.raises(JournalError, match="the run run can't keep a text: No space left on device; its 1 records"):
            run.keep("x")
        assert run.seq == 0


def interrupting(real: Callable[..., Any], at: int, after: bool) -> Callable[..., Any]:
    """A function that Ctrl-C comes into at one of its calls, before or after its work."""
    calls = [0]

    def called(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == at and not after:
            raise KeyboardInterrupt
        result = real(*args)
        if calls[0] == at:
            raise KeyboardInterrupt
        return result

    return called


@pytest.mark.parametrize("effects", [False, True], ids=["plain", "with effects"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("where", ["write", "stand"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_ctrl_c_while_a_record_is_written_never_makes_two_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, where: str, after: bool, effects: bool
) -> None:
    """Whether the record is whole then, only the file can tell, so the object at hand takes no more."""
    graph = counting(effects=effects, on_interrupted="retry" if effects else None)
    with Run.create(tmp_path / "whole", graph, start(task_id="run")) as run:
        straight = resume(run)
    with Run.create(tmp_path / "run", graph, start(task_id="run")) as run:
        with monkeypatch.context() as keyboard:
            if where == "write":
                keyboard.setattr(linefile, "write_all", interrupting(linefile.write_all, at, after))
            else:
                keyboard.setattr(run, "_stand_at", interrupting(run._stand_at, at, after))
            with pytest.raises(KeyboardInterrupt):
                resume(run)
        with pytest.raises(JournalError, match="is closed: open it to go on"):
            resume(run)
    with Run.open(tmp_path / "run", graph) as run:
        assert resume(run) == straight


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_can_neither_write_the_run_nor_give_it_back(tmp_path: Path) -> None:
    with begun(tmp_path) as run:
        child = os.fork()
        if child == 0:
            said = "nothing"
            try:
                resume(run)
            except JournalError as error:
                said = str(error)
            run.close()
            (tmp_path / "said").write_text(said, encoding="utf-8")
            os._exit(0)
        os.waitpid(child, 0)
        assert (tmp_path / "said").read_text(encoding="utf-8") == (
            "the run run is its parent process's: a forked process can't write it"
        )
        with pytest.raises(JournalError, match=f"is held by process {os.getpid()}"):
            Run.open(tmp_path / "run", counting())
        assert resume(run).stage is Stage.DONE
    assert [one["seq"] for one in read_run(tmp_path / "run")[0]] == [0, 1, 2, 3, 4]


def half(line: bytes) -> bytes:
    """Up to the middle of a character of two bytes."""
    return line[: line.index("é".encode()) + 1]


@pytest.mark.parametrize(
    "tail",
    [
        lambda line: half(line),
        lambda line: half(line) + b"\0" * 5000,
        lambda line: b"\0" * len(line),
        lambda line: line[:-1],
        lambda line: line[:-1] + b"\0" * 5000,
        lambda line: line[:-2] + b"\n",
    ],
    ids=["half a character", "half and zeros", "zeros", "no line end", "whole and zeros", "cut, with a line end"],
)
def test_whatever_a_crash_left_at_the_end_is_dropped_and_the_run_ends_as_if_it_had_not_been(
    tmp_path: Path, tail: Callable[[bytes], bytes]
) -> None:
    def work(state: Count, ctx: Context) -> Any:
        return {"count": state.count + 1, "log": ("é",)}

    with Run.create(tmp_path / "run", counting(work), start(task_id="run")) as run:
        straight = resume(run)
    lines = lines_of(tmp_path / "run")
    (tmp_path / "run" / FILE).write_bytes(b"".join(lines[:3]) + tail(lines[3]))
    with Run.open(tmp_path / "run", counting(work)) as run:
        assert (run.seq, len(run.notes)) == (2, 1)
        assert resume(run) == straight
    assert [one["seq"] for one in read_run(tmp_path / "run")[0]] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("change", [lambda raw: raw.replace(b"\n", b"\r\n"), lambda raw: raw.replace(b"\n", b" ")])
def test_line_ends_that_an_editor_changed_are_damage_and_are_left_alone(tmp_path: Path, change: Any) -> None:
    folder = whole(tmp_path)
    (folder / FILE).write_bytes(change((folder / FILE).read_bytes()))
    before = bytes_of(folder)
    for look in (read_run, lambda path: Run.open(path, counting())):
        with pytest.raises(JournalCorrupt, match="run, line 1: ") as error:
            look(folder)
        assert error.value.line == 1
    assert bytes_of(folder) == before
