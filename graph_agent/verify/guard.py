"""What a patch may not do, however green the tests are: the metric that lies is caught here.

The rule: one finding is enough to fail; a mark in a diff counts when the new lines of a file have more of it than the
old ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from graph_agent.verify.report import TestCounts

if TYPE_CHECKING:
    from graph_agent.tools.files import FileInfo


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
