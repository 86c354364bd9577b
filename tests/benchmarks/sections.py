"""What is measured, one function a section: each returns the text that is printed.

A section compares: with a floor that does the same work without this package, or with another way to do it. Numbers of
different runs of the program can't be compared, ratios within a run can.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

from graph_agent import decode, encode, fan_out
from graph_agent.testing import budget_holds, explore, monotone, reason_given, terminates
from tests.benchmarks.loops import LOOPS, Job, built
from tests.benchmarks.timing import Times, interleaved, interpreter, table
from tests.testing.graphs import GRAPH, OUTCOMES, START, Stage

ROOT = Path(__file__).parents[2]


def steps(names: list[str], visits: int, rounds: int) -> str:
    """Microseconds a step of the same loop on each library, and ratios to the floor and to PocketFlow."""
    repairs = max(1, visits // 2)
    loops, missing = {}, []
    for name in names:
        try:
            loops[name] = built(name, repairs)
        except ImportError as error:
            missing.append(f"{name}: not measured, {error} (pip install '.[bench]')")
    taken = interleaved(loops, rounds)
    rows = [(name, *_per(times, 2 * repairs + 1), *_ratios(times, taken)) for name, times in taken.items()]
    headings = ("loop", "us/step", "median", "x bare", "x pocketflow")
    return "\n".join([table(headings, rows), *missing])


def _ratios(times: Times, taken: dict[str, Times]) -> tuple[str, ...]:
    return tuple(f"{times.best / taken[name].best:.2f}" if name in taken else "-" for name in ("bare", "pocketflow"))


def imports(rounds: int) -> str:
    """Milliseconds that an import adds to an interpreter that does nothing."""
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    codes = {
        "nothing": path,
        "import graph_agent": f"{path}; import graph_agent",
        "from graph_agent import run_graph": f"{path}; from graph_agent import run_graph",
        "import asyncio": f"{path}; import asyncio",
    }
    taken = interleaved({name: interpreter(code) for name, code in codes.items()}, rounds)
    floor = taken["nothing"].best
    rows = [(name, f"{1e3 * times.best:.1f}", f"{1e3 * (times.best - floor):+.1f}") for name, times in taken.items()]
    return table(("a new interpreter", "ms", "added"), rows)


def fan_outs(jobs: int, rounds: int) -> str:
    """Microseconds a job that does nothing, on four threads."""
    work: list[Callable[[], int]] = [lambda number=number: number for number in range(jobs)]

    def pool() -> None:
        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(lambda job: job(), work)) == sum(range(jobs))

    def ours() -> None:
        assert [outcome.value for outcome in fan_out(work, workers=4)] == list(range(jobs))

    def plain() -> None:
        assert [job() for job in work] == list(range(jobs))

    taken = interleaved({"a plain loop": plain, "ThreadPoolExecutor.map": pool, "fan_out": ours}, rounds)
    return table(("jobs", "us/job", "median"), [(name, *_per(times, jobs)) for name, times in taken.items()])


def codec(times_a_round: int, rounds: int) -> str:
    """Microseconds to save and to load a state of 15 fields, with all types checked, beside json alone."""
    state = Job(task_id="bench", paths=tuple(f"pkg/module_{number}.py" for number in range(20)))
    data, text = encode(state), json.dumps(encode(state))
    runs: dict[str, Callable[[], object]] = {
        "dataclasses.asdict": lambda: asdict(state),
        "encode": lambda: encode(state),
        "decode": lambda: decode(Job, data),
        "json.dumps": lambda: json.dumps(data),
        "json.loads": lambda: json.loads(text),
    }
    assert decode(Job, data) == state

    def repeated(run: Callable[[], object]) -> Callable[[], object]:
        return lambda: [run() for _ in range(times_a_round)]

    taken = interleaved({name: repeated(run) for name, run in runs.items()}, rounds)
    rows = [(name, *_per(times, times_a_round)) for name, times in taken.items()]
    return table((f"a state of {len(text)} bytes", "us", "median"), rows)


def explored(tries: int, rounds: int) -> str:
    """States a second that are explored and held to four laws, of a graph of three stages."""
    start = replace(START, max_tries=tries)
    outcomes = {**OUTCOMES, Stage.HUMAN: []}
    laws = (terminates(), reason_given(), budget_holds("tries", "max_tries"), monotone("tries"))

    def explore_all() -> None:
        assert explore(GRAPH, start, outcomes, laws=laws).raise_on_violation().states == 3 * tries + 1

    taken = interleaved({"explore": explore_all}, max(1, rounds // 10))
    times, states = taken["explore"], 3 * tries + 1
    row = ("explore", f"{states / times.best:.0f}", f"{states / times.middle:.0f}")
    return table((f"{states} states", "states/s", "median"), [row])


def _per(times: Times, count: int) -> tuple[str, str]:
    return f"{1e6 * times.best / count:.2f}", f"{1e6 * times.middle / count:.2f}"


def machine() -> str:
    """What the numbers below were measured on."""
    return f"Python {sys.version.split()[0]} on {sys.platform}"


SECTIONS = ("steps", "import", "fan_out", "codec", "durable", "growth", "explore", "research")
CHOICES = (*SECTIONS, "kills", "evals", *LOOPS)
