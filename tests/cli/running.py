"""The command line in a process of its own, and small workspaces for it to work on.

A run gets the variables that are named here and none of the user's; it keeps its runs where the test says.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
UNITTEST = shlex.join([sys.executable, "-m", "unittest", "discover"])
ENOUGH = 60.0  # seconds: a bound for a machine that is very busy, never what a run takes

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_it_adds(self):
        self.assertEqual(add(2, 3), 5)
"""
HANGS = """\
import os
import pathlib
import subprocess
import sys
import time
import unittest

MARK = pathlib.Path({mark!r})


class SlowTest(unittest.TestCase):
    def test_it_takes_its_time(self):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        MARK.write_text(f"{{os.getpid()}} {{child.pid}}", encoding="utf-8")
        time.sleep(600)
"""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        assert self.out.endswith("\n") and self.out.count("\n") == 1, self.out
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def last_command(self) -> str:
        """The last line, which is a command of this program."""
        line = self.out.splitlines()[-1].strip()
        assert line.startswith("python3 -m graph_agent "), line
        return line

    @property
    def next_words(self) -> list[str]:
        """What the last line says to run, for `cli`."""
        return shlex.split(self.last_command)[3:]

    @property
    def folder(self) -> Path:
        """Where the run says that it is kept."""
        line = next(line for line in self.out.splitlines() if "the run is kept in " in line)
        return Path(line.split("the run is kept in ")[1])


def variables(home: Path, **more: str) -> dict[str, str]:
    own = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "GRAPH_AGENT_HOME": str(home / "kept")}
    system = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    return {**system, **own, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **more}


def cli(
    *words: str | Path,
    home: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    python: tuple[str, ...] = (sys.executable,),
) -> Ended:
    """Run the command line. `env` replaces all variables."""
    done = subprocess.run(
        [*python, "-m", "graph_agent", *map(str, words)],
        cwd=cwd or home,
        env=dict(env) if env is not None else variables(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=ENOUGH,
        check=False,
    )
    ended = Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
    assert "Traceback" not in ended.err, ended.err
    return ended


def repair(workspace: Path | str, *words: str | Path, home: Path, test: str = UNITTEST, **rest: Any) -> Ended:
    """`repair` with a test command that is quick to start, and no bubblewrap where the test does not ask for it."""
    given = [] if not test or "--test" in words else ["--test", test]
    plain = [] if "--isolation" in words else ["--isolation", "none"]
    return cli("repair", workspace, *given, *plain, *words, home=home, **rest)


def workspace(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A project of one function with one wrong sign, or of the files given."""
    for name, text in (files or {"calc.py": WRONG, "tests/__init__.py": "", "tests/test_calc.py": TESTS}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return folder


def tree(folder: Path) -> dict[str, str]:
    """Every entry below a folder: the hash of a file's bytes, what a link points at, or that it is a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = "folder" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
    return found
