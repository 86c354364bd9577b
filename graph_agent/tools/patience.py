"""How long to wait for a command that took so and so long before: a wrong edit often hangs, and must not cost minutes.

The first run of a command has the policy's whole time. The rule: later ones have a multiple of what it took, never
less than a few seconds, so that a busy machine is not mistaken for a loop without end.
"""

from __future__ import annotations

from threading import Lock

from graph_agent.tools.command import CommandResult, Commands
from graph_agent.tools.toolbox import FunctionTool

FACTOR = 8.0  # machines are shared: the same tests have been seen to take several times as long from run to run
LEAST = 4.0  # seconds
AFTER_A_HANG = 6.0  # seconds, when the first run did not end at all


class PatientCommands:
    """`Commands` whose patience adapts: each command's first run sets the time for the later ones."""

    def __init__(self, commands: Commands, *, timeout: float) -> None:
        self._commands, self._timeout = commands, timeout
        self._limits: dict[tuple[str, ...], float] = {}
        self._lock = Lock()

    def run_command(self, argv: tuple[str, ...]) -> CommandResult:
        """Run one of the commands of the policy in the workspace, and return how it ended and what it printed."""
        with self._lock:
            limit = self._limits.get(argv, self._timeout)
        result = self._commands.run_command(argv, limit)
        wanted = AFTER_A_HANG if result.timed_out else max(LEAST, FACTOR * result.seconds)
        with self._lock:
            self._limits.setdefault(argv, min(self._timeout, wanted))
        return result

    def tools(self) -> tuple[FunctionTool, ...]:
        """`run_command` for a Toolbox."""
        return (FunctionTool(self.run_command, effect="execute"),)
