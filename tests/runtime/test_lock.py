"""Who owns a run: the kernel says, so a dead owner blocks nobody and a live one is never robbed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from graph_agent import RunBusy
from graph_agent.runtime.lock import Lock, holder

ROOT = Path(__file__).parents[2]
HOLDS = """
import sys, time
from pathlib import Path
from graph_agent.runtime.lock import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def held_by_another(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_owner_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "run" / "lock"
    path.parent.mkdir()
    with held_by_another(path) as process:
        try:
            with pytest.raises(RunBusy) as error:
                Lock(path)
            assert f"the run run is held by process {process.pid} (" in str(error.value)
            assert holder(path) == str(error.value).split(" by ")[1].split(":")[0]
        finally:
            process.kill()


def test_a_dead_owner_blocks_nobody_though_its_name_still_stands(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_by_another(path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert path.read_bytes().startswith(f"process {process.pid}".encode())
    assert holder(path) is None
    Lock(path).release()


def test_a_second_owner_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with Lock(tmp_path / "lock"):
        with pytest.raises(RunBusy, match=f"process {os.getpid()}"):
            Lock(tmp_path / "lock")
    Lock(tmp_path / "lock").release()


def test_what_was_released_is_as_it_was_before(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    lock.release()
    lock.release()
    assert (tmp_path / "lock").read_bytes() == b""
    assert holder(tmp_path / "lock") is None
    assert holder(tmp_path / "never") is None


def test_a_child_that_is_started_while_it_is_held_does_not_hold_it_after_its_parent(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        try:
            lock.release()
            with Lock(tmp_path / "lock"):
                assert holder(tmp_path / "lock") is not None
            assert child.poll() is None, "it still runs"
        finally:
            child.kill()


FORKS = """
import os, sys, time
from pathlib import Path
from graph_agent.runtime.lock import Lock
lock = Lock(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    print(os.getpid(), lock.held, flush=True)
    lock.release()
    time.sleep(60)
    os._exit(0)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_does_not_hold_what_its_parent_holds(tmp_path: Path) -> None:
    """Neither while the parent lives, when it could give it away, nor after it was killed, when it would keep it."""
    path = tmp_path / "lock"
    command = [sys.executable, "-c", FORKS, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, held = parent.stdout.readline().split()
        try:
            assert held == "False"
            with pytest.raises(RunBusy, match=f"process {parent.pid} "):
                Lock(path)
            parent.kill()
            parent.wait()
            os.kill(int(child), 0)  # it lives
            Lock(path).release()
        finally:
            parent.kill()
            os.kill(int(child), signal.SIGKILL)


def test_what_was_given_back_is_free_though_a_copy_of_its_descriptor_is_open(tmp_path: Path) -> None:
    """As in a child that is being started at that moment."""
    lock = Lock(tmp_path / "lock")
    copy = os.dup(lock._descriptor)
    try:
        lock.release()
        Lock(tmp_path / "lock").release()
    finally:
        os.close(copy)


def test_who_only_looks_keeps_nobody_out(tmp_path: Path) -> None:
    """A dead owner's name makes a look take the lock for an instant; an owner-to-be waits for that."""
    path = tmp_path / "lock"
    with held_by_another(path) as process:
        process.kill()
        process.wait()
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.001):
            holder(path)

    looking = [threading.Thread(target=look) for _ in range(2)]
    for thread in looking:
        thread.start()
    try:
        for _ in range(50):
            Lock(path).release()
            path.write_text("process 1 (dead)", encoding="utf-8")
    finally:
        stop.set()
        for thread in looking:
            thread.join()
    assert holder(path) is None
