import os
import re
import stat
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.protocols import ToolError
from graph_agent.tools import paths
from graph_agent.tools.paths import PatternError, Root, WorkspaceError, checked_patterns, matches, relative_parts

POSIX = pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")


@pytest.fixture
def ws(tmp_path):
    folder = tmp_path / "ws"
    (folder / "src").mkdir(parents=True)
    (folder / "ok.txt").write_text("ok", encoding="utf-8")
    (folder / "src" / "app.py").write_text("x = 1\n", encoding="utf-8")
    outside = tmp_path / "ws-victim"
    outside.mkdir()
    (outside / "f").write_text("SECRET", encoding="utf-8")
    return folder


def refusal(root, path):
    with pytest.raises(ToolError) as caught:
        Root(root).resolve(path)
    return caught.value


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/passwd", "..", "src/../..", "//host/share", "C:\\x", "c:/x", "../ws-victim/f"]
)
def test_a_path_out_of_the_workspace_is_refused(ws, path):
    assert refusal(ws, path).kind in ("outside_workspace", "bad_path")


@pytest.mark.parametrize("path", ["", "a\0b", "..\\x", "src\\app.py", "\ud800", "x" * 5000])
def test_a_text_that_is_no_path_is_refused(ws, path):
    assert refusal(ws, path).kind == "bad_path"


def test_an_absolute_path_is_refused_even_when_it_leads_inside(ws):
    assert refusal(ws, str(ws / "ok.txt").replace("\\", "/")).kind == "outside_workspace"


@pytest.mark.parametrize("path", ["ok.txt", "./ok.txt", "a/../ok.txt", "src//../ok.txt", "src/./../ok.txt"])
def test_harmless_spellings_lead_to_the_one_name(ws, path):
    assert Root(ws).resolve(path).name == "ok.txt"


def test_a_tilde_is_an_ordinary_name(ws):
    assert Root(ws).resolve("~/x").name == "~/x"
    assert Root(ws).resolve("~/x").status is None


def test_a_path_below_a_file_leads_to_nothing(ws):
    assert Root(ws).resolve("ok.txt/x").status is None


@POSIX
def test_a_link_out_is_refused_in_any_component_and_for_files_that_do_not_exist(ws):
    (ws / "lnk").symlink_to(ws.parent / "ws-victim")
    (ws / "s.txt").symlink_to(ws.parent / "ws-victim" / "f")
    (ws / "up").symlink_to("..")
    for path in ("lnk/f", "lnk/new.txt", "s.txt", "up/ws-victim/f", "lnk"):
        assert refusal(ws, path).kind == "outside_workspace"


@POSIX
def test_a_refusal_does_not_tell_whether_the_outside_file_exists(ws):
    (ws / "lnk").symlink_to(ws.parent / "ws-victim")
    (ws / "there").symlink_to(ws.parent / "ws-victim" / "f")
    (ws / "gone").symlink_to(ws.parent / "ws-victim" / "nothing")
    assert str(refusal(ws, "lnk/f")) == str(refusal(ws, "lnk/g")).replace("lnk/g", "lnk/f")
    assert str(refusal(ws, "there")) == str(refusal(ws, "gone")).replace("gone", "there")
    assert str(ws.parent) not in str(refusal(ws, "there"))


@POSIX
def test_a_link_inside_leads_to_the_real_name(ws):
    (ws / "lib").symlink_to("src")
    (ws / "main.py").symlink_to(ws / "src" / "app.py")
    assert Root(ws).resolve("lib/app.py").name == "src/app.py"
    assert Root(ws).resolve("main.py").name == "src/app.py"
    assert Root(ws).resolve("lib/new/file.py").name == "src/new/file.py"


@POSIX
def test_a_loop_of_links_ends(ws):
    (ws / "loop").symlink_to("loop")
    (ws / "one").symlink_to("two")
    (ws / "two").symlink_to("one")
    for path in ("loop", "loop/x", "one/x"):
        assert refusal(ws, path).kind in ("bad_path", "outside_workspace")


@POSIX
def test_a_name_too_long_for_the_file_system_is_refused(ws):
    assert refusal(ws, "src/" + "n" * 300).kind == "bad_path"


@POSIX
def test_a_root_that_is_a_link_works(ws):
    (ws.parent / "link").symlink_to(ws)
    assert Root(ws.parent / "link").resolve("src/app.py").file.read_text(encoding="utf-8") == "x = 1\n"


def test_a_root_that_is_no_folder_is_an_error_without_its_path(ws):
    with pytest.raises(WorkspaceError, match=r"'ok\.txt' is no folder") as caught:
        Root(ws / "ok.txt")
    assert str(ws) not in str(caught.value)


def test_another_spelling_that_the_file_system_would_take_is_refused(ws, monkeypatch):
    """What a file system without case does: a lookup of TESTS finds tests."""
    (ws / "tests").mkdir()
    (ws / "tests" / "test_a.py").write_text("", encoding="utf-8")
    lstat = os.lstat
    monkeypatch.setattr(paths.os, "lstat", lambda file: lstat(str(file).replace("TESTS", "tests")))
    error = refusal(ws, "TESTS/test_a.py")
    assert error.kind == "bad_path" and "spelled otherwise" in error.message


def test_another_unicode_form_that_the_file_system_would_take_is_refused(ws, monkeypatch):
    composed, apart = (unicodedata.normalize(form, "é.py") for form in ("NFC", "NFD"))
    (ws / composed).write_text("", encoding="utf-8")
    lstat = os.lstat
    monkeypatch.setattr(paths.os, "lstat", lambda file: lstat(str(file).replace(apart, composed)))
    assert Root(ws).resolve(composed).status is not None
    assert refusal(ws, apart).kind == "bad_path"


@pytest.mark.parametrize("name", ["nul", "CON.txt", "a.", "a ", "f.txt:stream", "src/aux"])
def test_names_with_a_meaning_of_their_own_on_windows_are_refused_there(ws, name, monkeypatch):
    monkeypatch.setattr(paths, "IS_WINDOWS", True)
    assert refusal(ws, name).kind == "bad_path"
    assert Root(ws).resolve("src/../ok.txt").name == "ok.txt"


@pytest.mark.parametrize("path", [".git/config", "src/__pycache__/app.pyc", ".pytest_cache/x"])
def test_what_tools_do_not_touch_is_refused_by_name(ws, path):
    file = ws / path
    file.parent.mkdir()
    file.write_text("x", encoding="utf-8")
    assert refusal(ws, path).kind == "protected"


@given(st.lists(st.sampled_from(["a", "..", ".", "", "b.py", "...", "~"]), max_size=8))
def test_worked_out_parts_stay_below_the_root(parts):
    path = "/".join(parts)
    normal = os.path.normpath(f"/root/{path}").replace("\\", "/")
    inside = path and not path.startswith("/") and "/root/" in f"{normal}/"
    try:
        found = relative_parts(path)
    except ToolError as error:
        assert error.kind in ("outside_workspace", "bad_path")
        return
    assert ".." not in found and "" not in found
    assert inside and "/".join(("/root", *found)).endswith(normal)


TABLE = [
    ("tests/test_a.py", "tests/**", True),
    ("tests/deep/er/x", "tests/**", True),
    ("tests", "tests/**", False),
    ("mytests/x", "tests/**", False),
    ("a/tests/x", "tests/**", False),
    ("a/tests/x", "**/tests/**", True),
    ("tests/x", "**/tests/**", True),
    ("tests/x", "tests/", True),
    ("conftest.py", "conftest.py", True),
    ("a/b/conftest.py", "conftest.py", True),
    ("a/conftest.pyc", "conftest.py", False),
    ("src/a.py", "src/*.py", True),
    ("src/b/a.py", "src/*.py", False),
    ("src/b/a.py", "src/**/*.py", True),
    ("src/a.py", "src/**/*.py", True),
    ("a.py", "**", True),
    ("x/y/z", "**", True),
    ("a/x/b", "a/**/b", True),
    ("a/b", "a/**/b", True),
    ("a/x/y/c/b", "a/**/c/**/b", True),
    ("a/x/y/b", "a/**/c/**/b", False),
    ("test_1.py", "test_?.py", True),
    ("test_12.py", "test_?.py", False),
    ("a/b", "a?b", False),
    ("a/b", "a*b", False),
    (".hidden", "*", True),
    ("pages/[id].py", "pages/[id].py", True),
    ("pages/i.py", "pages/[id].py", False),
    ("A.py", "a.py", False),
    ("a.py\n", "a.py", False),
    ("a\nb.py", "*.py", True),
    ("a+b.py", "a+b.py", True),
    ("src/a.py", "./src/a.py", True),
]


@pytest.mark.parametrize(("path", "pattern", "expected"), TABLE)
def test_the_glob_rule(path, pattern, expected):
    assert matches(path, (pattern,)) is expected


def test_both_unicode_forms_of_a_name_match():
    composed, apart = (unicodedata.normalize(form, "é.py") for form in ("NFC", "NFD"))
    assert matches(composed, (apart,)) and matches(apart, (composed,))


@pytest.mark.parametrize("pattern", ["", "/abs/*", "a//b", "../x", "a/../b", "a\\b", "/", "a\0"])
def test_a_pattern_that_could_never_match_is_refused(pattern):
    with pytest.raises(PatternError, match="is not one"):
        checked_patterns(["*", pattern])


def test_a_lone_text_is_not_taken_for_a_list_of_patterns():
    with pytest.raises(PatternError, match=r"write \('\*\.py',\)"):
        matches("a.py", "*.py")


def naive(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        least = 1 if len(pattern) == 1 else 0
        return any(naive(path[skip:], pattern[1:]) for skip in range(least, len(path) + 1))
    return bool(path) and naive_part(path[0], pattern[0]) and naive(path[1:], pattern[1:])


def naive_part(text: str, pattern: str) -> bool:
    return re.fullmatch("".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern), text) is not None


part = st.text("ab.", min_size=1, max_size=4).filter(lambda text: text not in (".", ".."))
part_pattern = st.text("ab*?.", min_size=1, max_size=5).filter(lambda text: text not in (".", ".."))


@given(st.lists(part, min_size=1, max_size=5), st.lists(st.just("**") | part_pattern, min_size=2, max_size=5))
def test_matching_agrees_with_a_naive_search(path, pattern):
    expected = naive(tuple(path), tuple(pattern))
    assert matches("/".join(path), ("/".join(pattern),)) is expected


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("a" * 4000 + "!", "*a" * 500 + "b"),
        ("a/" * 2000 + "a", "**/a/" * 200 + "b"),
        ("a" * 4000, "*" * 2000 + "b"),
        ("ab/" * 1000 + "x", "**/*a*b*/" * 100 + "y"),
    ],
)
def test_no_pattern_makes_matching_hang(path, pattern):
    started = time.monotonic()
    assert not matches(path, (pattern,))
    assert time.monotonic() - started < 5


@POSIX
def test_pipes_are_seen_for_what_they_are(ws):
    os.mkfifo(ws / "pipe")
    place = Root(ws).resolve("pipe")
    assert place.status is not None and stat.S_ISFIFO(place.status.st_mode)
