"""Turn a failing test into a verified patch.

The workspace is copied to a private run folder and worked on there; the folder itself is untouched unless --apply is
given. Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 the last fuse, 130 interrupted.
Without bubblewrap the test commands run with your rights: this is confinement, not a sandbox.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from graph_agent.cli.bench import about_of
from graph_agent.cli.exits import UsageError
from graph_agent.cli.models import add_model_options, choice_of, model_of
from graph_agent.cli.options import setup_of, state_of
from graph_agent.cli.printing import as_text, visible
from graph_agent.cli.repair_desk import RepairDesk
from graph_agent.cli.runfolder import RunFolder, new_run, runs_folder
from graph_agent.cli.session import Session
from graph_agent.runtime.journal import Run
from graph_agent.runtime.jsontext import is_unicode
from graph_agent.workflows.repair.graph import GRAPH


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workspace", metavar="WORKSPACE", help="the folder of the project; its tests run from there")
    add("--request", default="Make the failing tests pass.", help="what is wanted, in a sentence")
    add("--test", action="append", metavar="CMD", help="a test command (repeatable; default: pytest, else unittest)")
    add("--check", action="append", default=[], metavar="CMD", help="a command that must exit with 0 (repeatable)")
    add("--audit", action="append", default=[], metavar="CMD", help="a check that only `audit` makes (repeatable)")
    add("--allow", action="append", metavar="GLOB", help="files that may be changed (repeatable; default: **/*.py)")
    add("--protect", action="append", default=[], metavar="GLOB", help="files that may not, besides tests and settings")
    add("--holdout", metavar="DIR", help="held-out tests (default: WORKSPACE_holdout where it exists; none: none)")
    add_model_options(parser, default="offline")
    add("--edit-format", choices=("auto", "function", "replace", "file"), default="auto", help="how a model edits")
    add("--review", action="store_true", help="have the model review the verified patch; it can only stop it")
    add("--rules", metavar="FILE", help="the project's rules, for --review")
    add(
        "--approve",
        action="append",
        default=[],
        metavar="plan|finish",
        help="wait for a person's approval (repeatable)",
    )
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
    setup, llm = setup_of(options, source), model_of(choice_of(options))
    folder = RunFolder(new_run(runs_folder(options.run_dir), source), source)
    try:
        setup = replace(setup, left_out=_filled(folder))
        begun = Run.create(folder.folder, GRAPH, state_of(options, setup, folder.name), about=about_of(setup))
    except BaseException:  # Ctrl-C too: there is nothing yet to go on with
        folder.remove()
        raise
    desk = RepairDesk(options=options, setup=setup, folder=folder)
    return Session(options=options, desk=desk).go_on(begun, llm)


def _filled(folder: RunFolder) -> tuple[str, ...]:
    """The names of what is left out of the copy."""
    left_out = folder.fill()
    for left in left_out:
        print(visible(f"left out of the copy: {left.path}, which {left.why}"), file=sys.stderr)
    return tuple(as_text(left.path) for left in left_out)


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
