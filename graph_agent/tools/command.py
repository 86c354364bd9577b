"""The tool `run_command`: run the commands that the policy lists, word for word, and the walls they run within.

Under bubblewrap all but the workspace is read-only, home and temporary folders are hidden, and there is no network;
without it a command is merely confined, which is no sandbox. The one rule: whatever a command does (hang, flood, not
exist), the caller gets a `CommandResult` that says it, and what isolation was in force.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import site
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

from graph_agent.protocols import ToolError
from graph_agent.tools.process import CommandResult as CommandResult
from graph_agent.tools.process import run_process
from graph_agent.tools.toolbox import FunctionTool

Isolation: TypeAlias = Literal["auto", "bubblewrap", "none"]

MEMORY = 2 * 1024**3  # bytes a process may claim (Linux only)

_SEALED = (
    *("--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),  # or root inside could remount it writable
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)
_SHARED = ("/tmp", "/var/tmp", "/run")  # other programs' files and sockets
_VARIABLES = {
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONDONTWRITEBYTECODE": "1",  # or a run would leave files in the workspace
    "PYTHONUNBUFFERED": "1",  # or a timeout would lose some
    # Programs that would wait for a person:
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
}

OUTPUT_LIMIT = 20_000  # bytes
FACTOR = 8.0  # machines are shared
LEAST = 4.0  # seconds
AFTER_A_HANG = 6.0  # seconds


class Commands:
    """The commands (`allowed`) that may run in the folder `root`; under bubblewrap they may also write to `writable`.

    The first run of a command may take `timeout` seconds, later ones what `patience` gives them.
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

        Raises ToolError not_allowed.
        """
        argv = tuple(argv)
        program = self._permitted(argv)
        if self._no_isolation:
            return CommandResult(argv=argv, problem=f"isolation failed: {self._no_isolation}")
        if program is None:
            return CommandResult(argv=argv, problem=f"command not found: {argv[0]}")
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
        return (FunctionTool(self.run_command, effect="execute"),)

    def _permitted(self, argv: tuple[str, ...]) -> Path | None:
        if argv in self._programs:
            return self._programs[argv]
        shown, listed = shlex.join(argv), [shlex.join(words) for words in self._programs]
        near = get_close_matches(shown, listed, n=1) or listed[:3]
        hint = f"Give one of them, unchanged: {' | '.join(near)}"
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
            return replace(ended, exit_code=None, problem=f"isolation failed: {ended.output.strip()[:500]}")
        else:
            isolation = "bubblewrap"
        output = ended.output
        for shown, name in ((f"{self._root}{os.sep}", ""), (str(self._root), "."), (str(private), "~")):
            output = output.replace(shown, name)
        return replace(ended, output=output, isolation=isolation)


def patience(first: CommandResult, timeout: float) -> float:
    """Seconds for a command whose first run ended so: a wrong edit often hangs."""
    return min(timeout, AFTER_A_HANG if first.timed_out else max(LEAST, FACTOR * first.seconds))


def parse_command(text: str) -> tuple[str, ...]:
    """The words of a command as typed. Quotes work; what else a shell would act on is ToolError not_allowed."""
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


def environment(root: Path, private: Path) -> dict[str, str]:
    """All variables of a command, so no keys among them. `private` is its home and its temporary folder.

    Tests are to import the copy of the project, not what is installed: hence `src`.
    """
    found = _VARIABLES | {name: os.environ[name] for name in ("SYSTEMROOT", "PATHEXT") if name in os.environ}
    found |= dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), str(private))
    found |= {"PATH": search_path(root), "PYTHONUSERBASE": site.getuserbase()}
    if (root / "src").is_dir() and not (root / "src" / "__init__.py").exists():
        found["PYTHONPATH"] = str(root / "src")
    return found


def search_path(root: Path) -> str:
    """PATH without entries where a planted file could lie."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute() and not _inside(Path(entry), root))


def find_program(name: str, root: Path) -> Path | None:
    """The file to start: from `root` if there is a separator in the name, else by PATH, outside of `root`."""
    if os.sep in name:
        file = root / name
        return file if file.is_file() and os.access(file, os.X_OK) else None
    found = shutil.which(name, path=search_path(root))
    return Path(found) if found and not _inside(Path(found).absolute(), root) else None


def limited(argv: tuple[str, ...]) -> tuple[str, ...]:
    """With MEMORY as a limit on data; runtimes reserve address space by the terabyte."""
    if not sys.platform.startswith("linux"):
        return argv
    return ("/bin/sh", "-c", 'ulimit -d "$0" 2>/dev/null; exec "$@"', str(MEMORY // 1024), *argv)


@cache
def bubblewrap() -> tuple[str, str]:
    """The path of a bubblewrap that works here and "", or "" and the reason."""
    path = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin:" + os.environ.get("PATH", ""))
    if path is None:
        return "", "bwrap is not installed"
    probe = [path, *_SEALED, "--tmpfs", "/tmp", "/bin/sh", "-c", ":"]
    try:
        subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True)
    except subprocess.CalledProcessError as error:
        return "", f"bwrap can't set up its namespaces here: {error.stderr.decode('utf-8', 'replace').strip()}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"bwrap does not start: {error}"
    return path, ""


def choose_isolation(wanted: Isolation) -> tuple[str, str]:
    """The bubblewrap to use, and why what was wanted can't be had; each may be ""."""
    if wanted == "none":
        return "", ""
    path, reason = bubblewrap()
    return path, reason if wanted == "bubblewrap" else ""


def isolated(
    bwrap: str, argv: Iterable[str], *, root: Path, writable: Iterable[Path], program: Path
) -> tuple[str, ...]:
    """`argv` under bubblewrap: able to write to `writable` and `root`, and to read what `program` needs."""
    own = [root, *writable]
    hidden = [
        path
        for path in map(_real, (*_SHARED, "~"))
        if path.is_dir() and path != Path(path.anchor) and not any(path.is_relative_to(folder) for folder in own)
    ]
    mounts = [("--tmpfs", path) for path in hidden]
    for path in dict.fromkeys(_needed(program)):
        within = any(path.is_relative_to(folder) for folder in hidden)
        if within and path.exists() and not any(folder.is_relative_to(path) for folder in hidden):
            mounts.append(("--ro-bind", path))
    mounts += [("--bind", path) for path in own]
    options: list[str] = []
    for option, path in sorted(mounts, key=lambda mount: len(mount[1].parts)):  # a parent must not cover its children
        options += (option, str(path)) if option == "--tmpfs" else (option, str(path), str(path))
    return (bwrap, *_SEALED, *options, "--chdir", str(root), "--", *argv)


def interpreter_of(program: Path) -> Path | None:
    """The interpreter that a script's first line names by its path."""
    try:
        with program.open("rb") as file:
            first = file.readline(500)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    path = Path(os.fsdecode(words[0])) if words else None
    return path if path and path.is_absolute() and path.name != "env" else None


_QUOTED = re.compile(r"\\.|'[^']*'|\"((?:\\.|[^\"\\])*)\"")
_EXPANSION = re.compile(r"`|\$[\w({]")  # what a shell acts on in double quotes too


def _refused(text: str, reason: str) -> ToolError:
    hint = "Give one like: python -m pytest -q"
    return ToolError("not_allowed", f"The command {text[:200]!r} is refused: {reason}.", hint=hint)


def _needed(program: Path) -> Iterator[Path]:
    """The folders without which `program`, or our own interpreter, would not start."""
    here = Path.cwd()  # on the path of `python -m`
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1]]
    folders += [Path(entry) for entry in sys.path if entry and Path(entry) != here]
    for file in (program, interpreter_of(program) or program):
        folders += (*_installation(file), *_installation(_real(file)))
    for folder in folders:
        yield from (folder, _real(folder))


def _installation(file: Path) -> tuple[Path, ...]:
    """The tree that a program was installed as, but for private files."""
    folder, tree = file.parent, file.parent.parent
    if folder.name not in ("bin", "Scripts", "shims"):
        return (folder,)
    return (folder, tree / "lib") if tree.name == ".local" or tree == _real("~") else (tree,)


def _real(path: Path | str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))  # noqa: PTH111 - the other one raises without a home


def _inside(path: Path, root: Path) -> bool:
    return _real(path).is_relative_to(root) or path.is_relative_to(root)
