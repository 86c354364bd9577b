r"""Find and replace in a text, exact to the byte: where an edit belongs, and what the text is afterwards.

An edit says what stands there now and what shall stand there; it is placed only where `old` occurs exactly once, and
several edits are placed on the same original and applied together or not at all. The rule: nothing outside the
characters that differ changes, so CRLF, mixed line ends and a missing last newline stay as they were.

Line ends: `old` with `\n` matches `\r\n` too (with `\r\n` in it, a literal match comes first), and the lines put in
take the line end of their surroundings. An edit cannot change line ends alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from graph_agent.protocols import ToolError
from graph_agent.runtime.state import described
from graph_agent.tools.closest import closest_lines
from graph_agent.tools.files import BOM
from graph_agent.tools.paths import quoted


@dataclass(frozen=True)
class TextEdit:
    """Put `new` where `old` stands. `new` is literal; "" takes the text out."""

    old: str = described("the lines to be replaced, exactly as they stand in the file; they must occur once")
    new: str = described("what shall stand there instead")


def edited(text: str, edits: Sequence[TextEdit], name: str) -> str:
    """The text after all edits; `name` is the file's, for messages.

    Raises ToolError: bad_arguments (no edits), empty_old, no_change, no_match, ambiguous, overlapping.
    """
    if not edits:
        raise ToolError("bad_arguments", f"No edits were given for {quoted(name)}.", hint="Give at least one.")
    view = _View(text)
    changes = sorted(_placed(view, edit, name) for edit in edits)
    for before, after in pairwise(changes):
        if after.start < before.end or (after.start, after.end) == (before.start, before.end):
            raise _overlap(view, before, after, name)
    pieces, done = [], 0
    for change in changes:
        pieces += [text[done : change.start], change.new]
        done = change.end
    return "".join([*pieces, text[done:]])


def edited_bytes(raw: bytes, edits: Sequence[TextEdit], name: str) -> bytes:
    """The bytes of a file after all edits: a byte-order mark stays, and so do bytes that are no UTF-8.

    Raises ToolError: binary, bad_arguments, and what `edited` raises.
    """
    mark = BOM if raw.startswith(BOM) else b""
    text = raw[len(mark) :].decode("utf-8", "surrogateescape")
    if "\0" in text:
        raise ToolError("binary", f"{quoted(name)} is no text file.")
    ascii_only = not _encodes(text)
    for given in (part for edit in edits for part in (edit.old, edit.new)):
        if "\0" in given or not _encodes(given):
            raise ToolError("bad_arguments", f"An edit of {quoted(name)} holds characters that no text file holds.")
        if ascii_only and not given.isascii():
            raise ToolError("binary", f"{quoted(name)} is not in UTF-8, so only ASCII text can be changed in it.")
    return mark + edited(text, edits, name).encode("utf-8", "surrogateescape")


def undone(edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits that lead back."""
    return tuple(TextEdit(edit.new, edit.old) for edit in edits)


@dataclass(frozen=True, order=True)
class _Change:
    """Replace `text[start:end]`, in characters of the text as it is, by `new` as it will be."""

    start: int
    end: int
    new: str


class _View:
    r"""A text with every `\r\n` seen as `\n`, and the way back to its own offsets."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.text = text.replace("\r\n", "\n")
        self._pairs: list[int] = []
        at = text.find("\r\n")
        while at >= 0:
            self._pairs.append(at - len(self._pairs))
            at = text.find("\r\n", at + 2)

    def offset(self, at: int) -> int:
        return at + bisect_left(self._pairs, at)

    def seen(self, offset: int) -> int:
        return len(self.raw[:offset].replace("\r\n", "\n"))

    def splits_no_pair(self, *offsets: int) -> bool:
        return all(self.raw[max(0, at - 1) : at + 1] != "\r\n" for at in offsets)

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def line_end(self, start: int, end: int) -> str | None:
        """The line end in or after a stretch of the text, else the one before it, None when there is none."""
        at = self.text.find("\n", start)
        if at < 0:
            at = self.text.rfind("\n", 0, end)
        if at < 0:
            return None
        return "\r\n" if self.raw[self.offset(at)] == "\r" else "\n"


def _placed(view: _View, edit: TextEdit, name: str) -> _Change:
    old, new = (text.replace("\r\n", "\n") for text in (edit.old, edit.new))
    if not old.strip():
        raise ToolError(
            "empty_old",
            f"An edit of {quoted(name)} has no text to find.",
            hint="Give in old the lines to be replaced, as they stand in the file.",
        )
    if old == new:
        raise ToolError("no_change", f"An edit of {quoted(name)} changes nothing: old and new are the same text.")
    start = _only_place(view, edit.old, old, name)
    return _narrowed(view, start, old, new, edit.new)


def _only_place(view: _View, literal: str, old: str, name: str) -> int:
    if "\r\n" in literal:
        exact = _places(view.raw, literal)
        if len(exact) == 1 and view.splits_no_pair(exact[0], exact[0] + len(literal)):
            return view.seen(exact[0])
    found = _places(view.text, old)
    if not found:
        lines, hint = closest_lines(view.text, old)
        raise ToolError("no_match", f"{quoted(old)} does not occur in {quoted(name)}.", hint=hint, lines=lines)
    if len(found) > 1:
        lines = tuple(dict.fromkeys(view.line(at) for at in found))
        raise ToolError(
            "ambiguous",
            f"{quoted(old)} occurs {len(found)} times in {quoted(name)}, on lines {_listed(lines)}.",
            hint="Give more of the surrounding lines in old, so that it occurs once.",
            lines=lines,
        )
    return found[0]


def _places(text: str, old: str) -> list[int]:
    """Where `old` begins; matches that overlap count apart."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _narrowed(view: _View, start: int, old: str, new: str, literal: str) -> _Change:
    """The change without what old and new share at both ends, so that those bytes are not written anew."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    first, last = start + head, start + len(old) - tail
    put = new[head : len(new) - tail]
    line_end = view.line_end(first, last) or ("\r\n" if "\r\n" in literal else "\n")
    return _Change(view.offset(first), view.offset(last), put.replace("\n", line_end))


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # halving, as a slice is compared in C and a whole file may be one edit
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _overlap(view: _View, before: _Change, after: _Change, name: str) -> ToolError:
    lines = tuple(view.line(view.seen(change.start)) for change in (before, after))
    return ToolError(
        "overlapping",
        f"Two edits of {quoted(name)} change the same text, on lines {_listed(lines)}.",
        hint="Make one edit of them.",
        lines=lines,
    )


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _listed(lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:10])
    return f"{shown}, ..." if len(lines) > 10 else shown
