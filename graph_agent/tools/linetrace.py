"""Which lines the failing and the passing tests run: how to have a test command traced, and how to read the trace.

The trace is written by `linetrace_script.py`, which runs in the workspace's own interpreter beside code that nobody
has checked. The one rule: what is read back is bounded and checked item by item, and damage is an error and no trace.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_agent.protocols import GraphAgentError
from graph_agent.tools.isolation import interpreter_of

SCRIPT = Path(__file__).with_name("linetrace_script.py")

_MOST_BYTES = 32 * 1024 * 1024
_MOST_TESTS = 50_000
_MOST_NAME = 1_000
_MOST_LINE = 1_000_000
_OUTCOMES = ("passed", "failed", "skipped")


class TraceError(GraphAgentError):
    """There is no trace, or it is not one that the tracer wrote."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What the tests ran, by path from the workspace's root; lines count from 1, in rising order.

    `failing_tests` says how many failing tests ran each line of `failing`, in the same order, `passing_tests` likewise:
    exact to 16, then at most an eighth too low. `traceback` has the lines where failing tests' errors came from,
    innermost first. `tests` are in the order in which they ended; the outcome is "passed", "failed", "skipped", or
    "unfinished" for one that hung or crashed, whose lines count as failing. Lines of skipped tests count as nothing.
    """

    failing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    passing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    failing_tests: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    passing_tests: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    traceback: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tests: tuple[tuple[str, str], ...] = ()

    @property
    def failed(self) -> int:
        """How many tests failed or did not come to an end."""
        return sum(outcome in ("failed", "unfinished") for _, outcome in self.tests)


def traced(argv: tuple[str, ...], out: str, root: str) -> tuple[str, ...] | None:
    """`argv` so that it writes a trace of the files under `root` to the file `out`; None where that can't be done.

    It can for `python -m pytest ...`, `python -m unittest ...`, `python file.py ...` and `pytest ...`. Exit code,
    arguments and import path are those of the untraced command. The interpreter needs to see this package's folder.
    """
    if not argv:
        return None
    program = Path(argv[0]).name.lower().removesuffix(".exe")
    script = (str(SCRIPT), out, root, "--")
    if program in ("pytest", "py.test"):
        found = shutil.which(argv[0])
        python = interpreter_of(Path(found)) if found else None
        return (str(python), *script, str(found), *argv[1:]) if python else None
    at = _after_options(argv) if _PYTHON.fullmatch(program) else len(argv)
    command = argv[at:]
    known = command[:2] in (("-m", "pytest"), ("-m", "unittest")) or (command and command[0].endswith(".py"))
    return (*argv[:at], *script, *command) if known else None


def read_trace(path: str | Path) -> Trace:
    """Read what a traced command wrote. Raises `TraceError`; a torn last line, as a kill leaves it, is dropped."""
    reading = _Reading()
    lines = _read(Path(path)).split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            reading.take(json.loads(line))
        except (ValueError, RecursionError, TypeError, LookupError) as wrong:
            raise TraceError(f"Line {number} of the trace is damaged ({wrong}): trace the tests again.") from wrong
    return reading.trace()


_PYTHON = re.compile(r"(python|pypy)[\d.]*w?t?")
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def _after_options(argv: tuple[str, ...]) -> int:
    """Where the interpreter's own options end."""
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-m":
        at += 2 if argv[at] in _WITH_VALUE else 1
    return at


def _read(path: Path) -> bytes:
    """The file's bytes, if it is a plain file: the code under test may have put a link or a pipe in its place."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
    except OSError as error:
        raise TraceError(
            f"There is no trace ({error.strerror}): the test command did not come to its start."
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TraceError("The trace is no plain file: something that the tests ran has replaced it.")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise TraceError(f"The trace is larger than {_MOST_BYTES} bytes: trace fewer tests.")
    return content


_Counts = dict[str, dict[int, int]]  # path -> line -> how many tests ran it


class _Reading:
    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {outcome: {} for outcome in _OUTCOMES}
        self._places: dict[str, dict[int, None]] = {}
        self._tests: list[tuple[str, str]] = []
        self._running = ""
        self._ran: dict[str, set[int]] = {}

    def take(self, record: Any) -> None:
        kind, *rest = record
        if kind == "begin":
            (self._running,) = map(_name, rest)
            self._ran = {}
        elif kind == "line":
            path, line = rest
            self._ran.setdefault(_path(path), set()).add(_line(line))
        elif kind == "end":
            self._end(*rest)
        else:
            raise ValueError(f"no record is called {str(kind)[:40]!r}")

    def trace(self) -> Trace:
        if self._running:
            self._add_running()
            self._finish(self._running, "unfinished")
        failing, passing = self._counts["failed"], self._counts["passed"]
        return Trace(
            failing={path: tuple(sorted(failing[path])) for path in sorted(failing)},
            passing={path: tuple(sorted(passing[path])) for path in sorted(passing)},
            failing_tests={path: _in_order(failing[path]) for path in sorted(failing)},
            passing_tests={path: _in_order(passing[path]) for path in sorted(passing)},
            traceback={path: tuple(lines) for path, lines in self._places.items()},
            tests=tuple(self._tests),
        )

    def _end(self, test: Any, outcome: Any, places: Any, ran: Any) -> None:
        if outcome not in _OUTCOMES:
            raise ValueError(f"no outcome is called {str(outcome)[:40]!r}")
        if not isinstance(ran, dict):
            raise TypeError("the lines are not by file")
        self._finish(_name(test), outcome)
        for path, line in places:
            self._places.setdefault(_path(path), {}).setdefault(_line(line))
        for path, noted in ran.items():
            counts = self._counts[outcome].setdefault(_path(path), {})
            for count, lines in noted:
                counts.update(dict.fromkeys(map(_line, lines), _whole(count, _MOST_TESTS)))

    def _add_running(self) -> None:
        for path, lines in self._ran.items():
            counts = self._counts["failed"].setdefault(path, {})
            counts.update({line: counts.get(line, 0) + 1 for line in lines})

    def _finish(self, test: str, outcome: str) -> None:
        if len(self._tests) >= _MOST_TESTS:
            raise ValueError(f"more than {_MOST_TESTS} tests")
        self._tests.append((test, outcome))
        if test == self._running:
            self._running, self._ran = "", {}


def _in_order(counts: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(count for _, count in sorted(counts.items()))


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a test without a name")
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in value[:_MOST_NAME])


def _path(value: Any) -> str:
    parts = value.split("/") if isinstance(value, str) and len(value) <= _MOST_NAME and value.isprintable() else [""]
    if any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        raise ValueError(f"{str(value)[:80]!r} is no path in the workspace")
    return "/".join(parts)


def _line(value: Any) -> int:
    return _whole(value, _MOST_LINE)


def _whole(value: Any, most: int) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError(f"{str(value)[:40]!r} is no whole number from 1 to {most}")
    return value
