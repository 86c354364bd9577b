r"""Find and replace in a text, exact to the byte, and the difference as a unified diff that `git apply` takes.

Several edits are placed on the same original and applied together or not at all. The rule: a line that stays keeps the
end it has. `\n` in an edit stands for `\r\n` too, and lines put in take the line end of their surroundings.
"""

from __future__ import annotations

import re
import stat
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from graph_agent.protocols import ToolError
from graph_agent.runtime.jsontext import is_unicode
from graph_agent.runtime.state import described
from graph_agent.tools.paths import quoted


@dataclass(frozen=True)
class TextEdit:
    """Put `new` where `old` stands. `new` is literal; "" takes the text out."""

    old: str = described("the lines to be replaced, exactly as they stand in the file; they must occur once")
    new: str = described("what shall stand there instead")


class Change(NamedTuple):
    """`text[start:end]` shall read `new`."""

    start: int
    end: int
    new: str


def edited(text: str, edits: Sequence[TextEdit], name: str) -> str:
    """The text after all edits. Raises ToolError: bad_arguments (no edits), overlap, and what `placed` raises."""
    if not edits:
        raise ToolError("bad_arguments", f"No edits were given for {quoted(name)}.", hint="Give at least one.")
    changes = sorted(placed(text, edit, name) for edit in edits)
    for before, after in pairwise(changes):
        if after.start < before.end:
            lines = (line_of(text, before.start), line_of(text, after.start))
            message = f"Two edits of {quoted(name)}, of lines {lines[0]} and {lines[1]}, overlap."
            raise ToolError("overlap", message, hint="Make one edit of them.", lines=lines)
    pieces, at = [], 0
    for change in changes:
        pieces += [text[at : change.start], change.new]
        at = change.end
    return "".join([*pieces, text[at:]])


def edited_bytes(raw: bytes, edits: Sequence[TextEdit], name: str) -> bytes:
    """The same for a file; bytes that are no UTF-8 stay. Raises ToolError: binary too."""
    mark = BOM_UTF8 if raw.startswith(BOM_UTF8) else b""
    text = raw[len(mark) :].decode("utf-8", "surrogateescape")
    if "\0" in text:
        raise ToolError("binary", f"{quoted(name)} is no text file.")
    given = "".join(edit.old + edit.new for edit in edits)
    if "\0" in given or not is_unicode(given):
        raise ToolError("bad_arguments", f"An edit of {quoted(name)} holds characters that no text file holds.")
    if not given.isascii() and not is_unicode(text):
        raise ToolError("binary", f"{quoted(name)} is not in UTF-8: only ASCII text can be changed in it.")
    return mark + edited(text, edits, name).encode("utf-8", "surrogateescape")


def placed(text: str, edit: TextEdit, name: str) -> Change:
    """Raises ToolError: empty_old, no_match, ambiguous, no_change."""
    old, new = with_line_ends(edit.old, "\n"), with_line_ends(edit.new, "\n")
    if not old.strip():
        hint = "Give in old the lines to be replaced."
        raise ToolError("empty_old", f"An edit of {quoted(name)} has no text to find.", hint=hint)
    found = places(text, edit.old)
    if not found:
        lines, hint = _closest_lines(with_line_ends(text, "\n"), old)
        raise ToolError("no_match", f"{quoted(old)} does not occur in {quoted(name)}.", hint=hint, lines=lines)
    lines = tuple(dict.fromkeys(line_of(text, start) for start, _ in found[:10]))
    if len(found) > 1:
        listed = ", ".join(map(str, lines)) + ", ..." * (len(found) > 10)
        message = f"{quoted(old)} occurs {len(found)} times in {quoted(name)}, on lines {listed}."
        hint = "Give more of the surrounding lines in old."
        raise ToolError("ambiguous", message, hint=hint, lines=lines)
    if old == new:
        raise ToolError("no_change", f"An edit of {quoted(name)} has the same text in old and new.", lines=lines)
    ((start, end),) = found
    feed = max(text.find("\n", start), text.rfind("\n", 0, start))
    near = edit.new if feed < 0 else text[feed - 1 : feed + 1]
    return Change(start, end, fitted(text[start:end], new, line_end(near)))


def places(text: str, old: str) -> list[tuple[int, int]]:
    """Where `old` starts and ends, overlapping or not; no place cuts a line end in two."""
    regex = re.compile("\r?\n".join(map(re.escape, with_line_ends(old, "\n").split("\n"))))
    found, at = [], 0
    while match := regex.search(text, at):
        if all(text[max(0, edge - 1) : edge + 1] != "\r\n" for edge in match.span()):
            found.append(match.span())
        at = match.start() + 1
    return found


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def line_end(text: str) -> str:
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"


def with_line_ends(text: str, end: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", end)


def fitted(before: str, after: str, end: str) -> str:
    """`after`, with the line ends of `before` where lines stay or take the place of others; `end` for the rest."""
    if before.count("\r\n") == (before.count("\n") if end == "\r\n" else 0):
        return with_line_ends(after, end)
    from difflib import SequenceMatcher  # few edits need it

    old, new = lines_of(before), lines_of(with_line_ends(after, "\n"))
    bare = [with_line_ends(line, "\n") for line in old]
    same = 0  # at the end: a comparison may find other lines
    while same < min(len(bare), len(new)) and bare[-1 - same] == new[-1 - same]:
        same += 1
    kept, at = [], 0
    matcher = SequenceMatcher(None, bare[: len(bare) - same], new[: len(new) - same], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        ends = [end] * (d - c) + [line_end(line) if "\n" in line else end for line in old[a:b]]
        kept += old[at:a] + [with_line_ends(line, its) for line, its in zip(new[c:d], ends[b - a :], strict=True)]
        at = b
    return "".join(kept + old[at:])


def lines_of(text: str) -> list[str]:
    """With their ends: a form feed does not end a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


@dataclass(frozen=True, kw_only=True)
class Version:
    """One side of a comparison. `raw` is None when the file is too large to be compared as text."""

    raw: bytes | None
    mode: int = 0o644


def file_diff(name: str, old: Version | None, new: Version | None) -> str:
    """The diff of one file, "" for none. A version of None is a file that is not there."""
    if old and new and old.raw is not None and old.raw == new.raw:
        return ""
    from difflib import unified_diff  # few runs need it

    before, after = quoted_name(f"a/{name}"), quoted_name(f"b/{name}")
    head = f"diff --git {before} {after}\n"
    if old is None or new is None:
        there = old or new
        mode = "100755" if there and there.mode & stat.S_IXUSR else "100644"
        head += f"{'deleted' if old else 'new'} file mode {mode}\n"
    before, after = before if old else "/dev/null", after if new else "/dev/null"
    try:
        lines = _text_lines(old), _text_lines(new)
    except ValueError:
        return f"{head}Binary files {before} and {after} differ\n"
    # A tab ends a name with spaces, or the rest would be a date.
    before, after = (f"{name}\t" if " " in name else name for name in (before, after))
    return head + "".join(map(_ended, unified_diff(*lines, before, after)))


def quoted_name(name: str) -> str:
    """A name as git writes it."""
    escaped = "".join(f"\\{ord(char):03o}" if char in '"\\\x7f' or char < " " else char for char in name)
    return name if escaped == name else f'"{escaped}"'


def _closest_lines(text: str, wanted: str) -> tuple[tuple[int, ...], str]:
    from difflib import get_close_matches

    # Comparing costs about 50 µs a line.
    lines = [line[:200] for line in text.split("\n")[:3000]]
    sought = [line[:200] for line in wanted.strip("\n").split("\n")[:6]]
    key = max(range(len(sought)), key=lambda index: len(sought[index].strip()))
    bare = [line.strip() for line in lines]
    close = get_close_matches(sought[key].strip(), bare, n=1)
    if not close:
        return (), "Read the file again and copy the lines to be replaced exactly."
    first = max(0, bare.index(close[0]) - key) + 1
    block = range(first, min(len(lines) + 1, first + len(sought)))
    return tuple(block), "The closest lines are:\n" + "\n".join(f"{number}: {lines[number - 1]}" for number in block)


def _text_lines(side: Version | None) -> list[str]:
    if side is None:
        return []
    if side.raw is None or b"\0" in side.raw:
        raise ValueError("no text")
    return lines_of(side.raw.decode("utf-8"))


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
