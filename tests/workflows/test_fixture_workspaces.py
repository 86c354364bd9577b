"""The small broken programs under `fixtures` are what they claim to be.

Each is copied to a private folder and its tests are run there by real child processes, as a user would run them.
The one rule: whatever is said of a workspace (which tests fail, what mends it, what does not) is tried out here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "repair" / "expected.json").read_text(encoding="utf-8"))
BROKEN = sorted(name for name, told in EXPECTED.items() if told["failing"])
MENDED_BY_ONE_EDIT = sorted(name for name, told in EXPECTED.items() if told["fix"])

NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

DEMO_FAILING = "tests.test_orders.OrderTest.test_the_total_of_an_order_with_a_voucher"
DEMO_FIX = {
    "path": "shop/order.py",
    "old": "goods, shipping_for(subtotal)",
    "new": "goods, shipping_for(goods)",
}
DEMO_TEMPTING = {"path": "shop/charges.py", "old": "goods >= FREE_SHIPPING_FROM", "new": "goods > FREE_SHIPPING_FROM"}
DEMO_HARD_CODED = {
    "path": "shop/order.py",
    "old": "goods, shipping_for(subtotal)",
    "new": "goods, 490 if subtotal == 5000 else shipping_for(subtotal)",
}
DEMO_OVERFITTED = [
    DEMO_HARD_CODED,
    {**DEMO_FIX, "new": "goods, shipping_for(subtotal - 1)"},
    {**DEMO_FIX, "new": "goods, shipping_for(subtotal - subtotal // 10)"},
    {**DEMO_FIX, "new": "goods, shipping_for(subtotal) if subtotal > 5000 else 490"},
]


@dataclass(frozen=True)
class Run:
    """What one run of the tests came to."""

    exit_code: int
    ran: int
    failing: frozenset[str]
    output: str

    @property
    def green(self) -> bool:
        return self.exit_code == 0 and self.ran > 0 and not self.failing


def copied(workspace: Path, to: Path, *, holdout: Path | None = None) -> Path:
    skip = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    shutil.copytree(workspace, to, ignore=skip)
    if holdout is not None:
        shutil.copytree(holdout, to, ignore=skip, dirs_exist_ok=True)
    return to


def edited(root: Path, edit: dict[str, str]) -> None:
    path = root / edit["path"]
    source = path.read_bytes()
    old, new = (edit[side].encode() for side in ("old", "new"))
    if b"\r\n" in source:
        old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n")
    assert source.count(old) == 1, f"{edit['old']!r} must stand in {edit['path']} once"
    path.write_bytes(source.replace(old, new))


def python(root: Path, *arguments: str) -> tuple[int, str]:
    # Two edits within a second may leave a file's size and time as they were, and old byte code would be run.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1", **NO_PLUGINS}
    for name in ("PYTEST_ADDOPTS", "PYTHONPATH"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def by_unittest(root: Path) -> Run:
    exit_code, output = python(root, "-m", "unittest", "discover", "-v")
    ran = re.search(r"^Ran (\d+) tests?", output, re.MULTILINE)
    failing = re.findall(r"^(?:FAIL|ERROR): \w+ \((\S+)\)", output, re.MULTILINE)
    return Run(exit_code, int(ran[1]) if ran else 0, frozenset(failing), output)


def by_pytest(root: Path) -> Run:
    exit_code, output = python(root, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider")
    ran = sum(int(count) for count in re.findall(r"(\d+) (?:passed|failed|error)", output))
    failing = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    dotted = frozenset(name.replace(".py::", ".").replace("::", ".").replace("/", ".") for name in failing)
    return Run(exit_code, ran, dotted, output)


@pytest.mark.parametrize("name", BROKEN)
def test_the_stated_tests_fail_and_no_others(name: str, tmp_path: Path) -> None:
    run = by_unittest(copied(FIXTURES / "repair" / name, tmp_path / name))
    assert run.failing == set(EXPECTED[name]["failing"]), run.output
    assert run.ran > len(run.failing)
    assert run.exit_code == 1


@pytest.mark.parametrize("name", MENDED_BY_ONE_EDIT)
def test_the_stated_fix_passes_visible_and_held_out_tests(name: str, tmp_path: Path) -> None:
    held_out = FIXTURES / "repair_holdout" / name
    root = copied(FIXTURES / "repair" / name, tmp_path / name, holdout=held_out)
    assert any("test_holdout_" in test for test in by_unittest(root).failing), "the bug must fail a held-out test too"
    edited(root, EXPECTED[name]["fix"])
    mended = by_unittest(root)
    assert mended.green, mended.output
    assert "test_holdout_" in mended.output


def test_the_table_names_every_workspace_and_its_held_out_tests() -> None:
    def folders(parent: str) -> list[str]:
        return sorted(path.name for path in (FIXTURES / parent).iterdir() if path.is_dir())

    assert sorted(EXPECTED) == folders("repair")
    assert folders("repair_holdout") == MENDED_BY_ONE_EDIT
    assert all(EXPECTED[name]["outcome"] == "done" for name in MENDED_BY_ONE_EDIT)
    assert all(EXPECTED[name]["fix"]["path"] in EXPECTED[name]["source"] for name in MENDED_BY_ONE_EDIT)


def test_pytest_sees_the_same_as_unittest(tmp_path: Path) -> None:
    run = by_pytest(copied(FIXTURES / "repair" / "access_rights", tmp_path / "rights"))
    assert run.failing == set(EXPECTED["access_rights"]["failing"]), run.output
    assert run.ran == 7


def test_two_bugs_need_two_edits(tmp_path: Path) -> None:
    told = EXPECTED["needs_two_edits"]
    workspace = FIXTURES / "repair" / "needs_two_edits"
    still_failing: list[frozenset[str]] = []
    for number, edit in enumerate(told["edits"]):
        root = copied(workspace, tmp_path / str(number))
        edited(root, edit)
        still_failing.append(by_unittest(root).failing)
    assert [len(failing) for failing in still_failing] == [1, 1]
    assert frozenset.union(*still_failing) == set(told["failing"])
    for edit in told["edits"][:-1]:
        edited(root, edit)
    assert by_unittest(root).green


def test_a_green_workspace_is_green(tmp_path: Path) -> None:
    root = copied(FIXTURES / "repair" / "already_green", tmp_path / "green")
    assert by_unittest(root).green
    assert by_pytest(root).green


def test_where_no_test_runs_the_exit_code_says_so_where_it_can(tmp_path: Path) -> None:
    root = copied(FIXTURES / "repair" / "no_tests_run", tmp_path / "none")
    unittest_run, pytest_run = by_unittest(root), by_pytest(root)
    assert (unittest_run.ran, pytest_run.ran) == (0, 0)
    assert unittest_run.exit_code == (5 if sys.version_info >= (3, 12) else 0)
    assert pytest_run.exit_code == 5


def test_one_workspace_has_crlf_and_all_others_lf() -> None:
    for path in FIXTURES.glob("**/*.py"):
        source = path.read_bytes()
        source.decode("utf-8")
        if path == FIXTURES / "repair" / "access_rights" / "rights.py":
            assert source.count(b"\r\n") == source.count(b"\n") > 0
        elif os.linesep == "\n":
            assert b"\r" not in source, path


def test_the_bug_of_one_workspace_stands_behind_characters_outside_ascii() -> None:
    fix = EXPECTED["text_wrap"]["fix"]
    lines = (FIXTURES / "repair" / "text_wrap" / fix["path"]).read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if fix["old"] in line)
    assert not line.split(fix["old"])[0].isascii()


@pytest.mark.parametrize("run_tests", [by_unittest, by_pytest])
def test_one_test_of_the_demo_fails_and_one_edit_mends_it(run_tests: Callable[[Path], Run], tmp_path: Path) -> None:
    root = copied(FIXTURES / "demo_shop", tmp_path / "shop")
    run = run_tests(root)
    assert run.failing == {DEMO_FAILING}, run.output
    assert 10 <= run.ran <= 20
    shutil.copytree(FIXTURES / "demo_shop_holdout", root, dirs_exist_ok=True)
    edited(root, DEMO_FIX)
    mended = run_tests(root)
    assert mended.green, mended.output
    assert mended.ran > run.ran


def test_the_bug_of_the_demo_fails_held_out_tests_too(tmp_path: Path) -> None:
    root = copied(FIXTURES / "demo_shop", tmp_path / "shop", holdout=FIXTURES / "demo_shop_holdout")
    assert sum("test_holdout_" in test for test in by_unittest(root).failing) > 1


def test_the_tempting_fix_of_the_demo_passes_its_test_and_breaks_another(tmp_path: Path) -> None:
    root = copied(FIXTURES / "demo_shop", tmp_path / "shop")
    edited(root, DEMO_TEMPTING)
    run = by_unittest(root)
    assert run.failing
    assert DEMO_FAILING not in run.failing


@pytest.mark.parametrize("edit", DEMO_OVERFITTED, ids=lambda edit: edit["new"])
def test_overfitted_fixes_of_the_demo_pass_what_is_visible_only(edit: dict[str, str], tmp_path: Path) -> None:
    root = copied(FIXTURES / "demo_shop", tmp_path / "shop")
    edited(root, edit)
    assert by_unittest(root).green
    shutil.copytree(FIXTURES / "demo_shop_holdout", root, dirs_exist_ok=True)
    run = by_unittest(root)
    assert run.failing
    assert all("test_holdout_" in test for test in run.failing)
