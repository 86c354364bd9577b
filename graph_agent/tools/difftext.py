"""The difference between two versions of a file, as a unified diff that `git apply` takes.

Byte-exact: CRLF, a missing last newline and empty files come back as they were. The rule: what cannot be shown as text
is named as differing, never left out.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_COMPARED = 4_000_000  # pairs of lines; beyond it the lines that differ are replaced as one block
CONTEXT = 3

_Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Version:
    """One side of a comparison. `raw` is None when the file is too large to be compared as text."""

    raw: bytes | None
    mode: int = 0o644


def file_diff(name: str, old: Version | None, new: Version | None) -> str:
    """The diff of one file; None stands for a file that is not there. "" when the same bytes are on both sides."""
    if old and new and old.raw is not None and old.raw == new.raw:
        return ""
    before, after = quoted_name(f"a/{name}"), quoted_name(f"b/{name}")
    head = f"diff --git {before} {after}\n{_created(old, new)}"
    texts = [_text(side) for side in (old, new)]
    if texts[0] is None or texts[1] is None:
        return f"{head}Binary files {before if old else '/dev/null'} and {after if new else '/dev/null'} differ\n"
    hunks = "".join(_hunks(_lines(texts[0]), _lines(texts[1])))
    if not hunks:
        return head
    return f"{head}--- {_ended(before) if old else '/dev/null'}\n+++ {_ended(after) if new else '/dev/null'}\n{hunks}"


def quoted_name(name: str) -> str:
    """A name as git writes it: in quotes with C escapes when it holds a quote, a backslash or a control character."""
    if not any(char in '"\\' or ord(char) < 32 or ord(char) == 127 for char in name):
        return name
    return '"' + "".join(_escaped(char) for char in name) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char


def _ended(name: str) -> str:
    """A tab ends a name with spaces, or a reader would take the rest for a date."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _created(old: Version | None, new: Version | None) -> str:
    if old and new:
        return ""
    side = old or new
    mode = "100755" if side and side.mode & stat.S_IXUSR else "100644"
    return f"{'deleted' if old else 'new'} file mode {mode}\n"


def _text(side: Version | None) -> str | None:
    if side is None:
        return ""
    if side.raw is None or b"\0" in side.raw:
        return None
    try:
        return side.raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> list[str]:
    r"""Lines with their ends; only `\n` ends one here, as in git."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


class _Trimmed(SequenceMatcher[str]):
    """Compares only what lies between the first and the last line that differ."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._lengths = len(old), len(new)
        self._head = _common(old, new)
        self._tail = _common(old[self._head :][::-1], new[self._head :][::-1])
        self._old, self._new = (lines[self._head : len(lines) - self._tail] for lines in (old, new))
        super().__init__(None, self._old, self._new)

    def get_opcodes(self) -> list[_Opcode]:  # type: ignore[override]  # typeshed has a Literal for the first
        (old, new), head, tail = self._lengths, self._head, self._tail
        codes = [("equal", 0, head, 0, head)] if head else []
        codes += [(tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in self._middle()]
        return codes + ([("equal", old - tail, old, new - tail, new)] if tail else [])

    def _middle(self) -> Sequence[_Opcode]:
        if len(self._old) * len(self._new) > MAX_COMPARED:
            return [("replace", 0, len(self._old), 0, len(self._new))]
        return super().get_opcodes()


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(old), len(new)))


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for group in _Trimmed(old, new).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (_marked(" ", line) for line in old[i:j])
            else:
                yield from (_marked("-", line) for line in old[i:j])
                yield from (_marked("+", line) for line in new[k:m])


def _range(start: int, stop: int) -> str:
    """Lines from 1 and how many; for none, the line before (POSIX, diff -u)."""
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + (length > 0)},{length}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
