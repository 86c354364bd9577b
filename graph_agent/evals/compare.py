"""An evaluation beside an earlier one: task by task, what got better, what got worse, and which runs to look at.

The rule: only tasks that are the same then and now are compared, and a figure has moved only where the runs of now
and those of then do not overlap and the medians differ by more than a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from graph_agent.evals.ran import Ran
from graph_agent.evals.report import COSTS, Evaluated

Moved: TypeAlias = Literal["better", "worse"]
NOTABLE = 0.1


@dataclass(frozen=True, kw_only=True)
class Change:
    """One figure of one task: what it was and is. `runs`: those of now to look at, by name, and why they missed."""

    task: str
    moved: Moved
    figure: str
    before: str
    now: str
    runs: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`changed`: tasks that are not what they were; `gone` and `new`: of then and of now alone. None is compared."""

    changes: tuple[Change, ...]
    same: int
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    models: tuple[str, str] = ("", "")

    @property
    def better(self) -> tuple[Change, ...]:
        return tuple(one for one in self.changes if one.moved == "better")

    @property
    def worse(self) -> tuple[Change, ...]:
        return tuple(one for one in self.changes if one.moved == "worse")


def compared(before: Evaluated, now: Evaluated) -> Comparison:
    both = sorted(before.tasks.keys() & now.tasks.keys())
    alike = [name for name in both if before.tasks[name] == now.tasks[name]]
    changes = tuple(change for name in alike for change in _changes(name, before.of(name), now.of(name)))
    return Comparison(
        changes=changes,
        same=len(alike) - len({one.task for one in changes}),
        changed=tuple(name for name in both if name not in alike),
        gone=tuple(sorted(before.tasks.keys() - now.tasks.keys())),
        new=tuple(sorted(now.tasks.keys() - before.tasks.keys())),
        models=(before.model, now.model),
    )


def _changes(task: str, before: Sequence[Ran], now: Sequence[Ran]) -> Iterator[Change]:
    """What a run costs is compared only where as many succeed as before: one that gives up early is cheap."""
    then_held, now_held = _share(before), _share(now)
    if then_held != now_held:
        missed = [one for one in now if not one.held]
        yield Change(
            task=task,
            moved="better" if now_held > then_held else "worse",
            figure="success",
            before=_counted(before),
            now=_counted(now),
            runs=tuple(one.run or f"{one.task}, repeat {one.repeat}" for one in missed),
            why=missed[0].missed[0] if missed else "",
        )
        return
    for figure in COSTS:
        yield from _cost(task, figure, before, now)


def _cost(task: str, figure: str, before: Sequence[Ran], now: Sequence[Ran]) -> Iterator[Change]:
    then = [getattr(one, figure) for one in before if one.has_figures]
    today = [getattr(one, figure) for one in now if one.has_figures]
    if not then or not today:
        return
    apart = min(today) > max(then) or max(today) < min(then)
    middle, former = median(today), median(then)
    if apart and abs(middle - former) > NOTABLE * max(former, 1):
        dearest = max(now, key=lambda one: getattr(one, figure))
        yield Change(
            task=task,
            moved="worse" if middle > former else "better",
            figure=figure,
            before=f"{former:g}",
            now=f"{middle:g}",
            runs=(dearest.run or f"{dearest.task}, repeat {dearest.repeat}",),
        )


def _share(runs: Sequence[Ran]) -> float:
    return sum(one.held for one in runs) / len(runs) if runs else 0.0


def _counted(runs: Sequence[Ran]) -> str:
    return f"{sum(one.held for one in runs)} of {len(runs)}"
