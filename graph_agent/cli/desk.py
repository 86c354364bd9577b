"""What differs between one workflow and another on this command line: its desk.

`repair` and `research` begin differently, use other tools and tell other things; all that goes on, answers, shows and
ends a run is written once, over a desk. The rule: a desk knows one workflow, the session knows none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graph_agent.cli.outcome import Outcome
from graph_agent.cli.printing import Way
from graph_agent.protocols import Context
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph
from graph_agent.runtime.journal import Run

if TYPE_CHECKING:
    from argparse import Namespace

    from graph_agent.cli.kept import Kept


@dataclass(frozen=True, kw_only=True)
class Told:
    """What `show` says of a run besides what every run has: what is spent, lines on what is asked, warnings."""

    spent: str = ""
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Desk(Protocol):
    """Of one run, with the options of the command that is carried out."""

    @property
    def graph(self) -> Graph[Any]: ...
    @property
    def name(self) -> str:
        """Of the run."""
        ...

    @property
    def policy(self) -> Any: ...
    def model(self, state: Any, /) -> Any:
        """The model that the run began with, or that the options name. Raises `UsageError`."""
        ...

    def context(self, run: Run[Any], llm: Any, /) -> Context: ...
    def limits(self) -> dict[str, int]:
        """What `resume` was told to allow, by field. Raises `UsageError` for a limit that the workflow has not."""
        ...

    def most_steps(self, state: Any, /) -> int:
        """The last fuse: more visits than the run can need."""
        ...

    def begin(self) -> None:
        """From here on what an earlier process left behind is no longer true."""
        ...

    def line(self, event: Event, /) -> str:
        """A step, in a line."""
        ...

    def settle(self, outcome: Outcome, ctx: Context | None, /) -> None:
        """Put what came of the run where it belongs. `ctx` is None where only the end is told once more."""
        ...

    def ways(self, outcome: Outcome, /, *, brief: bool) -> list[Way]:
        """How the run goes on, the likeliest last; `brief`: of several answers the likeliest alone."""
        ...

    def blocks(self, outcome: Outcome, /) -> list[str]: ...
    def ending(self, outcome: Outcome, ways: list[Way], /) -> str: ...
    def data(self, outcome: Outcome, ways: list[Way], /) -> dict[str, Any]: ...
    def told(self, state: Any, /) -> Told: ...


_DESKS = {
    "repair": "graph_agent.cli.repair_desk:RepairDesk",
    "research": "graph_agent.cli.research_desk:ResearchDesk",
}


def desk_of(options: Namespace, kept: Kept, *, to_go_on: bool = False) -> Desk:
    """The desk of a stored run. Raises `UsageError`, `SetupError`; `to_go_on`: what it works with must be there."""
    module, _, name = _DESKS[kept.workflow].partition(":")
    desk: Desk = getattr(import_module(module), name).of(options, kept, to_go_on=to_go_on)
    return desk


def fill_fork(kept: Kept, raw: Mapping[str, Any], child: Path) -> None:
    """What a workflow keeps beside the journal, as it was at a step, for a new run in `child`."""
    module, _, name = _DESKS[kept.workflow].partition(":")
    getattr(import_module(module), name).fill_fork(kept, raw, child)
