"""How a run of `repair` ended, and what that is called: the exit code, the status, the reason, what to do next."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from graph_agent.cli.exits import DONE, FAILED, FUSE, WAITING
from graph_agent.cli.models import is_offline
from graph_agent.runtime.errors import RunError, StepLimitReached
from graph_agent.workflows.repair.state import Stage, TaskState


@dataclass
class Outcome:
    """How a run ended: by itself, with an error of the graph, or interrupted (the exit code then).

    `applied` are the files brought to the workspace, `refused` is why a verified patch was not brought there.
    """

    state: TaskState
    error: RunError | None = None
    interrupted: int = 0
    applied: tuple[str, ...] = ()
    refused: str = ""

    @property
    def code(self) -> int:
        if self.interrupted:
            return self.interrupted
        if self.error is not None:
            return FUSE if isinstance(self.error, StepLimitReached) else FAILED
        if self.refused:
            return FAILED
        return {Stage.DONE: DONE, Stage.HUMAN: WAITING}.get(self.state.stage, FAILED)

    @property
    def status(self) -> str:
        """A word for programs: done, human, failed, fuse or interrupted."""
        if self.interrupted:
            return "interrupted"
        return {DONE: "done", WAITING: "human", FUSE: "fuse"}.get(self.code, "failed")

    @property
    def title(self) -> str:
        """The status for people."""
        return {"human": "waiting for a person", "fuse": "stopped by the last fuse"}.get(self.status, self.status)

    @property
    def reason(self) -> str:
        """Why the run ended so, in a sentence."""
        state = self.state
        if self.interrupted and state.stage not in (Stage.DONE, Stage.HUMAN, Stage.FAILED):
            return f"during {state.stage.value}, after {state.steps} steps, all of which are kept"
        if self.error is not None:
            return str(self.error)
        return f"verified, but not applied: {self.refused}" if self.refused else state.route_reason


def next_things(options: argparse.Namespace, outcome: Outcome, folder: Path) -> list[str]:
    """What the user can do now, as commands where there is one."""
    state, patch = outcome.state, shlex.quote(str(folder / "patch.diff"))
    by_hand = f"apply it: patch -p1 -d {shlex.quote(options.workspace)} < {patch}"
    if outcome.applied:
        return [f"applied to {options.workspace}: {', '.join(outcome.applied)}"]
    if outcome.refused:
        return [by_hand, f"or repair what is there now: {_again(options)}"]
    if outcome.code == DONE:
        return [by_hand, f"or: {_again(options, '--apply')}"]
    if state.stage is Stage.FAILED and not outcome.interrupted:
        return [f"say what is wanted: {_again(options, '--request', 'TEXT')}"]
    if outcome.code != WAITING:
        return [f"to start again: {_again(options)}"]
    return _for_a_person(options, state, folder)


def _for_a_person(options: argparse.Namespace, state: TaskState, folder: Path) -> list[str]:
    verified = state.verification is not None
    if state.max_turns is not None and state.spent_turns >= state.max_turns:
        return [f"to allow more: {_again(options, '--turns', str(2 * max(6, state.max_turns)))}"]
    if verified and state.came_from is Stage.VERIFY and state.retries >= state.max_retries:
        return [f"to allow more: {_again(options, '--retries', str(2 * max(1, state.max_retries)))}"]
    if state.came_from is Stage.DIAGNOSE:
        return [f"name the command whose tests fail: {_again(options, '--test', 'CMD')}"]
    if state.came_from is Stage.INTAKE:
        return [
            f"ask for something else, or allow other files: {_again(options, '--request', 'TEXT', '--allow', 'GLOB')}"
        ]
    tried = f"what was tried stands in {folder / 'trace.jsonl'}"
    if is_offline(options):
        return [tried, f"a model may see more: {_again(options, '--model', 'URL', '--model-name', 'NAME')}"]
    return [tried, f"say more of what is wanted: {_again(options, '--request', 'TEXT')}"]


def _again(options: argparse.Namespace, *more: str) -> str:
    """The user's own command once more; of a number or text that is given twice the last one counts."""
    return shlex.join(["python3", "-m", "graph_agent", *options.words, *more])
