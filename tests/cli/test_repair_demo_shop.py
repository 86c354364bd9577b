"""`repair fixtures/demo_shop`: what a newcomer sees, and what is true afterwards."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph_agent.runtime.compat import fitted
from graph_agent.runtime.reading import read_run
from graph_agent.workflows.repair.graph import GRAPH
from tests.cli.running import FIXTURES, Ended, repair, tree

SHOP = FIXTURES / "demo_shop"


@dataclass(frozen=True)
class Shown:
    ended: Ended
    before: dict[str, str]
    after: dict[str, str]
    home: Path


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    home = tmp_path_factory.mktemp("home")
    before = tree(FIXTURES)
    ended = repair(SHOP, home=home)
    return Shown(ended, before, tree(FIXTURES), home)


def test_it_ends_at_done(shown: Shown) -> None:
    assert (shown.ended.code, shown.ended.err) == (0, "")


def test_it_tells_a_line_a_step_with_where_next_and_why(shown: Shown) -> None:
    lines = re.findall(r"^ *(\d+) \| (\w+) -> (\w+) \| \d+ turns? \| \S.*$", shown.ended.out, re.MULTILINE)
    assert [number for number, _, _ in lines] == [str(number) for number in range(1, len(lines) + 1)]
    assert [stage for _, stage, _ in lines[:5]] == ["intake", "diagnose", "plan", "execute", "verify"]
    assert [came_from for _, _, came_from in lines[:-1]] == [stage for _, stage, _ in lines[1:]]
    assert lines[-1][1:] == ("verify", "done")


def test_the_first_verification_fails_and_the_last_passes(shown: Shown) -> None:
    verdicts = re.findall(r"verify -> (\w+)", shown.ended.out)
    assert len(verdicts) > 1
    assert verdicts[-1] == "done"
    assert set(verdicts[:-1]) == {"repair"}


def test_it_shows_the_patch_and_the_evidence_for_it(shown: Shown) -> None:
    out = shown.ended.out
    assert "-    return Quote(subtotal, goods, shipping_for(subtotal), tax_on(goods))" in out
    assert "+    return Quote(subtotal, goods, shipping_for(goods), tax_on(goods))" in out
    assert re.search(r"unittest discover: exit 0, (\d+) of \1 tests passed", out)
    assert "held-out tests: passed" in out
    assert "guard: nothing found" in out
    assert "isolation: none" in out


def test_it_says_where_the_run_is_kept_and_keeps_it_there(shown: Shown) -> None:
    folder = shown.ended.folder
    assert folder.parent == shown.home / "kept" / "runs"
    assert {path.name for path in folder.iterdir()} == {
        "blobs",
        "journal.jsonl",
        "lock",
        "original",
        "patch.diff",
        "workspace",
    }
    records, folded, dropped = read_run(folder)
    state = fitted(GRAPH, folded, folder.name).state
    steps = [record for record in records if record["type"] == "finished"]
    assert dropped == ""
    assert state.steps == len(steps) == len(re.findall(r"^ *\d+ \| ", shown.ended.out, re.MULTILINE))
    assert state.verifications[0].verdict.value == "fail"


def test_the_fixture_is_not_touched(shown: Shown) -> None:
    assert shown.after == shown.before


@pytest.mark.parametrize("tool", ["patch", "git"])
def test_the_patch_can_be_applied_by_a_person_and_nothing_fails_then(shown: Shown, tmp_path: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on this machine")
    copy = tmp_path / "demo_shop"
    shutil.copytree(SHOP, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    before, patch = tree(copy), str(shown.ended.folder / "patch.diff")
    words = ["patch", "-p1", "-i", patch] if tool == "patch" else ["git", "apply", patch]
    subprocess.run(words, cwd=copy, check=True, capture_output=True)
    assert {name for name, found in tree(copy).items() if before.get(name) != found} == {"shop/order.py"}
    again = repair(copy, home=tmp_path)
    assert again.code == 3
    assert "nothing fails" in again.err
