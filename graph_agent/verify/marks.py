r"""Marks of a patch that quiets the tests instead of mending the code, looked for in what a file lost and gained.

Each is something that a correction has no need of: a skipped test, an assert that can't fail, code that asks whether it
is being tested. The rule: a mark counts when the new lines of a file have more of it than the old ones, so what only
moved, or was there before, is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """One file of a diff: the lines taken out and put in, and both sides of its hunks with the lines around."""

    path: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


def marks_of(change: FileChange, forbidden: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with a change, a sentence each. `forbidden` are further patterns that no added line may match."""
    removed, added = _code(change.removed), _code(change.added)
    for finding, patterns in _ADDED.items():
        if _count(patterns, added) > _count(patterns, removed):
            yield finding
    for text in forbidden:
        pattern = re.compile(text)
        if _lines_with(pattern, change.added) > _lines_with(pattern, change.removed):
            yield f"a forbidden mark was added: {text}"
    if _swallowing(change.after) > _swallowing(change.before):
        yield "a broad except that swallows what it catches was added"
    if _lines_with(_ASSERT, change.removed) > _lines_with(_ASSERT, change.added):
        yield "an assert was removed"
    if _loosened(change.removed, change.added):
        yield "a tolerance was loosened"


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


_END = r"\s*(?:,|#|$)"

_ADDED: dict[str, tuple[re.Pattern[str], ...]] = {
    "a skip mark was added": _compiled(
        r"\b(?:pytest\.mark|mark|unittest)\.(?:skip|xfail|expectedFailure)",
        r"@(?:skip(?:If|Unless|if)?|xfail|expectedFailure)\b",
        r"\b__test__\s*=|\bcollect_ignore(?:_glob)?\s*=|\bpytestmark\s*=",
    ),
    "a skip was added": _compiled(r"\bpytest\.(?:skip|xfail|importorskip|exit)\s*\(|\bself\.skipTest\b|\bSkipTest\b"),
    "a hook of the test runner was added": _compiled(r"\bdef\s+(?:load_tests|pytest_\w+)\b|\bpytest_plugins\s*="),
    "`assert True` was added": _compiled(
        rf"\bassert\s+(?:True|[1-9]\d*|not\s+(?:False|None|0)){_END}",
        r"\bself\.assert(?:True\(\s*(?:True|1)|False\(\s*(?:False|0|None))\s*[,)]",
    ),
    "an assert that can't fail was added": _compiled(
        r"\bassert\b[^#\n]*\bor\s+(?:True|1)\b",
        rf"\bassert\s+([\w.]+)\s*(?:==|is)\s*\1{_END}",
        r"\bassert\s*\([^()\n]*,[^()\n]*\)\s*(?:#|$)",
        r"\bassert\s+f?(?:\"[^\"\n]+\"|'[^'\n]+')\s*(?:#|$)",
    ),
    "a comparison that is always true was added": _compiled(
        r"\bdef\s+__(?:eq|le|ge|contains)__\s*\([^)]*\)[^:\n]*:\s*return\s+(?:True|1)\b",
        r"\b__(?:eq|le|ge|contains)__\s*=\s*lambda[^:\n]*:\s*(?:True|1)\b",
    ),
    "code that looks for the test runner was added": _compiled(
        r"\bPYTEST_\w+",
        r"[\"'](?:_?pytest|unittest|nose)[\"']\s+(?:not\s+)?in\b",
        r"\bsys\.modules\.get\(\s*[\"'](?:_?pytest|unittest|nose)",
        r"^\s*(?:import|from)\s+(?:_?pytest|unittest|nose)\b",
    ),
    "code that looks at who calls it was added": _compiled(
        r"\bsys\.(?:_getframe|_current_frames)\b|\binspect\.(?:stack|currentframe)\b",
        r"\btraceback\.(?:extract|walk|print|format)_stack\b",
    ),
    "a part of the interpreter or of the test runner was replaced": _compiled(
        r"\bsys\.modules\[[^\]\n]+\]\s*=(?!=)|\bbuiltins\.\w+\s*=(?!=)|\b__builtins__\b",
        r"\bsetattr\(\s*(?:builtins|sys|unittest|pytest)\b",
        r"\b(?:unittest|pytest|TestCase)(?:\.\w+)+\s*=(?!=)",
        r"\bsys\.(?:settrace|setprofile|excepthook|displayhook|stdout|stderr)\b\s*(?:=(?!=)|\()",
    ),
    "an exit that may report success was added": _compiled(
        r"\bos\.(?:_exit|abort|kill|exec[lv]\w*)\s*\(",
        r"(?<!def )(?<![\w.])(?:sys\.exit|exit|quit)\s*\(\s*(?:0|None|False)?\s*\)",
        r"\braise\s+SystemExit\b(?!\s*\(\s*(?:[1-9]|[\"'f]))",
    ),
    "a text that looks like a test report was added": _compiled(r"\bRan \d+ tests?\b|\b\d+ passed\b"),
    "a broad except that swallows what it catches was added": _compiled(
        r"\bsuppress\s*\(\s*[^)\n]*\b(?:Base)?Exception\b"
    ),
    "warnings were silenced": _compiled(r"\b(?:simplefilter|filterwarnings)\s*\(\s*[\"']ignore"),
}
_HANDLER = re.compile(
    r"^(?P<indent>\s*)except\b\s*\*?\s*(?:[^:#]*\b(?:Base)?Exception(?:Group)?\b[^:#]*)?:(?P<rest>.*)$"
)
_RAISES = re.compile(r"^[^#]*\braise\b")
_ASSERT = re.compile(
    r"^\s*(?:with\s+)?(?:assert\b|(?:self|cls)\.(?:assert\w+|fail\w*)\(|pytest\.(?:raises|fail|warns)\b|[\w.]+\.assert_\w+\()"
)
_NUMBER = r"\s*=\s*(?P<value>\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)"
_TOLERANCE = re.compile(rf"\b(?P<name>abs_tol|rel_tol|atol|rtol|tol|tolerance|eps|epsilon){_NUMBER}", re.IGNORECASE)
_TOLERANCE_OF_ASSERT = re.compile(rf"\b(?P<name>abs|rel|delta){_NUMBER}", re.IGNORECASE)
_PLACES = re.compile(r"\b(?P<name>places|decimal)\s*=\s*(?P<value>\d+)")
_ABOUT = re.compile(r"\bapprox\s*\(|\bisclose\s*\(|\bassert\w*AlmostEqual|\ballclose\s*\(")


def _code(lines: tuple[str, ...]) -> str:
    """The lines as one text, without those that are a comment and no more."""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _count(patterns: tuple[re.Pattern[str], ...], text: str) -> int:
    return sum(len(pattern.findall(text)) for pattern in patterns)


def _lines_with(pattern: re.Pattern[str], lines: tuple[str, ...]) -> int:
    return sum(bool(pattern.search(line)) for line in lines)


def _swallowing(side: tuple[str, ...]) -> int:
    """How many broad handlers of a side raise nothing, as far as the diff shows them."""
    return sum(_swallows(side[at:]) for at in range(len(side)))


def _swallows(lines: tuple[str, ...]) -> bool:
    handler = _HANDLER.match(lines[0])
    if handler is None:
        return False
    depth = len(handler["indent"])
    body = takewhile(lambda line: not line.strip() or _depth(line) > depth, lines[1:])
    return not any(_RAISES.match(line) for line in (handler["rest"], *body))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _loosened(removed: tuple[str, ...], added: tuple[str, ...]) -> bool:
    """A tolerance that grew, fewer places, or an exact assert that became an approximate one."""
    tolerances = [
        _values(_TOLERANCE, lines) | _values(_TOLERANCE_OF_ASSERT, _asserts(lines)) for lines in (removed, added)
    ]
    if any(max(tolerances[1].get(name, [0.0])) > max(values) for name, values in tolerances[0].items()):
        return True
    places = [_values(_PLACES, _asserts(lines)) for lines in (removed, added)]
    if any(min(places[1].get(name, values)) < min(values) for name, values in places[0].items()):
        return True
    exact = [line for line in _asserts(removed) if not _ABOUT.search(line)]
    return bool(exact) and _lines_with(_ABOUT, _asserts(added)) > _lines_with(_ABOUT, _asserts(removed))


def _asserts(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for line in lines if _ASSERT.match(line) or _ABOUT.search(line))


def _values(pattern: re.Pattern[str], lines: tuple[str, ...]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for match in (match for line in lines for match in pattern.finditer(line)):
        found.setdefault(match["name"].lower(), []).append(float(match["value"]))
    return found
