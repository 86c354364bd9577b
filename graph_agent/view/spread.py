"""How figures spread: percentiles, and small bars for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of some figures: their number, sum and mean, the middle one, the one that nine in ten do not exceed, the most."""

    count: int
    total: float
    mean: float
    p50: float
    p90: float
    most: float


def spread(figures: Iterable[float]) -> Spread:
    """Percentiles by the nearest rank, so that each is a figure that occurred; zeros for no figures."""
    sorted_ = sorted(figures)
    if not sorted_:
        return Spread(count=0, total=0, mean=0, p50=0, p90=0, most=0)
    total = sum(sorted_)
    p50, p90 = (sorted_[max(0, ceil(share * len(sorted_)) - 1)] for share in (0.5, 0.9))
    return Spread(count=len(sorted_), total=total, mean=total / len(sorted_), p50=p50, p90=p90, most=sorted_[-1])


def bars(counts: Mapping[str, float], *, width: int = 30, plain: bool = False) -> list[str]:
    """A line for each count: its name, a bar as long as its share of the largest, the count and its share of all.

    `plain`: nothing but ASCII.
    """
    if not counts:
        return []
    largest, everything = max(counts.values()) or 1, sum(counts.values()) or 1
    names = max(map(len, counts))
    return [
        f"{name:<{names}}  {_bar(count / largest, width, plain):<{width}}  {count:g} ({count / everything:.0%})"
        for name, count in counts.items()
    ]


def _bar(share: float, width: int, plain: bool) -> str:
    if plain:
        return "#" * max(round(share * width), int(share > 0))
    whole, rest = divmod(max(round(share * width * 8), int(share > 0)), 8)
    return "\u2588" * whole + (EIGHTHS[rest] if rest else "")
