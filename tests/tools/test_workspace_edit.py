import os
import stat
from dataclasses import replace

import pytest

from graph_agent.protocols import ToolError
from graph_agent.tools.files import sha256
from graph_agent.tools.textedit import TextEdit
from graph_agent.tools.workspace import Limits, Workspace

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, pipes and mode bits as POSIX has them")


@pytest.fixture
def ws(tmp_path):
    for name in ("ws", "original"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "tests").mkdir()
        (tmp_path / name / "src" / "app.py").write_bytes(b"x = 1\r\ny = 1\r\n")
        (tmp_path / name / "src" / "other.py").write_bytes(b"z = 1\n")
        (tmp_path / name / "tests" / "test_a.py").write_bytes(b"assert 1 == 2\n")
    return tmp_path / "ws"


def workspace(ws, **more):
    given = {"writable": ("src/*.py",), "protected": ("tests/**",), "baseline_root": ws.parent / "original"} | more
    return Workspace(ws, **given)


def edits(*pairs):
    return tuple(TextEdit(old, new) for old, new in pairs)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def refusal(call, *arguments, **named):
    with pytest.raises(ToolError) as caught:
        call(*arguments, **named)
    return caught.value


ONE = edits(("x = 1", "x = 2"))


def test_an_edit_changes_the_bytes_and_gives_both_hashes(ws):
    before = (ws / "src/app.py").read_bytes()
    changed = workspace(ws).edit_file("./src/app.py", ONE)
    assert (ws / "src/app.py").read_bytes() == b"x = 2\r\ny = 1\r\n"
    assert (changed.path, changed.already) == ("src/app.py", False)
    assert (changed.before, changed.after) == (sha256(before), sha256(b"x = 2\r\ny = 1\r\n"))


def test_protected_wins_over_writable(ws):
    error = refusal(workspace(ws, writable=("**",)).edit_file, "tests/test_a.py", edits(("1 == 2", "1 == 1")))
    assert error.kind == "protected" and "'tests/**'" in error.message
    assert (ws / "tests/test_a.py").read_bytes() == b"assert 1 == 2\n"


def test_what_is_not_writable_is_not_written_and_the_error_says_what_is(ws):
    (ws / "setup.cfg").write_text("a", encoding="utf-8")
    error = refusal(workspace(ws).edit_file, "setup.cfg", edits(("a", "b")))
    assert error.kind == "not_allowed" and "'src/*.py'" in error.hint
    assert refusal(Workspace(ws).edit_file, "setup.cfg", edits(("a", "b"))).hint == "May be changed: nothing."


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "C:\\x", "a\0b", "..", "../ws/src/app.py"])
def test_every_tool_that_takes_a_path_refuses_one_that_leads_out(ws, path):
    room = workspace(ws)
    for call in (
        lambda: room.read_file(path),
        lambda: room.edit_file(path, ONE),
        lambda: room.restore_file(path),
        lambda: room.search("x", glob=path),
    ):
        assert refusal(call).kind in ("outside_workspace", "bad_path")


@POSIX
def test_links_out_are_neither_read_nor_written_through(ws):
    outside = ws.parent / "ws-victim"
    outside.mkdir()
    (outside / "secret").write_text("SECRET a", encoding="utf-8")
    (ws / "lnk").symlink_to(outside)
    (ws / "s.txt").symlink_to(outside / "secret")
    room = workspace(ws, writable=("**",), baseline_root=ws)
    for path in ("s.txt", "lnk/secret", "lnk/new.txt"):
        assert refusal(room.read_file, path).kind == "outside_workspace"
        assert refusal(room.edit_file, path, edits(("a", "b"))).kind == "outside_workspace"
        assert refusal(room.restore_file, path).kind == "outside_workspace"
    assert (outside / "secret").read_text(encoding="utf-8") == "SECRET a"
    assert names(outside) == ["secret"]


@POSIX
def test_a_link_inside_does_not_lead_around_the_patterns(ws):
    (ws / "src" / "alias.py").symlink_to("../tests/test_a.py")
    room = workspace(ws)
    assert refusal(room.edit_file, "src/alias.py", edits(("1 == 2", "1 == 1"))).kind == "protected"


@POSIX
def test_a_file_that_a_link_shows_under_a_protected_name_is_protected(ws):
    (ws / "real").mkdir()
    (ws / "real" / "test_b.py").write_text("assert 0", encoding="utf-8")
    (ws / "checks").symlink_to("real")
    (ws / "conftest.py").symlink_to("src/other.py")
    room = workspace(ws, writable=("**",), protected=("checks/**", "conftest.py"))
    assert refusal(room.edit_file, "real/test_b.py", edits(("0", "1"))).kind == "protected"
    assert refusal(room.edit_file, "src/other.py", edits(("z", "y"))).kind == "protected"
    assert room.edit_file("src/app.py", ONE).path == "src/app.py"


@POSIX
def test_an_edit_through_a_link_keeps_the_link(ws):
    (ws / "main.py").symlink_to("src/app.py")
    assert workspace(ws).edit_file("main.py", ONE).path == "src/app.py"
    assert (ws / "main.py").is_symlink() and (ws / "src/app.py").read_bytes().startswith(b"x = 2")


@POSIX
def test_pipes_and_devices_are_not_opened(ws):
    os.mkfifo(ws / "src" / "pipe.py")
    room = workspace(ws)
    for call in (room.read_file, lambda path: room.edit_file(path, ONE), room.restore_file):
        assert refusal(call, "src/pipe.py").kind == "not_a_file"
    assert refusal(room.read_file, "src").kind == "not_a_file"


def test_a_repeated_edit_says_that_it_is_in_place_and_writes_nothing(ws):
    room = workspace(ws)
    first = room.edit_file("src/app.py", ONE)
    written = (ws / "src/app.py").stat()
    again = room.edit_file("src/app.py", ONE)
    assert again.already and again.before == again.after == first.after
    assert (ws / "src/app.py").stat().st_mtime_ns == written.st_mtime_ns


def test_a_repeated_edit_is_known_by_the_hash_before_it_even_when_old_still_matches(ws):
    room, grow = workspace(ws, baseline_root=None), edits(("x = 1", "x = 1\nx = 1 + x"))
    first = workspace(ws).edit_file("src/app.py", grow)
    assert room.edit_file("src/app.py", grow, before=first.before).already
    assert (ws / "src/app.py").read_bytes() == b"x = 1\r\nx = 1 + x\r\ny = 1\r\n"


def test_a_repeated_edit_is_known_by_the_text_that_it_started_from(ws):
    room, cut = workspace(ws), edits(("y = 1\n", ""))
    first = room.edit_file("src/app.py", cut)
    assert room.edit_file("src/app.py", cut).already
    assert room.edit_file("src/app.py", cut, before=first.before).already
    grow = edits(("x = 1", "x = 1\nx += 1"))
    second = room.edit_file("src/app.py", grow)
    assert second.before == first.after and not second.already


def test_without_an_original_or_a_hash_a_workspace_knows_the_edits_that_it_made(ws):
    room, grow = workspace(ws, baseline_root=None), edits(("x = 1", "x = 1\nx = 1 + x"), ("y = 1\n", ""))
    room.edit_file("src/app.py", ONE)
    assert room.edit_file("src/app.py", ONE).already
    room.edit_file("src/app.py", edits(("x = 2", "x = 1")))
    room.edit_file("src/app.py", grow)
    assert room.edit_file("src/app.py", grow).already


def test_text_that_happens_to_stand_there_is_not_taken_for_an_edit_in_place(ws):
    assert refusal(workspace(ws).edit_file, "src/app.py", edits(("nope", "x"))).kind == "no_match"


def test_half_of_a_batch_in_place_is_an_error(ws):
    room = workspace(ws, baseline_root=None)
    room.edit_file("src/app.py", ONE)
    assert refusal(room.edit_file, "src/app.py", edits(("x = 1", "x = 2"), ("y = 1", "y = 2"))).kind == "no_match"
    assert (ws / "src/app.py").read_bytes() == b"x = 2\r\ny = 1\r\n"


def test_a_file_that_changed_meanwhile_is_not_written(ws):
    room, before = workspace(ws), sha256((ws / "src/app.py").read_bytes())
    (ws / "src/app.py").write_bytes(b"x = 1\nsomebody was here\n")
    error = refusal(room.edit_file, "src/app.py", ONE, before=before)
    assert error.kind == "changed_meanwhile" and "Read it again" in error.hint
    assert refusal(room.edit_file, "src/app.py", ONE, on="original", before=before).kind == "changed_meanwhile"
    assert (ws / "src/app.py").read_bytes() == b"x = 1\nsomebody was here\n"


def test_an_edit_on_the_original_replaces_what_was_done_since(ws):
    room = workspace(ws)
    room.edit_file("src/app.py", edits(("y = 1", "y = 5")))
    changed = room.edit_file("src/app.py", ONE, on="original")
    assert (ws / "src/app.py").read_bytes() == b"x = 2\r\ny = 1\r\n" and not changed.already
    assert room.edit_file("src/app.py", ONE, on="original").already


def test_restore_brings_the_original_bytes_back(ws):
    room = workspace(ws)
    room.edit_file("src/app.py", ONE)
    assert not room.restore_file("src/app.py").already
    assert (ws / "src/app.py").read_bytes() == b"x = 1\r\ny = 1\r\n"
    assert room.restore_file("src/app.py").already


def test_a_file_and_folder_that_were_deleted_come_back(ws):
    for name in ("app.py", "other.py"):
        (ws / "src" / name).unlink()
    (ws / "src").rmdir()
    room = workspace(ws)
    assert refusal(room.edit_file, "src/app.py", ONE).kind == "not_found"
    assert room.restore_file("src/other.py").before == ""
    assert room.edit_file("src/app.py", ONE, on="original").before == ""
    assert (ws / "src/app.py").read_bytes() == b"x = 2\r\ny = 1\r\n"


def test_a_file_that_the_original_has_not_cannot_be_restored(ws):
    (ws / "src" / "new.py").write_text("x = 1\n", encoding="utf-8")
    room = workspace(ws)
    assert refusal(room.restore_file, "src/new.py").kind == "not_found"
    assert refusal(room.edit_file, "src/new.py", ONE, on="original").kind == "not_found"
    assert refusal(workspace(ws, baseline_root=None).restore_file, "src/app.py").kind == "no_original"


def test_restore_is_held_to_the_same_permissions(ws):
    assert refusal(workspace(ws).restore_file, "tests/test_a.py").kind == "protected"


def test_a_missing_file_is_named_with_the_nearest_that_is_there(ws):
    error = refusal(workspace(ws).edit_file, "src/ap.py", ONE)
    assert error.kind == "not_found" and "did you mean 'src/app.py'?" in error.message


@POSIX
def test_mode_bits_stay(ws):
    (ws / "src/app.py").chmod(0o750)
    workspace(ws).edit_file("src/app.py", ONE)
    assert stat.S_IMODE((ws / "src/app.py").stat().st_mode) == 0o750


@POSIX
def test_a_hard_link_elsewhere_keeps_the_old_content(ws):
    os.link(ws / "src/app.py", ws.parent / "elsewhere.py")
    workspace(ws).edit_file("src/app.py", ONE)
    assert (ws.parent / "elsewhere.py").read_bytes() == b"x = 1\r\ny = 1\r\n"


def test_a_write_that_fails_leaves_the_old_content_and_nothing_beside_it(ws, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", str(ws))

    monkeypatch.setattr(os, "fsync", full)
    error = refusal(workspace(ws).edit_file, "src/app.py", ONE)
    assert error.kind == "io_error" and "No space left" in error.message and str(ws) not in str(error)
    assert names(ws / "src") == ["app.py", "other.py"]
    assert (ws / "src/app.py").read_bytes().startswith(b"x = 1")


def test_what_a_crash_left_behind_is_cleared_by_the_next_try(ws, monkeypatch):
    class Crash(BaseException):
        pass

    def crash(*_):
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(type(ws), "replace", crash)
        patched.setattr(type(ws), "unlink", lambda *_, **__: None)
        with pytest.raises(Crash):
            workspace(ws).edit_file("src/app.py", ONE)
    assert len(names(ws / "src")) == 3
    workspace(ws).edit_file("src/app.py", ONE)
    assert names(ws / "src") == ["app.py", "other.py"]


def test_a_file_beyond_the_limit_is_not_edited(ws):
    room = workspace(ws, limits=replace(Limits(), file_bytes=10))
    assert refusal(room.edit_file, "src/app.py", ONE).kind == "too_large"


def test_no_message_of_a_refusal_names_a_path_of_the_machine(ws):
    room = workspace(ws)
    for call in (
        lambda: room.read_file("src/none.py"),
        lambda: room.read_file("src"),
        lambda: room.read_file("../x"),
        lambda: room.edit_file("tests/test_a.py", ONE),
        lambda: room.edit_file("README", ONE),
        lambda: room.edit_file("src/app.py", edits(("nope", "x"))),
        lambda: room.search("x", glob="*.rs"),
    ):
        assert str(ws.parent) not in str(refusal(call))
