"""Read what a test runner said, and judge it.

Understood are the reports of pytest and unittest, in all the forms that their own options give. The one rule: a
verdict of PASS needs exit code 0 and at least one test that passed by the runner's own count; where the output does
not say enough, the verdict is UNKNOWN and never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_LONGEST_LINE = 2_000
_MOST_PLACES = 200


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class TestCounts:
    """What the runner counted. A test that was expected to fail, and did, counts as skipped."""

    __test__ = False  # pytest would take it for a class of tests by its name

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped


def judge_tests(
    exit_code: int | None, output: str, *, timed_out: bool = False, timed_out_before: bool = True
) -> tuple[Verdict, TestCounts | None, str]:
    """The verdict on a run of tests, the runner's counts, and the reason in a few fixed words.

    `timed_out_before=False` says that the same command ended in time before the edit: then running out of time is the
    edit's fault. The reasons: "tests passed", "tests failed", "timed out", "command not found", "collection error",
    "no tests ran", "all tests skipped", "crashed", "no test report", "the runner failed". Whether a collection error
    or a crash is the edit's fault only the caller knows, who has the run before it.
    """
    counts = count_tests(output)
    if timed_out:
        return (Verdict.UNKNOWN if timed_out_before else Verdict.FAIL), counts, "timed out"
    if exit_code is None:
        return Verdict.UNKNOWN, counts, "command not found"
    if _collection_failed(exit_code, counts, output):
        return Verdict.UNKNOWN, counts, "collection error"
    if counts is None:
        return Verdict.UNKNOWN, None, _without_report(exit_code, output)
    if counts.failed or counts.errors:
        return Verdict.FAIL, counts, "tests failed"
    if not counts.passed:
        return Verdict.UNKNOWN, counts, "all tests skipped" if counts.skipped else "no tests ran"
    if exit_code:
        return Verdict.UNKNOWN, counts, "crashed" if _by_signal(exit_code) else "the runner failed"
    return Verdict.PASS, counts, "tests passed"


def count_tests(output: str) -> TestCounts | None:
    """The counts of the last summary in `output`, None without one. Earlier ones may be a program's own words."""
    lines = _lines(output)
    for at in range(len(lines) - 1, -1, -1):
        if counts := _pytest_summary(lines[at]):
            return _by_test(counts, lines[:at])
        if counts := _unittest_summary(lines[at:]):
            return counts
    return None


def failing_tests(output: str) -> tuple[str, ...]:
    """The tests that failed or ended in an error, as their runner names them, in the order of the report."""
    found: dict[str, None] = {}
    for line in _lines(output):
        if match := _PYTEST_FAILED.match(line) or _PYTEST_VERBOSE.match(line):
            found[match["test"]] = None
        elif match := _UNITTEST_FAILED.match(line):
            name, place = match["name"], match["place"]
            found[place if place.endswith(f".{name}") else f"{place}.{name}"] = None
    return tuple(found)


def traceback_places(output: str) -> tuple[tuple[str, int], ...]:
    """Paths and lines from the tracebacks in `output`: of each traceback innermost first, without repetition."""
    found: dict[tuple[str, int], None] = {}
    block: list[tuple[str, int]] = []
    for line in _lines(output):
        if match := _PYTHON_PLACE.match(line) or _PYTEST_PLACE.match(line):
            path = match["path"].replace("\\", "/").removeprefix("./")
            if not path.startswith("<") and len(match["line"]) < 8:
                block.append((path, int(match["line"])))
        elif _TRACEBACK_BEGINS.match(line):
            found.update(dict.fromkeys(reversed(block)))
            block.clear()
    found.update(dict.fromkeys(reversed(block)))
    return tuple(found)[:_MOST_PLACES]


def _lines(output: str) -> list[str]:
    return [line[:_LONGEST_LINE] for line in output.splitlines()]


_COUNT = r"\d{1,9} (?:subtests )?[a-z]+"
_PYTEST_LINE = re.compile(rf"=* ?(?P<counts>{_COUNT}(?:, {_COUNT})*)(?: in [\d.]+ ?s(?: \([\d:, a-z]+\))?)? ?=*")
_PYTEST_NOTHING = re.compile(r"=* ?no tests ran(?: in [\d.]+ ?s)? ?=*|collected 0 items(?: / \d+ \w+)*")
_PYTEST_COLLECTION = re.compile(r"!* ?(?:Interrupted: )?(\d{1,9}) errors? during collection ?!*")
_PYTEST_WORDS = {
    "passed": "passed",
    "xpassed": "passed",
    "failed": "failed",
    "error": "errors",
    "errors": "errors",
    "skipped": "skipped",
    "xfailed": "skipped",
    "deselected": "",
    "warning": "",
    "warnings": "",
    "rerun": "",
}
_UNITTEST_RAN = re.compile(r"Ran (\d{1,9}) tests?(?: in [\d.]+ ?s)?")
_UNITTEST_RESULT = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((?P<counts>[a-z]+[a-z =\d,]*)\))?")
_UNITTEST_WORDS = {
    "failures": "failed",
    "unexpected successes": "failed",
    "errors": "errors",
    "skipped": "skipped",
    "expected failures": "skipped",
}
_COLLECTION_FAILED = re.compile(
    r"^(?:[_ ]*ERROR collecting |ImportError while loading conftest|.*\bunittest\.loader\._FailedTest\b"
    r"|.*\berrors? during collection\b)",
    re.MULTILINE,
)
_NO_RUNNER = re.compile(r"\bNo module named '?(?:pytest|unittest)'?$", re.MULTILINE)
_PYTEST_FAILED = re.compile(r"(?:FAILED|ERROR) (?P<test>\S[^\[]*?(?:\.py|::[^\[]+?)(?:\[.*?\])?)(?: - .*)?$")
_PYTEST_SUBTEST = re.compile(r"SUBFAIL(?:ED)?\b.*?(?P<test>[^\s()\[\]]+\.py::\S+)(?: - .*)?$")
_PYTEST_VERBOSE = re.compile(r"(?P<test>\S[^\[]*?\.py::[^\[]+?(?:\[.*?\])?) (?:FAILED|ERROR)\b")
_UNITTEST_FAILED = re.compile(r"(?:FAIL|ERROR): (?P<name>\w+) \((?P<place>[\w.<>]+)\)")
_PYTHON_PLACE = re.compile(r'\s*(?:E\s+)?File "(?P<path>[^"]+)", line (?P<line>\d+)')
_PYTEST_PLACE = re.compile(r"(?P<path>(?:[A-Za-z]:)?[^\s:]+\.py):(?P<line>\d+): ")
_TRACEBACK_BEGINS = re.compile(r"Traceback \(most recent call last\)|[_=-]{5,}|_{3,} \S")


def _pytest_summary(line: str) -> TestCounts | None:
    line = line.strip()
    if _PYTEST_NOTHING.fullmatch(line):
        return TestCounts()
    if match := _PYTEST_COLLECTION.fullmatch(line):
        return TestCounts(errors=int(match[1]))
    match = _PYTEST_LINE.fullmatch(line)
    if match is None:
        return None
    counted = [part.split(" ", 1) for part in match["counts"].split(", ")]
    if any(word not in _PYTEST_WORDS and not word.startswith("subtests ") for _, word in counted):
        return None
    return _added((_PYTEST_WORDS.get(word, ""), int(number)) for number, word in counted)


def _by_test(counts: TestCounts, lines: list[str]) -> TestCounts:
    """Pytest's counts with a test for its failing subtests: pytest counts each of those, and the test as passed."""
    subtests = [match["test"] for line in lines if (match := _PYTEST_SUBTEST.match(line))]
    failed = {match["test"] for line in lines if (match := _PYTEST_FAILED.match(line))}
    tests = len(set(subtests) - failed)
    if not subtests or counts.failed < len(subtests) or counts.passed < tests:
        return counts
    return TestCounts(
        passed=counts.passed - tests,
        failed=counts.failed - len(subtests) + tests,
        errors=counts.errors,
        skipped=counts.skipped,
    )


def _unittest_summary(lines: list[str]) -> TestCounts | None:
    ran = _UNITTEST_RAN.fullmatch(lines[0].strip())
    result = next((line for line in lines[1:4] if line.strip()), "") if ran else ""
    match = _UNITTEST_RESULT.fullmatch(result.strip())
    if ran is None or match is None:
        return None
    parts = [part.split("=") for part in (match["counts"] or "").split(", ") if "=" in part]
    counts = _without_subtests(
        _added((_UNITTEST_WORDS.get(word, ""), int(number)) for word, number in parts), int(ran[1])
    )
    # A test may fail several times (subtests) and a class may fail outside its tests, so this is a lower bound.
    return _added([("passed", max(0, int(ran[1]) - counts.total))], counts)


def _without_subtests(counts: TestCounts, ran: int) -> TestCounts:
    """The counts with failures beyond the number of tests left out: they are of subtests, and no test of their own.

    One of each kind stays: it may be of a class or a module, outside of any test.
    """
    too_many = max(0, counts.total - ran)
    kept = {}
    for kind, number in (("failed", counts.failed), ("skipped", counts.skipped), ("errors", counts.errors)):
        kept[kind] = max(min(number, 1), number - too_many)
        too_many -= number - kept[kind]
    return TestCounts(**kept)


def _added(parts: Iterator[tuple[str, int]] | list[tuple[str, int]], to: TestCounts | None = None) -> TestCounts:
    sums = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
    if to is not None:
        sums |= {"failed": to.failed, "errors": to.errors, "skipped": to.skipped}
    for word, number in parts:
        if word:
            sums[word] += number
    return TestCounts(**sums)


def _collection_failed(exit_code: int, counts: TestCounts | None, output: str) -> bool:
    """Whether tests could not even be imported. Then a count of the others says nothing about the whole."""
    if exit_code == 0 and not (counts and counts.errors):
        return False
    alone = counts is not None and counts.errors > 0 and counts.passed == counts.failed == 0
    return bool(_COLLECTION_FAILED.search(output)) or (exit_code == 2 and alone)


def _without_report(exit_code: int, output: str) -> str:
    if exit_code in (126, 127) or _NO_RUNNER.search(output):  # a launcher's codes for what it can't start
        return "command not found"
    return "crashed" if _by_signal(exit_code) else "no test report"


def _by_signal(exit_code: int) -> bool:
    return exit_code < 0 or 128 < exit_code < 160
