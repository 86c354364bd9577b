"""A lock held by a process that is dead: the run resumes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from graph_agent import Run, resume
from tests.traps.durable import GRAPH, Stage, start


def test_the_lock_of_a_dead_process_blocks_nobody(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        Run.create(tmp_path / "run", GRAPH, start())
        (tmp_path / "held").touch()
        time.sleep(60)
        os._exit(1)
    deadline = time.monotonic() + 30
    while not (tmp_path / "held").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / "run" / "lock").read_bytes().startswith(f"process {child}".encode()), "its name still stands"
    with Run.open(tmp_path / "run", GRAPH) as run:
        assert resume(run).stage is Stage.DONE
