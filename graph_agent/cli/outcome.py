"""How a run ended on the command line: by itself, with an error, or interrupted; and the exit code that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, FUSE, PARTIAL, WAITING
from graph_agent.runtime.errors import JournalError, RunError, StepLimitReached
from graph_agent.runtime.graph import Graph, stage_name

TITLES = {"human": "waiting for a person", "fuse": "stopped by the last fuse", "partial": "a partial answer"}


@dataclass
class Outcome:
    """`interrupted` is the exit code of a signal.

    `applied`: the files brought to a repair's workspace; `refused`: why a verified patch was not.
    """

    graph: Graph[Any]
    state: Any
    error: RunError | JournalError | OSError | None = None
    interrupted: int = 0
    applied: tuple[str, ...] = ()
    refused: str = ""

    @property
    def waits(self) -> bool:
        return self.state.stage in self.graph.pauses

    @property
    def over(self) -> bool:
        return self.state.stage in self.graph.ends

    @property
    def code(self) -> int:
        if self.interrupted:
            return self.interrupted
        if self.error is not None:
            return FUSE if isinstance(self.error, StepLimitReached) else FAILED
        if self.refused:
            return FAILED
        return WAITING if self.waits else {"done": DONE, "partial": PARTIAL}.get(stage_name(self.state.stage), FAILED)

    @property
    def status(self) -> str:
        if self.interrupted:
            return "interrupted"
        return {DONE: "done", WAITING: "human", FUSE: "fuse", PARTIAL: "partial"}.get(self.code, "failed")

    @property
    def title(self) -> str:
        return TITLES.get(self.status, self.status)

    @property
    def reason(self) -> str:
        state = self.state
        if self.interrupted and not (self.waits or self.over):
            return f"during {stage_name(state.stage)}, after {state.steps} steps, all of which are kept"
        if self.error is not None:
            return str(self.error)
        return f"verified, but not applied: {self.refused}" if self.refused else str(state.route_reason)
