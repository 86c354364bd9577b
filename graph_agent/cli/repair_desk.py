"""The desk of a repair: a bench of tools on a private copy of the workspace, and a patch that may be brought back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent.cli.applying import apply_patch_of, hashes_after, is_applied
from graph_agent.cli.bench import Setup, bench_of, kept_setup
from graph_agent.cli.desk import Told
from graph_agent.cli.exits import UsageError
from graph_agent.cli.kept import Kept, SetupError
from graph_agent.cli.models import choice_of, model_of
from graph_agent.cli.onward import NO_HELD_OUT, ways_on
from graph_agent.cli.options import check_limits, most_steps
from graph_agent.cli.outcome import Outcome
from graph_agent.cli.printing import Way
from graph_agent.cli.report import Report, blocks_of, data_of, ending_of, plan_lines
from graph_agent.cli.runfolder import RunFolder
from graph_agent.protocols import Context, GraphAgentError, ToolError
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import BlobError, CodecError
from graph_agent.runtime.events import Event, trace_line
from graph_agent.runtime.journal import Run
from graph_agent.tools.paths import WorkspaceError
from graph_agent.tools.toolbox import Toolbox
from graph_agent.tools.workbench import copy_workspace, workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState


class NotForked(GraphAgentError):
    """No new run was made."""


@dataclass(kw_only=True)
class RepairDesk:
    """`diff` is known once the run has stopped."""

    options: argparse.Namespace
    setup: Setup
    folder: RunFolder
    graph = GRAPH
    diff: str = ""
    _tools: Toolbox | None = None

    @classmethod
    def of(cls, options: argparse.Namespace, kept: Kept, *, to_go_on: bool) -> RepairDesk:
        setup = kept_setup(kept)
        folder = RunFolder(kept.folder, Path(setup.source))
        for copy in (folder.workspace, folder.original) if to_go_on else ():
            if not copy.is_dir():
                what = f"{copy} is gone, which the run {folder.name} works with"
                raise SetupError(f"{what}: put it back, or begin a new run")
        return cls(options=options, setup=setup, folder=folder)

    @staticmethod
    def fill_fork(kept: Kept, raw: Mapping[str, Any], child: Path) -> None:
        """The workspace as it was at that step: the original, and what the run had written by then, from its blobs."""
        try:
            state: TaskState = decode(kept.graph.state, dict(raw), "state")
        except CodecError as error:
            raise NotForked(f"the state at that step does not fit the code of today: {error}") from error
        old, new = RunFolder(kept.folder, child), RunFolder(child, child)
        blobs = Blobs(kept.folder / "blobs")
        first = {file.path: file.sha256 for file in state.baseline}
        try:
            copy_workspace(old.original, new.original)
            copy_workspace(old.original, new.workspace)
            for path, after in hashes_after(state).items():
                if after != first.get(path):
                    (new.workspace / path).write_bytes(blobs.read_bytes(after))
        except (WorkspaceError, ToolError, BlobError) as error:
            raise NotForked(f"the workspace can't be made as it was: {error}") from error

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def policy(self) -> Any:
        return self.setup.policy

    def model(self, state: TaskState) -> Any:
        choice = choice_of(self.options, self.setup.model)
        if state.review and choice.offline:
            raise UsageError("the run has a review, and the offline model can't judge: give --model URL")
        return model_of(choice)

    def context(self, run: Run[TaskState], llm: Any) -> Context:
        self._tools = workbench(bench_of(self.setup, self.folder, keep=run.keep))
        return Context(llm=llm, tools=self._tools, policy=self.setup.policy)

    def limits(self) -> dict[str, int]:
        check_limits(self.options)
        for name in ("rounds", "replans"):
            if getattr(self.options, name) is not None:
                raise UsageError(f"--{name} is for a research: a repair has --retries and --turns")
        named = {"max_turns": self.options.turns, "max_retries": self.options.retries}
        return {name: value for name, value in named.items() if value is not None}

    def most_steps(self, state: TaskState) -> int:
        return most_steps(state)

    def begin(self) -> None:
        self.folder.patch.unlink(missing_ok=True)  # from here on it is another, or none

    def line(self, event: Event) -> str:
        return trace_line(event)

    def settle(self, outcome: Outcome, _: Context | None) -> None:
        """The diff, which is kept; and with --apply the way back of a verified patch."""
        tools = self._tools or workbench(bench_of(self.setup, self.folder))

        def made() -> str:
            return str(tools.call("diff").value or "")

        try:
            self.diff = self.folder.kept_patch(made)
        except OSError as error:
            self.diff = made()
            print(f"graph_agent: {self.folder.patch} can't be kept: {error.strerror}", file=sys.stderr)
        if self.options.apply and outcome.state.stage is Stage.DONE and not outcome.interrupted:
            try:
                outcome.applied = apply_patch_of(self.folder, outcome.state)
            except (ToolError, WorkspaceError) as error:
                outcome.refused = str(error)

    def ways(self, outcome: Outcome, *, brief: bool) -> list[Way]:
        applied = is_applied(self.folder, outcome.state)
        return ways_on(self.options, self.setup, self.name, outcome.state, applied=applied, brief=brief)

    def blocks(self, outcome: Outcome) -> list[str]:
        return blocks_of(self._report(outcome, []))

    def ending(self, outcome: Outcome, ways: list[Way]) -> str:
        return ending_of(self._report(outcome, ways))

    def data(self, outcome: Outcome, ways: list[Way]) -> dict[str, Any]:
        return data_of(self._report(outcome, ways))

    def told(self, state: TaskState) -> Told:
        return Told(
            spent=f", {state.retries} of {state.max_retries} retries",
            lines=plan_lines(state),
            warnings=[] if self.setup.policy.holdout else [NO_HELD_OUT],
        )

    def _report(self, outcome: Outcome, ways: list[Way]) -> Report:
        applied = is_applied(self.folder, outcome.state)
        return Report(
            outcome=outcome, setup=self.setup, folder=self.folder, diff=self.diff, is_applied=applied, ways=ways
        )
