"""Every run has a process of its own; how one ends is a result, and never ends the others."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from graph_agent.evals.ran import Ran
from graph_agent.evals.runner import Wanted, run_tasks
from graph_agent.evals.task import Task, read_task, read_tasks
from tests.evals.making import research_task

RESULT = """
import json, os, sys
out, name, repeat, seed = sys.argv[1:5]
told = {"task": name, "workflow": "research", "tier": 1, "repeat": int(repeat), "outcome": "done",
        "reason": os.environ["PYTHONHASHSEED"], "steps": 7}
with open(out, "w", encoding="utf-8") as file:
    json.dump(told, file)
"""


def by(code: str) -> object:
    def command(wanted: Wanted) -> Sequence[str]:
        return [sys.executable, "-c", code, str(wanted.out), wanted.task.name, str(wanted.repeat), ""]

    return command


def made(tasks: Sequence[Task], code: str = RESULT, repeat: int = 1, workers: int = 1) -> tuple[Ran, ...]:
    return run_tasks(tasks, by(code), repeat=repeat, workers=workers)  # type: ignore[arg-type]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return read_task(research_task(tmp_path / "hoist"))


def test_results_come_by_task_and_repeat_whoever_is_first(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        research_task(tmp_path / name)
    tasks = read_tasks(tmp_path)
    slow_first = f"{RESULT}\nimport time; time.sleep(0.3 * (name == 'research/a'))"
    told: list[tuple[int, int]] = []
    runs = run_tasks(
        tasks,
        by(slow_first),  # type: ignore[arg-type]
        repeat=2,
        workers=3,
        tell=lambda done, of, _: told.append((done, of)),
    )
    assert [(one.task, one.repeat) for one in runs] == [
        (f"research/{name}", number) for name in "abc" for number in (1, 2)
    ]
    assert told == [(number, 6) for number in range(1, 7)]


def test_the_number_of_the_repeat_is_the_seed(task: Task) -> None:
    assert [one.reason for one in made([task], repeat=3)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(7)", "its process ended with 7"),
        ("print('no memory left'); raise SystemExit(1)", "its process ended with 1: no memory left"),
        ("pass", "it left no result that can be read"),
        ("import sys; open(sys.argv[1], 'w').write('{}')", "it left no result that can be read"),
    ],
)
def test_a_run_that_crashes_is_a_result(task: Task, code: str, said: str) -> None:
    (one,) = made([task], code)
    assert one.outcome == "crashed" and not one.held and not one.has_figures
    assert said in one.reason
    assert one.missed == (f"crashed: {one.reason}",)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_run_that_is_killed_is_a_result_and_the_next_is_made(tmp_path: Path) -> None:
    for name in ("a", "b"):
        research_task(tmp_path / name)
    dies = f"import os, sys\nif sys.argv[2] == 'research/a': os.kill(os.getpid(), 9)\n{RESULT}"
    first, second = made(read_tasks(tmp_path), dies)
    assert (first.outcome, first.reason) == ("crashed", "its process was ended by SIGKILL")
    assert second.held and second.steps == 7


def test_a_process_that_can_not_be_started_is_a_result(task: Task) -> None:
    (one,) = run_tasks([task], lambda _: ["/no/such/program"], repeat=1, workers=1)
    assert one.outcome == "broken" and "can't be started" in one.reason


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_run_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\ntime.sleep(600)"
    )
    (one,) = made([read_task(research_task(tmp_path / "late", seconds=1.5))], code)
    assert (one.outcome, one.reason) == ("late", "it took more than 1.5 seconds")
    _is_gone(int(mark.read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_leaving_the_evaluation_ends_what_is_on(task: Task, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    second = read_task(research_task(tmp_path / "second"))

    def stop(*_: object) -> None:
        while not (mark.exists() and mark.read_text()):
            time.sleep(0.01)
        raise KeyboardInterrupt

    def command(wanted: Wanted) -> Sequence[str]:
        words = by(code if wanted.task is task else RESULT)(wanted)  # type: ignore[operator]
        return list(words)

    with pytest.raises(KeyboardInterrupt):
        run_tasks([task, second], command, repeat=1, workers=2, tell=stop)
    _is_gone(int(mark.read_text()))
    assert not [one for one in threading.enumerate() if one.name.startswith("evaluation")]


def _is_gone(pid: int) -> None:
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"{pid} still runs")


def test_the_result_of_a_run_is_read_as_it_was_written(task: Task) -> None:
    code = RESULT.replace('"steps": 7', '"steps": 7, "properties": {"x": True}, "missed": ["it was at human"]')
    (one,) = made([task], code)
    assert (one.properties, one.missed, one.held) == ({"x": True}, ("it was at human",), False)
    assert json.dumps(one.seconds) and one.seconds >= 0
