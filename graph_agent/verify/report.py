"""Judge a change: what pytest or unittest said of it, and what a patch may not do, however green the tests are.

The rule: PASS needs exit code 0 and at least one test that passed by the runner's own count; where the output does not
say enough, the verdict is UNKNOWN. One finding of a guard is enough to fail; a mark in a diff counts when the new lines
of a file have more of it than the old ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_agent.tools.files import FileInfo

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


def guard_files(
    before: Iterable[FileInfo], now: Iterable[FileInfo], may_write: Callable[[str], bool], max_files: int
) -> tuple[str, ...]:
    """Files that changed, came or went against the rules, or too many."""
    old, new = ({file.path: file.sha256 for file in files} for files in (before, now))
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    found = []
    for path in changed:
        if not may_write(path):
            what = "was added" if path not in old else "was removed" if path not in new else "changed"
            found.append(f"{path} {what}, and may not")
    if len(changed) > max_files:
        found.append(f"{len(changed)} files changed, at most {max_files} may: {', '.join(changed)}")
    return tuple(found)


def guard_counts(before: TestCounts | None, now: TestCounts | None, command: str) -> tuple[str, ...]:
    """Another number of tests than there were, though no test may change, or more of them skipped."""
    if before is None or now is None:
        return ()
    if now.total != before.total:
        return (f"{command} ran {now.total} tests, before the change {before.total}",)
    if now.skipped > before.skipped:
        return (f"{command} skipped {now.skipped} tests, before the change {before.skipped}",)
    return ()


def guard_diff(diff: str, forbidden: Collection[str] = ()) -> tuple[str, ...]:
    """Marks of a patch that quiets the tests instead of mending the code; no added line may match `forbidden`."""
    found: dict[str, None] = {}
    for section in re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE):
        head, *hunks = re.split(r"^(?=@@ )", section, flags=re.MULTILINE)
        names = re.findall(r"^(?:---|\+\+\+) \"?[ab]/(.*?)\"?\t?$", head, re.MULTILINE)
        lines = [line for hunk in hunks for line in hunk.split("\n")]
        found |= dict.fromkeys(f"{names[-1] if names else '?'}: {mark}" for mark in _marks(lines, forbidden))
        binary = re.findall(r"^Binary files .*", head, re.MULTILINE)
        found |= dict.fromkeys(f"{line}: what it holds can't be looked at" for line in binary)
    return tuple(found)


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


def _marks(lines: list[str], forbidden: Collection[str]) -> Iterator[str]:
    """Of one file. Lines that only moved are neither removed nor added."""
    out, into = (Counter(line[1:] for line in lines if line.startswith(sign)) for sign in "-+")
    removed, added = list((out - into).elements()), list((into - out).elements())

    def grew(pattern: str | re.Pattern[str], old: Iterable[str], new: Iterable[str]) -> bool:
        return sum(bool(re.search(pattern, line)) for line in new) > sum(bool(re.search(pattern, line)) for line in old)

    for finding, pattern in _ADDED.items():
        if grew(pattern, _code(removed), _code(added)):
            yield finding
    for text in forbidden:
        if grew(text, removed, added):
            yield f"a forbidden mark was added: {text}"
    if _swallowing(lines, "+") > _swallowing(lines, "-"):
        yield "a broad except that swallows what it catches was added"
    if grew(_ASSERT, added, removed):
        yield "an assert was removed"
    before, after = _looseness(removed), _looseness(added)
    exact = any(_ASSERT.match(line) and not _ABOUT.search(line) for line in removed)
    if any(after.get(name, value) > value for name, value in before.items()) or (
        exact and grew(_ABOUT, _checks(removed), _checks(added))
    ):
        yield "a tolerance was loosened"


_RUNNER = r"[\"'](?:_?pytest|unittest|nose)"
_ADDED = {
    "a skip mark or hook was added": r"@(?:skip(?:If|Unless|if)?|xfail|expectedFailure)\b"
    r"|\b(?:pytest|mark|unittest)\.(?:skip|xfail|expectedFailure|importorskip|exit)|\bskipTest\b|\bSkipTest\b"
    r"|\b(?:__test__|collect_ignore(?:_glob)?|pytestmark|pytest_plugins)\s*=|\bdef\s+(?:load_tests|pytest_\w+)\b",
    "an assert that can't fail was added": r"\bassert\s+(?:True|[1-9]\d*|not\s+(?:False|None|0))\s*(?:,|#|$)"
    r"|\.assert(?:True\(\s*(?:True|1)|False\(\s*(?:False|0|None))\s*[,)]|\bassert\b[^#]*\bor\s+(?:True|1)\b"
    r"|\bassert\s+([\w.]+)\s*(?:==|is)\s*\1\s*(?:,|#|$)|\bassert\s*\([^()]*,[^()]*\)\s*(?:#|$)",
    "code that looks for the test runner or its caller was added": r"\bPYTEST_\w+"
    rf"|{_RUNNER}[\"']\s+(?:not\s+)?in\b|\bsys\.modules\.get\(\s*{_RUNNER}"
    r"|^\s*(?:import|from)\s+(?:_?pytest|unittest|nose)\b|\bsys\._(?:getframe|current_frames)\b"
    r"|\binspect\.(?:stack|currentframe)\b|\btraceback\.(?:extract|walk|print|format)_stack\b",
    "a part of the interpreter or of the test runner was replaced": r"\bsys\.modules\[[^\]]+\]\s*=(?!=)"
    r"|\b(?:unittest|pytest|TestCase|builtins)(?:\.\w+)+\s*=(?!=)|\b__builtins__\b"
    r"|\bsetattr\(\s*(?:builtins|sys|unittest|pytest)\b"
    r"|\bsys\.(?:settrace|setprofile|excepthook|displayhook|stdout|stderr)\b\s*(?:=(?!=)|\()",
    "an exit that may report success was added": r"\bos\.(?:_exit|abort|kill|exec[lv]\w*)\s*\("
    r"|(?<!def )(?<![\w.])(?:sys\.exit|exit|quit)\s*\(\s*(?:0|None|False)?\s*\)"
    r"|\braise\s+SystemExit\b(?!\s*\(\s*(?:[1-9]|[\"'f]))",
    "a text that looks like a test report was added": r"\bRan \d+ tests?\b|\b\d+ passed\b",
    "an equality that is always so was added": r"\b__(?:eq|ne)__\s*[(=][^:]*:\s*(?:return\s+)?(?:True|False)\b",
    "a broad except that swallows what it catches was added": r"\bsuppress\s*\(\s*[^)]*\b(?:Base)?Exception\b",
}
_HANDLER = re.compile(r"(\s*)except\b\s*\*?\s*(?:[^:#]*\b(?:Base)?Exception(?:Group)?\b[^:#]*)?:(.*)$")
_RAISES = re.compile(r"[^#]*\braise\b")
_ASSERT = re.compile(
    r"^\s*(?:with\s+)?(?:assert\b|(?:self|cls)\.(?:assert\w+|fail\w*)\(|pytest\.(?:raises|fail|warns)\b|[\w.]+\.assert_\w+\()"
)
_ABOUT = re.compile(r"\bapprox\s*\(|\bisclose\s*\(|\bassert\w*AlmostEqual|\ballclose\s*\(")
_NUMBER = r"\s*=\s*(\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)"
_TOLERANCE = re.compile(rf"\b(abs_tol|rel_tol|atol|rtol|tol|tolerance|eps|epsilon){_NUMBER}", re.IGNORECASE)
_OF_ASSERT = re.compile(rf"\b(abs|rel|delta|places|decimal){_NUMBER}", re.IGNORECASE)


def _code(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.lstrip().startswith("#")]


def _checks(lines: list[str]) -> list[str]:
    return [line for line in lines if _ASSERT.match(line) or _ABOUT.search(line)]


def _looseness(lines: list[str]) -> dict[str, float]:
    """The loosest value of each tolerance by name; decimal places are negative."""
    found: dict[str, float] = {}
    texts = (("\n".join(lines), _TOLERANCE), ("\n".join(_checks(lines)), _OF_ASSERT))
    for name, number in (match for text, pattern in texts for match in pattern.findall(text.lower())):
        value = -float(number) if name in ("places", "decimal") else float(number)
        found[name] = max(value, found.get(name, value))
    return found


def _swallowing(lines: list[str], sign: str) -> int:
    """How many broad handlers of one side raise nothing."""
    side = [line if line.startswith("@@ ") else line[1:] for line in lines if line.startswith((sign, " ", "@@ "))]
    count = 0
    for at, line in enumerate(side):
        if handler := _HANDLER.match(line):
            deeper = re.compile(rf"\s*$|{handler[1]}\s")
            body = takewhile(deeper.match, side[at + 1 :])
            count += not any(_RAISES.match(text) for text in (handler[2], *body))
    return count
