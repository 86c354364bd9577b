"""What a command finds around it: the program's file, a short list of variables, and a bound on its memory.

The user's variables hold keys, tokens and settings that make one run unlike the next, so a command gets fixed ones.
The one rule: nothing comes from the user's environment but PATH and what the operating system can't do without.
"""

from __future__ import annotations

import os
import shutil
import site
import sys
from pathlib import Path

_FIXED = {
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",  # or a run would leave files in the workspace
    "PYTHONUNBUFFERED": "1",  # what was printed before a timeout is then not lost
    # Programs that would wait for a person:
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
}
_WINDOWS_NEEDS = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT")


def environment(path: str, private: Path) -> dict[str, str]:
    """All variables of a command. `private` is a folder of its own, in place of the home and the temporary folder."""
    own = {name: str(private) for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP")}
    system = {name: os.environ[name] for name in _WINDOWS_NEEDS if sys.platform == "win32" and name in os.environ}
    if sys.platform == "win32":
        system["PYTHONIOENCODING"] = "utf-8"
    variables = _FIXED | system | own | {"PATH": path}
    packages = site.getuserbase()  # found through HOME otherwise, which is another one now
    if Path(packages).is_dir():
        variables["PYTHONUSERBASE"] = packages
    return variables


def import_path(root: Path) -> dict[str, str]:
    """PYTHONPATH for a project that keeps its packages in `src`, else nothing.

    The project itself may be installed from where its author works; the tests of a copy are to import the copy.
    """
    source = root / "src"
    return {"PYTHONPATH": str(source)} if source.is_dir() and not (source / "__init__.py").exists() else {}


def search_path(root: Path) -> str:
    """PATH without its relative entries and without those inside `root`, where a lookup would find a planted file."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(
        entry for entry in entries if Path(entry).is_absolute() and not _inside(Path(entry), root) and "\0" not in entry
    )


def find_program(name: str, root: Path, path: str) -> Path | None:
    """The file to start for the first word of a command, or None.

    A name with a separator is a path from `root`, on purpose; a bare name is looked for on `path` only.
    """
    if os.sep in name or (os.altsep and os.altsep in name):
        file = root / name
        return file if file.is_file() and os.access(file, os.X_OK) else None
    found = shutil.which(name, path=path)
    # Windows looks in the current folder first, whatever the path says.
    return Path(found) if found and Path(found).is_absolute() and not _inside(Path(found), root) else None


def limited(argv: tuple[str, ...], memory: int | None) -> tuple[str, ...]:
    """`argv` started so that no process of it may claim more than `memory` bytes; unchanged where that can't be had.

    The limit is on writable memory and not on address space, which some runtimes reserve by the terabyte. A fixed
    two-word script sets it and becomes the program: setting it from here would come too late for an early child,
    and code between fork and exec is not safe in a program with threads.
    """
    if memory is None or not sys.platform.startswith("linux"):
        return argv
    return ("/bin/sh", "-c", 'ulimit -d "$0" 2>/dev/null; exec "$@"', str(memory // 1024), *argv)


def _inside(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root) or path.is_relative_to(root)
