"""Run a command where it can write only to its workspace and reach no network: by bubblewrap, if the machine has it.

The file system is shown read-only, without the user's home and the shared temporary folders; only what the interpreter
needs of them is bound back. The one rule: what was asked for is in force, or the answer says why it isn't. Without
bubblewrap a command is merely confined (its own folder, process group and environment), and confinement is no sandbox.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

Isolation: TypeAlias = Literal["auto", "bubblewrap", "none"]

_SHARED = ("/tmp", "/var/tmp", "/run")  # other programs' files, and the sockets through which they take orders
_PROBE_TIMEOUT = 10.0
_SEALED = (
    *("--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),  # or root inside could simply remount the file system writable
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)


@cache
def bubblewrap() -> tuple[str, str]:
    """The path of a bubblewrap that works here and "", or "" and the reason. Tried once a process."""
    if not sys.platform.startswith("linux"):
        return "", "bubblewrap exists for Linux only"
    path = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin:" + os.environ.get("PATH", ""))
    if path is None:
        return "", "bwrap is not installed"
    try:
        tried = subprocess.run(
            [path, *_SEALED, "--tmpfs", "/tmp", "/bin/sh", "-c", ":"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"bwrap does not start: {error}"
    if tried.returncode:
        said = tried.stderr.decode("utf-8", "replace").strip() or f"exit code {tried.returncode}"
        return "", f"bwrap can't set up its namespaces here: {said}"
    return path, ""


def choose_isolation(wanted: Isolation) -> tuple[str, str]:
    """The bubblewrap to use ("" for none), and why what was wanted can't be had ("" when it can)."""
    if wanted == "none":
        return "", ""
    path, reason = bubblewrap()
    return path, reason if wanted == "bubblewrap" else ""


def isolated(
    bwrap: str, argv: Iterable[str], *, root: Path, writable: Iterable[Path], program: Path, home: Path | None = None
) -> tuple[str, ...]:
    """`argv` as bubblewrap has to be called for it. `writable` and `root` are the only folders it can write to.

    `program` is the program's file: what it needs is kept readable. `home` is the folder to hide, the user's own.
    """
    writable = [root, *writable]
    hidden = _hidden(home or _home(), writable)
    mounts = [("--tmpfs", path) for path in hidden]
    mounts += [("--ro-bind", path) for path in needed_of(hidden, program)]
    mounts += [("--bind", path) for path in writable]
    options: list[str] = []
    for option, path in sorted(mounts, key=lambda mount: len(mount[1].parts)):  # a parent must not cover its children
        options += (option, str(path)) if option == "--tmpfs" else (option, str(path), str(path))
    return (bwrap, *_SEALED, *options, "--chdir", str(root), "--", *argv)


def needed_of(hidden: Iterable[Path], program: Path) -> tuple[Path, ...]:
    """The folders inside `hidden` without which `program`, or the interpreter that runs us, would not start."""
    hidden = tuple(hidden)
    wanted: dict[Path, None] = {}
    for path in _readable(program):
        wanted |= dict.fromkeys((path, _real(path)))
    return tuple(
        path
        for path in wanted
        if any(path.is_relative_to(folder) for folder in hidden)
        and not any(folder.is_relative_to(path) for folder in hidden)
        and path.exists()
    )


def _real(path: Path | str) -> Path:
    return Path(os.path.realpath(path))


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # a user without a home has nothing there to hide
        return None


def _hidden(home: Path | None, writable: Iterable[Path]) -> tuple[Path, ...]:
    """What to hide: not what is missing, not the root of all, and not what the command has to write to as a whole."""
    folders = [_real(path) for path in _SHARED] + ([_real(home)] if home else [])
    return tuple(
        path
        for path in dict.fromkeys(folders)
        if path.is_dir() and path != Path(path.anchor) and not any(path.is_relative_to(own) for own in writable)
    )


def _readable(program: Path) -> Iterator[Path]:
    yield from (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1], Path(site.getusersitepackages()))
    here = Path.cwd()
    for entry in sys.path:  # a package installed in editable form lies wherever its author works
        if entry and Path(entry) != here:
            yield Path(entry)
    for file in _chain(program):
        yield from _installation(file)


def _chain(program: Path) -> Iterator[Path]:
    """The program's file, what it is a link to, and the interpreter that its first line names, likewise."""
    interpreter = interpreter_of(program)
    for file in (program, interpreter):
        if file is not None:
            yield file
            yield _real(file)


def _installation(file: Path) -> Iterator[Path]:
    """The folder tree that a program was installed as, or a part of it where private files are its neighbours."""
    folder = file.parent
    tree = folder.parent
    if folder.name not in ("bin", "Scripts", "shims"):
        yield folder
    elif tree == _home() or tree.name == ".local":
        yield from (folder, tree / "lib")
    else:
        yield tree


def interpreter_of(program: Path) -> Path | None:
    """The interpreter that a script's first line names by its path; None for anything else."""
    try:
        with program.open("rb") as file:
            first = file.readline(500)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    path = Path(os.fsdecode(words[0])) if words else None
    return path if path and path.is_absolute() and path.name != "env" else None
