"""The tool `run_command`: run the commands that the policy lists, and no other.

A command is a list of words that has to equal a listed one; there is no shell. The one rule: whatever a command does
(hang, flood, not exist), the caller gets a `CommandResult` that says it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.protocols import ToolError
from graph_agent.tools.isolation import Isolation, choose_isolation, environment, find_program, isolated, limited
from graph_agent.tools.process import CommandResult as CommandResult
from graph_agent.tools.process import run_process
from graph_agent.tools.toolbox import FunctionTool

OUTPUT_LIMIT = 20_000  # bytes
FACTOR = 8.0  # machines are shared: the same tests have been seen to take several times as long from run to run
LEAST = 4.0  # seconds
AFTER_A_HANG = 6.0  # seconds, when the first run did not end at all


class Commands:
    """The whole commands (`allowed`) that may run in the folder `root`.

    `writable` are folders outside `root` that they may write to under bubblewrap. The first run of a command may take
    `timeout` seconds, later ones what `patience` gives them.
    """

    def __init__(
        self,
        root: Path,
        allowed: Iterable[tuple[str, ...]],
        *,
        timeout: float,
        isolation: Isolation = "auto",
        writable: tuple[Path, ...] = (),
    ) -> None:
        self._root, self._timeout = Path(os.path.realpath(root)), timeout
        self._writable = tuple(Path(os.path.realpath(path)) for path in writable)
        self._bwrap, self._no_isolation = choose_isolation(isolation)
        self._programs = {argv: find_program(argv[0], self._root) for argv in allowed}
        self._limits: dict[tuple[str, ...], float] = {}

    def run_command(self, argv: tuple[str, ...]) -> CommandResult:
        """Run one of the commands of the policy in the workspace, and return how it ended and what it printed.

        Raises ToolError not_allowed for any other. The workspace's own path is cut off the output.
        """
        argv = tuple(argv)
        program = self._permitted(argv)
        if self._no_isolation:
            return CommandResult(argv=argv, problem=f"isolation failed: {self._no_isolation}")
        if program is None:
            return CommandResult(argv=argv, problem=f"command not found: {argv[0]}")
        # What a command leaves there may resist removal; that must not cost its result.
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            own = Path(os.path.realpath(private))
            try:
                ended = run_process(
                    self._wrapped((str(program), *argv[1:]), program, own),
                    cwd=self._root,
                    environment=environment(self._root, own),
                    timeout=self._limits.get(argv, self._timeout),
                    output_limit=OUTPUT_LIMIT,
                )
            except OSError as error:
                return CommandResult(argv=argv, problem=f"command could not be started: {argv[0]}: {error.strerror}")
        self._limits.setdefault(argv, patience(ended, self._timeout))
        return self._told(replace(ended, argv=argv), own)

    def tools(self) -> tuple[FunctionTool, ...]:
        """`run_command` for a Toolbox."""
        return (FunctionTool(self.run_command, effect="execute"),)

    def _permitted(self, argv: tuple[str, ...]) -> Path | None:
        if argv in self._programs:
            return self._programs[argv]
        shown, listed = shlex.join(argv), [shlex.join(words) for words in self._programs]
        near = get_close_matches(shown, listed, n=1) or listed[:3]
        hint = f"Give one of them as a list of words, unchanged: {' | '.join(near)}"
        raise ToolError("not_allowed", f"{shown[:200]!r} is not among the commands of the policy.", hint=hint)

    def _wrapped(self, argv: tuple[str, ...], program: Path, private: Path) -> tuple[str, ...]:
        if not self._bwrap:
            return limited(argv)
        writable = (*self._writable, private)
        return isolated(self._bwrap, limited(argv), root=self._root, writable=writable, program=program)

    def _told(self, ended: CommandResult, private: Path) -> CommandResult:
        if not self._bwrap:
            isolation = "none"
        elif ended.exit_code == 1 and ended.output.startswith("bwrap: "):
            problem = f"isolation failed: {ended.output.strip()[:500]}"
            return replace(ended, exit_code=None, problem=problem)
        else:
            isolation = "bubblewrap"
        output = ended.output
        for shown, name in ((f"{self._root}{os.sep}", ""), (str(self._root), "."), (str(private), "~")):
            output = output.replace(shown, name)
        return replace(ended, output=output, isolation=isolation)


def patience(first: CommandResult, timeout: float) -> float:
    """Seconds for a command whose first run ended so: a wrong edit often hangs, and must not cost minutes.

    Never less than LEAST, so that a busy machine is not mistaken for a loop without end.
    """
    return min(timeout, AFTER_A_HANG if first.timed_out else max(LEAST, FACTOR * first.seconds))


def parse_command(text: str) -> tuple[str, ...]:
    """A command as a user types it, as words. Quotes work; what else a shell would act on is ToolError not_allowed."""
    bare = _QUOTED.sub(lambda quoted: "".join(_EXPANSION.findall(quoted[1] or "")), text)
    if sign := re.search(r"[\n\r\0]", text) or _EXPANSION.search(bare) or re.search(r"[;&|<>()]", bare):
        raise _refused(text, f"{sign[0]!r} is for a shell, and none is used")
    try:
        words = tuple(shlex.split(text))
    except ValueError as wrong:
        raise _refused(text, str(wrong).rstrip(".").lower()) from wrong
    if not words or not words[0]:
        raise _refused(text, "it names no program")
    if re.match(r"[A-Za-z_]\w*\+?=", words[0]):
        raise _refused(text, f"{words[0]!r} sets a variable, which only a shell does")
    return words


_QUOTED = re.compile(r"\\.|'[^']*'|\"((?:\\.|[^\"\\])*)\"")
_EXPANSION = re.compile(r"`|\$[\w({]")  # what a shell acts on in double quotes too


def _refused(text: str, reason: str) -> ToolError:
    hint = "Give one program with its arguments, for example: python -m pytest -q"
    return ToolError("not_allowed", f"The command {text[:200]!r} is refused: {reason}.", hint=hint)
