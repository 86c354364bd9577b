"""The guard: what a patch may not do, however green the tests are.

It compares the workspace with what it was, so it doesn't matter by whose hand a file changed: an edit, a test that
writes, a command. The rule: each finding is a sentence about a fact in the files, the diff or the counts; one finding
is enough to fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_agent.tools.files import FileInfo
    from graph_agent.verify.report import TestCounts


def guard_files(
    before: Iterable[FileInfo], now: Iterable[FileInfo], may_write: Callable[[str], bool], max_files: int
) -> tuple[str, ...]:
    """Files that changed, came or went against the rules, and too many changed files."""
    old, new = ({file.path: file.sha256 for file in files} for files in (before, now))
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    found = [f"{path} {_what(path, old, new)}, and may not" for path in changed if not may_write(path)]
    if len(changed) > max_files:
        found.append(f"{len(changed)} files changed, at most {max_files} may: {', '.join(changed)}")
    return tuple(found)


def _what(path: str, old: dict[str, str], new: dict[str, str]) -> str:
    return "was added" if path not in old else "was removed" if path not in new else "changed"


def guard_counts(before: TestCounts | None, now: TestCounts | None, command: str) -> tuple[str, ...]:
    """Fewer tests than there were, or more of them skipped."""
    if before is None or now is None:
        return ()
    if now.total < before.total:
        return (f"{command} ran {now.total} tests, before the change {before.total}",)
    if now.skipped > before.skipped:
        return (f"{command} skipped {now.skipped} tests, before the change {before.skipped}",)
    return ()


def guard_diff(diff: str) -> tuple[str, ...]:
    """Marks of a patch that quiets the tests instead of mending the code, in a unified diff."""
    return tuple(f"{path}: {finding}" for path, removed, added in _hunks(diff) for finding in _marks(removed, added))


_ADDED = (
    (r"@?\b(?:pytest\.mark\.|unittest\.)(?:skip|xfail|expectedFailure)", "a skip mark was added"),
    (r"\b(?:pytest\.skip|pytest\.xfail|self\.skipTest|raise\s+(?:unittest\.)?SkipTest)\b", "a skip was added"),
    (r"\bassert\s+(?:True|1)\b\s*(?:,|#|$)", "`assert True` was added"),
    (r"^\s*except\s*:", "a bare except was added"),
    (
        r"\bPYTEST_CURRENT_TEST\b|[\"'](?:pytest|unittest)[\"']\s+in\s+sys\.modules",
        "code that looks for the test runner",
    ),
    (r"\b(?:os\._exit|sys\.exit|exit|quit)\s*\(\s*0?\s*\)", "an exit that reports success was added"),
)
_BROAD = re.compile(r"^\s*except\s+\(?[^:]*\b(?:Exception|BaseException)\b[^:]*:\s*(?P<rest>.*)$")
_SWALLOWS = re.compile(r"^\s*(?:pass|continue|break|\.\.\.|return\b.*)\s*(?:#.*)?$")
_ASSERTS = re.compile(r"^\s*(?:assert\b|self\.assert\w+\(|self\.fail\w*\(|pytest\.(?:raises|fail|warns)\b)")
_TOLERANCE = re.compile(
    r"\b(?P<name>abs|abs_tol|rel|rel_tol|delta|atol|rtol|tol|tolerance|eps|epsilon)\s*=\s*(?P<value>[\d.]+(?:e-?\d+)?)"
)
_PLACES = re.compile(r"\bplaces\s*=\s*(?P<value>\d+)")


def _marks(removed: list[str], added: list[str]) -> Iterator[str]:
    for pattern, finding in _ADDED:
        if _count(pattern, added) > _count(pattern, removed):
            yield finding
    if sum(_swallowing(added)) > sum(_swallowing(removed)):
        yield "a broad except that swallows what it catches was added"
    if sum(map(_is_assert, removed)) > sum(map(_is_assert, added)):
        yield "an assert was removed"
    if _loosened(removed, added):
        yield "a tolerance was loosened"


def _count(pattern: str, lines: list[str]) -> int:
    return sum(bool(re.search(pattern, line)) for line in lines)


def _is_assert(line: str) -> bool:
    return bool(_ASSERTS.match(line))


def _swallowing(lines: list[str]) -> Iterator[bool]:
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        match = _BROAD.match(line)
        yield match is not None and bool(_SWALLOWS.match(match["rest"] or following))


def _loosened(removed: list[str], added: list[str]) -> bool:
    for name, values in _tolerances(removed).items():
        now = _tolerances(added).get(name)
        if now and max(now) > max(values):
            return True
    places = [[int(match["value"]) for line in lines for match in _PLACES.finditer(line)] for lines in (removed, added)]
    return bool(places[0] and places[1]) and min(places[1]) < min(places[0])


def _tolerances(lines: list[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for line in lines:
        for match in _TOLERANCE.finditer(line):
            try:
                value = float(match["value"])
            except ValueError:
                continue  # "1.2.3" is no number, so no tolerance
            found.setdefault(match["name"], []).append(value)
    return found


def _hunks(diff: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """For each file of the diff its path, the lines taken out and those put in, less the lines that only moved."""
    path, removed, added = "", [], []  # type: tuple[str, list[str], list[str]]
    for line in [*diff.splitlines(), "diff --git"]:
        if line.startswith("diff --git"):
            if removed or added:
                moved = Counter(removed) & Counter(added)
                yield path, _without(removed, moved), _without(added, moved)
            path, removed, added = "", [], []
        elif line.startswith(("--- ", "+++ ")) and not (removed or added):
            name = line[4:].split("\t")[0]
            path = path if name == "/dev/null" else name[2:]
        elif line.startswith("-"):
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])


def _without(lines: list[str], moved: Counter[str]) -> list[str]:
    left = Counter(moved)
    kept = []
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
        else:
            kept.append(line)
    return kept
