"""`trace_tests`: run a test command once more, and return which lines its failing and its passing tests ran."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.protocols import ToolError
from graph_agent.tools.command import Commands
from graph_agent.tools.isolation import Isolation
from graph_agent.tools.linetrace import Trace, TraceError, read_trace, traced
from graph_agent.tools.toolbox import FunctionTool


class TestTracer:
    """Traces the commands that are `allowed`, in the workspace `root`; each run may take `timeout` seconds."""

    __test__ = False  # pytest would take it for a class of tests by its name

    def __init__(
        self, root: Path, allowed: tuple[tuple[str, ...], ...], *, timeout: float, isolation: Isolation = "auto"
    ) -> None:
        self._root, self._allowed, self._timeout, self._isolation = root, allowed, timeout, isolation

    def trace_tests(self, argv: tuple[str, ...]) -> Trace:
        """Run a test command under the tracer and return which lines its tests ran.

        Raises ToolError: not_allowed, no_trace (the command is none that can be traced, or left no trace).
        """
        if argv not in self._allowed:
            raise ToolError(
                "not_allowed", "This is no test command of the policy.", hint="Give one of them, unchanged."
            )
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            folder = Path(private).resolve()
            out = folder / "lines.jsonl"
            command = traced(argv, str(out), str(self._root.resolve()))
            if command is None:
                raise ToolError("no_trace", "Only pytest, unittest and Python files can be traced.")
            commands = Commands(
                self._root, [command], timeout=self._timeout, isolation=self._isolation, writable=(folder,)
            )
            result = commands.run_command(command)
            try:
                return read_trace(out)
            except TraceError as error:
                hint = result.problem or f"The command ended with {result.exit_code}."
                raise ToolError("no_trace", str(error), hint=hint) from error

    def tools(self) -> tuple[FunctionTool, ...]:
        """`trace_tests` for a Toolbox."""
        return (FunctionTool(self.trace_tests, effect="execute"),)
