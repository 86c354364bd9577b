"""The difference between two versions of a file, as a unified diff that `git apply` takes.

Byte-exact: CRLF, a missing last newline and empty files come back as they were. The rule: what cannot be shown as text
is named as differing, never left out.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from difflib import unified_diff

from graph_agent.tools.textedit import lines_of


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
    head = f"diff --git {before} {after}\n"
    if old is None or new is None:
        there = old or new
        mode = "100755" if there and there.mode & stat.S_IXUSR else "100644"
        head += f"{'deleted' if old else 'new'} file mode {mode}\n"
    before, after = before if old else "/dev/null", after if new else "/dev/null"
    try:
        lines = _lines(old), _lines(new)
    except ValueError:
        return f"{head}Binary files {before} and {after} differ\n"
    # A tab ends a name with spaces, or a reader would take the rest for a date.
    before, after = (f"{name}\t" if " " in name else name for name in (before, after))
    return head + "".join(map(_ended, unified_diff(*lines, before, after)))


def quoted_name(name: str) -> str:
    """A name as git writes it: in quotes with octal escapes when it holds a quote, backslash or control character."""
    escaped = "".join(f"\\{ord(char):03o}" if char in '"\\\x7f' or char < " " else char for char in name)
    return name if escaped == name else f'"{escaped}"'


def _lines(side: Version | None) -> list[str]:
    """Raises ValueError for what is no text."""
    if side is None:
        return []
    if side.raw is None or b"\0" in side.raw:
        raise ValueError("no text")
    return lines_of(side.raw.decode("utf-8"))


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
