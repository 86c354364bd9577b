"""Lines that match a regular expression; run as a script, in a process of its own.

A pattern can make `re` run for hours and nothing can interrupt it from within, so its search is a child process that
the caller kills. The rule: this file imports nothing of the package, and gets what it searches on standard input.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence

SHOWN = 300  # characters of a line that are given back, around what was found


def matching_lines(texts: Iterable[Sequence[str]], pattern: str, limit: int) -> list[tuple[str, int, str]]:
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


if __name__ == "__main__":
    try:
        answer: object = {"hits": matching_lines(**json.load(sys.stdin))}
    except re.error as error:
        answer = {"error": f"{error.msg} at character {1 + (error.pos or 0)}"}
    except (OverflowError, RecursionError, MemoryError) as error:
        answer = {"error": f"it is too large ({type(error).__name__})"}
    json.dump(answer, sys.stdout)
