import os
import sys
import threading
from dataclasses import replace
from hashlib import sha256

import pytest

from graph_agent.protocols import ToolError, Tools
from graph_agent.tools.paths import PatternError, WorkspaceError
from graph_agent.tools.textedit import TextEdit
from graph_agent.tools.toolbox import Toolbox
from graph_agent.tools.workspace import Changed, Limits, Workspace

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, pipes and byte names as POSIX has them")


@pytest.fixture
def ws(tmp_path):
    folder = tmp_path / "ws"
    (folder / "src").mkdir(parents=True)
    (folder / "b.txt").write_bytes(b"one\ntwo\r\nthree\n")
    (folder / "src" / "a.py").write_bytes(b"")
    return folder


def refusal(call, *arguments, **named):
    with pytest.raises(ToolError) as caught:
        call(*arguments, **named)
    return caught.value


def test_files_are_listed_with_hash_and_size_sorted_by_path(ws):
    (ws / "src.txt").write_bytes(b"x")
    listed = Workspace(ws).list_files()
    assert [info.path for info in listed] == ["b.txt", "src.txt", "src/a.py"]
    assert (listed[0].size, listed[0].sha256) == (15, sha256(b"one\ntwo\r\nthree\n").hexdigest())


def test_version_control_and_caches_are_not_listed(ws):
    for folder in (".git", "__pycache__", "src/__pycache__", ".hypothesis", ".pytest_cache", ".mypy_cache"):
        (ws / folder).mkdir()
        (ws / folder / "x").write_text("x", encoding="utf-8")
    assert [info.path for info in Workspace(ws).list_files()] == ["b.txt", "src/a.py"]


def test_compiled_files_that_python_would_import_are_listed(ws):
    (ws / "pytest.pyc").write_bytes(b"x")
    assert "pytest.pyc" in [info.path for info in Workspace(ws).list_files()]


@POSIX
def test_links_out_and_special_files_are_not_listed(ws):
    (ws.parent / "secret").write_text("SECRET", encoding="utf-8")
    (ws / "out").symlink_to(ws.parent / "secret")
    (ws / "gone").symlink_to("nothing")
    (ws / "lib").symlink_to("src")
    (ws / "main.py").symlink_to("src/a.py")
    (ws / "loop").symlink_to("loop")
    os.mkfifo(ws / "pipe")
    assert [info.path for info in Workspace(ws).list_files()] == ["b.txt", "main.py", "src/a.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="macOS and Windows have no such names")
def test_a_name_that_is_no_utf8_is_listed_in_a_form_that_json_takes(ws):
    (ws / os.fsdecode(b"bad\xff.txt")).touch()
    room = Workspace(ws)
    assert "bad\\xff.txt" in [info.path for info in room.list_files()]
    assert refusal(room.read_file, "bad\\xff.txt").kind == "bad_path"


def test_more_entries_than_the_limit_are_an_error_and_no_part_of_a_list(ws):
    room = Workspace(ws, limits=replace(Limits(), entries=2))
    assert refusal(room.list_files).kind == "too_large"


def test_text_is_read_as_it_is(ws):
    read = Workspace(ws).read_file("b.txt")
    assert (read.path, read.text, read.truncated) == ("b.txt", "one\ntwo\r\nthree\n", False)
    assert read.sha256 == sha256(b"one\ntwo\r\nthree\n").hexdigest()
    assert Workspace(ws).read_file("src/a.py").text == ""


def test_some_lines_can_be_read_and_the_hash_is_of_the_whole(ws):
    read = Workspace(ws).read_file("b.txt", start=2, lines=1)
    assert read.text == "two\r\n" and not read.truncated
    assert read.sha256 == Workspace(ws).read_file("b.txt").sha256
    assert Workspace(ws).read_file("b.txt", 2, 99).text == "two\r\nthree\n"


@pytest.mark.parametrize(("start", "lines"), [(0, None), (-1, 1), (1, 0), (4, None)])
def test_lines_that_there_cannot_be_are_refused(ws, start, lines):
    assert refusal(Workspace(ws).read_file, "b.txt", start, lines).kind == "bad_arguments"


def test_a_byte_order_mark_and_odd_bytes_do_not_get_in_the_way_of_reading(ws):
    (ws / "b.txt").write_bytes(b"\xef\xbb\xbfcaf\xe9 \xc3\xa9\n")
    assert Workspace(ws).read_file("b.txt").text == "caf\ufffd é\n"


def test_a_huge_line_is_cut_and_said(ws):
    with (ws / "b.txt").open("wb") as file:
        file.write("é".encode() * 1_000_000)
    read = Workspace(ws, limits=replace(Limits(), read_bytes=1001)).read_file("b.txt")
    assert read.truncated and read.text == "é" * 500


def test_a_binary_file_is_not_read_as_text(ws):
    (ws / "b.txt").write_bytes(b"PK\0\3")
    assert refusal(Workspace(ws).read_file, "b.txt").kind == "binary"


def test_a_missing_file_is_not_found_with_the_nearest_name(ws):
    error = refusal(Workspace(ws).read_file, "src/b.py")
    assert error.kind == "not_found" and "did you mean 'src/a.py'?" in error.message


@POSIX
def test_a_workspace_behind_a_link_works(ws):
    (ws.parent / "link").symlink_to(ws)
    assert Workspace(ws.parent / "link").read_file("b.txt").text.startswith("one")


def test_unusable_roots_and_patterns_are_refused_at_once(ws):
    with pytest.raises(WorkspaceError):
        Workspace(ws / "nothing")
    with pytest.raises(WorkspaceError):
        Workspace(ws, baseline_root=ws / "nothing")
    for patterns in ({"writable": ("/src/**",)}, {"protected": ("",)}, {"writable": "*.py"}):
        with pytest.raises(PatternError):
            Workspace(ws, **patterns)


def test_the_tools_of_a_workspace_fit_a_toolbox(ws):
    box: Tools = Toolbox(Workspace(ws, writable=("*.txt",), baseline_root=ws).tools())
    told = {tool.name: (tool.effect, tool.metered) for tool in box.specs()}
    assert told == {
        "list_files": ("read", False),
        "read_file": ("read", True),
        "search": ("read", True),
        "diff": ("read", True),
        "edit_file": ("write", True),
        "restore_file": ("write", True),
    }
    assert all(tool.description.endswith((".", "nothing.")) for tool in box.specs())


def test_a_models_json_is_enough_to_edit(ws):
    box = Toolbox(Workspace(ws, writable=("*.txt",)).tools())
    done = box.call("edit_file", path="b.txt", edits=[{"old": "one", "new": "1"}])
    assert isinstance(done.value, Changed) and (ws / "b.txt").read_bytes() == b"1\ntwo\r\nthree\n"
    assert done.verdict == "allowed: write tool"
    wrong = box.call("edit_file", path="b.txt", edits=[{"old": "two", "nwe": "2"}])
    assert wrong.error.kind == "bad_arguments" and "edits[0].nwe" in str(wrong.error) and "'new'" in str(wrong.error)
    refused = box.call("edit_file", path="src/a.py", edits=(TextEdit("a", "b"),))
    assert refused.verdict == "refused: not allowed" and not refused.ok
    assert box.call("read_file", path="../x").verdict == "refused: outside workspace"


def test_edits_from_many_threads_are_all_kept(ws):
    (ws / "b.txt").write_text("".join(f"line {number:03}\n" for number in range(40)), encoding="utf-8")
    room = Workspace(ws, writable=("b.txt",))

    def change(number):
        room.edit_file("b.txt", (TextEdit(f"line {number:03}\n", f"done {number:03}\n"),))

    threads = [threading.Thread(target=change, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ws / "b.txt").read_text(encoding="utf-8").count("done") == 40
    assert sorted(entry.name for entry in ws.iterdir()) == ["b.txt", "src"]
