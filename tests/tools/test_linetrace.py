"""Which lines the tests run: noted for real test runs, and read back with suspicion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.tools.command import Commands, bubblewrap
from graph_agent.tools.linetrace import SCRIPT, Trace, TraceError, read_trace, traced
from graph_agent.tools.linetrace_script import Log

SHOP = """\
import threading

TAX = 1

def total(prices, rebate=False):
    result = 0
    for price in prices:
        result += price
    if rebate:
        result -= 10
    return result

def deep(n):
    return deep(n + 1) + 1

def later(found):
    thread = threading.Thread(target=lambda: found.append(total([1])))
    thread.start()
    thread.join()

def checked(text):
    try:
        return int(text)
    except ValueError as error:
        raise KeyError(text) from error

short = lambda x: x + 1
def hang():
    while True: pass
"""

TESTS = """\
import os, sys, threading, unittest
from shop import order

class T(unittest.TestCase):
    def test_1_good(self):
        self.assertEqual(order.total([1, 2]), 3)

    def test_2_rebate(self):
        self.assertEqual(order.total([100], True), 95)

    def test_3_thread(self):
        before = threading.active_count(), len(threading.enumerate())
        self.assertEqual(before, (1, 1))
        found = []
        order.later(found)
        self.assertEqual(found, [1])

    def test_4_short(self):
        self.assertEqual(order.short(1), 2)

    def test_5_error(self):
        order.checked("x")

    @unittest.skip("later")
    def test_6_skipped(self):
        order.total([])

    def test_7_deep(self):
        with self.assertRaises(RecursionError):
            order.deep(0)

    def test_8_hang(self):
        if os.path.exists("hang"):
            order.hang()
        if os.path.exists("crash"):
            os._exit(3)
"""

RUNNERS = [("-m", "pytest", "-q", "tests"), ("-m", "unittest", "tests.test_order"), ("run.py",)]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    for path, text in {
        "shop/__init__.py": "",
        "shop/order.py": SHOP,
        "tests/__init__.py": "",
        "tests/test_order.py": TESTS,
        "run.py": "import unittest\nfrom tests.test_order import T\nif __name__ == '__main__':\n    unittest.main()\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def run(argv: tuple[str, ...], root: Path, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        argv, cwd=root, env=quick, capture_output=True, encoding="utf-8", timeout=timeout, check=False
    )


def trace(root: Path, *command: str, timeout: float = 30) -> tuple[subprocess.CompletedProcess[str], Trace]:
    out = root.parent / "trace"
    argv = traced((sys.executable, *command), str(out), str(root))
    assert argv is not None
    done = run(argv, root, timeout)
    return done, read_trace(out)


@pytest.mark.parametrize("runner", RUNNERS, ids=["pytest", "unittest", "file"])
def test_lines_are_credited_to_the_failing_and_the_passing_tests(workspace: Path, runner: tuple[str, ...]) -> None:
    plain = run((sys.executable, *runner), workspace)
    done, found = trace(workspace, *runner)
    assert done.returncode == plain.returncode == 1
    order = "shop/order.py"
    assert found.failing[order] == (6, 7, 8, 9, 10, 11, 22, 23, 24, 25)
    assert found.passing[order] == (6, 7, 8, 9, 11, 14, 17, 18, 19, 27)
    assert [line for line in found.traceback[order] if line in (23, 25)] == [25, 23]
    assert found.traceback["tests/test_order.py"] == (9, 22)
    assert [(name.rpartition("test_")[2], outcome) for name, outcome in found.tests if outcome != "passed"] == [
        ("2_rebate", "failed"),
        ("5_error", "failed"),
        ("6_skipped", "skipped"),
    ]
    assert len(found.tests) == 8


@pytest.mark.parametrize("runner", RUNNERS, ids=["pytest", "unittest", "file"])
def test_each_line_has_the_number_of_tests_that_ran_it(workspace: Path, runner: tuple[str, ...]) -> None:
    _, found = trace(workspace, *runner)
    order = "shop/order.py"
    passing = dict(zip(found.passing[order], found.passing_tests[order], strict=True))
    assert passing == {6: 2, 7: 2, 8: 2, 9: 2, 11: 2, 14: 1, 17: 1, 18: 1, 19: 1, 27: 1}
    assert found.failing_tests[order] == (1,) * len(found.failing[order])
    assert found.failed == 2


@pytest.mark.parametrize("runner", RUNNERS[:2], ids=["pytest", "unittest"])
def test_the_report_is_that_of_the_untraced_run(workspace: Path, runner: tuple[str, ...]) -> None:
    (workspace / "tests" / "test_order.py").write_text(TESTS.replace(", 95)", ", 90)"), encoding="utf-8")
    (workspace / "shop" / "order.py").write_text(SHOP.replace("raise KeyError(text) from error", "return 0"))
    plain = run((sys.executable, *runner), workspace)
    done, found = trace(workspace, *runner)
    assert done.returncode == plain.returncode == 0
    assert not found.failing and not found.traceback
    for before, after in ((plain.stdout, done.stdout), (plain.stderr, done.stderr)):
        assert [line for line in after.splitlines() if " in " not in line] == [
            line for line in before.splitlines() if " in " not in line
        ]


@pytest.mark.parametrize(("mark", "runner"), [("hang", RUNNERS[1]), ("crash", RUNNERS[0])])
def test_a_test_that_hangs_or_crashes_leaves_its_lines(workspace: Path, mark: str, runner: tuple[str, ...]) -> None:
    (workspace / mark).touch()
    out = workspace.parent / "trace"
    argv = traced((sys.executable, *runner), str(out), str(workspace))
    assert argv is not None
    done = Commands(workspace, [argv], timeout=3, isolation="none").run_command(argv)
    assert done.timed_out == (mark == "hang") and done.exit_code == (None if mark == "hang" else 3)
    found = read_trace(out)
    assert found.tests[-1][0].endswith("test_8_hang") and found.tests[-1][1] == "unfinished"
    assert (29 in found.failing["shop/order.py"]) == (mark == "hang")
    assert {33, 35} & set(found.failing["tests/test_order.py"])
    assert found.passing["shop/order.py"] == (6, 7, 8, 9, 11, 14, 17, 18, 19, 27)
    assert found.passing_tests["shop/order.py"] == (2, 2, 2, 2, 2, 1, 1, 1, 1, 1)
    assert found.failed == 3


SEEN = """
import json, sys, __main__
def test_seen():
    with open("seen", "w") as file:
        json.dump([sys.path[:1], sys.argv, __name__, sys.flags.utf8_mode], file)
"""


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "pytest", "-q", "sub/test_seen.py"),
        ("-X", "utf8", "-P", "-m", "pytest", "-q", "--import-mode=importlib", "sub/test_seen.py"),
        ("sub/main.py", "a", "-b"),
    ],
)
def test_path_and_arguments_are_those_of_the_untraced_run(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "ws" / "sub").mkdir(parents=True)
    (tmp_path / "ws" / "sub" / "test_seen.py").write_text(SEEN, encoding="utf-8")
    (tmp_path / "ws" / "sub" / "main.py").write_text(f"{SEEN}\ntest_seen()\nsys.exit(5)\n", encoding="utf-8")
    seen = tmp_path / "ws" / "seen"
    code = run((sys.executable, *command), tmp_path / "ws").returncode
    plain = json.loads(seen.read_text(encoding="utf-8"))
    seen.unlink()
    done, found = trace(tmp_path / "ws", *command)
    assert done.returncode == code
    assert json.loads(seen.read_text(encoding="utf-8")) == plain
    assert len(found.tests) == ("-m" in command)


def test_a_collection_error_is_noted_with_its_place(workspace: Path) -> None:
    (workspace / "shop" / "order.py").write_text("x = 1\ny = x.z\n", encoding="utf-8")
    (workspace / "shop" / "torn.py").write_text("x = 1\n\ny = )\n", encoding="utf-8")
    (workspace / "tests" / "test_torn.py").write_text("import shop.torn\n", encoding="utf-8")
    done, found = trace(workspace, *RUNNERS[0])
    assert done.returncode == 2
    assert found.tests == (("tests/test_order.py", "failed"), ("tests/test_torn.py", "failed"))
    assert found.traceback["shop/order.py"] == (2,)
    assert found.traceback["shop/torn.py"] == (3,)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
def test_a_child_that_a_test_forks_does_not_spoil_the_log(workspace: Path) -> None:
    forks = """
    def test_forks(self):
        child = os.fork()
        self.assertEqual(order.total([1]), 1)
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

    def test_next(self):
        order.short(1)
"""
    tests = TESTS.partition("class")[0] + "class T(unittest.TestCase):" + forks
    (workspace / "tests" / "test_order.py").write_text(tests, encoding="utf-8")
    done, found = trace(workspace, *RUNNERS[1])
    assert done.returncode == 0
    assert [outcome for _, outcome in found.tests] == ["passed", "passed"]
    assert found.passing["shop/order.py"] == (6, 7, 8, 9, 11, 27)


def test_the_log_does_not_grow_with_the_number_of_tests(workspace: Path) -> None:
    case = "    def test_{n}(self):\n        order.total([1])\n"
    tests = TESTS.partition("class")[0] + "class T(unittest.TestCase):\n"
    (workspace / "tests" / "test_order.py").write_text(tests + "".join(case.format(n=n) for n in range(300)))
    _, found = trace(workspace, *RUNNERS[1])
    assert len(found.tests) == 300
    assert set(found.passing_tests["shop/order.py"]) == {288}
    assert (workspace.parent / "trace").stat().st_size < 300 * 120


@pytest.mark.skipif(not bubblewrap()[0], reason="no bubblewrap")
def test_a_trace_is_written_under_isolation_into_a_writable_folder(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept"
    out.mkdir()
    argv = traced((sys.executable, *RUNNERS[1]), str(out / "trace"), str(workspace))
    assert argv is not None
    done = Commands(workspace, [argv], timeout=30, isolation="bubblewrap", writable=(out,)).run_command(argv)
    assert done.exit_code == 1
    assert len(read_trace(out / "trace").tests) == 8


def test_a_bare_pytest_is_traced_with_the_interpreter_it_names(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "pytest"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport pytest\nraise SystemExit(pytest.console_main())\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    argv = traced(("pytest", "-q", "tests"), str(tmp_path / "out"), str(workspace))
    assert argv == (
        sys.executable,
        str(SCRIPT),
        str(tmp_path / "out"),
        str(workspace),
        "--",
        str(script),
        "-q",
        "tests",
    )
    assert run(argv, workspace).returncode == 1
    assert len(read_trace(tmp_path / "out").tests) == 8


@pytest.mark.parametrize(
    "argv",
    [(), ("make", "test"), ("python", "-c", "x"), ("python", "-m", "nose"), ("python",), ("python", "-m"),
     ("no-pytest",), ("pythonista", "-m", "pytest"), ("ls", "x.py")],
)  # fmt: skip
def test_other_commands_can_not_be_traced(argv: tuple[str, ...]) -> None:
    assert traced(argv, "out", "root") is None


@pytest.mark.parametrize("options", [(), ("-B",), ("-X", "utf8", "-W", "error")])
def test_the_interpreters_own_options_stay(options: tuple[str, ...]) -> None:
    argv = traced(("python3.12", *options, "-m", "unittest", "-v"), "out", "root")
    assert argv == ("python3.12", *options, str(SCRIPT), "out", "root", "--", "-m", "unittest", "-v")


@given(st.integers(1, 600), st.sampled_from(["passed", "failed"]))
def test_a_count_is_exact_to_16_and_then_at_most_an_eighth_too_low(
    tmp_path_factory: pytest.TempPathFactory, tests: int, outcome: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "counted"
    log = Log(str(path))
    for n in range(tests):
        log.begin(f"t{n}")
        log.end(f"t{n}", outcome, [], {"m.py": {4}})
    os.close(log._out)
    found = read_trace(path)
    (count,) = (found.passing_tests if outcome == "passed" else found.failing_tests)["m.py"]
    assert (count == tests) if tests <= 16 else (tests * 7 / 8 <= count <= tests)


GOOD = b'{"test":"a","outcome":"passed","places":[["m.py",3]],"ran":{"m.py":[[1,1],[2,1]]}}\n'


def test_a_torn_last_line_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(GOOD + b'{"test":"b"}\n{"path":"m.py","line":7}\n{"path":"m.p')
    found = read_trace(tmp_path / "t")
    assert found.passing == {"m.py": (1, 2)} and found.failing == {"m.py": (7,)}
    assert found.tests == (("a", "passed"), ("b", "unfinished"))


def test_a_test_that_does_not_end_counts_beside_those_that_failed(tmp_path: Path) -> None:
    failed = b'{"test":"a","outcome":"failed","ran":{"m.py":[[2,1],[3,1]]}}\n'
    failed += b'{"test":"b","outcome":"failed","ran":{"m.py":[[3,2]]}}\n'
    (tmp_path / "t").write_bytes(failed + b'{"test":"c"}\n{"path":"m.py","line":3}\n{"path":"m.py","line":4}\n')
    found = read_trace(tmp_path / "t")
    assert (found.failing, found.failing_tests) == ({"m.py": (2, 3, 4)}, {"m.py": (1, 3, 1)})
    assert found.failed == 3


@pytest.mark.parametrize(
    "line",
    [b"x", b"[]", b"{}", b"3", b'{"no":1}', b'{"test":3}', b'{"test":""}', b'{"path":"m.py"}',
     b'{"path":"m.py","line":0}', b'{"path":"m.py","line":true}', b'{"path":"m.py","line":1.0}',
     b'{"path":"m.py","line":99999999}', b'{"path":"../m.py","line":1}', b'{"path":"/m.py","line":1}',
     b'{"path":"a//m.py","line":1}', b'{"path":"C:/m.py","line":1}', b'{"path":"a\\m.py","line":1}',
     b'{"path":"a\\\\m.py","line":1}', b'{"path":"a\\u0000","line":1}', b'{"path":7,"line":1}',
     b'{"test":"a","outcome":"great"}', b'{"test":"a","outcome":"passed","places":[1]}',
     b'{"test":"a","outcome":"passed","places":[["m.py",0]]}', b'{"test":"a","outcome":"passed","ran":[]}',
     b'{"test":"a","outcome":"passed","ran":{"m.py":3}}', b'{"test":"a","outcome":"passed","ran":{"m.py":[1]}}',
     b'{"test":"a","outcome":"passed","ran":{"m.py":[[1,0]]}}', b'{"test":"a","outcome":"passed","ran":{"..":[]}}',
     b'{"path":"m.py","line":' + b"9" * 6000 + b"}",
     b"[" * 100_000, b"\xff"],
    ids=lambda line: line[:60],
)  # fmt: skip
def test_a_damaged_trace_is_an_error_with_its_line(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "t").write_bytes(GOOD + line + b"\n")
    with pytest.raises(TraceError, match=r"^Line 2 of the trace is damaged"):
        read_trace(tmp_path / "t")


VALUES = st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["m.py", "passed"])
KEYS = st.sampled_from(["test", "outcome", "path", "line", "places", "ran", "m.py"])
RECORDS = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner))


@settings(max_examples=60)
@given(st.lists(RECORDS, max_size=4))
def test_whatever_is_in_the_file_it_is_a_trace_or_an_error(tmp_path_factory: Any, records: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with suppress(TraceError):
        assert isinstance(read_trace(path), Trace)


def test_a_missing_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="There is no trace"):
        read_trace(tmp_path / "none")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
def test_a_link_a_pipe_or_a_folder_in_the_traces_place_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(GOOD)
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(TraceError):
            read_trace(tmp_path / name)
