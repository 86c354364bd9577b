"""Where runs are kept, by the options and the variables that say so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graph_agent.cli.exits import UsageError
from graph_agent.cli.runfolder import new_run, runs_folder

posix = pytest.mark.skipif(os.name != "posix", reason="XDG and modes are POSIX's")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GRAPH_AGENT_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_the_option_wins_over_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_HOME", str(tmp_path / "variable"))
    assert runs_folder(None) == tmp_path / "variable" / "runs"
    assert runs_folder(str(tmp_path / "option")) == tmp_path / "option"


@posix
def test_the_users_state_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs_folder(None) == tmp_path / "home" / ".local" / "state" / "graph_agent" / "runs"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert runs_folder(None) == tmp_path / "state" / "graph_agent" / "runs"


@posix
def test_a_relative_state_folder_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The XDG specification says so; the current folder would be written to otherwise."""
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert runs_folder(None) == tmp_path / "home" / ".local" / "state" / "graph_agent" / "runs"


def test_an_empty_variable_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_HOME", "")
    monkeypatch.chdir(tmp_path)
    assert runs_folder(None) != tmp_path / "runs"


def test_each_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    folders = {new_run(tmp_path / "runs", tmp_path / "my shop") for _ in range(20)}
    assert len(folders) == 20
    assert all(folder.name.startswith("my-shop-") and folder.is_dir() for folder in folders)


@posix
def test_the_folder_of_a_run_is_the_users_alone(tmp_path: Path) -> None:
    assert new_run(tmp_path / "runs", tmp_path / "ws").stat().st_mode & 0o077 == 0


def test_a_very_long_or_an_odd_name_is_cut_to_what_a_file_system_takes(tmp_path: Path) -> None:
    assert len(os.fsencode(new_run(tmp_path / "runs", tmp_path / ("日" * 80)).name)) < 255
    assert new_run(tmp_path / "runs", tmp_path / "...").name.startswith("run-")


@posix
def test_a_link_into_the_workspace_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "ws" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "ws" / "deep")
    with pytest.raises(UsageError, match="--run-dir"):
        new_run(tmp_path / "link", Path(os.path.realpath(tmp_path / "ws")))
    assert list((tmp_path / "ws" / "deep").iterdir()) == []
