import os
import time
from dataclasses import replace

import pytest

from graph_agent.protocols import ToolError
from graph_agent.tools.files import SHOWN, around
from graph_agent.tools.workspace import Limits, Workspace

POSIX = pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")


@pytest.fixture
def ws(tmp_path):
    folder = tmp_path / "ws"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_bytes(b"def total(x):\r\n    return x[0]\r\n")
    (folder / "src" / "b.txt").write_bytes("total é\nnone\n".encode())
    (folder / "top.py").write_bytes(b"total = 1")
    return folder


def refusal(call, *arguments, **named):
    with pytest.raises(ToolError) as caught:
        call(*arguments, **named)
    return caught.value


def found(result):
    return [(hit.path, hit.line, hit.text) for hit in result.hits]


def test_lines_with_a_text_are_found_in_order_of_path_and_line(ws):
    result = Workspace(ws).search("total")
    assert found(result) == [
        ("src/a.py", 1, "def total(x):"),
        ("src/b.txt", 1, "total é"),
        ("top.py", 1, "total = 1"),
    ]
    assert not result.more and result.skipped == ()


def test_plain_text_is_no_pattern(ws):
    assert found(Workspace(ws).search("x[0]")) == [("src/a.py", 2, "    return x[0]")]
    assert found(Workspace(ws).search("[")) == [("src/a.py", 2, "    return x[0]")]


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.py", ["src/a.py", "top.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src", ["src/a.py", "src/b.txt"]),
        ("./src/", ["src/a.py", "src/b.txt"]),
        (".", ["src/a.py", "src/b.txt", "top.py"]),
    ],
)
def test_a_glob_says_where_to_look(ws, glob, paths):
    assert [hit.path for hit in Workspace(ws).search("total", glob=glob).hits] == paths


def test_a_glob_that_matches_no_file_is_said(ws):
    error = refusal(Workspace(ws).search, "total", glob="*.rs")
    assert error.kind == "not_found" and "'*.rs'" in error.message


def test_a_regular_expression_finds_lines(ws):
    assert found(Workspace(ws).search(r"^def \w+|\[\d\]$", regex=True)) == [
        ("src/a.py", 1, "def total(x):"),
        ("src/a.py", 2, "    return x[0]"),
    ]
    assert found(Workspace(ws).search("é$", regex=True)) == [("src/b.txt", 1, "total é")]


def test_the_end_of_a_file_is_no_line(ws):
    assert found(Workspace(ws).search("^$", regex=True)) == []


def test_a_pattern_that_would_run_for_ever_is_given_up(ws):
    (ws / "f").write_text("a" * 40 + "!", encoding="utf-8")
    room = Workspace(ws, limits=replace(Limits(), search_seconds=1.0))
    started = time.monotonic()
    error = refusal(room.search, "(a+)+$", glob="f", regex=True)
    assert error.kind == "timeout" and time.monotonic() - started < 5
    assert "(a+)+$" in error.message


@pytest.mark.parametrize(("pattern", "where"), [("[", "character 1"), ("ab(", "character 3"), ("*a", "character 1")])
def test_a_bad_pattern_says_where(ws, pattern, where):
    error = refusal(Workspace(ws).search, pattern, regex=True)
    assert error.kind == "bad_pattern" and where in error.message


@pytest.mark.parametrize("pattern", ["(" * 500 + ")" * 500, "(?:a{50000}){50000}", "(?:" * 150 + "x" + "*)+" * 150])
def test_a_monstrous_pattern_does_no_harm(ws, pattern):
    try:
        Workspace(ws, limits=replace(Limits(), search_seconds=2.0)).search(pattern, regex=True)
    except ToolError as error:
        assert error.kind in ("bad_pattern", "timeout")


def test_a_repeat_beyond_what_the_engine_counts_is_a_bad_pattern(ws):
    assert refusal(Workspace(ws).search, "a{99999999999}", regex=True).kind == "bad_pattern"


@pytest.mark.parametrize("wanted", ["", "a\nb", "x" * 1001])
def test_what_cannot_be_on_one_line_is_refused(ws, wanted):
    assert refusal(Workspace(ws).search, wanted).kind == "bad_pattern"


def test_more_hits_than_the_limit_are_said(ws):
    (ws / "many").write_text("hit\n" * 10, encoding="utf-8")
    for regex in (False, True):
        result = Workspace(ws, limits=replace(Limits(), hits=3)).search("hit", regex=regex)
        assert len(result.hits) == 3 and result.more
        assert not Workspace(ws, limits=replace(Limits(), hits=10)).search("hit", regex=regex).more


def test_a_long_line_is_cut_around_the_hit(ws):
    (ws / "long").write_text("x" * 100_000 + "HERE" + "y" * 100_000, encoding="utf-8")
    [hit] = Workspace(ws).search("HERE").hits
    assert "xHEREy" in hit.text and len(hit.text) <= SHOWN + 2


@pytest.mark.parametrize("start", [0, 400, 995])
def test_a_cut_line_begins_no_later_than_the_hit(start):
    line = "".join(chr(0x100 + number) for number in range(1000))
    shown = around(line, start)
    assert line[start] in shown and len(shown.strip("…")) == SHOWN


def test_files_too_large_are_named_and_binary_ones_hold_no_lines(ws):
    (ws / "large").write_text("total " * 100, encoding="utf-8")
    (ws / "binary").write_bytes(b"total\0")
    result = Workspace(ws, limits=replace(Limits(), file_bytes=100)).search("total")
    assert result.skipped == ("large",) and "binary" not in [hit.path for hit in result.hits]


@POSIX
def test_links_and_pipes_are_not_searched(ws):
    (ws.parent / "out").mkdir()
    (ws.parent / "out" / "f").write_text("SECRET", encoding="utf-8")
    (ws / "lnk").symlink_to(ws.parent / "out")
    (ws / "s.txt").symlink_to(ws.parent / "out" / "f")
    os.mkfifo(ws / "pipe")
    assert Workspace(ws).search("SECRET").hits == ()
