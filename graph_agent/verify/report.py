"""What pytest or unittest said of a run of tests: the counts, the verdict, and where tracebacks point.

The rule: PASS needs exit code 0 and at least one test that passed by the runner's own count; where the output does not
say enough, the verdict is UNKNOWN.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

_LONGEST_LINE = 2_000
_MOST_PLACES = 200


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class TestCounts:
    """A test that was expected to fail, and did, counts as skipped."""

    __test__ = False  # for pytest

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
    """The verdict on a run of tests, the runner's counts, and the reason.

    `timed_out_before=False`: the same command ended in time before the edit, so a timeout is the edit's fault.
    """
    counts = count_tests(output)
    if timed_out:
        return (Verdict.UNKNOWN if timed_out_before else Verdict.FAIL), counts, "timed out"
    if exit_code is None:
        return Verdict.UNKNOWN, counts, "command not found"
    crashed = exit_code < 0 or 128 < exit_code < 160
    if _collection_failed(exit_code, counts, output):
        reason = "collection error"
    elif counts is None:
        missing = exit_code in (126, 127) or _NO_RUNNER.search(output)  # a launcher's codes
        reason = "command not found" if missing else "crashed" if crashed else "no test report"
    elif counts.failed or counts.errors:
        return Verdict.FAIL, counts, "tests failed"
    elif not counts.passed:
        reason = "all tests skipped" if counts.skipped else "no tests ran"
    elif exit_code:
        reason = "crashed" if crashed else "the runner failed"
    else:
        return Verdict.PASS, counts, "tests passed"
    return Verdict.UNKNOWN, counts, reason


def count_tests(output: str) -> TestCounts | None:
    """The counts of the last summary; earlier ones may be a program's own words."""
    lines = _lines(output)
    for at in range(len(lines) - 1, -1, -1):
        if counts := _pytest_summary(lines[at].strip()):
            return _by_test(counts, lines[:at])
        if counts := _unittest_summary(lines[at].strip(), lines[at + 1 : at + 4]):
            return counts
    return None


def traceback_places(output: str) -> tuple[tuple[str, int], ...]:
    """Paths and lines from the tracebacks, innermost first, without repetition."""
    found: dict[tuple[str, int], None] = {}
    block: dict[tuple[str, int], None] = {}
    for line in [*_lines(output), "-----"]:
        if match := _PYTHON_PLACE.match(line) or _PYTEST_PLACE.match(line):
            path = match["path"].replace("\\", "/").removeprefix("./")
            if not path.startswith("<"):
                block[path, int(match["line"])] = None
        elif _TRACEBACK_BEGINS.match(line):
            found |= dict.fromkeys(reversed(block))
            block = {}
    return tuple(found)[:_MOST_PLACES]


def _lines(output: str) -> list[str]:
    return [line[:_LONGEST_LINE] for line in output.splitlines()]


_WORDS = {
    "passed": "passed", "xpassed": "passed",
    "failed": "failed", "failures": "failed", "unexpected successes": "failed",
    "error": "errors", "errors": "errors",
    "skipped": "skipped", "xfailed": "skipped", "expected failures": "skipped",
    "deselected": "", "warning": "", "warnings": "", "rerun": "", "subtests passed": "", "subtests failed": "",
    "subtests skipped": "",
}  # fmt: skip
_COUNT = rf"\d{{1,9}} (?:{'|'.join(_WORDS)})"
_PYTEST_LINE = re.compile(rf"=* ?(?P<counts>{_COUNT}(?:, {_COUNT})*)(?: in [\d.]+ ?s(?: \([\d:, a-z]+\))?)? ?=*")
_PYTEST_NOTHING = re.compile(r"=* ?no tests ran(?: in [\d.]+ ?s)? ?=*|collected 0 items(?: / \d+ \w+)*")
_PYTEST_COLLECTION = re.compile(r"!* ?(?:Interrupted: )?(\d{1,9}) errors? during collection ?!*")
_UNITTEST_RAN = re.compile(r"Ran (\d{1,9}) tests?(?: in [\d.]+ ?s)?")
_UNITTEST_RESULT = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((?P<counts>[a-z]+[a-z =\d,]*)\))?")
_COLLECTION_FAILED = re.compile(
    r"^(?:[_ ]*ERROR collecting |ImportError while loading conftest|.*\bunittest\.loader\._FailedTest\b"
    r"|.*\berrors? during collection\b)",
    re.MULTILINE,
)
_NO_RUNNER = re.compile(r"\bNo module named '?(?:pytest|unittest)'?$", re.MULTILINE)
_PYTEST_FAILED = re.compile(r"FAILED (\S+)")
_PYTEST_SUBTEST = re.compile(r"SUBFAIL(?:ED)?\b.*?([^\s()\[\]]+\.py::\S+)")
_PYTHON_PLACE = re.compile(r'\s*(?:E\s+)?File "(?P<path>[^"]+)", line (?P<line>\d{1,7})\b')
_PYTEST_PLACE = re.compile(r"(?P<path>(?:[A-Za-z]:)?[^\s:]+\.py):(?P<line>\d{1,7}): ")
_TRACEBACK_BEGINS = re.compile(r"Traceback \(most recent call last\)|[_=-]{5,}|_{3,} \S")


def _pytest_summary(line: str) -> TestCounts | None:
    if _PYTEST_NOTHING.fullmatch(line):
        return TestCounts()
    if match := _PYTEST_COLLECTION.fullmatch(line):
        return TestCounts(errors=int(match[1]))
    if match := _PYTEST_LINE.fullmatch(line):
        counted = (part.split(" ", 1) for part in match["counts"].split(", "))
        return TestCounts(**_sums({word: int(number) for number, word in counted}))
    return None


def _by_test(counts: TestCounts, lines: list[str]) -> TestCounts:
    """Pytest counts each failing subtest, and its test as passed; here that test has failed."""
    subtests = [match[1] for line in lines if (match := _PYTEST_SUBTEST.match(line))]
    failed = {match[1] for line in lines if (match := _PYTEST_FAILED.match(line))}
    tests = len(set(subtests) - failed)
    if not subtests or counts.failed < len(subtests) or counts.passed < tests:
        return counts
    return replace(counts, passed=counts.passed - tests, failed=counts.failed - len(subtests) + tests)


def _unittest_summary(line: str, after: list[str]) -> TestCounts | None:
    """No more than the tests that ran: one may fail many times in its subtests."""
    ran = _UNITTEST_RAN.fullmatch(line)
    result = _UNITTEST_RESULT.fullmatch(next((text.strip() for text in after if text.strip()), ""))
    if ran is None or result is None:
        return None
    parts = (part.split("=") for part in (result["counts"] or "").split(", ") if "=" in part)
    sums = _sums({word: int(number) for word, number in parts})
    room = int(ran[1]) or min(1, sum(sums.values()))
    for kind in ("failed", "errors", "skipped"):
        sums[kind] = min(sums.get(kind, 0), room)
        room -= sums[kind]
    return TestCounts(**sums | {"passed": room})


def _sums(counted: Mapping[str, int]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for word, number in counted.items():
        sums[_WORDS.get(word, "")] += number
    del sums[""]
    return dict(sums)


def _collection_failed(exit_code: int, counts: TestCounts | None, output: str) -> bool:
    """Whether tests could not even be imported."""
    if exit_code == 0 and not (counts and counts.errors):
        return False
    alone = counts is not None and counts.errors > 0 and counts.passed == counts.failed == 0
    return bool(_COLLECTION_FAILED.search(output)) or (exit_code == 2 and alone)
