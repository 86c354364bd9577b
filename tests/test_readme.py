"""The README says only what is so: its examples run, its picture is the graph's own, its commands are CI's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from graph_agent.cli import COMMANDS
from graph_agent.view.drawing import mermaid
from graph_agent.workflows.repair.graph import GRAPH

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_python_blocks_run_one_after_another_as_a_reader_would_paste_them() -> None:
    pasted = "\n".join(blocks("python"))
    done = subprocess.run([sys.executable, "-c", pasted], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    (story,) = [block for block in blocks("text") if block.startswith("BROKEN")]
    assert story in done.stdout


def test_the_picture_is_what_the_graph_command_prints() -> None:
    assert blocks("mermaid") == [mermaid(GRAPH)]


def test_ci_runs_the_line_that_the_readme_gives_for_the_tests_and_its_first_command() -> None:
    commands = "".join(blocks("sh"))
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for start in re.findall(r"grep -m1 '\^([^']+)' README\.md", ci):
        assert f"\n{start}" in f"\n{commands}"
    assert commands.startswith("python3 -m graph_agent repair fixtures/demo_shop\n")


def test_the_test_line_installs_pytest_and_hypothesis_and_nothing_else() -> None:
    line = next(line for line in README.splitlines() if line.startswith("python3 -m venv "))
    assert ".[test]" in line and "pytest" in line
    assert re.search(
        r'^test = \["pytest[^"]*", "hypothesis[^"]*"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_of_the_command_line_is_in_the_readme(command: str) -> None:
    assert re.search(rf"(graph_agent|`){' ?'}{command}\b", README)


def test_each_file_that_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_each_option_of_repair_that_the_readme_lists_is_one() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graph_agent", "repair", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    listed = set(re.findall(r"--[a-z][a-z-]+", README.split("## The repair agent")[1].split("Exit codes")[0]))
    known = set(re.findall(r"--[a-z][a-z-]+", done.stdout))
    assert listed and listed <= known


def test_the_steps_that_the_readme_shows_are_those_of_the_real_run(tmp_path: Path) -> None:
    shown = [line for line in blocks("text")[0].splitlines() if re.match(r" +\d+ \|", line)]
    command = [sys.executable, "-m", "graph_agent", "repair", "fixtures/demo_shop", "--run-dir", str(tmp_path)]
    test = f"{sys.executable} -m unittest discover"
    done = subprocess.run([*command, "--test", test], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    printed = {re.sub(r": python\S*", ": python3", line) for line in done.stdout.splitlines()}
    assert done.returncode == 0
    assert [line for line in shown if line not in printed] == []
