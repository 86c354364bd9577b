"""Killed inside a node: it resumes, and a node with effects is named as in flight and not silently run again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from graph_agent import Run, resume
from tests.traps.durable import GRAPH, Stage, graph_that, outbox, start


def test_a_kill_inside_a_node_is_resumed_and_its_effect_is_named(tmp_path: Path) -> None:
    def hangs(state: Any, ctx: Any) -> Any:
        outbox(tmp_path, ctx.key)
        time.sleep(60)

    child = os.fork()
    if child == 0:
        try:
            with Run.create(tmp_path / "run", graph_that(hangs), start()) as run:
                resume(run)
        finally:
            os._exit(1)
    deadline = time.monotonic() + 30
    while not (tmp_path / "outbox").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Run.open(tmp_path / "run", GRAPH) as run:
        assert run.in_flight is not None
        assert run.in_flight["key"] == "job:send:1"
        stopped = resume(run)
        assert stopped.stage is Stage.HUMAN
        assert "send was interrupted (key job:send:1)" in stopped.route_reason
    assert (tmp_path / "outbox").read_text(encoding="utf-8") == "job:send:1\n", "not sent again"
