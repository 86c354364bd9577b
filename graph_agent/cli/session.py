"""A run under way in this process: on until it stops, then said how it ended and how it goes on.

`repair`, `resume` and `answer` differ in how they begin and share this. The rule: whatever ends it, what was done is in
the journal, no command of the run is left behind, and the last line on stdout is the command that goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent.cli.applying import apply_patch_of, is_applied
from graph_agent.cli.bench import Setup, SetupError, bench_of, kept_setup
from graph_agent.cli.exits import INTERRUPTED, PIPE_CLOSED, Terminated, UsageError
from graph_agent.cli.fields import read_patch
from graph_agent.cli.kept import Kept, command_line
from graph_agent.cli.models import choice_of, model_of
from graph_agent.cli.onward import ways_on
from graph_agent.cli.options import most_steps
from graph_agent.cli.report import Outcome, Report, print_report, visible
from graph_agent.cli.runfolder import RunFolder
from graph_agent.protocols import Context, GraphAgentError, ToolError
from graph_agent.runtime.answer import answer as try_answer
from graph_agent.runtime.answer import pause_id, question
from graph_agent.runtime.errors import AnswerError, JournalError, PatchError, RunError
from graph_agent.runtime.events import Event, trace_line
from graph_agent.runtime.journal import Run
from graph_agent.runtime.resume import settle
from graph_agent.runtime.run import run_graph
from graph_agent.tools.paths import WorkspaceError
from graph_agent.tools.process import end_all
from graph_agent.tools.toolbox import Toolbox
from graph_agent.tools.workbench import workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState

Begin = Callable[[Run[TaskState], Context], None]


class AnswerRefused(GraphAgentError):
    """An answer was not taken, and nothing has changed by it."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What was asked for, of which run."""

    options: argparse.Namespace
    setup: Setup
    folder: RunFolder

    def model(self, state: TaskState) -> Any:
        """The one that the run began with, or that the options name. Raises `UsageError`."""
        choice = choice_of(self.options, self.setup.model)
        if state.review and choice.offline:
            raise UsageError("the run has a review, and the offline model can't judge: give --model URL")
        return model_of(choice)

    def go_on(self, run: Run[TaskState], llm: Any, begin: Begin | None = None) -> int:
        """`begin` is done first: an answer, or a raised limit. Returns the exit code; the run is closed."""
        self.options.goes_on = command_line(self.options, "resume", self.folder.name)
        with run:
            for note in run.notes:
                print(visible(f"graph_agent: {note}"), file=sys.stderr)
            tools = workbench(bench_of(self.setup, self.folder, keep=run.keep))
            outcome = self._ran(run, Context(llm=llm, tools=tools, policy=self.setup.policy), begin)
            diff = self._settled(outcome, tools)
        return self._told(outcome, diff, brief=not self.options.json)

    def stay(self, state: TaskState, dropped: str) -> int:
        """Say how a run stands that does not go on by itself; `dropped`: the torn end of its journal."""
        if dropped:
            print(visible(f"graph_agent: not read: {dropped}"), file=sys.stderr)
        outcome = Outcome(state=state)
        diff = self._settled(outcome, workbench(bench_of(self.setup, self.folder)))
        return self._told(outcome, diff, brief=False)

    def raise_limit(self, run: Run[TaskState], patch: Mapping[str, Any]) -> None:
        """Allow more turns where nothing is asked. Raises `AnswerRefused`."""
        if "max_retries" in patch:
            raise AnswerRefused(f"--retries is for a run that waits for a person, at {run.state.stage}: leave it out")
        try:
            run.raise_limit(patch["max_turns"])
        except AnswerError as error:
            raise AnswerRefused(str(error)) from error

    def settle(self, run: Run[TaskState], ctx: Context) -> None:
        """Look at the world before a run goes on that stopped under way."""
        self._moved(run, lambda: settle(run, ctx))

    def checked_answer(self, state: TaskState, words: list[str], pause: str) -> dict[str, Any]:
        """The patch that FIELD=VALUE words make, before anything is opened. Raises `UsageError`, `AnswerRefused`."""
        try:
            question(GRAPH, state)
            patch = read_patch(GRAPH, state, words)
            try_answer(GRAPH, state, patch, pause_id=pause)
        except PatchError as error:
            raise AnswerRefused(f"{error}; {self.see}") from error
        return patch

    def answer(self, run: Run[TaskState], ctx: Context, patch: Mapping[str, Any], pause: str) -> None:
        """Take an answer: tried first, so that one that won't do costs nothing. Raises `AnswerRefused`."""
        try:
            try_answer(run.graph, run.state, patch, pause_id=pause)
            self._moved(run, lambda: settle(run, ctx, also_paused=True))
            self._moved(run, lambda: run.answer(patch, pause_id=pause))
        except PatchError as error:  # an AnswerError too
            moved = pause_id(run.state) != pause and run.state.stage is Stage.HUMAN
            why = f"the world has changed meanwhile: {run.state.route_reason}" if moved else str(error)
            raise AnswerRefused(f"{why}; {self.see}") from error

    @property
    def see(self) -> str:
        return f"see where it stands: {command_line(self.options, 'show', self.folder.name)}"

    def _ran(self, run: Run[TaskState], ctx: Context, begin: Begin | None) -> Outcome:
        """Whatever ends the run, its state is kept and no command goes on."""
        try:
            if begin is not None:
                begin(run, ctx)
            self.folder.patch.unlink(missing_ok=True)  # from here on it is another, or none
            most = most_steps(run.state)
            run_graph(run.graph, run.state, ctx, journal=run, on_event=self._tell, max_steps=most)
            return Outcome(state=run.state)
        except (KeyboardInterrupt, BrokenPipeError, Terminated) as end:
            code = INTERRUPTED if isinstance(end, KeyboardInterrupt) else getattr(end, "code", PIPE_CLOSED)
            return Outcome(state=run.state, interrupted=code)
        except (RunError, JournalError, OSError) as error:  # OSError: a disk that refuses what is kept beside the run
            return Outcome(state=run.state, error=error)
        finally:
            end_all()

    def _settled(self, outcome: Outcome, tools: Toolbox) -> str:
        """The diff, which is kept; and with --apply the way back of a verified patch."""

        def made() -> str:
            return str(tools.call("diff").value or "")

        try:
            diff = self.folder.kept_patch(made)
        except OSError as error:
            diff = made()
            print(f"graph_agent: {self.folder.patch} can't be kept: {error.strerror}", file=sys.stderr)
        if self.options.apply and outcome.state.stage is Stage.DONE and not outcome.interrupted:
            try:
                outcome.applied = apply_patch_of(self.folder, outcome.state)
            except (ToolError, WorkspaceError) as error:
                outcome.refused = str(error)
        return diff

    def _told(self, outcome: Outcome, diff: str, *, brief: bool) -> int:
        state, applied = outcome.state, is_applied(self.folder, outcome.state)
        ways = ways_on(self.options, self.setup, self.folder.name, state, applied=applied, brief=brief)
        about = Report(outcome=outcome, setup=self.setup, folder=self.folder, diff=diff, is_applied=applied, ways=ways)
        print_report(about, self.options)
        return outcome.code

    def _tell(self, event: Event) -> None:
        self._line(trace_line(event))

    def _moved(self, run: Run[TaskState], change: Callable[[], object]) -> None:
        """Do what may send the run elsewhere, and tell it as a step is told."""
        before = run.state
        change()
        after = run.state
        if after.steps != before.steps:
            self._line(f"{after.steps:3} | {before.stage} -> {after.stage} | 0 turns | {after.route_reason}")

    def _line(self, text: str) -> None:
        if not (self.options.json or self.options.quiet):
            print(visible(text.replace("\n", " ")), flush=True)


def session_of(options: argparse.Namespace, kept: Kept) -> tuple[Session, TaskState]:
    """A stored run and where it stands. Raises `UsageError`, `RunMisfit`, `SetupError`; nothing is written."""
    state: TaskState = kept.state
    setup = kept_setup(kept)
    folder = RunFolder(kept.folder, Path(setup.source))
    for copy in (folder.workspace, folder.original):
        if not copy.is_dir():
            raise SetupError(f"{copy} is gone, which the run {folder.name} works with: put it back, or begin a new run")
    return Session(options=options, setup=setup, folder=folder), state
