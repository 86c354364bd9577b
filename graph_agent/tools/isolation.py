"""What a command finds around it: the program's file, a short list of variables, and the walls it runs within.

With bubblewrap the file system is read-only but for the workspace, the home and the temporary folders are hidden, and
there is no network; without it a command is merely confined, and confinement is no sandbox. The one rule: what was
asked for is in force, or the answer says why it isn't.
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

MEMORY = 2 * 1024**3  # bytes a process may claim (Linux only): a wrong loop that allocates must not take the machine

_SEALED = (
    *("--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),  # or root inside could simply remount the file system writable
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)
_SHARED = ("/tmp", "/var/tmp", "/run")  # other programs' files, and the sockets through which they take orders
_VARIABLES = {
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONDONTWRITEBYTECODE": "1",  # or a run would leave files in the workspace
    "PYTHONUNBUFFERED": "1",  # what was printed before a timeout is then not lost
    # Programs that would wait for a person:
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
}


def environment(root: Path, private: Path) -> dict[str, str]:
    """All variables of a command: fixed ones and PATH, so no keys. `private` is its home and its temporary folder.

    What lies in `src` can be imported: the project may be installed from elsewhere, and tests are to import the copy.
    """
    found = _VARIABLES | {name: os.environ[name] for name in ("SYSTEMROOT", "PATHEXT") if name in os.environ}
    found |= dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), str(private))
    found |= {"PATH": search_path(root), "PYTHONUSERBASE": site.getuserbase()}  # the latter is found by HOME otherwise
    if (root / "src").is_dir() and not (root / "src" / "__init__.py").exists():
        found["PYTHONPATH"] = str(root / "src")
    return found


def search_path(root: Path) -> str:
    """PATH without relative entries and those inside `root`, where a lookup would find a planted file."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute() and not _inside(Path(entry), root))


def find_program(name: str, root: Path) -> Path | None:
    """The file to start: by a path from `root` if there is a separator in the name, else by PATH, outside of `root`."""
    if os.sep in name:
        file = root / name
        return file if file.is_file() and os.access(file, os.X_OK) else None
    found = shutil.which(name, path=search_path(root))
    return Path(found) if found and not _inside(Path(found).absolute(), root) else None


def limited(argv: tuple[str, ...]) -> tuple[str, ...]:
    """`argv` started so that no process of it may claim more than MEMORY, where that can be had.

    A limit on address space would stop runtimes that reserve it by the terabyte. A shell sets it and becomes the
    program: code between fork and exec is not safe in a program with threads.
    """
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
    """The bubblewrap to use ("" for none), and why what was wanted can't be had ("" when it can)."""
    if wanted == "none":
        return "", ""
    path, reason = bubblewrap()
    return path, reason if wanted == "bubblewrap" else ""


def isolated(
    bwrap: str, argv: Iterable[str], *, root: Path, writable: Iterable[Path], program: Path
) -> tuple[str, ...]:
    """`argv` under bubblewrap: it can write to `writable` and `root`, and read what the file `program` needs."""
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
    """The interpreter that a script's first line names by its path; None for anything else."""
    try:
        with program.open("rb") as file:
            first = file.readline(500)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    path = Path(os.fsdecode(words[0])) if words else None
    return path if path and path.is_absolute() and path.name != "env" else None


def _needed(program: Path) -> Iterator[Path]:
    """The folders without which `program`, or the interpreter that runs us, would not start."""
    here = Path.cwd()  # on the path of `python -m`, and full of anything
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1]]
    folders += [Path(entry) for entry in sys.path if entry and Path(entry) != here]
    for file in (program, interpreter_of(program) or program):
        folders += (*_installation(file), *_installation(_real(file)))
    for folder in folders:
        yield from (folder, _real(folder))


def _installation(file: Path) -> tuple[Path, ...]:
    """The folder tree that a program was installed as, or a part of it where private files are its neighbours."""
    folder, tree = file.parent, file.parent.parent
    if folder.name not in ("bin", "Scripts", "shims"):
        return (folder,)
    return (folder, tree / "lib") if tree.name == ".local" or tree == _real("~") else (tree,)


def _real(path: Path | str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))  # noqa: PTH111 - the other one raises without a home


def _inside(path: Path, root: Path) -> bool:
    return _real(path).is_relative_to(root) or path.is_relative_to(root)
