"""What a text that was not found may have meant: the lines of a file that come closest to it.

Whoever gave the text sees what really stands there, with line numbers, and can copy it. The rule: this is advice in an
error and never decides where something is written.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_LINES = 3000  # of a file, and
MAX_WIDTH = 200  # of a line: comparing costs about 50 µs a line, and an error has to come soon
MAX_QUOTED = 6

_ALIKE = 0.6  # the cut-off of difflib.get_close_matches


def closest_lines(text: str, wanted: str) -> tuple[tuple[int, ...], str]:
    """Line numbers, from 1, and a sentence that quotes them; `((), advice)` when nothing comes close."""
    lines = [line[:MAX_WIDTH] for line in text.split("\n")[:MAX_LINES]]
    sought = [line[:MAX_WIDTH] for line in wanted.strip("\n").split("\n")]
    key = max(range(len(sought)), key=lambda index: len(sought[index].strip()))
    best = _closest(lines, sought[key])
    if best is None:
        return (), "Read the file again and copy the lines to be replaced exactly."
    first = max(0, best - key)
    block = range(first, min(len(lines), first + min(len(sought), MAX_QUOTED)))
    if best not in block:
        block = range(best, best + 1)
    quoted = "\n".join(f"{number + 1}: {lines[number]}" for number in block)
    return tuple(number + 1 for number in block), f"The closest lines are:\n{quoted}"


def _closest(lines: Sequence[str], wanted: str) -> int | None:
    from difflib import SequenceMatcher  # only an error pays for it

    bare = "".join(wanted.split())
    for number, line in enumerate(lines):
        if bare and "".join(line.split()) == bare:
            return number
    best, score = None, _ALIKE
    matcher = SequenceMatcher(b=wanted.strip(), autojunk=False)
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip())
        if matcher.real_quick_ratio() >= score and matcher.quick_ratio() >= score and matcher.ratio() > score:
            best, score = number, matcher.ratio()
    return best
