"""Which interpreter runs a workspace's tests, and what it is found to have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph_agent.tools.workbench import has_module, interpreter_of

PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"


@pytest.mark.parametrize("name", [".venv", "venv"])
def test_the_workspaces_own_environment_comes_first(tmp_path: Path, name: str) -> None:
    (tmp_path / name / PYTHON).parent.mkdir(parents=True)
    (tmp_path / name / PYTHON).touch()
    assert interpreter_of(tmp_path) == str(tmp_path / name / PYTHON)


def test_the_path_of_the_interpreter_does_not_depend_on_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ws" / ".venv" / PYTHON).parent.mkdir(parents=True)
    (tmp_path / "ws" / ".venv" / PYTHON).touch()
    monkeypatch.chdir(tmp_path)
    assert Path(interpreter_of(Path("ws"))).is_absolute()


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's here")
def test_an_environment_whose_interpreter_is_gone_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(tmp_path / "gone")
    assert interpreter_of(tmp_path) == sys.executable


def test_without_an_environment_the_running_interpreter_is_taken(tmp_path: Path) -> None:
    assert interpreter_of(tmp_path) == sys.executable


def test_a_module_is_found_or_not() -> None:
    assert has_module(sys.executable, "json")
    assert not has_module(sys.executable, "no_such_module_anywhere")


def test_an_interpreter_that_can_t_be_started_has_nothing(tmp_path: Path) -> None:
    assert not has_module(str(tmp_path / "python"), "json")


def test_what_lies_in_the_current_folder_or_on_the_users_path_is_not_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test command has neither: it would not find what is found there."""
    (tmp_path / "only_here.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert not has_module(sys.executable, "only_here")


def test_another_interpreter_is_asked_itself(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True, timeout=60)
    bare = str(tmp_path / "bare" / PYTHON)
    assert has_module(sys.executable, "pytest")
    assert not has_module(bare, "pytest")
    assert has_module(bare, "unittest")
