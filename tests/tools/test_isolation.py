"""What a command can and can't do under bubblewrap, and what is said where there is none."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_agent.tools import command
from graph_agent.tools.command import CommandResult, Commands, bubblewrap, choose_isolation, interpreter_of, isolated

WORKS = pytest.mark.skipif(not bubblewrap()[0], reason=f"no bubblewrap: {bubblewrap()[1]}")


def run(root: Path, code: str, **options: Any) -> CommandResult:
    argv = (sys.executable, "-c", code)
    return Commands(root, [argv], **({"timeout": 20, "isolation": "bubblewrap"} | options)).run_command(argv)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that belongs to neither the workspace nor the places that are hidden."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".outside-") as folder:
        yield Path(folder)


@WORKS
def test_only_the_workspace_can_be_written(tmp_path: Path, outside: Path) -> None:
    result = run(tmp_path, f"open('in', 'w'); print('in'); open({str(outside / 'out')!r}, 'w')")
    assert result.isolation == "bubblewrap"
    assert result.output.startswith("in\n") and result.exit_code == 1
    assert (tmp_path / "in").exists() and not (outside / "out").exists()


@WORKS
def test_a_folder_named_writable_is(tmp_path: Path, outside: Path) -> None:
    result = run(tmp_path, f"open({str(outside / 'out')!r}, 'w').write('x')", writable=(outside,))
    assert (result.exit_code, result.output) == (0, "")
    assert (outside / "out").read_text(encoding="utf-8") == "x"


@WORKS
def test_there_is_no_network_but_a_loopback_of_its_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = run(tmp_path, f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)")
    assert result.exit_code == 1 and "ConnectionRefused" in result.output
    own = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 3)"
    assert run(tmp_path, own).exit_code == 0


@WORKS
def test_other_processes_and_shared_temporary_files_are_out_of_sight(tmp_path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp") as shared:
        code = (
            f"import os; print(os.path.exists({shared.name!r}), len([p for p in os.listdir('/proc') if p.isdigit()]))"
        )
        seen, processes = run(tmp_path, code).output.split()
    assert seen == "False" and int(processes) <= 3


@WORKS
def test_root_inside_can_not_make_the_rest_writable_again(tmp_path: Path) -> None:
    code = (
        "import subprocess; subprocess.run(['mount', '-o', 'remount,rw', '/']); open('/etc/graph-agent-was-here', 'w')"
    )
    assert run(tmp_path, code).exit_code == 1
    assert not Path("/etc/graph-agent-was-here").exists()


@WORKS
def test_a_timeout_ends_everything_inside(tmp_path: Path) -> None:
    code = "import subprocess; print(1); subprocess.run(['sleep', '60'], start_new_session=True)"
    result = run(tmp_path, code, timeout=1.5)
    assert (result.timed_out, result.exit_code, result.output) == (True, None, "1\n")
    assert result.seconds < 10


@WORKS
def test_a_daemon_of_a_finished_command_does_not_live_on(tmp_path: Path) -> None:
    code = """
import os, subprocess, time
beat = "for i in $(seq 600); do echo >> beat; sleep 0.05; done"
subprocess.Popen(["sh", "-c", beat], start_new_session=True)
while not os.path.exists("beat"):
    time.sleep(0.01)
"""
    assert run(tmp_path, code).exit_code == 0
    before = (tmp_path / "beat").stat().st_size
    time.sleep(0.4)
    assert (tmp_path / "beat").stat().st_size == before


@WORKS
def test_the_home_is_hidden_but_for_the_workspace_and_the_interpreter(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = outside / "home"
    workspace = home / "work"
    venv = home / "venv" / "bin"
    workspace.mkdir(parents=True)
    venv.mkdir(parents=True)
    (home / "secret").write_text("key", encoding="utf-8")
    (home / "work2").mkdir()
    program = venv / "tool"
    program.write_text("#!/bin/sh\nls -a ..; cat ../secret; touch made\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    argv = isolated(bubblewrap()[0], [str(program)], root=workspace, writable=(), program=program)
    said = subprocess.run(argv, capture_output=True, encoding="utf-8", check=False)
    assert said.stdout.split() == [".", "..", "venv", "work"]
    assert "secret" in said.stderr
    assert (workspace / "made").exists()


@WORKS
def test_a_workspace_that_is_the_home_itself_still_runs(outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path("/bin/sh")
    monkeypatch.setenv("HOME", str(outside))
    argv = isolated(bubblewrap()[0], ["/bin/sh", "-c", "touch made"], root=outside, writable=(), program=program)
    assert subprocess.run(argv, check=False).returncode == 0
    assert (outside / "made").exists()


@WORKS
def test_a_failure_of_bubblewrap_itself_is_no_exit_code_of_the_command(tmp_path: Path, outside: Path) -> None:
    gone = outside / "gone"
    gone.mkdir()
    argv = (sys.executable, "-c", "print(1)")
    commands = Commands(tmp_path, [argv], timeout=20, isolation="bubblewrap", writable=(gone,))
    gone.rmdir()
    result = commands.run_command(argv)
    assert result.exit_code is None and result.problem.startswith("isolation failed: bwrap: ")


def test_where_bubblewrap_does_not_work_auto_goes_on_without_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "bubblewrap", lambda: ("", "bwrap is not installed"))
    assert choose_isolation("auto") == ("", "")
    result = run(tmp_path, "print(1)", isolation="auto")
    assert (result.output, result.isolation, result.problem) == ("1\n", "none", "")


def test_where_bubblewrap_is_asked_for_and_does_not_work_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "bubblewrap", lambda: ("", "bwrap is not installed"))
    result = run(tmp_path, "open('made', 'w')")
    assert (result.exit_code, result.isolation) == (None, "none")
    assert result.problem == "isolation failed: bwrap is not installed"
    assert not (tmp_path / "made").exists()
    assert command.choose_isolation is choose_isolation


def test_the_interpreter_of_a_script_is_read_from_its_first_line(tmp_path: Path) -> None:
    for first, found in {
        b"#!/opt/v/bin/python -I\n": Path("/opt/v/bin/python"),
        b"#!/usr/bin/env python3\n": None,
        b"\x7fELF": None,
        b"": None,
        b"#!python\n": None,
    }.items():
        (tmp_path / "tool").write_bytes(first)
        assert interpreter_of(tmp_path / "tool") == found
    assert interpreter_of(tmp_path / "none") is None
