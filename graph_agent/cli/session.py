"""A run under way in this process: on until it stops, then said how it ended and how it goes on.

`repair`, `research`, `resume` and `answer` differ in how they begin and share this. The rule: whatever ends it, what
was done is in the journal, no command of the run is left behind, and the last line on stdout is the one that goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graph_agent.cli.desk import Desk, desk_of
from graph_agent.cli.exits import INTERRUPTED, PIPE_CLOSED, Terminated
from graph_agent.cli.fields import read_patch
from graph_agent.cli.kept import Kept, command_line
from graph_agent.cli.outcome import Outcome
from graph_agent.cli.printing import print_json, visible
from graph_agent.protocols import Context, GraphAgentError
from graph_agent.runtime.answer import answer as try_answer
from graph_agent.runtime.answer import question
from graph_agent.runtime.errors import AnswerError, JournalError, PatchError, RunError
from graph_agent.runtime.events import Event
from graph_agent.runtime.journal import Run
from graph_agent.runtime.resume import settle
from graph_agent.runtime.run import run_graph
from graph_agent.tools.process import end_all

Begin = Callable[[Run[Any], Context], None]


class AnswerRefused(GraphAgentError):
    """An answer was not taken, and nothing has changed by it."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What was asked for, of which run."""

    options: argparse.Namespace
    desk: Desk

    def go_on(self, run: Run[Any], llm: Any, begin: Begin | None = None) -> int:
        """`begin` is done first: an answer, or a raised limit. Returns the exit code; the run is closed."""
        self.options.goes_on = command_line(self.options, "resume", self.desk.name)
        with run:
            for note in run.notes:
                print(visible(f"graph_agent: {note}"), file=sys.stderr)
            ctx = self.desk.context(run, llm)
            outcome = self._ran(run, ctx, begin)
            self.desk.settle(outcome, ctx)
        return self._told(outcome, brief=not self.options.json)

    def stay(self, state: Any, dropped: str) -> int:
        """Say how a run stands that does not go on by itself; `dropped`: the torn end of its journal."""
        if dropped:
            print(visible(f"graph_agent: not read: {dropped}"), file=sys.stderr)
        outcome = Outcome(self.desk.graph, state)
        self.desk.settle(outcome, None)
        return self._told(outcome, brief=False)

    def raise_limit(self, run: Run[Any], patch: Mapping[str, Any]) -> None:
        """Allow more turns where nothing is asked. Raises `AnswerRefused`."""
        if others := [name for name in patch if name != "max_turns"]:
            option = f"--{others[0].removeprefix('max_')}"
            raise AnswerRefused(f"{option} is for a run that waits for a person, at {run.state.stage}: leave it out")
        try:
            run.raise_limit(patch["max_turns"])
        except AnswerError as error:
            raise AnswerRefused(str(error)) from error

    def settle(self, run: Run[Any], ctx: Context) -> None:
        """Look at the world before a run goes on that stopped under way."""
        self._moved(run, lambda: settle(run, ctx))

    def checked_answer(self, state: Any, words: list[str], pause: str) -> dict[str, Any]:
        """The patch that FIELD=VALUE words make, before anything is opened. Raises `UsageError`, `AnswerRefused`."""
        graph = self.desk.graph
        try:
            question(graph, state)
            patch = read_patch(graph, state, words)
            try_answer(graph, state, patch, pause_id=pause)
        except PatchError as error:
            raise AnswerRefused(f"{error}; {self.see}") from error
        return patch

    def answer(self, run: Run[Any], ctx: Context, patch: Mapping[str, Any], pause: str) -> None:
        """Take an answer: tried first, so that one that won't do costs nothing. Raises `AnswerRefused`."""
        before = run.state  # where somebody else's answer may have led by now
        try:
            try_answer(run.graph, run.state, patch, pause_id=pause)
            self._moved(run, lambda: settle(run, ctx, also_paused=True))
            self._moved(run, lambda: run.answer(patch, pause_id=pause))
        except PatchError as error:  # an AnswerError too
            moved = run.state is not before and run.state.stage in run.graph.pauses
            why = f"the world has changed meanwhile: {run.state.route_reason}" if moved else str(error)
            raise AnswerRefused(f"{why}; {self.see}") from error

    @property
    def see(self) -> str:
        return f"see where it stands: {command_line(self.options, 'show', self.desk.name)}"

    def _ran(self, run: Run[Any], ctx: Context, begin: Begin | None) -> Outcome:
        """Whatever ends the run, its state is kept and no command goes on."""
        try:
            if begin is not None:
                begin(run, ctx)
            self.desk.begin()
            most = self.desk.most_steps(run.state)
            run_graph(run.graph, run.state, ctx, journal=run, on_event=self._tell, max_steps=most)
            return Outcome(run.graph, run.state)
        except (KeyboardInterrupt, BrokenPipeError, Terminated) as end:
            code = INTERRUPTED if isinstance(end, KeyboardInterrupt) else getattr(end, "code", PIPE_CLOSED)
            return Outcome(run.graph, run.state, interrupted=code)
        except (RunError, JournalError, OSError) as error:  # OSError: a disk that refuses what is kept beside the run
            return Outcome(run.graph, run.state, error=error)
        finally:
            end_all()

    def _told(self, outcome: Outcome, *, brief: bool) -> int:
        """On stderr, in a line, why the run is not done; on stdout the report, whose last line is how to go on."""
        ways = self.desk.ways(outcome, brief=brief)
        for block in [] if self.options.json else filter(None, self.desk.blocks(outcome)):
            print(f"\n{visible(block)}")
        sys.stdout.flush()  # so that the line below stands below
        if outcome.code:
            print(visible(f"graph_agent: {outcome.title}: {outcome.reason}"), file=sys.stderr, flush=True)
        if self.options.json:
            print_json(self.desk.data(outcome, ways))
        else:
            print(f"\n{visible(self.desk.ending(outcome, ways))}")
        return outcome.code

    def _tell(self, event: Event) -> None:
        self._line(self.desk.line(event))

    def _moved(self, run: Run[Any], change: Callable[[], object]) -> None:
        """Do what may send the run elsewhere, and tell it as a step is told."""
        before = run.state
        change()
        after = run.state
        if after.steps != before.steps:
            self._line(f"{after.steps:3} | {before.stage} -> {after.stage} | 0 turns | {after.route_reason}")

    def _line(self, text: str) -> None:
        if not (self.options.json or self.options.quiet):
            print(visible(text.replace("\n", " ")), flush=True)


def session_of(options: argparse.Namespace, kept: Kept) -> tuple[Session, Any]:
    """A stored run and where it stands. Raises `UsageError`, `RunMisfit`, `SetupError`; nothing is written."""
    state = kept.state
    return Session(options=options, desk=desk_of(options, kept, to_go_on=True)), state
