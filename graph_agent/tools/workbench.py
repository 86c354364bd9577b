"""All the tools of an agent that mends code in one folder, put together from a few settings.

What each tool may do is settled here, once, before the run: the files that may be written, the commands that may run,
the isolation they run in. The rule: nothing that a node or a model says later widens it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.protocols import ToolError
from graph_agent.tools.command import CommandResult, Commands
from graph_agent.tools.copying import copy_workspace
from graph_agent.tools.isolation import Isolation
from graph_agent.tools.linetrace import Trace, TraceError, read_trace, traced
from graph_agent.tools.toolbox import FunctionTool, Toolbox
from graph_agent.tools.workspace import Workspace

_PYTHONS = (".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe", "venv/Scripts/python.exe")


@dataclass(frozen=True, kw_only=True)
class HeldOutRun:
    """How the held-out tests ended: for whoever judges, never for whoever proposes.

    `replaced` counts files of the workspace that a held-out one of the same path stood in for.
    """

    result: CommandResult
    added: int
    replaced: int


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The settings. `root` is worked on, `baseline` is its pristine copy; times are in seconds.

    `tests` are those of the `commands` that run tests; the first of them also runs the held-out tests, which lie in the
    folder `holdout`, outside of the workspace (None: there are none).
    """

    root: Path
    baseline: Path
    writable: Collection[str]
    protected: Collection[str]
    commands: tuple[tuple[str, ...], ...]
    tests: tuple[tuple[str, ...], ...]
    timeout: float
    isolation: Isolation = "auto"
    holdout: Path | None = None

    def trace_tests(self, argv: tuple[str, ...]) -> Trace:
        """Run a test command under the tracer and return which lines its failing and its passing tests ran.

        Raises ToolError: not_allowed, no_trace (the command is none that can be traced, or left no trace).
        """
        if argv not in self.tests:
            hint = "Give one of them, unchanged."
            raise ToolError("not_allowed", "This is no test command of the policy.", hint=hint)
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            folder = Path(private).resolve()
            out = folder / "lines.jsonl"
            command = traced(argv, str(out), str(self.root.resolve()))
            if command is None:
                raise ToolError("no_trace", "Only pytest, unittest and Python files can be traced.")
            result = self._run(self.root, command, folder)
            try:
                return read_trace(out)
            except TraceError as error:
                hint = result.problem or f"The command ended with {result.exit_code}."
                raise ToolError("no_trace", str(error), hint=hint) from error

    def run_holdout(self) -> HeldOutRun:
        """Run the held-out tests once, laid over a copy of the workspace that is gone afterwards."""
        tests = self.holdout
        files = [] if tests is None else [path.relative_to(tests) for path in tests.rglob("*") if path.is_file()]
        files = [path for path in files if "__pycache__" not in path.parts]
        if tests is None or not files:
            raise ToolError("not_found", "There are no held-out tests.", hint="Give a folder that holds some.")
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            copy = Path(private) / "workspace"
            copy_workspace(self.root, copy)
            replaced = sum(os.path.lexists(copy / path) for path in files)
            for path in files:
                _lay(tests / path, copy / path)
            result = self._run(copy, self.tests[0])
        return HeldOutRun(result=result, added=len(files) - replaced, replaced=replaced)

    def _run(self, root: Path, argv: tuple[str, ...], *writable: Path) -> CommandResult:
        commands = Commands(root, [argv], timeout=self.timeout, isolation=self.isolation, writable=writable)
        return commands.run_command(argv)


def workbench(bench: Bench) -> Toolbox:
    """list_files, read_file, search, diff, edit_file, restore_file, run_command, trace_tests and run_holdout."""
    workspace = Workspace(bench.root, writable=bench.writable, protected=bench.protected, baseline_root=bench.baseline)
    commands = Commands(bench.root, bench.commands, timeout=bench.timeout, isolation=bench.isolation)
    tests = [FunctionTool(function, effect="execute") for function in (bench.trace_tests, bench.run_holdout)]
    return Toolbox([*workspace.tools(), *commands.tools(), *tests])


def interpreter_of(workspace: Path) -> str:
    """The interpreter of the workspace's own virtual environment where it has one, else the running one."""
    found = (workspace.absolute() / place for place in _PYTHONS)
    return next((str(python) for python in found if python.is_file()), sys.executable or "python3")


def has_module(python: str, name: str) -> bool:
    """Whether that interpreter finds a top-level module when it is started as a test command is.

    Asked of a child even for the running interpreter: that one has PYTHONPATH and a current folder, a command has not.
    """
    asked = (python, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)")
    with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as empty:
        return Commands(Path(empty), [asked], timeout=30, isolation="none").run_command(asked).exit_code == 0


def _lay(source: Path, target: Path) -> None:
    """Put a held-out file into the copy, where another of its name is replaced and no link is followed."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        shutil.copyfile(source, target)
    except OSError as error:
        message = f"A held-out test could not be laid over the workspace: {error.strerror}."
        raise ToolError("io_error", message) from error
