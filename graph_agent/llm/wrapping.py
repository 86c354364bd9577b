"""What a model wraps around its answer: a block of reasoning before it, Markdown fences about it.

Here the wrapping is found and taken off, and the answer within is left as it is. The rule: a tag or a fence that
stands inside a fence is part of the answer, not of the wrapping.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_OPENING = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*?)[ \t]*\r?$", re.MULTILINE)
_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


class Fence(NamedTuple):
    """A fenced block: what its first line says after the marks, the lines within, and where all of it stands."""

    label: str
    body: str
    start: int
    end: int
    closed: bool


def fences(text: str) -> tuple[Fence, ...]:
    """The fenced blocks, in order. A block that is never closed goes to the end of the text."""
    found: list[Fence] = []
    opening = _OPENING.search(text)
    while opening:
        fence = _fence(text, opening)
        found.append(fence)
        opening = _OPENING.search(text, fence.end)
    return tuple(found)


def after_reasoning(text: str) -> str:
    """The text without `<think>` and `<thinking>` blocks: closed, several, never closed, or only closed.

    A closing tag without an opening one ends reasoning that began with the text: some servers take off the first tag.
    """
    kept, at = "", 0
    while tag := _next_tag(text, at):
        if tag.group(1):
            kept, at = "", tag.end()
            continue
        kept += text[at : tag.start()]
        closing = next((other for other in _TAG.finditer(text, tag.end()) if other.group(1)), None)
        if closing is None:
            return kept
        at = closing.end()
    return kept + text[at:]


def _fence(text: str, opening: re.Match[str]) -> Fence:
    marks, label = opening.groups()
    body = min(opening.end() + 1, len(text))
    closing = re.compile(rf"^[ \t]*{re.escape(marks)}{re.escape(marks[0])}*[ \t]*\r?$", re.MULTILINE).search(text, body)
    if closing is None:
        return Fence(label, text[body:], opening.start(), len(text), False)
    return Fence(label, text[body : closing.start()], opening.start(), closing.end(), True)


def _next_tag(text: str, start: int) -> re.Match[str] | None:
    """The first tag at or after `start` that is not within a closed fence."""
    tag, at = _TAG.search(text, start), start
    while tag and (opening := _OPENING.search(text, at, tag.start())):
        fence = _fence(text, opening)
        at = fence.end if fence.closed else opening.end()
        if at > tag.start():
            tag = _TAG.search(text, at)
    return tag
