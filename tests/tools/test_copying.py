import os
import stat

import pytest

from graph_agent.protocols import ToolError
from graph_agent.tools import files, workbench
from graph_agent.tools.paths import WorkspaceError
from graph_agent.tools.workbench import apply_files, copy_workspace
from graph_agent.tools.workspace import Workspace

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, pipes and mode bits as POSIX has them")


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "pkg" / "deep").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "pkg" / "deep" / "a.py").write_bytes(b"x = 1\r\n")
    (folder / "run.sh").write_bytes(b"\0\xff")
    return folder


def test_a_copy_holds_the_same_bytes_folders_and_modes(source, tmp_path):
    if os.name == "posix":
        (source / "run.sh").chmod(0o755)
    assert copy_workspace(source, tmp_path / "new" / "copy") == ()
    copy = tmp_path / "new" / "copy"
    assert Workspace(copy).list_files() == Workspace(source).list_files()
    assert (copy / "empty").is_dir()
    if os.name == "posix":
        assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o755


def test_version_control_and_caches_are_not_copied(source, tmp_path):
    for folder in (".git", "pkg/__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache"):
        (source / folder).mkdir()
        (source / folder / "x").write_text("x", encoding="utf-8")
    assert copy_workspace(source, tmp_path / "copy") == ()
    assert sorted(entry.name for entry in (tmp_path / "copy").iterdir()) == ["empty", "pkg", "run.sh"]
    assert [entry.name for entry in (tmp_path / "copy" / "pkg").iterdir()] == ["deep"]


def test_what_is_installed_is_not_copied_and_an_environment_by_a_name_of_its_own_is_said(source, tmp_path):
    for folder in (".venv", "node_modules", ".tox", ".nox", "pkg/py38"):
        (source / folder / "lib").mkdir(parents=True)
        (source / folder / "lib" / "x.py").touch()
    (source / "pkg" / "py38" / "pyvenv.cfg").touch()
    (left,) = copy_workspace(source, tmp_path / "copy")
    assert (left.path, left.why) == ("pkg/py38", "is a virtual environment")
    assert sorted(entry.name for entry in (tmp_path / "copy").iterdir()) == ["empty", "pkg", "run.sh"]
    assert [entry.name for entry in (tmp_path / "copy" / "pkg").iterdir()] == ["deep"]


def test_a_large_environment_does_not_count_against_the_limit(source, tmp_path, monkeypatch):
    monkeypatch.setattr(workbench, "MAX_ENTRIES", 10)
    (source / "env").mkdir()
    for name in ("pyvenv.cfg", *map(str, range(50))):
        (source / "env" / name).touch()
    copy_workspace(source, tmp_path / "copy")
    assert (tmp_path / "copy" / "run.sh").exists()


@POSIX
def test_links_inside_point_into_the_copy(source, tmp_path):
    (source / "one.py").symlink_to(source / "pkg" / "deep" / "a.py")
    (source / "pkg" / "two").symlink_to("deep")
    (source / "here").symlink_to(".")
    assert copy_workspace(source, tmp_path / "copy") == ()
    copy = tmp_path / "copy"
    assert (copy / "one.py").resolve() == (copy / "pkg" / "deep" / "a.py").resolve()
    assert (copy / "pkg" / "two").resolve() == (copy / "pkg" / "deep").resolve()
    assert (copy / "here").resolve() == copy.resolve()


@POSIX
def test_links_out_and_special_files_are_left_behind_and_said(source, tmp_path):
    (tmp_path / "secret").write_text("SECRET", encoding="utf-8")
    (source / "out").symlink_to(tmp_path / "secret")
    (source / "pkg" / "up").symlink_to("../..")
    (source / "loop").symlink_to("loop")
    os.mkfifo(source / "pipe")
    left = copy_workspace(source, tmp_path / "copy")
    assert [one.path for one in left] == ["loop", "out", "pipe", "pkg/up"]
    assert "outside_workspace" in left[1].why and "pipe" in left[2].why
    assert not any(os.path.lexists(tmp_path / "copy" / one.path) for one in left)


def test_a_copy_is_not_laid_over_something(source, tmp_path):
    (tmp_path / "copy").mkdir()
    assert copy_workspace(source, tmp_path / "copy") == ()
    with pytest.raises(WorkspaceError, match="is there already"):
        copy_workspace(source, tmp_path / "copy")


@pytest.mark.parametrize("target", ["inside", ".", ".."])
def test_a_copy_and_its_source_do_not_lie_in_one_another(source, target):
    with pytest.raises(WorkspaceError, match="in one another"):
        copy_workspace(source, source / target)


def test_a_source_that_is_no_folder_is_refused(source, tmp_path):
    with pytest.raises(WorkspaceError, match="no folder"):
        copy_workspace(source / "run.sh", tmp_path / "copy")


def test_a_workspace_with_too_many_entries_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.setattr(workbench, "MAX_ENTRIES", 3)
    with pytest.raises(ToolError) as caught:
        copy_workspace(source, tmp_path / "copy")
    assert caught.value.kind == "too_large"


@POSIX
def test_a_hard_link_is_copied_as_a_file_of_its_own(source, tmp_path):
    os.link(source / "run.sh", source / "twin.sh")
    copy_workspace(source, tmp_path / "copy")
    assert (tmp_path / "copy" / "twin.sh").stat().st_nlink == 1


@pytest.fixture
def pair(tmp_path):
    """A workspace, and the copy in which two of its three files were changed."""
    for folder, mark in (("ws", "old"), ("copy", "new")):
        (tmp_path / folder / "in").mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text(f"a {mark}", encoding="utf-8")
        (tmp_path / folder / "in" / "b.py").write_text(f"b {mark}", encoding="utf-8")
        (tmp_path / folder / "c.py").write_text("c", encoding="utf-8")
    return tmp_path / "ws", tmp_path / "copy"


BEFORE = {"in/b.py": files.sha256(b"b old"), "a.py": files.sha256(b"a old")}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_files_named_are_brought_over_and_returned_in_order(pair):
    ws, copy = pair
    assert apply_files(ws, copy, BEFORE) == ("a.py", "in/b.py")
    assert contents(ws) == {"a.py": "a new", "in/b.py": "b new", "c.py": "c"}


def test_a_file_that_is_not_named_stays(pair):
    ws, copy = pair
    apply_files(ws, copy, {"a.py": files.sha256(b"a old")})
    assert contents(ws)["in/b.py"] == "b old"


@pytest.mark.parametrize("changed", ["a.py", "in/b.py"])
def test_a_file_that_changed_meanwhile_stops_all_of_it(pair, changed):
    ws, copy = pair
    (ws / changed).write_text("mine", encoding="utf-8")
    before = contents(ws)
    with pytest.raises(ToolError) as caught:
        apply_files(ws, copy, BEFORE)
    assert caught.value.kind == "changed_meanwhile"
    assert changed in str(caught.value)
    assert contents(ws) == before


def test_a_file_that_is_gone_counts_as_changed(pair):
    ws, copy = pair
    (ws / "a.py").unlink()
    with pytest.raises(ToolError, match="changed while"):
        apply_files(ws, copy, BEFORE)


def test_a_new_file_is_made_and_one_that_appeared_meanwhile_stops_it(pair):
    ws, copy = pair
    (copy / "d.py").write_text("d", encoding="utf-8")
    assert apply_files(ws, copy, {"d.py": ""}) == ("d.py",)
    assert contents(ws)["d.py"] == "d"
    with pytest.raises(ToolError, match="changed while"):
        apply_files(ws, copy, {"d.py": ""})


def test_a_write_that_fails_takes_back_those_before_it(pair, monkeypatch):
    ws, copy = pair
    (copy / "A.py").write_text("new", encoding="utf-8")  # sorted first, and not there yet
    before, really = contents(ws), files.replace

    def full(place, raw, mode):
        if place.name == "in/b.py":
            raise ToolError("io_error", "No space left on device.")
        really(place, raw, mode)

    monkeypatch.setattr(files, "replace", full)
    with pytest.raises(ToolError, match="No space left"):
        apply_files(ws, copy, {**BEFORE, "A.py": ""})
    assert contents(ws) == before


@POSIX
def test_the_mode_of_a_file_is_kept(pair):
    ws, copy = pair
    (ws / "a.py").chmod(0o750)
    apply_files(ws, copy, BEFORE)
    assert stat.S_IMODE((ws / "a.py").stat().st_mode) == 0o750


def test_a_path_that_leads_out_is_refused(pair):
    ws, copy = pair
    with pytest.raises(ToolError) as caught:
        apply_files(ws, copy, {"../copy/a.py": files.sha256(b"a new")})
    assert caught.value.kind == "outside_workspace"
