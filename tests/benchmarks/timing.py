"""Times that can be compared on a noisy machine: all runs take turns, round by round, and the fastest counts.

What else the machine does hits all rows alike then; a row's minimum is what its code costs when nothing disturbs it.
The median is given too: far above the minimum, it says that the machine was busy.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True)
class Times:
    """Seconds of one run: the fastest, and the median."""

    best: float
    middle: float


def interleaved(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Run each once a round, and return what one run of each takes."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            gc.collect()
            started = perf_counter()
            run()
            seconds[name].append(perf_counter() - started)
    return {name: Times(min(taken), median(taken)) for name, taken in seconds.items()}


def interpreter(code: str) -> Callable[[], object]:
    """A run of a new interpreter that executes the code, without the site's own start-up files."""
    return lambda: subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True)


def table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Aligned text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = []
    for row in [headings, *rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
