import os
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent.protocols import ToolError
from graph_agent.tools.textedit import Version, file_diff, quoted_name
from graph_agent.tools.workspace import Limits, Workspace

GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def pair(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    return old, new


def diff(old, new, **limits):
    return Workspace(new, baseline_root=old, limits=replace(Limits(), **limits)).diff()


def write(folder, contents):
    for name, raw in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)


def read(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def apply(folder, patch):
    command = ["git", "apply", "--whitespace=nowarn", "-p1", "-"]
    quiet = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(command, input=patch.encode(), cwd=folder, env=quiet, capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr.decode() + patch


def test_no_difference_is_an_empty_diff(pair):
    for folder in pair:
        write(folder, {"a.py": b"x\n"})
    assert diff(*pair) == ""


def test_a_changed_line_is_shown_as_git_shows_it(pair):
    write(pair[0], {"src/a.py": b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"})
    write(pair[1], {"src/a.py": b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n"})
    assert diff(*pair) == (
        "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n"
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


CHANGES = {
    "line ends": (b"a\r\nb\r\n", b"a\r\nB\r\n"),
    "line ends alone": (b"a\r\nb\n", b"a\nb\n"),
    "no last newline": (b"a\nb", b"a\nc"),
    "last newline added": (b"a\nb", b"a\nb\n"),
    "last newline gone": (b"a\nb\n", b"a\nb"),
    "emptied": (b"a\n", b""),
    "filled": (b"", b"a"),
    "form feed and lone CR": (b"a\x0cb\rc\nd\n", b"a\x0cb\rC\nd\n"),
    "not ascii": ("é\u2028ü\n".encode(), "e\u2028ü\n".encode()),
    "byte order mark": (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
    "two places": (
        b"".join(b"%d\n" % n for n in range(60)),
        b"".join(b"%d\n" % (n + (n in (9, 50))) for n in range(60)),
    ),
    "repeated lines": (b"x\n" * 500, b"x\n" * 250 + b"y\n" + b"x\n" * 250),
    "looks like a diff": (b"-- a\n++ b\n\\ No\n", b"-- a\n++ c\n\\ No\n"),
}


@GIT
@pytest.mark.parametrize("change", CHANGES)
def test_git_applies_the_diff_to_the_byte(pair, change):
    write(pair[0], {"f.txt": CHANGES[change][0]})
    write(pair[1], {"f.txt": CHANGES[change][1]})
    apply(pair[0], diff(*pair))
    assert read(pair[0]) == read(pair[1])


@GIT
def test_new_deleted_and_oddly_named_files_are_applied(pair):
    names = ["a b.txt", "é.txt", "deep/er/x", 'quo"te', "tab\there"] if os.name == "posix" else ["a b.txt", "deep/er/x"]
    write(pair[0], {"gone.txt": b"bye\n", "empty-gone": b"", **dict.fromkeys(names, b"1\n")})
    write(pair[1], {"new.txt": b"hi", "empty-new": b"", "deep/new": b"\n", **dict.fromkeys(names, b"2\n")})
    if os.name == "posix":
        (pair[1] / "new.txt").chmod(0o755)
    patch = diff(*pair)
    apply(pair[0], patch)
    assert read(pair[0]) == read(pair[1])
    if os.name == "posix":
        assert "new file mode 100755" in patch and os.access(pair[0] / "new.txt", os.X_OK)


@GIT
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*[st.lists(st.sampled_from([b"a\n", b"b\r\n", b"c", b"\n", b"dd\n"]), max_size=25).map(b"".join)] * 2)
def test_any_two_texts_are_applied_to_the_byte(pair, old, new):
    write(pair[0], {"f": old})
    write(pair[1], {"f": new})
    if old != new:
        apply(pair[0], diff(*pair))
    assert read(pair[0]) == read(pair[1])


@pytest.mark.parametrize("raw", [b"\0\1", b"caf\xe9\n"])
def test_what_is_no_text_is_said_to_differ(pair, raw):
    write(pair[0], {"f": b"a\n"})
    write(pair[1], {"f": raw, "g": raw})
    assert "Binary files a/f and b/f differ\n" in diff(*pair)
    assert "new file mode 100644\nBinary files /dev/null and b/g differ\n" in diff(*pair)


def test_files_too_large_to_compare_are_said_to_differ(pair):
    write(pair[0], {"f": b"a" * 100})
    write(pair[1], {"f": b"b" * 100})
    assert "a/f and b/f differ" in diff(*pair, file_bytes=50)
    write(pair[1], {"f": b"a" * 100})
    assert diff(*pair, file_bytes=50) == ""


def test_two_large_texts_with_nothing_in_common_are_compared_in_time():
    old, new = (Version(raw=b"".join(b"%s %d\n" % (word, n) for n in range(20_000))) for word in (b"old", b"new"))
    assert file_diff("f", old, new).count("\n") == 40_004


def test_a_diff_beyond_the_limit_is_an_error(pair):
    write(pair[1], {"f": b"a\n" * 100})
    with pytest.raises(ToolError) as caught:
        diff(*pair, diff_characters=100)
    assert caught.value.kind == "too_large"


def test_without_an_original_there_is_no_diff(pair):
    with pytest.raises(ToolError) as caught:
        Workspace(pair[0]).diff()
    assert caught.value.kind == "no_original"


def test_caches_are_no_difference(pair):
    write(pair[1], {"__pycache__/a.pyc": b"x", ".pytest_cache/y": b"y"})
    assert diff(*pair) == ""


@pytest.mark.parametrize(
    ("name", "written"),
    [("a/é b", "a/é b"), ('a/"', '"a/\\042"'), ("a/\n\\", '"a/\\012\\134"'), ("a/\x7f", '"a/\\177"')],
)
def test_odd_names_are_quoted_in_a_form_that_git_reads(name, written):
    assert quoted_name(name) == written
