r"""Line ends of a text: seen as `\n` alone while one looks for something, and put back as the text has them.

Files end their lines with `\n`, with `\r\n`, or with both mixed, and whoever writes an edit seldom knows which. The
rule: a line that stays keeps the end it has.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence


class PlainView:
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
        """The offset in the text itself of one in what is seen."""
        return at + bisect_left(self._pairs, at)

    def seen(self, offset: int) -> int:
        """The way there: the offset in what is seen."""
        return len(self.raw[:offset].replace("\r\n", "\n"))

    def splits_no_pair(self, *offsets: int) -> bool:
        r"""Whether none of these offsets in the text itself stands between a `\r` and its `\n`."""
        return all(self.raw[max(0, at - 1) : at + 1] != "\r\n" for at in offsets)

    def line_end(self, start: int, end: int) -> str | None:
        """The line end in or after a stretch of what is seen, else the one before it, None when there is none."""
        at = self.text.find("\n", start)
        if at < 0:
            at = self.text.rfind("\n", 0, end)
        if at < 0:
            return None
        return "\r\n" if self.raw[self.offset(at)] == "\r" else "\n"


def line_of(text: str, offset: int) -> int:
    """The number of the line (from 1) on which `text[offset]` stands."""
    return text.count("\n", 0, offset) + 1


def line_end(text: str) -> str:
    """The line end that is commoner in the text."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"


def with_line_ends(text: str, end: str) -> str:
    """The same lines, each ended by `end`."""
    lines = text.replace("\r\n", "\n")
    return lines if end == "\n" else lines.replace("\n", end)


def fitted(before: str, after: str, end: str) -> str:
    """`after`, where lines that `before` has too keep their line ends, and the others are ended by `end`."""
    crlf, all_of_them = before.count("\r\n"), before.count("\n")
    if crlf == (all_of_them if end == "\r\n" else 0):
        return with_line_ends(after, end)
    old, new = lines_of(before), lines_of(with_line_ends(after, "\n"))
    bare = [line.replace("\r\n", "\n") for line in old]
    kept: list[str] = []
    at = 0
    for a, b, c, d in differences(bare, new):
        kept += [*old[at:a], with_line_ends("".join(new[c:d]), end)]
        at = b
    return "".join([*kept, *old[at:]])


def lines_of(text: str) -> list[str]:
    r"""The lines with their ends. Only `\n` ends a line here, alone or after a `\r`: a form feed does not."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where two lists of lines differ: old[a:b] became new[c:d]."""
    from difflib import SequenceMatcher  # few edits need it

    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return ((a, b, c, d) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal")
