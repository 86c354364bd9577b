"""A document cut into passages: what a search finds and shows.

The rule: a passage is whole lines, word for word, at most 12 and 700 characters, and 3 at least where the section has
them; it ends where a paragraph or a section ends. Only what is longer by itself is cut, at the end of a line or, within
one long line, of a sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from graph_agent.tools.sentences import sentences

ENOUGH_LINES, MOST_LINES, MOST_CHARACTERS = 5, 12, 700


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `first` to `last` of a document, from 1, and the nearest heading at or above them."""

    text: str
    first: int
    last: int
    heading: str = ""


def passages(text: str) -> list[Passage]:
    """All of a text but what is empty, and headings with nothing below."""
    lines = text.split("\n")
    said = sentences(text)
    headings = {sentence.first: sentence.text for sentence in said if sentence.heading}
    stated = {sentence.last: sentence.first for sentence in reversed(said) if not sentence.heading}
    at, found = sorted(headings), list[Passage]()
    for first, last in _spans(lines, set(headings), stated):
        above = bisect_right(at, first)
        heading = headings[at[above - 1]] if above else ""
        found += [Passage(piece, first, last, heading) for piece in _pieces("\n".join(lines[first - 1 : last]))]
    return found


def _spans(lines: list[str], headings: set[int], stated: dict[int, int]) -> Iterator[tuple[int, int]]:
    """First and last lines: paragraphs put together until they are enough; a heading begins anew."""
    start = stop = 0
    for first, last in _paragraphs(lines, stated):
        enough = stop - start + 1 >= ENOUGH_LINES and any(line in stated for line in range(start, stop + 1))
        full = last - start >= MOST_LINES or sum(len(line) + 1 for line in lines[start - 1 : last]) > MOST_CHARACTERS
        section = first in headings and not _only_headings(lines, headings, start, stop)
        if start and (enough or full or section):
            yield start, stop
            start = 0
        start, stop = start or first, last
    if start and not _only_headings(lines, headings, start, stop):
        yield start, stop


def _only_headings(lines: list[str], headings: set[int], first: int, last: int) -> bool:
    return all(n in headings or not any(map(str.isalnum, lines[n - 1])) for n in range(max(1, first), last + 1))


def _paragraphs(lines: list[str], stated: dict[int, int]) -> Iterator[tuple[int, int]]:
    """First and last lines. What is too long for a passage is cut where a sentence ends, and goes on with the line in
    which the next begins. `stated`: the last lines of sentences, and the first line of the first that ends there."""
    first = size = 0
    for number, line in enumerate([*lines, ""], 1):
        ends = not line.strip()
        if first and (ends or number - first >= MOST_LINES or size + len(line) + 1 > MOST_CHARACTERS):
            last = number - 1
            if not ends:
                last = next((at for at in range(number - 1, first, -1) if at in stated), last)
            yield first, last
            first = size = 0
            if not ends:
                first = next((stated[at] for at in sorted(stated) if at > last and stated[at] <= last), last + 1)
                size = sum(len(lines[at - 1]) + 1 for at in range(first, number))
        if not ends:
            first = first or number
            size += len(line) + 1


def _pieces(text: str) -> Iterator[str]:
    text = text.strip("\n")
    while len(text) > MOST_CHARACTERS:
        head = text[:MOST_CHARACTERS]
        stops = [found.end() for found in re.finditer(r"[.!?](?=\s)|[\u3002\uff01\uff1f]", head)]
        spaces = [found.start() for found in re.finditer(r"\s", head)]
        cut = next((ends[-1] for ends in (stops, spaces) if ends and ends[-1] > MOST_CHARACTERS // 3), MOST_CHARACTERS)
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    if text:
        yield text
