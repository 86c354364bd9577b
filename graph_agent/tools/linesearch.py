"""Lines that hold a text or match a regular expression; run as a script, it does the latter in a process of its own.

A pattern can make `re` run for hours and nothing can interrupt it from within, so the search for one is a child process
that the caller kills when its time is up. The rule: this file imports nothing of the package, so that it starts fast
and reads no file; what it searches it gets from its caller, as JSON on standard input.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

Hit = tuple[str, int, str]
Finder = Callable[[str], "tuple[int, int] | None"]

SHOWN = 300  # characters of a line that are given back, around what was found
MEMORY = 1 << 30


def hits(texts: Iterable[Sequence[str]], find: Finder, limit: int) -> list[Hit]:
    """(path, line number from 1, line) for the first `limit` lines in which `find` finds something."""
    found: list[Hit] = []
    for path, text in texts:
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            line = line.removesuffix("\r")
            span = find(line)
            if span is not None:
                found.append((path, number, around(line, *span)))
                if len(found) == limit:
                    return found
    return found


def plain(wanted: str) -> Finder:
    def find(line: str) -> tuple[int, int] | None:
        at = line.find(wanted)
        return None if at < 0 else (at, at + len(wanted))

    return find


def around(line: str, start: int, end: int) -> str:
    """The line, or the part of a long one around what was found, with dots where something was left out."""
    if len(line) <= SHOWN:
        return line
    first = max(0, min(start - (SHOWN - (end - start)) // 2, start, len(line) - SHOWN))
    last = first + SHOWN
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"


def main() -> None:
    """Answer `{"pattern", "texts", "limit"}` with `{"hits"}` or `{"error", "at"}`."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    asked = json.load(sys.stdin)
    try:
        matcher = re.compile(asked["pattern"])
        answer: object = {"hits": hits(asked["texts"], lambda line: _span(matcher.search(line)), asked["limit"])}
    except re.error as error:
        answer = {"error": error.msg, "at": error.pos}
    except (OverflowError, RecursionError, MemoryError) as error:
        answer = {"error": f"it is too large ({type(error).__name__})", "at": None}
    json.dump(answer, sys.stdout)


def _span(match: re.Match[str] | None) -> tuple[int, int] | None:
    return None if match is None else match.span()


if __name__ == "__main__":
    main()
