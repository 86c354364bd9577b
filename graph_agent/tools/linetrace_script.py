"""Run a test command and note which lines each test runs. A script for the interpreter that has the tests.

    python linetrace_script.py LOG ROOT -- [-m pytest | -m unittest | FILE] ARGUMENTS...

The command sees the arguments, `sys.path` and exit code that it would have without this, and not one thread more. Each
new line is in LOG before it runs, so a test that hangs or crashes leaves its trace too. What a module runs when it is
imported belongs to no test and isn't noted. The one rule: this file imports nothing of graph_agent, and little else.
"""

# No pathlib: it loads a dozen modules before the tests do, and a workspace may have one of that name.
# ruff: noqa: PTH100, PTH109, PTH118, PTH119, PTH120
from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from types import CodeType, FrameType
from typing import Any

_MOST_PLACES = 100
_DIGITS = 4  # binary ones, so each count to 16 is noted, then each second one to 32, each fourth to 64
_MONITORING_TOOL = 4  # of 0 to 5, one that no tool is known to claim


class Log:
    """JSON lines: `["begin", test]`, `["line", path, line]`, `["end", test, outcome, places, {path: [[n, lines]]}]`.

    A test's own lines are cut off again when it has ended. What stays is which lines the n-th test of its outcome has
    run, and that only for an n of few binary digits: the log grows with the program, and hardly with the number of
    tests, and a count that is read from it is at most an eighth too low.
    """

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self._out = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        self._counts: dict[tuple[str, str], dict[int, int]] = {}
        self._start, self._owner = 0, os.getpid()

    def write(self, *record: Any) -> None:
        os.write(self._out, json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def begin(self, test: str) -> None:
        self._start = os.fstat(self._out).st_size
        self.write("begin", test)

    def undo(self) -> None:
        """Forget what was written since `begin`."""
        if os.getpid() == self._owner:  # a test's forked child must not cut its parent's log
            os.ftruncate(self._out, self._start)

    def end(self, test: str, outcome: str, places: list[tuple[str, int]], ran: dict[str, set[int]]) -> None:
        self.undo()
        noted: dict[str, list[tuple[int, list[int]]]] = {}
        for path, lines in list(ran.items()):  # copied in one go each: a thread may still add to them
            counts = self._counts.setdefault((outcome, path), {})
            reached: dict[int, list[int]] = {}
            for line in sorted(lines):
                counts[line] = n = counts.get(line, 0) + 1
                if n % (1 << max(0, n.bit_length() - _DIGITS)) == 0:
                    reached.setdefault(n, []).append(line)
            if reached:
                noted[path] = list(reached.items())
        self.write("end", test, outcome, places, noted)


class Lines:
    """The lines of the files under `root` that have run since `clear`. Each is written to the log at its first run."""

    def __init__(self, root: str, log: Log) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        self._log, self._paths = log, {__file__: ""}
        self.ran: dict[str, set[int]] = {}

    def clear(self) -> None:
        self.ran = {}

    def path(self, filename: str) -> str:
        """The path from the root, with slashes; "" for a file that is none of the workspace's own source."""
        if filename not in self._paths:
            real = os.path.realpath(filename)
            inside = real.startswith(self._root) and real.endswith(".py") and "site-packages" not in real
            self._paths[filename] = real[len(self._root) :].replace(os.sep, "/") if inside else ""
        return self._paths[filename]

    def add(self, path: str, line: int | None) -> None:
        lines = self.ran.setdefault(path, set())
        if line and line not in lines:  # 0 and None stand for code that no line of the source made
            lines.add(line)
            self._log.write("line", path, line)


class SetTrace:
    """Sees lines through `sys.settrace`, in this thread and in those that start meanwhile."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._before: Any = None

    def start(self) -> None:
        self._before = sys.gettrace()
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(self._before)
        threading.settrace(self._before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        path = self._lines.path(frame.f_code.co_filename)
        if not path:
            return None
        add, seen = self._lines.add, self._lines.ran.setdefault(path, set())

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if frame.f_lineno not in seen:
                add(path, frame.f_lineno)
            return local

        return local


class Monitoring:
    """Sees lines through `sys.monitoring` (3.12), in all threads; a line costs nothing after its first run."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._tools = lines, sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._tools.use_tool_id(_MONITORING_TOOL, "linetrace")
        self._events = self._tools.events.LINE | self._tools.events.PY_START
        self._tools.register_callback(_MONITORING_TOOL, self._tools.events.LINE, self._line)
        self._tools.register_callback(_MONITORING_TOOL, self._tools.events.PY_START, self._enter)

    def start(self) -> None:
        self._tools.restart_events()
        self._tools.set_events(_MONITORING_TOOL, self._events)

    def stop(self) -> None:
        self._tools.set_events(_MONITORING_TOOL, 0)

    def _line(self, code: CodeType, line: int) -> Any:
        if path := self._lines.path(code.co_filename):
            self._lines.add(path, line)
        return self._tools.DISABLE

    def _enter(self, code: CodeType, offset: int) -> Any:
        """A body that begins on the line of its `def` or `lambda` causes no line event there."""
        if path := self._lines.path(code.co_filename):
            body = offset + 2
            line = next((line for start, end, line in code.co_lines() if start <= body < end), None)
            self._lines.add(path, line)
        return self._tools.DISABLE


class Tests:
    """Which test is running, and what is known of how it goes."""

    def __init__(self, log: Log, lines: Lines) -> None:
        self._log, self._lines = log, lines
        self._watch = Monitoring(lines) if hasattr(sys, "monitoring") else SetTrace(lines)
        self._test, self._nested = "", 0
        self.whole = False
        self._outcome = "passed"
        self._places: list[tuple[str, int]] = []

    def begin(self, test: str, *, whole: bool = False) -> None:
        """`whole`: a program that may turn out to be made of tests, and then is none itself."""
        if self._test and not self.whole:
            self._nested += 1
            return
        if self._test:
            self._watch.stop()
            self._log.undo()
        self._test, self.whole, self._outcome, self._places = test, whole, "passed", []
        self._lines.clear()
        self._log.begin(test)
        self._watch.start()

    def mark(self, test: str, outcome: str, error: BaseException | None = None) -> None:
        """What became of `test`, the running one or one that doesn't get so far. The first failure stays."""
        places = [] if error is None else self._places_of(error)
        if self._test:
            if self._outcome in ("passed", "skipped"):
                self._outcome = outcome
            self._places += places
        elif outcome != "skipped":
            self._log.write("end", test, outcome, places[:_MOST_PLACES], {})

    def end(self) -> None:
        if self._nested:
            self._nested -= 1
        elif self._test:
            self._watch.stop()
            self._log.end(self._test, self._outcome, self._places[:_MOST_PLACES], self._lines.ran)
            self._test = ""

    def _places_of(self, error: BaseException) -> list[tuple[str, int]]:
        """Where in the workspace the error came from, innermost first, then the same for its causes."""
        found: dict[tuple[str, int], None] = {}
        waiting: list[BaseException] = [error]
        seen: set[int] = set()
        while waiting and len(seen) < 20:
            error = waiting.pop(0)
            seen.add(id(error))
            if isinstance(error, SyntaxError) and error.filename and error.lineno:
                found[(self._lines.path(error.filename), error.lineno)] = None
            frames, trace = [], error.__traceback__
            while trace is not None:
                frames.append((self._lines.path(trace.tb_frame.f_code.co_filename), trace.tb_lineno))
                trace = trace.tb_next
            found.update(dict.fromkeys(reversed(frames)))
            causes = (error.__cause__ or error.__context__, *getattr(error, "exceptions", ()))
            waiting += [cause for cause in causes if isinstance(cause, BaseException) and id(cause) not in seen]
        return [place for place in found if place[0] and place[1]]


class PytestPlugin:
    """What pytest tells of its tests. Pytest knows a hook by its name."""

    def __init__(self, tests: Tests) -> None:
        self._tests = tests

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tests.begin(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self._tests.mark(report.nodeid, "skipped" if report.skipped else "failed")

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        self._tests.mark(node.nodeid, "failed", call.excinfo.value)

    def pytest_runtest_logfinish(self) -> None:
        self._tests.end()


def watch_unittest(tests: Tests) -> None:
    """Have `unittest` tell when a test begins and ends, and how."""
    import unittest

    if not hasattr(unittest, "TestResult"):  # the workspace has a module of that name
        return
    run = unittest.TestCase.run

    def run_watched(case: Any, result: Any = None) -> Any:
        tests.begin(case.id())
        try:
            return run(case, result)
        finally:
            tests.end()

    unittest.TestCase.run = run_watched  # type: ignore[assignment,method-assign,unused-ignore]
    for method, outcome in _UNITTEST_SAYS.items():
        setattr(unittest.TestResult, method, _telling(tests, getattr(unittest.TestResult, method), outcome))


_UNITTEST_SAYS = {
    "addFailure": "failed",
    "addError": "failed",
    "addUnexpectedSuccess": "failed",
    "addSkip": "skipped",
    "addExpectedFailure": "skipped",
    "addSubTest": "failed",
}


def _telling(tests: Tests, method: Any, outcome: str) -> Any:
    def told(result: Any, case: Any, *rest: Any) -> Any:
        happened = rest[-1] if rest else None  # the error as a triple, the reason for a skip, or nothing
        if method.__name__ != "addSubTest" or happened is not None:
            error = happened[1] if outcome == "failed" and isinstance(happened, tuple) else None
            tests.mark(case.id(), outcome, error)
        return method(result, case, *rest)

    return told


def run_pytest(tests: Tests, name: str, arguments: list[str]) -> None:
    import pytest

    sys.argv = [name or os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]
    if not hasattr(pytest, "main"):  # the workspace has a module of that name, and untraced it would be run
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
        return
    code = int(pytest.main(plugins=[PytestPlugin(tests)]))
    sys.stdout.flush()
    sys.exit(code)


def run_unittest(tests: Tests, arguments: list[str]) -> None:
    sys.argv = ["unittest", *arguments]
    watch_unittest(tests)
    runpy.run_module("unittest", run_name="__main__", alter_sys=True)


def run_file(tests: Tests, file: str, arguments: list[str]) -> None:
    sys.argv = [file, *arguments]
    watch_unittest(tests)
    tests.begin(file, whole=True)
    try:
        runpy.run_path(file, run_name="__main__")
    except BaseException as error:
        if not isinstance(error, SystemExit) or (tests.whole and error.code not in (None, 0)):
            tests.mark(file, "failed", error)
        raise
    finally:
        tests.end()


def main(log: str, root: str, separator: str, *command: str) -> None:
    opened = Log(log)
    tests = Tests(opened, Lines(root, opened))
    module = command[1] if command[0] == "-m" else ""
    arguments = list(command[2 if module else 1 :])
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):  # not so under python -P or -I
        sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.realpath(command[0]))
    if module == "pytest" or os.path.basename(command[0]) in ("pytest", "py.test"):
        run_pytest(tests, "" if module else command[0], arguments)
    elif module == "unittest":
        run_unittest(tests, arguments)
    else:
        run_file(tests, command[0], arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
