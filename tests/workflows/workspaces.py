"""Real workspaces for tests of whole repairs: a private copy of a fixture, the policy and tools for it, and a run.

The rule: everything is as `python3 -m graph_agent repair` would set it up, but for the test command, which is given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent import Context, MutationLLM, run_graph
from graph_agent.runtime.events import Event
from graph_agent.tools.toolbox import Toolbox
from graph_agent.tools.workbench import Bench, copy_workspace, workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import TaskState

FIXTURES = Path(__file__).parents[2] / "fixtures"
UNITTEST = (sys.executable, "-m", "unittest", "discover")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")


@dataclass(frozen=True, kw_only=True)
class Job:
    """A workspace in its run folder, with what a run of it needs."""

    workspace: Path
    policy: EvaluationPolicy
    tools: Toolbox
    events: list[Event]

    def run(self, llm: Any = None, **fields: Any) -> TaskState:
        state = TaskState(
            **{
                "task_id": "t",
                "request": "Make the failing tests pass.",
                "workspace": str(self.workspace),
                "max_retries": 300,
                "max_turns": 2_000,
                **fields,
            }
        )
        context = Context(llm=llm or MutationLLM(), tools=self.tools, policy=self.policy)
        return run_graph(GRAPH, state, context, on_event=self.events.append)

    @property
    def diff(self) -> str:
        return str(self.tools.call("diff").value)


def prepared(
    source: Path,
    folder: Path,
    *,
    holdout: Path | None = None,
    argv: tuple[str, ...] = UNITTEST,
    timeout: float = 30,
    wrap: Callable[[Toolbox], Any] = lambda tools: tools,
    **policy: Any,
) -> Job:
    """Copy `source` to `folder` twice, to work on and to compare with, and lay out the tools."""
    for name in ("workspace", "original"):
        copy_workspace(source, folder / name)
    rules = EvaluationPolicy(
        allowed_root=str(folder), commands=(Command(argv=argv),), holdout=holdout is not None, **policy
    )
    bench = Bench(
        root=folder / "workspace",
        baseline=folder / "original",
        writable=rules.write,
        protected=rules.protect,
        commands=(argv,),
        tests=(argv,),
        timeout=timeout,
        holdout=holdout,
    )
    return Job(workspace=folder / "workspace", policy=rules, tools=wrap(workbench(bench)), events=[])


def contents(root: Path) -> dict[str, bytes]:
    """All that lies in a folder, but what Python itself caches."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
