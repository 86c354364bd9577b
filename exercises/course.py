"""What the course is made of: the exercises' folders, how a file of one is loaded, and how its check is run.

An exercise is a folder `NN_name` beside this file. Its `check.py` has `check(module)`, which returns when the module is
right and raises `NotYet` for the first thing that is not. The one rule: a learner's file is only run in a process of
its own, with a limit of time, so that nothing it does can stop the course.
"""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO

HERE = Path(__file__).resolve().parent
LIMIT = 10.0  # seconds that a check may take, the learner's file included
SHOWN = 2000  # of what a learner's file printed, the last bytes are shown

_names = itertools.count(1)


class NotYet(Exception):
    """What is not right yet, and where to look. A check raises it, and its text teaches."""


@dataclass(frozen=True)
class Exercise:
    folder: Path

    @property
    def number(self) -> int:
        return int(self.folder.name[:2])

    @property
    def title(self) -> str:
        first = (self.folder / "README.md").read_text(encoding="utf-8").splitlines()[0]
        return first.removeprefix(f"# {self.number}.").strip()

    @property
    def file(self) -> Path:
        return self.folder / "exercise.py"

    @property
    def start(self) -> Path:
        return self.folder / "start.py"

    @property
    def touched(self) -> bool:
        return not self.file.is_file() or self.file.read_bytes() != self.start.read_bytes()

    @property
    def hints(self) -> list[str]:
        """The sections of hints.md, from a nudge to nearly the answer."""
        text = (self.folder / "hints.md").read_text(encoding="utf-8")
        return [part.partition("\n")[2].strip("\n") for part in f"\n{text}".split("\n## Hint ")[1:]]

    @property
    def builds_on(self) -> tuple[str, ...]:
        """The names of the folders whose checks must pass first."""
        return tuple(getattr(load(self.folder, "check"), "BUILDS_ON", ()))


@dataclass(frozen=True)
class Outcome:
    """What a check came to: `text` says why it does not pass, `printed` has what the learner's file printed."""

    passed: bool
    text: str = ""
    printed: str = ""


def exercises(home: Path = HERE) -> list[Exercise]:
    return [Exercise(folder) for folder in sorted(home.glob("[0-9][0-9]_*")) if (folder / "check.py").is_file()]


def load(folder: Path, name: str) -> ModuleType:
    """The module `folder/name.py`, run afresh under a name of its own; no `__pycache__` is written for it.

    Raises what the file raises, SyntaxError included.
    """
    path = folder / f"{name}.py"
    module = ModuleType(f"exercise_{folder.name}_{name}_{next(_names)}")
    module.__file__ = str(path)
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    sys.modules[module.__name__] = module  # dataclasses look their module up here
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


def outcome_of(exercise: Exercise, seen: dict[str, Outcome] | None = None, *, limit: float = LIMIT) -> Outcome:
    """What the exercise's check says of the learner's file, after the checks of those that it builds on.

    `seen` keeps outcomes by folder name, so that a look at the whole course runs each check once.
    """
    seen = {} if seen is None else seen
    if exercise.folder.name not in seen:
        seen[exercise.folder.name] = _missing_ground(exercise, seen, limit) or run_check(exercise.folder, limit=limit)
    return seen[exercise.folder.name]


def run_check(folder: Path, name: str = "exercise", *, limit: float = LIMIT) -> Outcome:
    """What the check in `folder` says of `name.py` there, from a process that has `limit` seconds."""
    if not (folder / f"{name}.py").is_file():
        return Outcome(False, f"{folder.name}/{name}.py is not there. `reset` puts the file back as it was shipped.")
    with tempfile.TemporaryDirectory() as scratch:
        said = Path(scratch) / "said.json"
        ended, printed = _run([sys.executable, "-B", "-m", "exercises.checking", str(folder), name, str(said)], limit)
        if ended is None:
            text = f"{name}.py did not come to an end within {limit:g} seconds: is there a loop that nothing stops?"
            return Outcome(False, text, printed)
        if not said.is_file():
            return Outcome(False, f"the process of the check ended by itself, with code {ended}.", printed)
        passed, text = json.loads(said.read_text(encoding="utf-8"))
    return Outcome(passed, text, printed)


def unheard() -> int:
    """Say nothing more: who read this has seen enough, such as `head`. Returns the exit code of a closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains of it at its exit
    return 141


def run_file(path: Path) -> int:
    """Run a learner's file in this terminal, and return its exit code. What it raises is shown as Python shows it."""
    sys.stdout.flush()
    encoding = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    environment = _environment() | {"PYTHONIOENCODING": f"{encoding}:replace"}  # "?" for what a console can't show
    return abs(subprocess.call([sys.executable, "-B", str(path)], cwd=HERE.parent, env=environment))


def _missing_ground(exercise: Exercise, seen: dict[str, Outcome], limit: float) -> Outcome | None:
    by_name = {other.folder.name: other for other in exercises(exercise.folder.parent)}
    for name in exercise.builds_on:
        below = by_name[name]
        if not outcome_of(below, seen, limit=limit).passed:
            return Outcome(
                False,
                f"exercise {exercise.number} builds on exercise {below.number}, whose check does not pass yet.\n"
                f"First: check {below.number}",
            )
    return None


def _run(argv: list[str], limit: float) -> tuple[int | None, str]:
    """The exit code of a process, None when it had to be ended, and the last of what it printed."""
    process = subprocess.Popen(
        argv,
        cwd=HERE.parent,
        env=_environment() | {"PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=os.name == "posix",  # so that all it started can be ended with it
    )
    assert process.stdout is not None
    tail = bytearray()
    reader = threading.Thread(target=_keep_tail, args=(process.stdout, tail), daemon=True)
    reader.start()
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        return None, _text(tail)
    finally:
        _end(process)
        reader.join(1)  # a process that outlives its parent may hold the pipe: it is not waited for
    return process.returncode, _text(tail)


def _environment() -> dict[str, str]:
    """With the folder of the course and of graph_agent on the path, installed or not."""
    path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path}


def _keep_tail(pipe: IO[bytes], tail: bytearray) -> None:
    while chunk := os.read(pipe.fileno(), 65536):
        tail += chunk
        del tail[:-SHOWN]
    pipe.close()


def _text(tail: bytearray) -> str:
    return bytes(tail).decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
