"""Ctrl-C, SIGTERM and a closed pipe in the middle of a run: nothing is lost, nobody is left behind, no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph_agent.cli import main, runfolder
from graph_agent.runtime.reading import read_run
from tests.cli.running import ENOUGH, HANGS, UNITTEST, WRONG, Ended, variables, workspace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent to a process and its group")

# The first run fails at once; once the source is mended the tests take their time, so VERIFY is interrupted.
SLOW_WHEN_MENDED = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_it_adds(self):
        self.assertEqual(add(2, 3), 5)
        import hang

        hang.SlowTest("test_it_takes_its_time").test_it_takes_its_time()
"""


@dataclass(frozen=True)
class Running:
    process: subprocess.Popen[bytes]
    home: Path
    mark: Path

    def children(self) -> list[int]:
        """The test process and its child, once they are there."""
        until(lambda: self.mark.exists() and len(self.mark.read_text(encoding="utf-8").split()) == 2)
        return [int(word) for word in self.mark.read_text(encoding="utf-8").split()]

    def signalled(self, number: int) -> Ended:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=ENOUGH)
        return Ended(self.process.returncode, out.decode(), err.decode())

    @property
    def folder(self) -> Path:
        (folder,) = (self.home / "kept" / "runs").iterdir()
        return folder


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + ENOUGH
    while not done():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")  # one that is dead and not yet fetched by its new parent counts as gone
    return not (status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")


@contextmanager
def running(home: Path, stage: str, *words: str) -> Iterator[Running]:
    """A run that hangs in the tests of DIAGNOSE, which run on threads, or in those of VERIFY, which do not."""
    mark = home / "mark"
    hang = HANGS.format(mark=str(mark))
    tests = (
        {"tests/test_slow.py": hang}
        if stage == "diagnose"
        else {"hang.py": hang, "tests/test_calc.py": SLOW_WHEN_MENDED}
    )
    workspace(home / "ws", {"calc.py": WRONG, "tests/__init__.py": "", **tests})
    command = [sys.executable, "-m", "graph_agent", "repair", str(home / "ws"), "--test", UNITTEST, "--timeout", "900"]
    process = subprocess.Popen(
        [*command, "--isolation", "none", "--allow", "calc.py", *words],
        env=variables(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Running(process, home, mark)
    finally:
        process.kill()
        process.communicate()
        for child in mark.read_text(encoding="utf-8").split() if mark.exists() else ():
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)  # a test that fails leaves nobody behind either


@pytest.mark.parametrize(
    "number, code, stage",
    [
        (signal.SIGINT, 130, "diagnose"),
        (signal.SIGINT, 130, "verify"),
        (signal.SIGTERM, 143, "diagnose"),
        (signal.SIGTERM, 143, "verify"),
    ],
)
def test_a_signal_ends_the_children_and_keeps_the_run(tmp_path: Path, number: int, code: int, stage: str) -> None:
    with running(tmp_path, stage) as run:
        children = run.children()
        ended = run.signalled(number)
        assert ended.code == code
        assert "Traceback" not in ended.err
        assert ended.err.startswith(f"graph_agent: interrupted: during {stage}, after ")
        assert f"the run is kept in {run.folder}" in ended.out
        assert ended.next_words == ["resume", run.folder.name]
        records, folded, dropped = read_run(run.folder)
        assert (folded.raw["stage"], dropped) == (stage, "")
        assert len([record for record in records if record["type"] == "finished"]) == folded.raw["steps"]
        until(lambda: not any(map(alive, children)))


def test_an_interrupted_run_with_json_is_one_document(tmp_path: Path) -> None:
    with running(tmp_path, "verify", "--json") as run:
        run.children()
        ended = run.signalled(signal.SIGINT)
        assert ended.code == 130
        assert (ended.data["status"], ended.data["exit_code"], ended.data["stage"]) == ("interrupted", 130, "verify")
        assert "NOT" not in ended.out
        assert ended.data["verification"] is None


def test_what_an_interrupted_run_leaves_in_the_temporary_folder_is_nothing(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    mark = tmp_path / "mark"
    workspace(tmp_path / "ws", {"calc.py": WRONG, "test_slow.py": HANGS.format(mark=str(mark))})
    command = [sys.executable, "-m", "graph_agent", "repair", str(tmp_path / "ws"), "--isolation", "none"]
    process = subprocess.Popen(
        [*command, "--test", UNITTEST],
        env=variables(tmp_path, TMPDIR=str(temporary)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(mark.exists)
    assert list(temporary.iterdir())
    process.send_signal(signal.SIGINT)
    assert process.wait(ENOUGH) == 130
    assert list(temporary.iterdir()) == []


def test_an_interrupt_while_the_workspace_is_copied_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runfolder, "copy_workspace", interrupted)
    words = [
        "repair",
        str(workspace(tmp_path / "ws")),
        "--test",
        UNITTEST,
        "--run-dir",
        str(tmp_path / "kept"),
        "--json",
    ]
    assert main(words) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == "interrupted"
    assert err == "graph_agent: interrupted; to start again, give the same command\n"
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_reader_that_has_had_enough_ends_the_run_without_a_word(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    command = [sys.executable, "-m", "graph_agent", "repair", "ws", "--test", UNITTEST, "--isolation", "none"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=variables(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert b"intake -> diagnose" in process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(ENOUGH) == 141
    assert err == b""
    (folder,) = (tmp_path / "kept" / "runs").iterdir()
    assert read_run(folder)[1].raw["steps"] < 5


def test_help_for_a_reader_that_has_had_enough_ends_without_a_word(tmp_path: Path) -> None:
    shell = f'"{sys.executable}" -m graph_agent repair --help | head -1'
    done = subprocess.run(["/bin/sh", "-c", shell], env=variables(tmp_path), capture_output=True, check=False)
    assert done.stdout.startswith(b"usage:")
    assert done.stderr == b""


def test_a_run_under_nohup_does_not_end_with_its_terminal(tmp_path: Path) -> None:
    """SIGHUP is ignored there, and stays so; otherwise it ends a run as SIGTERM does."""
    with running(tmp_path, "diagnose") as run:
        run.children()
        assert run.signalled(signal.SIGHUP).code == 129
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from graph_agent.cli import main\n"
        "main(['--version']); assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN"
    )
    subprocess.run([sys.executable, "-c", code], env=variables(tmp_path), check=True, capture_output=True)
