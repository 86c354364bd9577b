"""Which lines the failing and the passing tests run: how to have a command traced, and how to read the trace.

`linetrace_script.py` writes it, beside code that nobody has checked. The one rule: what is read back is bounded and
checked item by item, and damage is an error and no trace.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.codec import decode
from graph_agent.runtime.jsontext import loads
from graph_agent.tools.command import interpreter_of

SCRIPT = Path(__file__).with_name("linetrace_script.py")

_MOST_BYTES = 32 * 1024 * 1024
_MOST_NAME = 1_000
_MOST_NUMBER = 1_000_000
_PYTHON = re.compile(r"(python|pypy)[\d.]*w?t?")
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


class TraceError(GraphAgentError):
    """There is no trace, or a damaged one."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What the tests ran, by path from the workspace's root; lines count from 1, in rising order.

    `failing_tests` says how many failing tests ran each line of `failing`, `passing_tests` likewise: exact to 16, then
    at most an eighth too low. `traceback` has the lines where errors came from, innermost first. `tests` are in the
    order in which they ended, each "passed", "failed", "skipped", or "unfinished" if it hung or crashed; the lines of
    such a one count as failing.
    """

    failing: dict[str, tuple[int, ...]] = field(default_factory=dict)
    passing: dict[str, tuple[int, ...]] = field(default_factory=dict)
    failing_tests: dict[str, tuple[int, ...]] = field(default_factory=dict)
    passing_tests: dict[str, tuple[int, ...]] = field(default_factory=dict)
    traceback: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tests: tuple[tuple[str, str], ...] = ()

    @property
    def failed(self) -> int:
        return sum(outcome in ("failed", "unfinished") for _, outcome in self.tests)


def traced(argv: tuple[str, ...], out: str, root: str) -> tuple[str, ...] | None:
    """`argv` so that it writes a trace of the files under `root` to the file `out`; None where that can't be done.

    It can for `python -m pytest ...`, `python -m unittest ...`, `python file.py ...` and `pytest ...`.
    """
    if not argv:
        return None
    program = Path(argv[0]).name.lower().removesuffix(".exe")
    script = (str(SCRIPT), out, root, "--")
    if program in ("pytest", "py.test"):
        found = shutil.which(argv[0])
        python = interpreter_of(Path(found)) if found else None
        return (str(python), *script, str(found), *argv[1:]) if python else None
    if not _PYTHON.fullmatch(program):
        return None
    at = 1  # past the interpreter's own options
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-m":
        at += 2 if argv[at] in _WITH_VALUE else 1
    command = argv[at:]
    known = command[:2] in (("-m", "pytest"), ("-m", "unittest")) or (command and command[0].endswith(".py"))
    return (*argv[:at], *script, *command) if known else None


def read_trace(path: Path) -> Trace:
    """Raises `TraceError`. A torn last line, as a kill leaves it, is dropped."""
    if path.is_symlink() or not path.is_file():  # or a test put a pipe in its place
        raise TraceError("There is no trace: the command did not start.")
    if path.stat().st_size > _MOST_BYTES:
        raise TraceError(f"The trace is over {_MOST_BYTES} bytes: trace fewer tests.")
    reading = _Reading()
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            reading.take(decode(_Record, loads(line)))
        except ValueError as wrong:
            raise TraceError(f"Line {number} of the trace is damaged ({wrong}): trace again.") from wrong
    return reading.trace()


_Counts = dict[str, dict[int, int]]  # of tests, by path and line


@dataclass(frozen=True)
class _Record:
    """One line, see `linetrace_script.Log`."""

    test: str = ""
    outcome: Literal["", "passed", "failed", "skipped"] = ""
    path: str = ""
    line: int = 0
    places: tuple[tuple[str, int], ...] = ()
    ran: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)


class _Reading:
    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {"passed": {}, "failed": {}, "skipped": {}}
        self._places: dict[str, dict[int, None]] = {}
        self._tests: list[tuple[str, str]] = []
        self._running = ""
        self._ran: dict[str, set[int]] = {}

    def take(self, record: _Record) -> None:
        test = "".join(sign if sign.isprintable() else "\ufffd" for sign in record.test[:_MOST_NAME])
        if not test:
            self._ran.setdefault(_path(record.path), set()).add(_number(record.line))
            return
        self._running, self._ran = ("" if record.outcome else test), {}
        if not record.outcome:
            return
        self._tests.append((test, record.outcome))
        for path, line in record.places:
            self._places.setdefault(_path(path), {}).setdefault(_number(line))
        for path, counted in record.ran.items():
            counts = self._counts[record.outcome].setdefault(_path(path), {})
            counts.update({_number(line): _number(count) for line, count in counted})

    def trace(self) -> Trace:
        failing, passing = self._counts["failed"], self._counts["passed"]
        if self._running:
            self._tests.append((self._running, "unfinished"))
            for path, lines in self._ran.items():
                counts = failing.setdefault(path, {})
                counts.update({line: counts.get(line, 0) + 1 for line in lines})
        return Trace(
            failing=_column(0, failing),
            passing=_column(0, passing),
            failing_tests=_column(1, failing),
            passing_tests=_column(1, passing),
            traceback={path: tuple(lines) for path, lines in self._places.items()},
            tests=tuple(self._tests),
        )


def _column(at: int, counts: _Counts) -> dict[str, tuple[int, ...]]:
    return {path: tuple(pair[at] for pair in sorted(lines.items())) for path, lines in sorted(counts.items())}


def _path(text: str) -> str:
    parts = text.split("/")
    if len(text) > _MOST_NAME or not text.isprintable() or "\\" in text or ":" in text or {"", ".", ".."} & {*parts}:
        raise ValueError(f"{text[:80]!r} is no path in the workspace")
    return text


def _number(number: int) -> int:
    if not 1 <= number <= _MOST_NUMBER:
        raise ValueError(f"{number} is not from 1 to {_MOST_NUMBER}")
    return number
