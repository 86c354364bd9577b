"""The runner's commands, in a copy of the course: what they say, how they end, and that nothing gets out of hand."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, Queue
from time import monotonic

import pytest

from exercises.course import NotYet, load, run_check
from tests.exercises.copies import NAMES, copied, course, environment, files

pytestmark = pytest.mark.slow

FIRST, SECOND = "exercises/01_first_run", "exercises/02_a_loop"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copied(tmp_path)


def solve(copy: Path, folder: str) -> None:
    shutil.copyfile(copy / folder / "solution.py", copy / folder / "exercise.py")


def write(copy: Path, text: str, folder: str = FIRST) -> None:
    (copy / folder / "exercise.py").write_text(text, encoding="utf-8")


def test_at_first_nothing_is_done_and_the_first_task_is_told_with_why_it_fails(copy: Path) -> None:
    done = course(copy)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"0 of {len(NAMES)} exercises done." in done.stdout
    assert "[>]  1  A first run" in done.stdout
    assert f"read  {FIRST}/README.md" in done.stdout
    assert "Up to step 5 your guess is right." in done.stdout


def test_what_is_done_is_what_passes_now(copy: Path) -> None:
    solve(copy, FIRST)
    assert "[x]  1  A first run\n  [>]  2  A loop before a graph" in course(copy).stdout
    write(copy, "PATH = ()")
    assert "[>]  1  A first run\n  [ ]  2  A loop before a graph" in course(copy).stdout


def test_nothing_is_stored(copy: Path) -> None:
    before = files(copy)
    for command in ([], ["check", "1"], ["hint", "1"], ["run", "1"]):
        course(copy, *command)
    assert files(copy) == before


def test_check_ends_with_1_until_it_passes(copy: Path) -> None:
    assert course(copy, "check", "1").returncode == 1
    solve(copy, FIRST)
    for name in ("1", "01", "01_first_run"):
        done = course(copy, "check", name)
        assert done.returncode == 0 and done.stdout.startswith("PASSED   1. A first run\n")


def test_an_exercise_is_not_done_before_those_that_it_builds_on(copy: Path) -> None:
    solve(copy, SECOND)
    done = course(copy, "check", "2")
    assert done.returncode == 1
    assert "exercise 2 builds on exercise 1, whose check does not pass yet." in done.stdout
    solve(copy, FIRST)
    assert course(copy, "check", "2").returncode == 0


def test_a_hint_keeps_its_indent(copy: Path) -> None:
    (copy / FIRST / "hints.md").write_text("## Hint 1\n\n    if x:\n        y()\n\n## Hint 2\n\nz\n", encoding="utf-8")
    assert "\n\n    if x:\n        y()\n\nMore: " in course(copy, "hint", "1").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe that nobody reads is another error there")
@pytest.mark.parametrize("buffered", ["", "1"])
def test_who_reads_may_stop_reading(copy: Path, buffered: str) -> None:
    for command in ("exercises hint 3", "exercises check 1", "exercises", "exercises.symptoms retries"):
        argv = [sys.executable, "-m", *command.split()]
        where = {"cwd": copy, "env": environment(PYTHONUNBUFFERED=buffered)}
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **where)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        with process.stderr as errors:
            assert errors.read() == b""
        assert process.wait(60) == 141


def test_hints_come_one_by_one(copy: Path) -> None:
    first, second = course(copy, "hint", "1"), course(copy, "hint", "1", "2")
    assert first.returncode == second.returncode == 0
    assert "hint 1 of 3" in first.stdout and "-m exercises hint 1 2" in first.stdout
    assert "hint 2 of 3" in second.stdout and "-m exercises hint 1 3" in second.stdout


def test_reset_puts_the_file_back_and_keeps_what_was_there(copy: Path) -> None:
    write(copy, "mine = 1\n")
    assert course(copy, "reset", "1").returncode == 0
    folder = copy / FIRST
    assert (folder / "exercise.py").read_bytes() == (folder / "start.py").read_bytes()
    assert (folder / "before_reset.py").read_text(encoding="utf-8") == "mine = 1\n"
    assert course(copy, "reset", "1").returncode == 0
    assert (folder / "before_reset.py").read_text(encoding="utf-8") == "mine = 1\n"


def test_reset_brings_back_a_file_that_is_gone(copy: Path) -> None:
    (copy / FIRST / "exercise.py").unlink()
    assert "exercise.py is not there" in course(copy, "check", "1").stdout
    assert course(copy, "run", "1").returncode == 2
    assert course(copy, "reset", "1").returncode == 0
    assert (copy / FIRST / "exercise.py").is_file()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("chek 1", "there is no command 'chek'. Did you mean check?"),
        ("check 99", "there is no exercise '99'"),
        ("check one", "there is no exercise 'one'"),
        ("check -1", "there is no exercise '-1'"),
        ("check 1 2", "'2' is too much here."),
        ("hint", "hint needs the number of an exercise"),
        ("hint 1 9", "there is no hint '9' for exercise 1: it has hints 1 to 3."),
        ("hint 1 0", "there is no hint '0'"),
        ("hint 1 2 3", "'3' is too much here."),
        ("reset", "reset needs the number of an exercise"),
        ("run", "run needs the number of an exercise"),
        ("watch 99", "there is no exercise '99'"),
        ("status 1", "'1' is too much here."),
        ("3", "there is no command '3'."),
    ],
)
def test_what_is_not_understood_is_said_with_exit_code_2(copy: Path, typed: str, said: str) -> None:
    done = course(copy, *typed.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr and "check 3" in done.stderr


def test_help_is_no_error(copy: Path) -> None:
    assert course(copy, "--help").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PATH = (\n", f"{FIRST}/exercise.py, line 1: SyntaxError"),
        ("x = 1\n\x00", "SyntaxError"),
        ("x = 1\ny = nowhere\n", f"{FIRST}/exercise.py, line 2, in <module>: NameError: name 'nowhere' is not defined"),
        ("import sys\nsys.exit('bye')\n", "line 2, in <module>: SystemExit: bye"),
        ("import os\nos._exit(7)\n", "ended by itself, with code 7"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("input('?')\n", "EOFError"),
        ("", f"{FIRST}/exercise.py has no `PATH` any more"),
        ("def f():\n    return f()\nf()\n", "RecursionError"),
        ("# -*- coding: nonsense -*-\n", "SyntaxError"),
    ],
    ids=["syntax", "null", "name", "exit", "_exit", "interrupt", "input", "empty", "recursion", "coding"],
)
def test_a_file_that_does_not_run_is_told_with_its_line_and_no_traceback(copy: Path, text: str, said: str) -> None:
    write(copy, text)
    for command in (["check", "1"], []):
        done = course(copy, *command)
        assert done.returncode == (1 if command else 0)
        assert done.stderr == ""
        assert said in done.stdout and "Traceback" not in done.stdout


def test_an_error_in_a_learners_function_is_told_with_the_line_there(copy: Path) -> None:
    solve(copy, FIRST)
    broken = (copy / SECOND / "solution.py").read_text(encoding="utf-8").replace("break", "1 / 0")
    write(copy, broken, SECOND)
    line = broken[: broken.index("1 / 0")].count("\n") + 1
    said = course(copy, "check", "2").stdout
    assert f"{SECOND}/exercise.py, line {line}, in mend: ZeroDivisionError: division by zero\n      1 / 0\n" in said


def test_what_a_file_prints_is_shown_when_it_does_not_pass(copy: Path) -> None:
    write(copy, "print('here I am')\nPATH = ()\n")
    assert "  | here I am" in course(copy, "check", "1").stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp1252"])
def test_a_console_that_is_not_utf_8_gets_question_marks_and_no_error(copy: Path, encoding: str) -> None:
    write(copy, "raise ValueError('Gr\u00f6\u00dfe \u2192 \u6f22')\n")
    for command, code in ((["check", "1"], 1), (["hint", "1"], 0), ([], 0)):
        done = course(copy, *command, PYTHONIOENCODING=f"{encoding}:backslashreplace")
        assert (done.returncode, done.stderr) == (code, "")
    write(copy, "print('\u6f22')\n")
    done = course(copy, "run", "1", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout, done.stderr) == (0, "?\n", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An exercise of its own, whose check wants nothing."""
    own = tmp_path / "01_own"
    own.mkdir()
    (own / "check.py").write_text("def check(learner):\n    pass\n", encoding="utf-8")
    return own


@pytest.mark.parametrize(
    "text",
    [
        "while True:\n    pass\n",
        "while True:\n    print('again and again')\n",
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'])\n",
    ],
    ids=["silent", "printing", "with a child"],
)
def test_a_file_that_hangs_is_ended_and_told(folder: Path, text: str) -> None:
    (folder / "exercise.py").write_text(text, encoding="utf-8")
    began = monotonic()
    outcome = run_check(folder, limit=1)
    assert not outcome.passed
    assert "did not come to an end within 1 seconds" in outcome.text
    assert len(outcome.printed) <= 2000
    assert monotonic() - began < 20


def test_a_process_that_outlives_the_check_is_not_waited_for(folder: Path) -> None:
    started = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(15)'])\n"
    (folder / "exercise.py").write_text(started, encoding="utf-8")
    began = monotonic()
    assert run_check(folder).passed
    assert monotonic() - began < 12


def test_a_module_is_loaded_afresh_each_time_and_leaves_no_cache(folder: Path) -> None:
    path = folder / "exercise.py"
    path.write_text("from dataclasses import dataclass\n\n@dataclass\nclass A:\n    x: 'int' = 1\n", encoding="utf-8")
    first = load(folder, "exercise")
    path.write_text("x = 2\n", encoding="utf-8")
    second = load(folder, "exercise")
    assert (first.A().x, second.x) == (1, 2) and first.__name__ != second.__name__
    assert {one.name for one in folder.iterdir()} == {"check.py", "exercise.py"}


def test_a_module_that_does_not_load_is_not_left_behind(folder: Path) -> None:
    (folder / "exercise.py").write_text("raise OSError('x')\n", encoding="utf-8")
    before = set(sys.modules)
    with pytest.raises(OSError, match="x"):
        load(folder, "exercise")
    assert {name for name in set(sys.modules) - before if "01_own" in name} == set()


def test_a_check_says_what_is_not_right_in_its_own_words(folder: Path) -> None:
    text = "from exercises.course import NotYet\n\ndef check(learner):\n    raise NotYet(f'x is {learner.x}, not 2')\n"
    (folder / "check.py").write_text(text, encoding="utf-8")
    (folder / "exercise.py").write_text("x = 1\n", encoding="utf-8")
    assert run_check(folder).text == "x is 1, not 2"
    with pytest.raises(NotYet):
        load(folder, "check").check(load(folder, "exercise"))


class Watched:
    """`watch` in a process, its lines as they come."""

    def __init__(self, copy: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "exercises", "watch", *arguments],
            cwd=copy,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.lines: Queue[str] = Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line.rstrip("\n"))

    def until(self, begin: str, seconds: float = 30) -> str:
        seen = []
        while True:
            try:
                seen.append(self.lines.get(timeout=seconds))
            except Empty:
                raise AssertionError(f"{begin!r} did not come, but {seen}") from None
            if seen[-1].strip().startswith(begin):
                return seen[-1]

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join(10)


def test_watch_checks_at_each_save_and_goes_on_to_the_next(copy: Path) -> None:
    with Watched(copy) as watched:
        watched.until("NOT YET  1. A first run")
        write(copy, "PATH = (\n")
        watched.until(f"{FIRST}/exercise.py, line 1: SyntaxError")
        solve(copy, FIRST)
        watched.until("PASSED   1. A first run")
        watched.until("NOT YET  2. A loop before a graph")
        solve(copy, SECOND)
        watched.until("PASSED   2. A loop before a graph")
        watched.until("NOT YET  3. ")


def test_watch_can_begin_at_an_exercise_and_ends_after_the_last(tmp_path: Path) -> None:
    copy = copied(tmp_path, solved=True)
    with Watched(copy, str(int(NAMES[-1][:2]))) as watched:
        watched.until("PASSED")
        watched.until("All of them pass.")
        assert watched.process.wait(30) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="another process can't press Ctrl-C there")
def test_ctrl_c_ends_watch_without_a_traceback(copy: Path) -> None:
    with Watched(copy) as watched:
        watched.until("NOT YET  1. A first run")
        watched.process.send_signal(signal.SIGINT)
        watched.until("stopped.")
        assert watched.process.wait(30) == 0
