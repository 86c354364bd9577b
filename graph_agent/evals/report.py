"""What the runs of an evaluation come to: per workflow and tier, each main figure with its counter-figure and spread.

Success stands beside steps and turns, replans beside tokens, visible passes beside held-out passes: a figure alone can
be bought with the other. The rule: pure, and the same runs give the same report in any order of their making.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from graph_agent.evals.forms import PROPERTIES
from graph_agent.evals.ran import Ran
from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError

FORMAT = 1
COSTS = ("steps", "turns", "calls", "tokens", "replans")


class BaselineError(GraphAgentError):
    """A file that is no saved evaluation, or one of another format."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A median over all runs, and the least and the most of the medians of each repeat."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """One tier of one workflow. `least` and `most`: the share of success in the worst and in the best repeat.

    `visible` and `held_out` are (passes, of runs that have such tests).
    """

    workflow: str
    tier: int
    tasks: int
    scripted: int
    runs: int
    held: int
    least: float
    most: float
    costs: dict[str, Spread]
    visible: tuple[int, int]
    held_out: tuple[int, int]
    broken: int


@dataclass(frozen=True, kw_only=True)
class PropertyRow:
    """One property of nodes on fixed states: how often it holds, what it took, and the tasks where it does not."""

    name: str
    held: int
    runs: int
    calls: Spread
    failing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """An evaluation as it is saved. `tasks`: the fingerprint of each task; `scripted`: those that a script answers."""

    format: Literal[1] = 1
    model: str
    repeat: int
    tasks: dict[str, str]
    scripted: tuple[str, ...] = ()
    runs: tuple[Ran, ...] = field(default=())

    @property
    def missed(self) -> tuple[Ran, ...]:
        return tuple(one for one in self.runs if not one.held)

    def of(self, task: str) -> tuple[Ran, ...]:
        return tuple(one for one in self.runs if one.task == task)


def saved(data: Any) -> Evaluated:
    """An evaluation from the JSON that one was saved as. Raises `BaselineError`."""
    known = {name: data[name] for name in _KEPT if name in data} if isinstance(data, dict) else data
    try:
        found: Evaluated = decode(Evaluated, known)
    except CodecError as error:
        raise BaselineError(f"it is no saved evaluation of format {FORMAT}: {error}") from error
    return found


def data_of(evaluated: Evaluated) -> dict[str, Any]:
    """As it is saved: the runs and, to be read by others, the rows."""
    data: Any = encode(evaluated)
    return {
        **data,
        "tiers": [encode(row) for row in rows_of(evaluated)],
        "properties": [encode(row) for row in properties_of(evaluated)],
    }


_KEPT = ("format", "model", "repeat", "tasks", "scripted", "runs")


def rows_of(evaluated: Evaluated) -> tuple[Row, ...]:
    """A row for each tier of each workflow; nodes have rows of their own."""
    runs = [one for one in evaluated.runs if one.workflow != "node"]
    groups = sorted({(one.workflow, one.tier) for one in runs})
    return tuple(_row(evaluated, [one for one in runs if (one.workflow, one.tier) == group]) for group in groups)


def properties_of(evaluated: Evaluated) -> tuple[PropertyRow, ...]:
    """A row for each property that some task asks for. A run that crashed holds none of its task's."""
    nodes = [one for one in evaluated.runs if one.workflow == "node"]
    asked = {one.task: set(one.properties) for one in nodes if one.properties}
    found = []
    for name in PROPERTIES:
        some = [one for one in nodes if name in asked.get(one.task, ())]
        if some:
            failing = sorted({one.task for one in some if not one.properties.get(name)})
            held = sum(one.properties.get(name, False) for one in some)
            calls = spread(some, lambda one: one.calls)
            row = PropertyRow(name=name, held=held, runs=len(some), calls=calls, failing=tuple(failing))
            found.append(row)
    lost = sorted({one.task for one in nodes} - asked.keys())
    if lost:
        zero = Spread(median=0, least=0, most=0)
        runs = sum(one.task in lost for one in nodes)
        found.append(PropertyRow(name="comes to an end", held=0, runs=runs, calls=zero, failing=tuple(lost)))
    return tuple(found)


def spread(runs: Iterable[Ran], figure: Callable[[Ran], float]) -> Spread:
    """Over the runs of which figures are known; zeros where there is none."""
    known = [one for one in runs if one.has_figures]
    by_repeat = [
        median(figure(one) for one in known if one.repeat == number) for number in sorted({one.repeat for one in known})
    ]
    if not by_repeat:
        return Spread(median=0, least=0, most=0)
    middle = median(figure(one) for one in known)
    return Spread(median=float(middle), least=float(min(by_repeat)), most=float(max(by_repeat)))


def _row(evaluated: Evaluated, runs: Sequence[Ran]) -> Row:
    tasks = {one.task for one in runs}
    shares = [
        _share([one.held for one in runs if one.repeat == number]) for number in sorted({one.repeat for one in runs})
    ]
    return Row(
        workflow=runs[0].workflow,
        tier=runs[0].tier,
        tasks=len(tasks),
        scripted=len(tasks & set(evaluated.scripted)),
        runs=len(runs),
        held=sum(one.held for one in runs),
        least=min(shares),
        most=max(shares),
        costs={name: spread(runs, lambda one, name=name: getattr(one, name)) for name in COSTS},  # type: ignore[misc]
        visible=_passes(one.visible for one in runs),
        held_out=_passes(one.held_out for one in runs),
        broken=sum(not one.has_figures for one in runs),
    )


def _passes(said: Iterable[str]) -> tuple[int, int]:
    known = [one for one in said if one]
    return known.count("pass"), len(known)


def _share(held: Sequence[bool]) -> float:
    return sum(held) / len(held)
