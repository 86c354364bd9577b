"""The course in a folder of its own, so that a test can play the learner."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
COURSE = ROOT / "exercises"
FOLDERS = sorted(path for path in COURSE.glob("[0-9][0-9]_*") if path.is_dir())
NAMES = [folder.name for folder in FOLDERS]


def copied(to: Path, *, solved: bool = False) -> Path:
    """A folder with a copy of the course in it, as shipped or with each exercise solved."""
    shutil.copytree(COURSE, to / "exercises", ignore=shutil.ignore_patterns("__pycache__", "before_reset.py"))
    for name in NAMES:
        folder = to / "exercises" / name
        shutil.copyfile(folder / ("solution.py" if solved else "start.py"), folder / "exercise.py")
    return to


def python(*arguments: str, cwd: Path, timeout: float = 120, **variables: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with graph_agent on its path after the folder itself."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
    )


def environment(**variables: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | variables


def course(copy: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "exercises", *arguments, cwd=copy, **variables)


def readme(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder but for Python's caches."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
