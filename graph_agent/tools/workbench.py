"""All the tools of an agent that mends code in one folder, put together from a few settings.

What each tool may do is settled here, once, before the run: the files that may be written, the commands that may run,
the isolation they run in. The rule: nothing that a node or a model says later widens it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from graph_agent.protocols import ToolError
from graph_agent.tools.command import Commands
from graph_agent.tools.holdout import HeldOutTests
from graph_agent.tools.isolation import Isolation
from graph_agent.tools.patience import PatientCommands
from graph_agent.tools.toolbox import FunctionTool, Toolbox
from graph_agent.tools.tracing import TestTracer
from graph_agent.tools.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The settings. `root` is worked on, `baseline` is its pristine copy; times are in seconds.

    `tests` are those of the `commands` that run tests; the first of them also runs the held-out tests, which lie in the
    folder `holdout` (None: there are none).
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


def workbench(bench: Bench) -> Toolbox:
    """list_files, read_file, search, diff, edit_file, restore_file, run_command, trace_tests and run_holdout."""
    workspace = Workspace(bench.root, writable=bench.writable, protected=bench.protected, baseline_root=bench.baseline)
    commands = Commands(bench.root, bench.commands, timeout=bench.timeout, isolation=bench.isolation)
    tracer = TestTracer(bench.root, bench.tests, timeout=bench.timeout, isolation=bench.isolation)
    tools = [*workspace.tools(), *PatientCommands(commands, timeout=bench.timeout).tools(), *tracer.tools()]
    if bench.holdout is not None:
        held_out = HeldOutTests(
            bench.root, bench.holdout, bench.tests[0], timeout=bench.timeout, isolation=bench.isolation
        )
        return Toolbox([*tools, *held_out.tools()])
    return Toolbox([*tools, FunctionTool(_no_holdout, name="run_holdout", effect="execute")])


def _no_holdout() -> None:
    """Say that there are no held-out tests; a policy without them never asks."""
    raise ToolError("not_found", "There are no held-out tests.", hint="Give a folder that holds some.")
