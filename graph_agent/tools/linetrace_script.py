"""Run a test command and note which lines each test runs. A script for the interpreter that has the tests.

    python linetrace_script.py LOG ROOT -- [-m pytest | -m unittest | FILE] ARGUMENTS...

Each line is in LOG before it runs, so a test that hangs or crashes leaves its trace too. The one rule: the command sees
the arguments, `sys.path` and exit code that it would have without this, and so this imports little.
"""

# No pathlib: a workspace may have a module of the name of one that it loads.
# ruff: noqa: PTH100, PTH109, PTH118, PTH119, PTH120
from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from types import FrameType
from typing import Any

_MOST_PLACES = 100
_DIGITS = 4  # binary ones: each count to 16 is noted, then each second to 32, each fourth to 64


class Log:
    """JSON lines: `{test}` begins one, `{path, line}` is a line that it runs, `{test, outcome, places, ran}` ends it.

    `ran`, as `{path: [[line, n]]}`, is which lines the n-th test of its outcome has run, for an n of few binary digits:
    so the log hardly grows with the number of tests.
    """

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self._out = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        self._counts: dict[tuple[str, str, int], int] = {}
        self._start, self._owner = 0, os.getpid()

    def write(self, **record: Any) -> None:
        os.write(self._out, json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def begin(self, test: str) -> None:
        self._start = os.fstat(self._out).st_size
        self.write(test=test)

    def end(self, test: str, outcome: str, places: list[tuple[str, int]], ran: dict[str, set[int]]) -> None:
        if os.getpid() != self._owner:  # a forked child must not cut the log
            return
        os.ftruncate(self._out, self._start)
        noted: dict[str, list[tuple[int, int]]] = {}
        for path, lines in list(ran.items()):  # a copy: a thread may still add to it
            for line in sorted(lines):
                n = self._counts[outcome, path, line] = self._counts.get((outcome, path, line), 0) + 1
                if n % (1 << max(0, n.bit_length() - _DIGITS)) == 0:
                    noted.setdefault(path, []).append((line, n))
        self.write(test=test, outcome=outcome, places=places[:_MOST_PLACES], ran=noted)


class Tracer:
    def __init__(self, log: Log, root: str) -> None:
        self._log, self._root = log, os.path.join(os.path.realpath(root), "")
        self._paths = {__file__: ""}
        self._ran: dict[str, set[int]] = {}
        self._test, self._outcome = "", "passed"
        self._places: list[tuple[str, int]] = []
        self._before: Any = None

    def begin(self, test: str) -> bool:
        """False for a test that another test runs."""
        if self._test:
            return False
        self._test, self._outcome, self._places, self._ran = test, "passed", [], {}
        self._log.begin(test)
        self._before = sys.gettrace()
        threading.settrace(self._call)
        sys.settrace(self._call)
        return True

    def mark(self, test: str, outcome: str, error: BaseException | None = None) -> None:
        """`test` may have failed before it could run."""
        places = self._places_of(error)
        if self._test:
            if self._outcome != "failed":
                self._outcome = outcome
            self._places += places
        elif outcome == "failed":
            self._log.write(test=test, outcome=outcome, places=places[:_MOST_PLACES])

    def end(self) -> None:
        sys.settrace(self._before)
        threading.settrace(self._before)
        self._log.end(self._test, self._outcome, self._places, self._ran)
        self._test = ""

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        path = self._path(frame.f_code.co_filename)
        if not path:
            return None
        write, seen = self._log.write, self._ran.setdefault(path, set())

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            line = frame.f_lineno
            if line and line not in seen:  # 0 and None: no line made that code
                seen.add(line)
                write(path=path, line=line)
            return local

        return local

    def _path(self, filename: str) -> str:
        """From the root; "" for other than the workspace's own source."""
        if filename not in self._paths:
            real = os.path.realpath(filename)
            inside = real.startswith(self._root) and real.endswith(".py") and "site-packages" not in real
            self._paths[filename] = real[len(self._root) :].replace(os.sep, "/") if inside else ""
        return self._paths[filename]

    def _places_of(self, error: BaseException | None) -> list[tuple[str, int]]:
        found: dict[tuple[str, int], None] = {}
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            frames, trace = [], error.__traceback__
            while trace is not None:
                frames.append((self._path(trace.tb_frame.f_code.co_filename), trace.tb_lineno))
                trace = trace.tb_next
            if isinstance(error, SyntaxError) and error.filename:
                frames.append((self._path(error.filename), error.lineno or 0))
            found.update(dict.fromkeys(reversed(frames)))
            error = error.__cause__ or error.__context__
        return [place for place in found if place[0] and place[1]]


class PytestPlugin:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tracer.begin(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self._tracer.mark(report.nodeid, "skipped" if report.skipped else "failed")

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        self._tracer.mark(node.nodeid, "failed", call.excinfo.value)

    def pytest_runtest_logfinish(self) -> None:
        self._tracer.end()


def watch_unittest(tracer: Tracer) -> None:
    from unittest import TestCase, TestResult

    run = TestCase.run

    def run_watched(case: Any, result: Any = None) -> Any:
        mine = tracer.begin(case.id())
        try:
            return run(case, result)
        finally:
            if mine:
                tracer.end()

    TestCase.run = run_watched  # type: ignore[assignment,method-assign,unused-ignore]
    for name in ("addFailure", "addError", "addSubTest", "addUnexpectedSuccess", "addSkip", "addExpectedFailure"):
        outcome = "skipped" if name in ("addSkip", "addExpectedFailure") else "failed"
        setattr(TestResult, name, _telling(tracer, getattr(TestResult, name), outcome))


def _telling(tracer: Tracer, method: Any, outcome: str) -> Any:
    def told(result: Any, case: Any, *rest: Any) -> Any:
        happened = rest[-1] if rest else None  # an error's triple, a skip's reason, or nothing
        if method.__name__ != "addSubTest" or happened is not None:
            error = happened[1] if outcome == "failed" and isinstance(happened, tuple) else None
            tracer.mark(case.id(), outcome, error)
        return method(result, case, *rest)

    return told


def main(log: str, root: str, separator: str, *command: str) -> None:
    tracer = Tracer(Log(log), root)
    module = command[1] if command[0] == "-m" else ""
    sys.argv = list(command[1:] if module else command)
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):  # not so under python -P or -I
        sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.realpath(command[0]))
    if os.path.basename(sys.argv[0]) in ("pytest", "py.test"):
        import pytest

        if module:
            sys.argv[0] = os.path.join(os.path.dirname(pytest.__file__), "__main__.py")
        sys.exit(int(pytest.main(plugins=[PytestPlugin(tracer)])))
    watch_unittest(tracer)
    if module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
