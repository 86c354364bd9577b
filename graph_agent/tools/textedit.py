r"""Find and replace in a text, exact to the byte: where an edit belongs, and what the text is afterwards.

An edit says what stands there now and what shall stand there; it is placed only where `old` occurs exactly once, and
several edits are placed on the same original and applied together or not at all. The rule: nothing outside the
characters that differ changes, so CRLF, mixed line ends and a missing last newline stay as they were.

Line ends: `old` with `\n` matches `\r\n` too (with `\r\n` in it, a literal match comes first), and the lines put in
take the line end of their surroundings. An edit cannot change line ends alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from graph_agent.protocols import ToolError
from graph_agent.runtime.state import described
from graph_agent.runtime.textual import is_unicode
from graph_agent.tools.closest import closest_lines
from graph_agent.tools.files import BOM
from graph_agent.tools.lineends import PlainView, fitted, line_of
from graph_agent.tools.paths import quoted


@dataclass(frozen=True)
class TextEdit:
    """Put `new` where `old` stands. `new` is literal; "" takes the text out."""

    old: str = described("the lines to be replaced, exactly as they stand in the file; they must occur once")
    new: str = described("what shall stand there instead")


class Change(NamedTuple):
    """`text[start:end]` shall read `new`: an edit by position."""

    start: int
    end: int
    new: str


def edited(text: str, edits: Sequence[TextEdit], name: str) -> str:
    """The text after all edits; `name` is the file's, for messages.

    Raises ToolError: bad_arguments (no edits), empty_old, no_change, no_match, ambiguous, overlap.
    """
    if not edits:
        raise ToolError("bad_arguments", f"No edits were given for {quoted(name)}.", hint="Give at least one.")
    view = PlainView(text)
    placed = sorted((_placed(view, edit, name) for edit in edits), key=_order)
    for before, after in pairwise(placed):
        if _meet(before, after):
            raise _overlap(text, before.change, after.change, name)
    return spliced(text, (one.change for one in placed))


def edited_bytes(raw: bytes, edits: Sequence[TextEdit], name: str) -> bytes:
    """The bytes of a file after all edits: a byte-order mark stays, and so do bytes that are no UTF-8.

    Raises ToolError: binary, bad_arguments, and what `edited` raises.
    """
    mark = BOM if raw.startswith(BOM) else b""
    text = raw[len(mark) :].decode("utf-8", "surrogateescape")
    if "\0" in text:
        raise ToolError("binary", f"{quoted(name)} is no text file.")
    ascii_only = not is_unicode(text)
    for given in (part for edit in edits for part in (edit.old, edit.new)):
        if "\0" in given or not is_unicode(given):
            raise ToolError("bad_arguments", f"An edit of {quoted(name)} holds characters that no text file holds.")
        if ascii_only and not given.isascii():
            raise ToolError("binary", f"{quoted(name)} is not in UTF-8, so only ASCII text can be changed in it.")
    return mark + edited(text, edits, name).encode("utf-8", "surrogateescape")


def undone(edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits that lead back."""
    return tuple(TextEdit(edit.new, edit.old) for edit in edits)


def as_in_file(text: str, edit: TextEdit, name: str) -> TextEdit:
    """The same edit with `old` and `new` as the file has and will have them, line ends included.

    Raises ToolError: empty_old, no_change, no_match, ambiguous.
    """
    placed = _placed(PlainView(text), edit, name)
    first, last, change = placed.first, placed.last, placed.change
    return TextEdit(text[first:last], spliced(text, [change], first, last))


def has_one_place(view: PlainView, old: str) -> bool:
    """Whether an edit with this `old` is not refused as absent or ambiguous."""
    return len(_found(view, old)) == 1


def spliced(text: str, changes: Iterable[Change], start: int = 0, end: int | None = None) -> str:
    """`text[start:end]` with the changes made, which are in order and apart. Offsets are those of the whole text."""
    pieces, at = [], start
    for change in changes:
        pieces += [text[at : change.start], change.new]
        at = change.end
    return "".join([*pieces, text[at:end]])


class _Placed(NamedTuple):
    """A change of the characters that differ, and the place, `text[first:last]`, where `old` was found."""

    change: Change
    first: int
    last: int


def _placed(view: PlainView, edit: TextEdit, name: str) -> _Placed:
    old, new = (text.replace("\r\n", "\n") for text in (edit.old, edit.new))
    if not old.strip():
        raise ToolError(
            "empty_old",
            f"An edit of {quoted(name)} has no text to find.",
            hint="Give in old the lines to be replaced, as they stand in the file.",
        )
    start = _only_place(view, edit.old, name)
    if old == new:
        said = f"An edit of {quoted(name)} changes nothing: old and new are the same text."
        raise ToolError("no_change", said, lines=(line_of(view.text, start),))
    change = _narrowed(view, start, old, new, edit.new)
    return _Placed(change, view.offset(start), view.offset(start + len(old)))


def _only_place(view: PlainView, old: str, name: str) -> int:
    found = _found(view, old)
    if not found:
        lines, hint = closest_lines(view.text, old.replace("\r\n", "\n"))
        raise ToolError("no_match", f"{quoted(old)} does not occur in {quoted(name)}.", hint=hint, lines=lines)
    if len(found) > 1:
        lines = tuple(dict.fromkeys(line_of(view.text, at) for at in found))
        raise ToolError(
            "ambiguous",
            f"{quoted(old)} occurs {len(found)} times in {quoted(name)}, on lines {_listed(lines)}.",
            hint="Give more of the surrounding lines in old, so that it occurs once.",
            lines=lines,
        )
    return found[0]


def _found(view: PlainView, old: str) -> list[int]:
    """Where `old` begins in what is seen of the text."""
    if "\r\n" in old:
        exact = _places(view.raw, old)
        if len(exact) == 1 and view.splits_no_pair(exact[0], exact[0] + len(old)):
            return [view.seen(exact[0])]
    return _places(view.text, old.replace("\r\n", "\n"))


def _places(text: str, old: str) -> list[int]:
    """Where `old` begins; matches that overlap count apart."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _narrowed(view: PlainView, start: int, old: str, new: str, literal: str) -> Change:
    """The change without what old and new share at both ends, so that those bytes are not written anew."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    first, last = start + head, start + len(old) - tail
    line_end = view.line_end(first, last) or ("\r\n" if "\r\n" in literal else "\n")
    begin, end = view.offset(first), view.offset(last)
    return Change(begin, end, fitted(view.raw[begin:end], new[head : len(new) - tail], line_end))


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


def _order(placed: _Placed) -> tuple[int, int, int]:
    return placed.change.start, placed.change.end, placed.first


def _meet(before: _Placed, after: _Placed) -> bool:
    """Whether two edits change the same text. At one point both may put something in, if their places meet there."""
    if before.change[:2] == after.change[:2]:
        return before.last > after.first
    return after.change.start < before.change.end


def _overlap(text: str, before: Change, after: Change, name: str) -> ToolError:
    lines = tuple(line_of(text, change.start) for change in (before, after))
    return ToolError(
        "overlap",
        f"Two edits of {quoted(name)} change the same text, on lines {_listed(lines)}.",
        hint="Make one edit of them.",
        lines=lines,
    )


def _listed(lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:10])
    return f"{shown}, ..." if len(lines) > 10 else shown
