"""Where a workspace may lie, what it may look like, and where a run is kept: never in the current folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graph_agent.cli import main
from graph_agent.runtime.run import run_graph
from tests.cli.running import RIGHT, ROOT, TESTS, UNITTEST, WRONG, cli, repair, tree, variables, workspace

pytestmark = pytest.mark.slow

posix = pytest.mark.skipif(os.name != "posix", reason="links and modes are POSIX's here")
MENDED = "+    return a + b"


def test_a_run_writes_in_its_own_folder_and_nowhere_else(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    for name in ("here", "tmp"):
        (tmp_path / name).mkdir()
    before = tree(tmp_path)
    env = variables(tmp_path, TMPDIR=str(tmp_path / "tmp"))
    ended = repair(tmp_path / "ws", home=tmp_path, cwd=tmp_path / "here", env=env)
    assert ended.code == 0
    after = tree(tmp_path)
    new = {name for name in after if name not in before}
    assert {name for name in new if not name.startswith("kept/runs/") and name not in ("kept", "kept/runs")} == set()
    assert {name: after.get(name) for name in before} == before


def test_apply_changes_the_file_and_no_other_and_then_nothing_fails(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "ws")
    before = tree(ws)
    ended = repair("ws", "--apply", home=tmp_path)
    assert ended.code == 0
    assert f"applied to {ws}: calc.py" in ended.out
    assert {name for name, found in tree(ws).items() if before.get(name) != found} == {"calc.py"}
    assert (ws / "calc.py").read_text(encoding="utf-8") == RIGHT
    again = repair("ws", "--apply", home=tmp_path)
    assert again.code == 3
    assert "nothing fails" in again.err


def test_a_patch_that_is_not_verified_is_not_applied(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "ws", {"calc.py": "def add(a, b):\n    return 9 * a * b\n", "test_calc.py": TESTS})
    before = tree(ws)
    ended = repair("ws", "--apply", "--retries", "0", home=tmp_path)
    assert ended.code == 3
    assert "NOT verified" in ended.out
    assert tree(ws) == before


def test_apply_says_so_when_the_file_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The patch is kept and shown all the same; the workspace stays as the other hand left it."""
    ws = workspace(tmp_path / "ws")

    def meanwhile(*words: Any, **named: Any) -> Any:
        state = run_graph(*words, **named)
        (ws / "calc.py").write_text("# mine\n", encoding="utf-8")
        return state

    monkeypatch.setattr("graph_agent.cli.session.run_graph", meanwhile)
    words = ["--apply", "--test", UNITTEST, "--isolation", "none", "--run-dir", str(tmp_path / "kept")]
    assert main(["repair", str(ws), *words]) == 1
    out, err = capsys.readouterr()
    assert "verified, but not applied: 'calc.py' changed while the run was under way" in err
    assert MENDED in out
    assert "patch.diff" in out
    assert (ws / "calc.py").read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.parametrize("given", ["./ws/../ws/", "{home}/ws"])
def test_a_workspace_may_be_given_by_any_path(tmp_path: Path, given: str) -> None:
    workspace(tmp_path / "ws")
    assert MENDED in repair(given.format(home=tmp_path), home=tmp_path).out


def test_the_current_folder_may_be_the_workspace(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "ws")
    before = tree(ws)
    assert repair(".", home=tmp_path, cwd=ws).code == 0
    assert tree(ws) == before


def test_a_path_with_spaces_quotes_and_letters_of_all_kinds(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "wörk 'space' 日本 $HOME" / "a b")
    (ws / "naïve.py").write_text("# é\n", encoding="utf-8")
    ended = repair(ws, "--request", "Make it go → é 日 😀", home=tmp_path)
    assert ended.code == 0
    assert MENDED in ended.out
    line = next(line for line in ended.out.splitlines() if "apply it by hand: " in line)
    if os.name == "posix" and shutil.which("patch"):
        subprocess.run(["/bin/sh", "-c", line.split("apply it by hand: ")[1]], check=True, capture_output=True)
        assert (ws / "calc.py").read_text(encoding="utf-8") == RIGHT


@posix
def test_a_workspace_may_be_a_link(tmp_path: Path) -> None:
    workspace(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    assert repair("link", "--apply", home=tmp_path).code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "calc.py").read_text(encoding="utf-8") == RIGHT


@posix
def test_a_workspace_may_be_closed_to_writing(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "ws")
    entries = [ws, *ws.rglob("*")]
    for path in entries:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        ended = repair("ws", home=tmp_path)
    finally:
        for path in entries:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert ended.code == 0


@posix
@pytest.mark.parametrize("home", [True, False])
def test_an_empty_environment_is_enough(tmp_path: Path, home: bool) -> None:
    ws = workspace(tmp_path / "ws")
    env = {"PATH": os.defpath} | ({"HOME": str(tmp_path)} if home else {})
    words = [] if home else ["--run-dir", str(tmp_path / "kept")]
    ended = repair(ws, *words, home=tmp_path, cwd=ROOT, env=env)
    assert ended.code == 0
    assert ended.folder.is_relative_to(tmp_path / (".local/state/graph_agent/runs" if home else "kept"))


def test_packages_under_src_are_found(tmp_path: Path) -> None:
    files = {"src/shop/__init__.py": "", "src/shop/calc.py": WRONG, "tests/__init__.py": ""}
    tests = TESTS.replace("from calc", "from shop.calc")
    workspace(tmp_path / "ws", {**files, "tests/test_calc.py": tests})
    ended = repair("ws", home=tmp_path)
    assert ended.code == 0
    assert "a/src/shop/calc.py" in ended.out


def test_a_default_test_command_is_found_for_tests_that_are_no_package(tmp_path: Path) -> None:
    """Without --test: pytest here, since it runs these tests."""
    workspace(tmp_path / "ws", {"calc.py": WRONG, "tests/test_calc.py": TESTS})
    ended = repair("ws", home=tmp_path, test="")
    assert ended.code == 0
    assert "-m pytest" in ended.out


@pytest.fixture(scope="module")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment without pytest, made once."""
    folder = tmp_path_factory.mktemp("environment") / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    return folder


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.mark.parametrize("packages", [{}, {"tests/__init__.py": ""}], ids=["a folder", "a package"])
def test_unittest_runs_the_tests_where_there_is_no_pytest(
    tmp_path: Path, bare_environment: Path, packages: dict[str, str]
) -> None:
    workspace(tmp_path / "ws", {"calc.py": WRONG, "tests/test_calc.py": TESTS, **packages})
    ended = repair("ws", home=tmp_path, test="", python=(str(python_of(bare_environment)),))
    assert ended.code == 0
    assert "-m unittest discover" in ended.out


def test_the_workspaces_own_interpreter_runs_its_tests_and_is_not_copied(
    tmp_path: Path, bare_environment: Path
) -> None:
    ws = workspace(tmp_path / "ws", {"calc.py": WRONG, "tests/__init__.py": ""})
    shutil.copytree(bare_environment, ws / ".venv", symlinks=True)
    prefix = str(ws / ".venv")
    told = TESTS.replace("import unittest\n", f"import sys\nimport unittest\n\nassert sys.prefix == {prefix!r}\n", 1)
    (ws / "tests" / "test_calc.py").write_text(told, encoding="utf-8")
    ended = repair("ws", "--isolation", "auto", home=tmp_path, test="")
    assert ended.code == 0, ended.out
    assert "-m unittest discover" in ended.out
    assert not (ended.folder / "workspace" / ".venv").exists()
    assert ended.err == ""


def test_an_environment_by_another_name_is_left_out_and_said_and_its_programs_still_run(
    tmp_path: Path, bare_environment: Path
) -> None:
    ws = workspace(tmp_path / "ws")
    shutil.copytree(bare_environment, ws / "env38", symlinks=True)
    program = python_of(Path("env38")).as_posix()
    ended = repair("ws", home=tmp_path, test=f"{program} -m unittest discover")
    assert ended.code == 0, ended.out
    assert "left out of the copy: env38, which is a virtual environment" in ended.err
    assert not (ended.folder / "workspace" / "env38").exists()


@posix
def test_a_project_that_is_installed_from_where_it_lies_is_tested_as_the_copy(
    tmp_path: Path, bare_environment: Path
) -> None:
    """An editable installation leads to the original, whose fault no edit of the copy can mend."""
    tests = TESTS.replace("from calc", "from shop.calc")
    ws = workspace(
        tmp_path / "ws", {"src/shop/__init__.py": "", "src/shop/calc.py": WRONG, "tests/test_calc.py": tests}
    )
    shutil.copytree(bare_environment, ws / ".venv", symlinks=True)
    (packages,) = (ws / ".venv" / "lib").glob("python*/site-packages")
    (packages / "editable.pth").write_text(f"{ws / 'src'}\n", encoding="utf-8")
    assert repair("ws", home=tmp_path, test="").code == 0


def test_thousands_of_installed_files_are_neither_copied_nor_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_agent.tools.workbench.MAX_ENTRIES", 50)
    ws = workspace(tmp_path / "ws")
    for name in (".venv/lib", "node_modules/left-pad", ".tox/py", ".nox/tests", "env/lib"):
        (ws / name).mkdir(parents=True)
        for number in range(60):
            (ws / name / f"{number}.py").touch()
    (ws / "env" / "pyvenv.cfg").touch()
    words = ["--test", UNITTEST, "--isolation", "none", "--run-dir", str(tmp_path / "kept"), "--quiet"]
    assert main(["repair", str(ws), *words]) == 0
    (folder,) = (tmp_path / "kept").iterdir()
    assert {path.name for path in (folder / "workspace").iterdir()} == {"calc.py", "tests"}


def test_a_workspace_that_is_too_large_is_a_usage_error_and_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("graph_agent.tools.workbench.MAX_ENTRIES", 2)
    ws = workspace(tmp_path / "ws")
    assert main(["repair", str(ws), "--test", UNITTEST, "--run-dir", str(tmp_path / "kept")]) == 2
    assert "more than 2 files" in capsys.readouterr().err
    assert list((tmp_path / "kept").iterdir()) == []


def test_held_out_tests_beside_the_workspace_are_found_and_none_turns_them_off(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    hard = TESTS.replace("add(2, 3), 5", "add(40, 2), 42")
    workspace(tmp_path / "ws_holdout", {"tests/test_more.py": hard})
    assert "held-out tests: passed" in repair("ws", home=tmp_path).out
    assert "held-out tests: there are none" in repair("ws", "--holdout", "none", home=tmp_path).out
    assert "held-out tests: passed" in repair("ws", "--holdout", "ws_holdout", home=tmp_path).out


def test_a_check_must_end_with_0_too(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    check = f'"{sys.executable}" -c "import sys; sys.exit(3)"'
    ended = repair("ws", "--check", check, "--retries", "0", home=tmp_path)
    assert ended.code == 3
    assert "exit 3" in ended.out


def test_a_protected_file_is_not_changed(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    ended = repair("ws", "--protect", "calc.py", home=tmp_path)
    assert ended.code == 3
    assert "no file may be changed" in ended.err


def test_the_name_of_a_folder_allows_all_that_is_in_it(tmp_path: Path) -> None:
    files = {"shop/__init__.py": "", "shop/calc.py": WRONG, "tests/__init__.py": ""}
    workspace(tmp_path / "ws", {**files, "tests/test_calc.py": TESTS.replace("from calc", "from shop.calc")})
    assert repair("ws", "--allow", "shop/", home=tmp_path).code == 0


def test_the_project_need_not_be_the_current_folder_for_any_command(tmp_path: Path) -> None:
    for words in (["demo"], ["graph", "repair"], ["permissions", "repair"]):
        assert cli(*words, home=tmp_path).code == 0
    assert list(tmp_path.iterdir()) == []
