"""How figures spread: percentiles, and small bars for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"
LONGEST, SHORTEST = 30, 4  # characters of a bar


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of some figures: their number, sum and mean, the middle one, the one that nine in ten do not exceed, the most."""

    count: int
    total: float
    mean: float
    p50: float
    p90: float
    max: float


def spread(figures: Iterable[float]) -> Spread:
    """Percentiles by the nearest rank, so that each is a figure that occurred; zeros for no figures."""
    sorted_ = sorted(figures)
    if not sorted_:
        return Spread(count=0, total=0, mean=0, p50=0, p90=0, max=0)
    total = sum(sorted_)
    p50, p90 = (sorted_[max(0, ceil(share * len(sorted_)) - 1)] for share in (0.5, 0.9))
    return Spread(count=len(sorted_), total=total, mean=total / len(sorted_), p50=p50, p90=p90, max=sorted_[-1])


def bars(counts: Mapping[str, float], *, width: int = 80, plain: bool = False) -> list[str]:
    """A line for each count: its name, a bar as long as its share of the largest, the count and its share of all.

    At most `width` wide where that can be; `plain`: nothing but ASCII.
    """
    if not counts:
        return []
    largest, everything = max(counts.values()) or 1, sum(counts.values()) or 1
    told = [f"{shown(count)} ({count / everything:.0%})" for count in counts.values()]
    room = width - max(map(len, told)) - 4  # two spaces on either side of the bar
    names = [_cut(name, max(4, room - SHORTEST), plain) for name in counts]
    widest = max(map(len, names))
    bar = max(SHORTEST, min(LONGEST, room - widest))
    return [
        f"{name:<{widest}}  {_bar(count / largest, bar, plain):<{bar}}  {text}"
        for name, count, text in zip(names, counts.values(), told, strict=True)
    ]


def shown(figure: float) -> str:
    """Three digits that count, all those before the point, and never an exponent."""
    if figure == round(figure) or figure >= 100:
        return f"{figure:.0f}"
    if figure >= 1:
        return f"{figure:.3g}"
    return f"{figure:.3f}".rstrip("0") if figure >= 0.0005 else "<0.001"


def _cut(name: str, most: int, plain: bool) -> str:
    line = "".join(char if char.isprintable() and (char.isascii() or not plain) else "?" for char in name)
    return line if len(line) <= most else f"{line[: most - 2]}.."


def _bar(share: float, width: int, plain: bool) -> str:
    if plain:
        return "#" * max(round(share * width), int(share > 0))
    whole, rest = divmod(max(round(share * width * 8), int(share > 0)), 8)
    return "\u2588" * whole + (EIGHTHS[rest] if rest else "")
