"""Search the texts of a workspace for a text or for a regular expression.

A pattern can make `re` run for hours and nothing can interrupt it from within, so one from a caller is tried in a child
process that is killed. The rule: the answer is bounded in hits, bytes and time, and says what it left out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graph_agent.protocols import ToolError
from graph_agent.tools.files import read_bytes
from graph_agent.tools.paths import Place, quoted

MAX_PATTERN = 1000
MAX_BYTES = 20_000_000  # of all files together
SHOWN = 300  # characters of a line


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line that holds what was sought; a long one is cut around it."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """The hits by path and line. `more`: there may be others. `skipped`: files too large, or not readable."""

    hits: tuple[Hit, ...]
    more: bool = False
    skipped: tuple[str, ...] = ()


def search_files(
    places: Iterable[Place], wanted: str, *, regex: bool, limit: int, max_size: int, seconds: float
) -> Found:
    """Search the plain files at these places. Raises ToolError: bad_pattern, timeout."""
    if not 0 < len(wanted) <= MAX_PATTERN or "\n" in wanted:
        hint = f"Search for a text of 1 to {MAX_PATTERN} characters on one line."
        raise ToolError("bad_pattern", f"{quoted(wanted)} cannot be searched for.", hint=hint)
    texts, skipped, left = [], [], MAX_BYTES
    for place in places:
        try:
            raw = read_bytes(place, min(max_size, left))
        except ToolError:
            skipped.append(place.name)
            continue
        left -= len(raw)
        if b"\0" not in raw:
            texts.append((place.name, raw.decode("utf-8-sig", "replace")))
    if regex:
        found = _in_a_process(texts, wanted, limit + 1, seconds)
    else:
        found = matching_lines(texts, re.escape(wanted), limit + 1)
    hits = tuple(Hit(path=path, line=line, text=text) for path, line, text in found[:limit])
    return Found(hits=hits, more=len(found) > limit, skipped=tuple(skipped))


def matching_lines(texts: Iterable[Sequence[str]], pattern: str, limit: int) -> Sequence[tuple[str, int, str]]:
    """(path, line number from 1, line) for the first `limit` lines of the (path, text) that match."""
    matcher = re.compile(pattern)
    found: list[tuple[str, int, str]] = []
    for path, text in texts:
        for number, line in enumerate(text.replace("\r\n", "\n").removesuffix("\n").split("\n"), 1):
            match = matcher.search(line)
            if match:
                found.append((path, number, around(line, match.start())))
                if len(found) == limit:
                    return found
    return found


def around(line: str, start: int) -> str:
    """The line, or the part of a long one around what was found, with dots where something was left out."""
    first = max(0, min(start - SHOWN // 2, len(line) - SHOWN))
    last = first + SHOWN
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"


def answer() -> None:
    """What the child process does: arguments of `matching_lines` on standard input, lines or an error on output."""
    try:
        found: object = {"lines": matching_lines(**json.load(sys.stdin))}
    except re.error as error:
        found = {"error": f"{error.msg} at character {1 + (error.pos or 0)}"}
    except (OverflowError, RecursionError, MemoryError) as error:
        found = {"error": f"it is too large ({type(error).__name__})"}
    json.dump(found, sys.stdout)


def _in_a_process(
    texts: Sequence[tuple[str, str]], pattern: str, limit: int, seconds: float
) -> Sequence[tuple[str, int, str]]:
    asked = json.dumps({"texts": texts, "pattern": pattern, "limit": limit}).encode("ascii")
    program = f"import sys; sys.path[:] = {sys.path}; from {__name__} import answer; answer()"
    try:
        done = subprocess.run([sys.executable, "-Ic", program], input=asked, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        hint = "Search for plain text, or for a pattern without repeats inside repeats."
        message = f"The pattern {quoted(pattern)} was given up after {seconds:g} s."
        raise ToolError("timeout", message, hint=hint) from None
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"error": "the search broke off"}
    if "error" in found:
        message = f"{quoted(pattern)} is no usable regular expression: {found['error']}."
        raise ToolError("bad_pattern", message, hint="Search without regex to find the text itself.")
    lines: Sequence[tuple[str, int, str]] = found["lines"]
    return lines
