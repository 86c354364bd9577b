"""What test runners say, and what it is worth. The texts below are the runners' own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.report import TestCounts, Verdict, count_tests, judge_tests, traceback_places

FAILED = "FAILED (errors=1)"
PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("output", "exit_code", "verdict", "reason"),
    [
        ("3 passed", 0, PASS, "tests passed"),
        ("..... [100%]\n5 passed in 0.02s", 0, PASS, "tests passed"),
        ("=== 3 passed, 1 warning in 61.20s (0:01:01) ===", 0, PASS, "tests passed"),
        ("Ran 2 tests\nOK", 0, PASS, "tests passed"),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=1)", 0, PASS, "tests passed"),
        ("1 failed, 2 passed", 1, FAIL, "tests failed"),
        ("1 failed, 2 passed", 0, FAIL, "tests failed"),
        ("1 passed, 1 error in 0.1s", 1, FAIL, "tests failed"),
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1, errors=1)", 1, FAIL, "tests failed"),
        ("Ran 1 test in 0.1s\n\nFAILED (unexpected successes=1)", 1, FAIL, "tests failed"),
        ("no tests ran", 5, UNKNOWN, "no tests ran"),
        ("=== no tests ran in 0.01s ===", 5, UNKNOWN, "no tests ran"),
        ("collected 0 items", 0, UNKNOWN, "no tests ran"),
        ("4 deselected in 0.01s", 5, UNKNOWN, "no tests ran"),
        ("Ran 0 tests in 0.0s\nOK", 0, UNKNOWN, "no tests ran"),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 5, UNKNOWN, "no tests ran"),
        ("2 skipped", 0, UNKNOWN, "all tests skipped"),
        ("1 skipped, 1 xfailed in 0.1s", 0, UNKNOWN, "all tests skipped"),
        ("Ran 2 tests in 0.0s\n\nOK (skipped=1, expected failures=1)", 0, UNKNOWN, "all tests skipped"),
        ("1 error during collection", 2, UNKNOWN, "collection error"),
        ("1 error during collection", 0, UNKNOWN, "collection error"),
        ("!!! Interrupted: 2 errors during collection !!!\n2 errors in 0.08s", 2, UNKNOWN, "collection error"),
        ("1 error in 0.08s", 2, UNKNOWN, "collection error"),
        ("ImportError while loading conftest '/w/conftest.py'.", 4, UNKNOWN, "collection error"),
        (f"ERROR: a (unittest.loader._FailedTest.a)\nRan 3 tests\n{FAILED}", 1, UNKNOWN, "collection error"),
        ("", 0, UNKNOWN, "no test report"),
        ("all is well", 0, UNKNOWN, "no test report"),
        ("", 1, UNKNOWN, "no test report"),
        ("", 127, UNKNOWN, "command not found"),
        ("/usr/bin/python: No module named pytest", 1, UNKNOWN, "command not found"),
        ("", None, UNKNOWN, "command not found"),
        ("", -11, UNKNOWN, "crashed"),
        ("3 passed in 0.1s", 139, UNKNOWN, "crashed"),
        ("3 passed in 0.1s", 1, UNKNOWN, "the runner failed"),
    ],
)  # fmt: skip
def test_a_verdict_needs_exit_code_0_and_a_test_that_passed(
    output: str, exit_code: int | None, verdict: Verdict, reason: str
) -> None:
    found, _, why = judge_tests(exit_code, output)
    assert (found, why) == (verdict, reason)


def test_running_out_of_time_is_a_failure_only_where_it_ended_in_time_before() -> None:
    assert judge_tests(None, "", timed_out=True)[::2] == (UNKNOWN, "timed out")
    assert judge_tests(None, "", timed_out=True, timed_out_before=True)[0] is UNKNOWN
    assert judge_tests(None, "2 passed", timed_out=True, timed_out_before=False)[::2] == (FAIL, "timed out")


@given(
    st.one_of(st.none(), st.integers(-20, 260)),
    st.lists(st.sampled_from(["3 passed", "1 failed", "0 passed", "no tests ran", "Ran 2 tests", "OK", FAILED, "x"])),
    st.booleans(),
    st.booleans(),
)
def test_no_output_makes_a_pass_without_exit_code_0_and_a_passed_test(
    exit_code: int | None, lines: list[str], timed_out: bool, before: bool
) -> None:
    verdict, counts, reason = judge_tests(exit_code, "\n".join(lines), timed_out=timed_out, timed_out_before=before)
    assert reason
    if verdict is PASS:
        assert exit_code == 0 and not timed_out
        assert counts is not None and counts.passed > 0 and counts.failed == counts.errors == 0


def test_the_last_summary_counts_and_not_what_a_program_printed_before() -> None:
    output = "9 passed in 0.01s\nRan 7 tests in 0.1s\n\nOK\n==== 1 failed, 2 passed, 1 skipped in 0.12s ====\n"
    assert count_tests(output) == TestCounts(passed=2, failed=1, skipped=1)
    assert count_tests("1 failed in 0.1s\nRan 2 tests in 0.1s\n\nOK\n") == TestCounts(passed=2)


def test_all_words_of_a_pytest_summary_are_counted_in_their_place() -> None:
    line = "1 failed, 2 passed, 3 skipped, 4 deselected, 5 xfailed, 1 xpassed, 2 warnings, 2 errors, 3 subtests passed"
    counts = count_tests(f"===== {line} in 1.0s =====")
    assert counts == TestCounts(passed=3, failed=1, errors=2, skipped=8)
    assert counts.total == 14


@pytest.mark.parametrize(
    "line", ["3 apples", "3 passed by, 2 stayed", "12 passed the door", "passed", "Ran 3 tests", "OK"]
)
def test_other_text_with_numbers_is_no_summary(line: str) -> None:
    assert count_tests(line) is None


def test_places_come_innermost_first_from_each_traceback() -> None:
    output = """
______________ test_total ______________
tests/test_order.py:5: in test_total
    assert total([]) == 0
shop/order.py:12: in total
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
shop/price.py:7: ZeroDivisionError
=========== short test summary info ===========
Traceback (most recent call last):
  File "tests\\test_x.py", line 3, in test_x
  File "shop/order.py", line 12, in total
  File "<string>", line 1, in <module>
E     File "shop/broken.py", line 2
C:\\w\\a.py:9: KeyError
see shop/none.py:4: not here
"""
    assert traceback_places(output) == (
        ("shop/price.py", 7),
        ("shop/order.py", 12),
        ("tests/test_order.py", 5),
        ("C:/w/a.py", 9),
        ("shop/broken.py", 2),
        ("tests/test_x.py", 3),
    )


TESTS = """
import unittest

def half(x):
    return x / 0

class T(unittest.TestCase):
    def test_good(self):
        self.assertTrue(True)

    def test_bad(self):
        self.assertEqual(half(2), 1)

    @unittest.skip("later")
    def test_later(self):
        pass
"""


@pytest.mark.parametrize("runner", [("pytest", "-q"), ("pytest",), ("pytest", "-v", "--tb=short"), ("unittest",)])
def test_the_real_runners_are_understood(tmp_path: Path, runner: tuple[str, ...]) -> None:
    (tmp_path / "test_t.py").write_text(TESTS, encoding="utf-8")
    argv = [sys.executable, "-m", *runner]
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        argv, cwd=tmp_path, env=quick, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    verdict, counts, _ = judge_tests(run.returncode, run.stdout)
    unittest = runner == ("unittest",)
    passed = 0 if unittest and sys.version_info[:3] == (3, 12, 1) else 1  # that one "ran" no test that it skipped
    wrong = {"errors" if unittest else "failed": 1}
    assert (verdict, counts) == (FAIL, TestCounts(passed=passed, skipped=1, **wrong))
    places = [(path.rpartition("/")[2], line) for path, line in traceback_places(run.stdout)]
    assert places[:2] == [("test_t.py", 5), ("test_t.py", 12)]


@pytest.mark.parametrize(
    "line",
    [
        "FAILED " + "::" * 999 + "[",
        "FAILED " + ".py" * 700 + " [",
        "a.py::" * 400 + "[",
        "1 passed, " * 400,
        "x" * 9**6,
    ],
)
def test_hostile_lines_do_not_hold_up_the_reading(line: str) -> None:
    began = monotonic()
    traceback_places(line), count_tests(line)
    assert monotonic() - began < 2


@pytest.mark.parametrize(
    ("ran", "result", "total"),
    [
        (1, "FAILED (failures=6)", 1),
        (3, "FAILED (failures=5, errors=2)", 3),
        (4, "FAILED (failures=2, skipped=9)", 4),
        (0, "FAILED (errors=1)", 1),
        (2, "FAILED (failures=1)", 2),
    ],
)
def test_subtests_do_not_count_as_tests_of_their_own(ran: int, result: str, total: int) -> None:
    """Else mending a test with six failing subtests would look like five tests fewer."""
    counts = count_tests(f"Ran {ran} tests in 0.1s\n\n{result}")
    assert counts is not None
    assert counts.total == total
    assert counts.failed + counts.errors > 0


def test_failing_subtests_under_pytest_count_as_the_test_that_they_are_of() -> None:
    lines = [f"SUBFAILED(x={n}) test_a.py::T::test_a - AssertionError: {n} != 9" for n in range(4)]
    report = "\n".join([*lines, "FAILED test_a.py::T::test_b - x", "5 failed, 3 passed, 1 subtests passed in 0.2s"])
    assert count_tests(report) == TestCounts(passed=2, failed=2)
    own = "\n".join(
        ["SUBFAILED[a] t.py::test_a - x", "FAILED t.py::test_a - contains 1 failed subtest", "2 failed in 1s"]
    )
    assert count_tests(own) == TestCounts(failed=1)
    assert count_tests("2 failed, 3 passed in 0.2s") == TestCounts(failed=2, passed=3)
