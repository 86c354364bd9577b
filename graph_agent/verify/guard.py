"""The guard: what a patch may not do, however green the tests are.

It compares the workspace with what it was, so it doesn't matter by whose hand a file changed: an edit, a test that
writes, a command. The rule: each finding is a sentence about a fact in the files, the diff or the counts; one finding
is enough to fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from graph_agent.verify.marks import FileChange, marks_of

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


def guard_diff(diff: str, forbidden: Collection[str] = ()) -> tuple[str, ...]:
    """Marks of a patch that quiets the tests instead of mending the code, in a unified diff.

    `forbidden` are regular expressions that no added line may match, besides those of `marks.py`.
    """
    found = [f"{change.path}: {mark}" for change in _changes(diff) for mark in marks_of(change, forbidden)]
    binary = [line for line in diff.split("\n") if line.startswith("Binary files ")]
    return (*dict.fromkeys(found), *(f"{line}: what it holds can't be looked at" for line in binary))


def _changes(diff: str) -> Iterator[FileChange]:
    """The files of a diff. Lines that only moved within one are neither removed nor added."""
    for section in re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE):
        head, *hunks = re.split(r"^(?=@@ )", section, flags=re.MULTILINE)
        lines = [line for hunk in hunks for line in hunk.split("\n")]
        removed, added = ([line[1:] for line in lines if line.startswith(sign)] for sign in "-+")
        if not removed and not added:
            continue
        moved = Counter(removed) & Counter(added)
        yield FileChange(
            path=_path(head),
            removed=_without(removed, moved),
            added=_without(added, moved),
            before=_side(lines, "-"),
            after=_side(lines, "+"),
        )


def _path(head: str) -> str:
    """The name of the file in the head of its section: the new one where there is one."""
    names = re.findall(r"^(?:---|\+\+\+) \"?(?:a|b)/(.*?)\"?\t?$", head, re.MULTILINE)
    return str(names[-1]) if names else "?"


def _side(lines: list[str], sign: str) -> tuple[str, ...]:
    """One side of the hunks. The line that begins a hunk stays, without depth, so that no block runs across it."""
    return tuple(line if line.startswith("@@ ") else line[1:] for line in lines if line.startswith((sign, " ", "@@ ")))


def _without(lines: list[str], moved: Counter[str]) -> tuple[str, ...]:
    left = Counter(moved)
    kept = []
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
        else:
            kept.append(line)
    return tuple(kept)
