"""Search the texts of a workspace for a text or, in a process that can be killed, for a regular expression.

The rule: the answer is bounded in hits, in bytes searched and in time, and it says when there is more and which files
were not searched.
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
from graph_agent.tools import linesearch
from graph_agent.tools.files import read_bytes
from graph_agent.tools.paths import Place, quoted

MAX_PATTERN = 1000
MAX_BYTES = 20_000_000  # of all files together


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
        found = linesearch.matching_lines(texts, re.escape(wanted), limit + 1)
    hits = tuple(Hit(path=path, line=line, text=text) for path, line, text in found[:limit])
    return Found(hits=hits, more=len(found) > limit, skipped=tuple(skipped))


def _in_a_process(
    texts: Sequence[tuple[str, str]], pattern: str, limit: int, seconds: float
) -> Sequence[tuple[str, int, str]]:
    asked = json.dumps({"texts": texts, "pattern": pattern, "limit": limit}).encode("ascii")
    argv = [sys.executable, "-I", linesearch.__file__]
    try:
        done = subprocess.run(argv, input=asked, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        hint = "Search for plain text, or for a pattern without repeats inside repeats."
        message = f"The pattern {quoted(pattern)} was given up after {seconds:g} s."
        raise ToolError("timeout", message, hint=hint) from None
    answer: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"error": "the search broke off"}
    if "error" in answer:
        message = f"{quoted(pattern)} is no usable regular expression: {answer['error']}."
        raise ToolError("bad_pattern", message, hint="Search without regex to find the text itself.")
    hits: Sequence[tuple[str, int, str]] = answer["hits"]
    return hits
