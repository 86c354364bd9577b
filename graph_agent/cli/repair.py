"""Turn a failing test into a verified patch.

The workspace is copied to a private run folder and worked on there; the folder itself is untouched unless --apply is
given. Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 the last fuse, 130 interrupted.
Without bubblewrap the test commands run with your rights: this is confinement, not a sandbox.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from graph_agent.cli.exits import INTERRUPTED, PIPE_CLOSED, Terminated, UsageError
from graph_agent.cli.options import add_model_options, bench_of, is_offline, model_of, most_steps, policy_of, state_of
from graph_agent.cli.report import Outcome, print_report, visible
from graph_agent.cli.runfolder import RunFolder, new_run, runs_folder
from graph_agent.protocols import Context, ToolError
from graph_agent.runtime.errors import RunError
from graph_agent.runtime.events import Event, trace_line
from graph_agent.runtime.jsontext import is_unicode
from graph_agent.runtime.run import run_graph
from graph_agent.tools.paths import WorkspaceError
from graph_agent.tools.process import end_all
from graph_agent.tools.workbench import apply_files, workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workspace", metavar="WORKSPACE", help="the folder of the project; its tests run from there")
    add("--request", default="Make the failing tests pass.", help="what is wanted, in a sentence")
    add("--test", action="append", metavar="CMD", help="a test command (repeatable; default: pytest, else unittest)")
    add("--check", action="append", default=[], metavar="CMD", help="a command that must exit with 0 (repeatable)")
    add("--allow", action="append", metavar="GLOB", help="files that may be changed (repeatable; default: **/*.py)")
    add("--protect", action="append", default=[], metavar="GLOB", help="files that may not, besides tests and settings")
    add("--holdout", metavar="DIR", help="held-out tests (default: WORKSPACE_holdout where it exists; none: none)")
    add_model_options(parser)
    add("--edit-format", choices=("auto", "function", "replace", "file"), default="auto", help="how a model edits")
    add("--review", action="store_true", help="have the model review the verified patch; it can only stop it")
    add("--rules", metavar="FILE", help="the project's rules, for --review")
    add("--retries", type=int, metavar="N", help="failed verifications that may be repaired (2; offline: 300)")
    add("--turns", type=int, metavar="N", help="calls of the model and of tools (what the retries need)")
    add("--timeout", type=float, default=30.0, metavar="SECONDS", help="for one command (30)")
    add("--isolation", choices=("auto", "bubblewrap", "none"), default="auto", help="what commands run in")
    add("--run-dir", metavar="DIR", help="where runs are kept (default: the user's state folder, GRAPH_AGENT_HOME)")
    add("--apply", action="store_true", help="bring a verified patch back to the workspace")
    add("--json", action="store_true", help="one JSON object on stdout, nothing else")
    add("--quiet", action="store_true", help="no line a step")


def run(options: argparse.Namespace) -> int:
    """What can be wrong with the options shows before anything is copied."""
    source = _workspace(options.workspace)
    if options.review and is_offline(options):
        raise UsageError("--review needs a model, and the offline one can't judge: give --model URL")
    policy = policy_of(options, source)
    llm = model_of(options)
    folder = RunFolder(new_run(runs_folder(options.run_dir), source), source)
    folder.fill()
    for left in folder.left_behind:
        print(visible(f"left out of the copy: {left.path}, which {left.why}"), file=sys.stderr)
    tools = workbench(bench_of(options, policy, folder))
    outcome = _run(options, state_of(options, folder), Context(llm=llm, tools=tools, policy=policy), folder)
    diff = tools.call("diff").value or ""
    folder.keep(outcome.state, diff)
    if options.apply and outcome.state.stage is Stage.DONE and not outcome.interrupted:
        _apply(outcome, folder)
    print_report(options, outcome, folder, policy, diff)
    return outcome.code


def _workspace(given: str) -> Path:
    path = Path(given)
    try:
        usable = bool(given) and path.is_dir()
        there = path.exists()
    except OSError as error:
        raise UsageError(f"{given!r} can't be looked at: {error.strerror}; give the folder of a project") from error
    if not usable:
        what = "no workspace" if not given else "no folder" if there else "not there"
        raise UsageError(f"{given!r} is {what}: give the folder of a project")
    real = os.path.realpath(path)
    if not is_unicode(real):
        raise UsageError(f"{real!r} is no text in UTF-8: give the project's folder another name")
    return Path(real)


def _run(options: argparse.Namespace, state: TaskState, ctx: Context, folder: RunFolder) -> Outcome:
    """Whatever ends the run, its state is kept and no command goes on."""
    last = [state]

    def tell(event: Event) -> None:
        last[0] = event.state
        if not (options.json or options.quiet):
            print(visible(trace_line(event).replace("\n", " ")), flush=True)

    try:
        return Outcome(state=run_graph(GRAPH, state, ctx, journal=folder, on_event=tell, max_steps=most_steps(state)))
    except RunError as error:
        return Outcome(state=error.state, error=error)
    except (KeyboardInterrupt, BrokenPipeError, Terminated) as end:
        code = INTERRUPTED if isinstance(end, KeyboardInterrupt) else getattr(end, "code", PIPE_CLOSED)
        return Outcome(state=last[0], interrupted=code)
    finally:
        end_all()


def _apply(outcome: Outcome, folder: RunFolder) -> None:
    try:
        outcome.applied = apply_files(folder.source, folder.workspace, _hashes_before(outcome.state))
    except (ToolError, WorkspaceError) as error:
        outcome.refused = str(error)


def _hashes_before(state: TaskState) -> dict[str, str]:
    """The files that the run changed, with the hash that they had at first."""
    first = {file.path: file.sha256 for file in state.baseline}
    now = {change.path: change.after for change in state.changes}
    return {path: first.get(path, "") for path, after in now.items() if after != first.get(path)}
