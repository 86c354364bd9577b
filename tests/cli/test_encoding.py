"""What is shown and read does not depend on the console's or the machine's encoding."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.running import UNITTEST, WRONG, cli, repair, variables, workspace

TEXT = "Mend it → é 日 😀"
STRICT = (sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home with a workspace in it whose folder, files and contents are not ASCII."""
    ws = workspace(tmp_path / "wé日")
    (ws / "naïve → 😀.py").write_text("WORD = '→ é 日 😀'\n", encoding="utf-8")
    (ws / "calc.py").write_text(WRONG + "    # → é 日 😀\n", encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="there a console has no locale")
@pytest.mark.parametrize("said", [{"PYTHONIOENCODING": "cp1252"}, {}], ids=["cp1252", "ascii"])
def test_a_poor_console_in_a_c_locale_is_no_reason_to_fail(place: Path, said: dict[str, str]) -> None:
    import subprocess

    env = variables(place, PYTHONUTF8="0", LC_ALL="C", PYTHONCOERCECLOCALE="0", **said)
    command = [sys.executable, "-m", "graph_agent", "repair", "wé日", "--test", UNITTEST, "--isolation", "none"]
    done = subprocess.run(
        [*map(os.fsencode, (*command, "--request", TEXT))], cwd=place, env=env, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (folder,) = (place / "kept" / "runs").iterdir()
    assert (folder / "workspace" / "naïve → 😀.py").is_file()
    assert "→ é 日 😀" in (folder / "patch.diff").read_text(encoding="utf-8")
    assert TEXT in (folder / "journal.jsonl").read_text(encoding="utf-8")
    shown = done.stdout.decode(said.get("PYTHONIOENCODING", "ascii"))
    assert "\\u2192" in shown


def test_the_encoding_is_named_wherever_a_file_is_opened(place: Path) -> None:
    ended = repair("wé日", "--request", TEXT, "--apply", home=place, python=STRICT)
    assert (ended.code, ended.err) == (0, "")
    assert "# → é 日 😀" in ended.out


@pytest.mark.parametrize("words", [["--help"], ["repair", "--help"], ["demo"], ["permissions", "repair", "--json"]])
def test_the_encoding_is_named_by_the_other_commands_too(tmp_path: Path, words: list[str]) -> None:
    assert cli(*words, home=tmp_path, python=STRICT).code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are Unicode there")
def test_a_word_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    ended = cli("repair", os.fsdecode(b"w\xff"), home=tmp_path)
    assert ended.code == 2
    assert "is no text in UTF-8" in ended.err
