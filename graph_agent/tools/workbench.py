"""An agent's bench: a private copy of the workspace, all the tools to mend it with, and the way back.

The rule: what each tool may do is settled here, before the run; nothing in the copy leads out of it; what was left
behind, but for `paths.UNTOUCHED`, is in the answer; and the way back brings all the files or none.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.protocols import ToolError
from graph_agent.tools import files
from graph_agent.tools.command import CommandResult, Commands, Isolation
from graph_agent.tools.files import opened, read_bytes, said, sha256, walk
from graph_agent.tools.linetrace import Trace, TraceError, read_trace, traced
from graph_agent.tools.paths import UNTOUCHED, Place, Root, WorkspaceError, quoted
from graph_agent.tools.toolbox import FunctionTool, Toolbox
from graph_agent.tools.workspace import Workspace

MAX_ENTRIES = 20_000
MAX_BYTES = 64 * 1024 * 1024  # of a file that is brought back
_PYTHONS = (".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe", "venv/Scripts/python.exe")


@dataclass(frozen=True, kw_only=True)
class HeldOutRun:
    """For whoever judges, never for whoever proposes. `replaced`: files that a held-out one stood in for."""

    result: CommandResult
    added: int
    replaced: int


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The settings. `root` is worked on, `baseline` is its pristine copy; times are in seconds.

    `tests` are those of the `commands` that run tests; the first also runs those in the folder `holdout`, which lies
    outside of the workspace. `keep` is given what each file will hold before it is written.
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
    keep: Callable[[bytes], object] | None = None

    def trace_tests(self, argv: tuple[str, ...]) -> Trace:
        """Run a test command under the tracer and return which lines its failing and its passing tests ran.

        Raises ToolError: not_allowed, no_trace.
        """
        if argv not in self.tests:
            raise ToolError("not_allowed", "This is no test command of the policy.", hint="Give one, unchanged.")
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
        held = [] if tests is None else [path.relative_to(tests) for path in tests.rglob("*") if path.is_file()]
        held = [path for path in held if "__pycache__" not in path.parts]
        if tests is None or not held:
            raise ToolError("not_found", "There are no held-out tests.", hint="Give a folder that holds some.")
        with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
            copy = Path(private) / "workspace"
            copy_workspace(self.root, copy)
            replaced = sum(os.path.lexists(copy / path) for path in held)
            for path in held:
                _lay(tests / path, copy / path)
            result = self._run(copy, self.tests[0])
        return HeldOutRun(result=result, added=len(held) - replaced, replaced=replaced)

    def _run(self, root: Path, argv: tuple[str, ...], *writable: Path) -> CommandResult:
        commands = Commands(root, [argv], timeout=self.timeout, isolation=self.isolation, writable=writable)
        return commands.run_command(argv)


def workbench(bench: Bench) -> Toolbox:
    workspace = Workspace(
        bench.root,
        writable=bench.writable,
        protected=bench.protected,
        baseline_root=bench.baseline,
        keep=bench.keep,
    )
    commands = Commands(bench.root, bench.commands, timeout=bench.timeout, isolation=bench.isolation)
    tests = [FunctionTool(function, effect="execute") for function in (bench.trace_tests, bench.run_holdout)]
    return Toolbox([*workspace.tools(), *commands.tools(), *tests])


def interpreter_of(workspace: Path) -> str:
    """That of the workspace's own virtual environment, else the running one."""
    found = (workspace.absolute() / place for place in _PYTHONS)
    return next((str(python) for python in found if python.is_file()), sys.executable or "python3")


def has_module(python: str, name: str) -> bool:
    """Whether an interpreter finds a module when started as a test command is: without our PYTHONPATH and folder."""
    asked = (python, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)")
    with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as empty:
        return Commands(Path(empty), [asked], timeout=30, isolation="none").run_command(asked).exit_code == 0


@dataclass(frozen=True, kw_only=True)
class LeftBehind:
    path: str
    why: str


def copy_workspace(source: Path, target: Path) -> tuple[LeftBehind, ...]:
    """What was left behind, by path. `target` must be empty or not exist.

    Raises WorkspaceError for a folder of no use, ToolError (too_large, io_error) for a copy that stays unfinished.
    """
    root, into = Root(source), Path(os.path.realpath(target))
    if into.is_relative_to(root.folder) or root.folder.is_relative_to(into):
        raise WorkspaceError("the copy and the workspace lie in one another. Choose another folder.")
    if os.path.lexists(into) and not (into.is_dir() and not any(into.iterdir())):
        raise WorkspaceError(f"the target of the copy, {into.name!r}, is there already. Choose an empty one.")
    with said(into.name, "made"):
        into.mkdir(parents=True, exist_ok=True)
    left = []
    for place in walk(root.folder, limit=MAX_ENTRIES, enter=lambda place: not _is_environment(place.file)):
        if why := _copy(root, place, into):
            left.append(LeftBehind(path=place.name, why=why))
    return tuple(sorted(left, key=lambda one: one.path))


def is_left_behind(folder: Path) -> bool:
    """Whether a folder directly in a workspace has no place in a copy."""
    return folder.name in UNTOUCHED or _is_environment(folder)


def apply_files(workspace: Path, changed: Path, before: dict[str, str]) -> tuple[str, ...]:
    """Copy the files named in `before`, with the SHA-256 that the workspace must still have, from `changed`.

    Raises ToolError: changed_meanwhile, io_error; the workspace is then as it was.
    """
    root, source = Root(workspace), Root(changed)
    writes = [(_unchanged(root, path, expected), source.resolve(path)) for path, expected in sorted(before.items())]
    contents = [read_bytes(new, MAX_BYTES) for _, new in writes]
    done: list[tuple[Place, bytes | None]] = []
    try:
        for ((place, old), new), raw in zip(writes, contents, strict=True):
            files.replace(place, raw, _mode(place, new))
            done.append((place, old))
    except BaseException:  # also a keyboard interrupt
        for place, old in done:
            if old is None:
                place.file.unlink()
            else:
                files.replace(place, old, _mode(place))
        raise
    return tuple(sorted(before))


def _is_environment(folder: Path) -> bool:
    return os.path.lexists(folder / "pyvenv.cfg")


def _copy(root: Root, place: Place, into: Path) -> str:
    to = into / place.file.relative_to(root.folder)
    if place.kind == "special":
        return "is a pipe, a socket or a device"
    if place.kind == "link":
        return _link(root, place, to, into)
    if place.kind == "folder" and _is_environment(place.file):
        return "is a virtual environment"
    with said(place.name, "copied"):
        if place.kind == "folder":
            to.mkdir()
        else:
            with opened(place) as old, to.open("xb") as new:
                shutil.copyfileobj(old, new)
            to.chmod(_mode(place) & 0o777)
    return ""


def _link(root: Root, place: Place, to: Path, into: Path) -> str:
    try:
        behind = root.resolve(place.name)
        to.symlink_to(os.path.relpath(into / behind.name, to.parent), target_is_directory=behind.file.is_dir())
    except ToolError as error:
        return f"is a link that cannot be followed here ({error.kind})"
    except OSError as error:
        return f"is a link that could not be made: {error.strerror}"
    return ""


def _unchanged(root: Root, path: str, expected: str) -> tuple[Place, bytes | None]:
    place = root.resolve(path)
    raw = None if place.kind == "nothing" else read_bytes(place, MAX_BYTES)
    if expected != ("" if raw is None else sha256(raw)):
        hint = "Nothing was applied. Apply the patch by hand or run again."
        raise ToolError("changed_meanwhile", f"{quoted(path)} changed while the run was under way.", hint=hint)
    return place, raw


def _mode(*places: Place) -> int:
    return next((place.status.st_mode for place in places if place.status), 0o644)


def _lay(source: Path, target: Path) -> None:
    with said("a held-out test", "laid over the workspace"):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        shutil.copyfile(source, target)
