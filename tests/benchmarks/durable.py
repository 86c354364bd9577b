"""What it costs that a run survives: a step that is on the disk, the bytes of a long run, and going on with one.

The run's state grows by a line of its log with every second step, as the states of agents do.

The floor of a durable step is what nobody can go below: the same bytes, written and synced line by line to a file in
the same folder, in turn with the run that made them.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from graph_agent import Graph, GraphState, Node, Route, Run, appended, run_graph
from graph_agent.runtime.reading import FILE
from tests.benchmarks.timing import table

SIZES = (100, 1_000, 10_000)  # steps of a run, for its bytes and for going on with it


class Stage(StrEnum):
    VERIFY = "verify"
    REPAIR = "repair"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Job(GraphState):
    stage: Stage = Stage.VERIFY
    plan: str = ""
    retries: int = 0
    max_retries: int = 0
    exit_code: int | None = None
    log: tuple[str, ...] = appended()


def verify(state: Job, ctx: Any) -> dict[str, Any]:
    return {"exit_code": 0 if state.retries >= state.max_retries else 1}


def repair(state: Job, ctx: Any) -> dict[str, Any]:
    plan = f"plan {state.retries}"
    return {"retries": state.retries + 1, "plan": plan, "log": (f"{plan} was tried",)}


def route_after_verify(state: Job) -> Route:
    return Route(Stage.DONE, "it passes") if state.exit_code == 0 else Route(Stage.REPAIR, "it fails: try again")


GRAPH = Graph(
    state=Job,
    nodes={
        Stage.VERIFY: Node(verify, owns={"exit_code"}, to=route_after_verify, exits={Stage.DONE, Stage.REPAIR}),
        Stage.REPAIR: Node(repair, owns={"retries", "plan", "log"}, to=Stage.VERIFY),
    },
    ends={Stage.DONE},
)
_datasync = getattr(os, "fdatasync", os.fsync)


def durable(steps: int, rounds: int) -> str:
    """Microseconds a step, on the disk and handed to the system, each beside a bare write of the same lines.

    Run and floor take turns, and the ratio is the median of the ratios of the rounds: the disk's moods are longer.
    """
    rows = []
    for durability in ("fsync", "flush"):
        ours, floor = [], []
        for _ in range(rounds):
            with _place() as folder:
                taken, lines = _kept(folder, steps, durability)
                ours.append(taken / len(lines))
                floor.append(_bare(folder, lines, sync=durability == "fsync") / len(lines))
        ratio = median(one / other for one, other in zip(ours, floor, strict=True))
        rows.append(
            (f'durability="{durability}"', f"{1e6 * median(ours):.1f}", f"{1e6 * median(floor):.1f}", f"{ratio:.2f}")
        )
    headings = ("a step that is kept", "us", "bare write of its bytes", "ratio")
    return table(headings, rows)


def growth() -> str:
    """Bytes a step, and milliseconds to go on, as a run grows; LangGraph's SQLite saver beside it, where installed."""
    rows = []
    for steps in SIZES:
        with _place() as folder:
            _kept(folder, steps, "flush")
            size = (folder / "run" / FILE).stat().st_size
            started = perf_counter()
            with Run.open(folder / "run", GRAPH):
                taken = perf_counter() - started
            rows.append((f"graph_agent, {steps} steps", f"{size / steps:.0f}", f"{1e3 * taken:.0f}"))
    rows += [(f"langgraph, sqlite, {steps} steps", f"{size / steps:.0f}", "-") for steps, size in _langgraph(SIZES[:2])]
    text = table(("a run that is kept", "bytes/step", "ms to open"), rows)
    missing = find_spec("langgraph") is None or find_spec("langgraph.checkpoint.sqlite") is None
    return f"{text}\nlanggraph: not measured, it is not installed (pip install '.[bench]')" if missing else text


def _kept(folder: Path, steps: int, durability: Any) -> tuple[float, list[bytes]]:
    """Seconds of a run of so many steps, and its lines but for the header."""
    state = Job(task_id="bench", max_retries=steps // 2)
    with Run.create(folder / "run", GRAPH, state, durability=durability) as run:
        gc.collect()
        started = perf_counter()
        run_graph(GRAPH, state, journal=run, max_steps=2 * steps)
        taken = perf_counter() - started
    return taken, (folder / "run" / FILE).read_bytes().splitlines(keepends=True)[1:]


def _bare(folder: Path, lines: list[bytes], *, sync: bool) -> float:
    descriptor = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        gc.collect()
        started = perf_counter()
        for line in lines:
            os.write(descriptor, line)
            if sync:
                _datasync(descriptor)
        return perf_counter() - started
    finally:
        os.close(descriptor)


@contextmanager
def _place() -> Iterator[Path]:
    """On the disk of the checkout, since what a system keeps in memory is no disk."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        yield Path(folder)


def _langgraph(sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """(steps, bytes of the database) of the same loop."""
    run = _langgraph_run()
    if run is None:
        return
    for steps in sizes:
        with _place() as folder:
            run(folder / "saved.sqlite", steps)
            yield steps, sum(path.stat().st_size for path in folder.iterdir())


def _langgraph_run() -> Callable[[Path, int], None] | None:
    try:
        import operator
        import sqlite3
        from typing import Annotated, TypedDict

        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, StateGraph
    except ImportError:
        return None

    fields: Any = {"plan": str, "retries": int, "exit_code": int, "log": Annotated[list[str], operator.add]}
    state: Any = TypedDict("state", fields)

    def run(path: Path, steps: int) -> None:
        most = steps // 2
        graph = StateGraph(state)
        graph.add_node("verify", lambda s: {"exit_code": 0 if s["retries"] >= most else 1})
        graph.add_node("repair", _langgraph_repair)
        graph.add_edge(START, "verify")
        graph.add_conditional_edges("verify", lambda s: END if s["exit_code"] == 0 else "repair")
        graph.add_edge("repair", "verify")
        connection = sqlite3.connect(path, check_same_thread=False)
        try:
            saved = graph.compile(checkpointer=SqliteSaver(connection))
            config: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 3 * steps + 9}
            saved.invoke({"plan": "", "retries": 0, "exit_code": 1, "log": []}, config)
        finally:
            connection.close()

    return run


def _langgraph_repair(state: Any) -> dict[str, Any]:
    plan = f"plan {state['retries']}"
    return {"retries": state["retries"] + 1, "plan": plan, "log": [f"{plan} was tried"]}
