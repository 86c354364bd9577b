"""A verified patch is brought to the workspace whole, or not at all."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from graph_agent.protocols import ToolError
from graph_agent.tools import files
from graph_agent.tools.copying import apply_files
from graph_agent.tools.paths import Place


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace, and the copy in which two of its three files were changed."""
    for folder, mark in (("ws", "old"), ("copy", "new")):
        (tmp_path / folder / "in").mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text(f"a {mark}", encoding="utf-8")
        (tmp_path / folder / "in" / "b.py").write_text(f"b {mark}", encoding="utf-8")
        (tmp_path / folder / "c.py").write_text("c", encoding="utf-8")
    return tmp_path / "ws", tmp_path / "copy"


BEFORE = {"in/b.py": sha("b old"), "a.py": sha("a old")}


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_files_named_are_brought_over_and_returned_in_order(pair: tuple[Path, Path]) -> None:
    ws, copy = pair
    assert apply_files(ws, copy, BEFORE) == ("a.py", "in/b.py")
    assert contents(ws) == {"a.py": "a new", "in/b.py": "b new", "c.py": "c"}


def test_a_file_that_is_not_named_stays(pair: tuple[Path, Path]) -> None:
    ws, copy = pair
    apply_files(ws, copy, {"a.py": sha("a old")})
    assert contents(ws)["in/b.py"] == "b old"


@pytest.mark.parametrize("changed", ["a.py", "in/b.py"])
def test_a_file_that_changed_meanwhile_stops_all_of_it(pair: tuple[Path, Path], changed: str) -> None:
    ws, copy = pair
    (ws / changed).write_text("mine", encoding="utf-8")
    before = contents(ws)
    with pytest.raises(ToolError) as caught:
        apply_files(ws, copy, BEFORE)
    assert caught.value.kind == "changed_meanwhile"
    assert changed in str(caught.value)
    assert contents(ws) == before


def test_a_file_that_is_gone_counts_as_changed(pair: tuple[Path, Path]) -> None:
    ws, copy = pair
    (ws / "a.py").unlink()
    with pytest.raises(ToolError, match="changed while"):
        apply_files(ws, copy, BEFORE)


def test_a_new_file_is_made_and_one_that_appeared_meanwhile_stops_it(pair: tuple[Path, Path]) -> None:
    ws, copy = pair
    (copy / "d.py").write_text("d", encoding="utf-8")
    assert apply_files(ws, copy, {"d.py": ""}) == ("d.py",)
    assert contents(ws)["d.py"] == "d"
    with pytest.raises(ToolError, match="changed while"):
        apply_files(ws, copy, {"d.py": ""})


def test_a_write_that_fails_takes_back_those_before_it(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, copy = pair
    (copy / "A.py").write_text("new", encoding="utf-8")  # sorted first, and not there yet
    before, really = contents(ws), files.replace

    def full(place: Place, raw: bytes, mode: int) -> None:
        if place.name == "in/b.py":
            raise ToolError("io_error", "No space left on device.")
        really(place, raw, mode)

    monkeypatch.setattr(files, "replace", full)
    with pytest.raises(ToolError, match="No space left"):
        apply_files(ws, copy, {**BEFORE, "A.py": ""})
    assert contents(ws) == before


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_the_mode_of_a_file_is_kept(pair: tuple[Path, Path]) -> None:
    ws, copy = pair
    (ws / "a.py").chmod(0o750)
    apply_files(ws, copy, BEFORE)
    assert stat.S_IMODE((ws / "a.py").stat().st_mode) == 0o750


def test_a_path_that_leads_out_is_refused(pair: tuple[Path, Path]) -> None:
    ws, copy = pair
    with pytest.raises(ToolError) as caught:
        apply_files(ws, copy, {"../copy/a.py": sha("a new")})
    assert caught.value.kind == "outside_workspace"
