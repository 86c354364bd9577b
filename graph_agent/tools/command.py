"""The tool `run_command`: run the commands that the policy lists, and no other.

A command is a list of words that has to equal a listed one word by word; there is no shell, no keyboard, and no
variable of the user's environment but the few below. The one rule: whatever a command does (hang, flood, vanish, not
exist), the caller gets a `CommandResult` that says it. By itself this is confinement and no sandbox; see isolation.py.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from graph_agent.protocols import Tool, ToolError
from graph_agent.tools.environment import environment, find_program, import_path, limited, search_path
from graph_agent.tools.isolation import Isolation, choose_isolation, isolated
from graph_agent.tools.process import Ended, run_process
from graph_agent.tools.toolbox import FunctionTool

DEFAULT_MEMORY = 2 * 1024**3  # bytes a process may claim; a wrong loop that allocates must not take the machine along


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """What came of a command.

    `exit_code` is None when there is none: stopped at its timeout, or never started (`problem` then says why).
    `output` is stdout and stderr as they came, printable, with the workspace's own path cut off and, past the limit,
    a marker in place of `dropped` bytes. `isolation` is what was in force: "bubblewrap" or "none".
    """

    argv: tuple[str, ...]
    exit_code: int | None
    timed_out: bool
    seconds: float
    output: str
    dropped: int
    isolation: str
    problem: str = ""


class Commands:
    """The commands that may run in the folder `root`, and how.

    `allowed` are whole commands. `timeout` is in seconds, `memory_limit` in bytes a process (Linux only),
    `output_limit` in bytes. `environment` is added to the fixed variables and may replace them. `writable` are
    folders outside `root` that a command may write to under bubblewrap. A program is looked up once, on the PATH,
    and never inside `root` unless the policy gives its path.
    """

    def __init__(
        self,
        root: Path,
        allowed: Iterable[tuple[str, ...]],
        *,
        timeout: float,
        output_limit: int = 20_000,
        environment: Mapping[str, str] | None = None,
        isolation: Isolation = "auto",
        writable: tuple[Path, ...] = (),
        memory_limit: int | None = DEFAULT_MEMORY,
    ) -> None:
        if not timeout > 0:
            raise ToolError("bad_arguments", f"a timeout of {timeout} s leaves no time.", hint="Give seconds above 0.")
        self._root = Path(os.path.realpath(root))
        self._timeout, self._output_limit, self._memory_limit = timeout, output_limit, memory_limit
        self._environment = dict(environment or {})
        self._writable = tuple(Path(os.path.realpath(path)) for path in writable)
        self._bwrap, self._no_isolation = choose_isolation(isolation)
        self._path = search_path(self._root)
        self._programs = {argv: find_program(argv[0], self._root, self._path) for argv in _checked(allowed)}

    @property
    def allowed(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self._programs)

    def run_command(self, argv: tuple[str, ...], timeout: float | None = None) -> CommandResult:
        """Run one of the allowed commands, for the policy's time or less. Raises `ToolError` when it isn't one."""
        argv = self._permitted(argv)
        seconds = self._seconds(timeout)
        program = self._programs[argv]
        if self._no_isolation:
            return _not_run(argv, f"isolation failed: {self._no_isolation}")
        if program is None:
            return _not_run(argv, f"command not found: {argv[0]}")
        # What a command leaves there may resist removal; that is no reason to lose the command's result.
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            own = Path(os.path.realpath(private))
            try:
                ended = run_process(
                    self._wrapped((str(program), *argv[1:]), program, own),
                    cwd=self._root,
                    environment=environment(self._path, own) | import_path(self._root) | self._environment,
                    timeout=seconds,
                    output_limit=self._output_limit,
                )
            except OSError as error:
                return _not_run(argv, f"command could not be started: {argv[0]}: {error.strerror}")
            return self._result(argv, ended, own)

    def tools(self) -> tuple[Tool, ...]:
        """`run_command` for a Toolbox: a model may choose among the listed commands, and change none of them."""
        listed = ", ".join(shlex.join(argv) for argv in self._programs)
        what = f"Run one of the policy's commands in the workspace and return what it printed. They are: {listed}"
        return (FunctionTool(self.run_command, description=what, effect="execute"),)

    def _permitted(self, argv: Sequence[str]) -> tuple[str, ...]:
        if not isinstance(argv, str) and (words := tuple(argv)) in self._programs:
            return words
        shown = argv if isinstance(argv, str) else shlex.join(map(str, argv))
        listed = [shlex.join(words) for words in self._programs]
        near = difflib.get_close_matches(shown, listed, n=1) or listed[:3]
        hint = f"Give one of them as a list of words, unchanged: {' | '.join(near)}" if near else "None is allowed."
        raise ToolError("not_allowed", f"{shown[:200]!r} is not among the commands of the policy.", hint=hint)

    def _seconds(self, timeout: float | None) -> float:
        if timeout is None:
            return self._timeout
        if not 0 < timeout <= self._timeout:
            message = f"a timeout of {timeout} s is not within the policy's {self._timeout} s."
            raise ToolError("bad_arguments", message, hint="Give less, or none for the policy's own.")
        return timeout

    def _wrapped(self, argv: tuple[str, ...], program: Path, private: Path) -> tuple[str, ...]:
        argv = limited(argv, self._memory_limit)
        if not self._bwrap:
            return argv
        writable = (*self._writable, private)
        return isolated(self._bwrap, argv, root=self._root, writable=writable, program=program)

    def _result(self, argv: tuple[str, ...], ended: Ended, private: Path) -> CommandResult:
        failed = bool(self._bwrap) and ended.exit_code == 1 and ended.output.startswith("bwrap: ")
        output = ended.output
        for shown, name in ((f"{self._root}{os.sep}", ""), (str(self._root), "."), (str(private), "~")):
            output = output.replace(shown, name)
        return CommandResult(
            argv=argv,
            exit_code=None if failed else ended.exit_code,
            timed_out=ended.timed_out,
            seconds=ended.seconds,
            output=output,
            dropped=ended.dropped,
            isolation="bubblewrap" if self._bwrap else "none",
            problem=f"isolation failed: {ended.output.strip()[:500]}" if failed else "",
        )


def parse_command(text: str) -> tuple[str, ...]:
    """A command as a user types it, as a list of words: quotes work, a shell's operators are refused.

    Raises `ToolError("not_allowed")` when a shell would have done more than start one program with these words.
    """
    if sign := _for_a_shell(text):
        shown = {"\n": "a line break", "\r": "a line break", "\0": "a NUL"}.get(sign, repr(sign))
        _refuse(text, f"{shown} is for a shell, and none is used", "Give one program with its arguments, or a script.")
    reader = shlex.shlex(text, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    if sys.platform == "win32":
        reader.escape = ""  # there a backslash is part of a path
    try:
        words = tuple(reader)
    except ValueError as wrong:
        _refuse(text, str(wrong).rstrip(".").lower(), "Close the quotes.")
    if not words or not words[0]:
        _refuse(text, "it names no program", "Give for example: python -m pytest -q")
    if _ASSIGNMENT.match(words[0]):
        _refuse(text, f"{words[0]!r} sets a variable, which only a shell does", "Start with the program.")
    return words


def _for_a_shell(text: str) -> str:
    """The first sign in `text` that a shell would act on, outside the quotes that would stop it; "" for none."""
    quote, escaped = "", False
    for at, sign in enumerate(text):
        if sign in "\n\r\0":
            return sign
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = sys.platform != "win32"
        elif quote != "'" and (sign == "`" or _EXPANSION.match(text, at)):
            return text[at : at + 2] if sign == "$" else sign
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in ";&|<>()":
            return sign
    return ""


_EXPANSION = re.compile(r"\$[\w({]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def _refuse(text: str, reason: str, hint: str) -> NoReturn:
    raise ToolError("not_allowed", f"The command {text[:200]!r} is refused: {reason}.", hint=hint)


def _checked(allowed: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The allow-list as tuples of words. A single text in it would be taken for a list of letters."""
    commands = tuple(allowed)
    for argv in commands:
        if isinstance(argv, str) or not argv or not argv[0] or any(not isinstance(w, str) or "\0" in w for w in argv):
            raise ToolError(
                "bad_arguments", f"{argv!r} is no command.", hint="Give a tuple of words; see parse_command."
            )
    return tuple(tuple(argv) for argv in commands)


def _not_run(argv: tuple[str, ...], problem: str) -> CommandResult:
    return CommandResult(
        argv=argv, exit_code=None, timed_out=False, seconds=0.0, output="", dropped=0, isolation="none", problem=problem
    )
