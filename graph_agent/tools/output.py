"""What a command printed, kept within a bound and made safe to show.

A program may print a gigabyte, in one line, with bytes that are no text. The head and the tail are kept because the
command's own words stand at the front and the failure at the end. The one rule: memory does not grow with the output,
and whatever was left out is counted and said.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder

LEAST_LIMIT = 200
_LINE = 500  # how far from a cut a line's end is looked for


class HeadAndTail:
    """The first and the last bytes of a stream, at most `limit` of them, and how many were dropped between."""

    def __init__(self, limit: int) -> None:
        if limit < LEAST_LIMIT:
            raise ValueError(
                f"an output limit of {limit} bytes leaves no room for a message: give {LEAST_LIMIT} or more"
            )
        self._half = limit // 2
        self._head, self._tail, self._lost = bytearray(), bytearray(), 0

    def add(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 4 * self._half:  # cut seldom: moving the tail for each small write would be quadratic
            self._cut()

    def text(self) -> tuple[str, int]:
        """The output as printable text, with a marker where bytes are missing, and the number of missing bytes."""
        self._cut()
        if not self._lost:
            return printable(bytes(self._head + self._tail)), 0
        head, tail = _whole_end(bytes(self._head)), _whole_start(bytes(self._tail))
        dropped = self._lost + len(self._head) - len(head) + len(self._tail) - len(tail)
        return f"{printable(head)}\n[... {dropped} bytes dropped ...]\n{printable(tail)}", dropped

    def _cut(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            del self._tail[:over]
            self._lost += over


def printable(raw: bytes) -> str:
    """`raw` as text for people, models and JSON: terminal commands out, control characters as visible signs."""
    text = raw.decode("utf-8", "replace")
    text = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _INVISIBLE.sub(_sign, text)


_TERMINAL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movement
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # window titles and links
    r"|\x1b[()*+][0-9A-Za-z]|\x1b[=>@-Z\\^_]"
)
# Besides control characters: line separators and the marks that turn the reading direction, which can make a
# reviewer see another text than the one that is there.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def _whole_end(head: bytes) -> bytes:
    """`head` without the half line at its end; of one long line, without the half character."""
    line = head.rfind(b"\n", max(0, len(head) - _LINE))
    if line > 0:
        return head[:line]
    decoder = getincrementaldecoder("utf-8")("replace")
    decoder.decode(head)
    return head[: len(head) - len(decoder.getstate()[0])]


def _whole_start(tail: bytes) -> bytes:
    """The same at the other side of the gap."""
    line = tail.find(b"\n", 0, _LINE)
    if line >= 0:
        return tail[line + 1 :]
    start = 0
    while start < 3 and start < len(tail) and 0x80 <= tail[start] < 0xC0:
        start += 1
    return tail[start:]
