"""What the course says is so: exercises fail as their pages say, solutions pass, each command and block runs."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from exercises import course as runner
from exercises import symptoms
from graph_agent import Context, Event, FakeLLM, StepLimitReached, run_graph
from tests.exercises.copies import COURSE, FOLDERS, NAMES, ROOT, blocks, copied, course, files, python, readme

pytestmark = pytest.mark.slow

README = readme(COURSE)
PARTS = ("README.md", "check.py", "exercise.py", "hints.md", "solution.py", "start.py")

each = pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)


def test_there_are_seventeen_exercises() -> None:
    assert [int(name[:2]) for name in NAMES] == list(range(1, 18))


@each
def test_an_exercise_has_its_parts_and_the_learner_begins_with_the_start(folder: Path) -> None:
    assert [part for part in PARTS if not (folder / part).is_file()] == []
    assert (folder / "exercise.py").read_bytes() == (folder / "start.py").read_bytes()


@each
def test_the_page_has_the_exercises_number_as_its_title_and_is_one_page(folder: Path) -> None:
    lines = readme(folder).splitlines()
    assert re.fullmatch(rf"# {int(folder.name[:2])}\. \S.*", lines[0])
    assert len(lines) <= 75


@each
def test_the_learner_is_told_where_it_is_their_turn(folder: Path) -> None:
    assert "your turn" in (folder / "start.py").read_text(encoding="utf-8")
    assert "your turn" not in (folder / "solution.py").read_text(encoding="utf-8")


@each
def test_the_hints_are_numbered_from_one(folder: Path) -> None:
    text = (folder / "hints.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^## Hint (\d+)$", text, re.MULTILINE)]
    assert len(numbers) >= 2 and numbers == list(range(1, len(numbers) + 1))
    assert all(runner.Exercise(folder).hints)


@each
def test_an_exercise_builds_on_earlier_ones(folder: Path) -> None:
    builds_on = runner.Exercise(folder).builds_on
    assert set(builds_on) <= {name for name in NAMES if name < folder.name}


@each
def test_as_shipped_it_fails_for_the_reason_that_its_page_names(folder: Path) -> None:
    (reason,) = re.findall(r'^It fails with: "(.+)"$', readme(folder), re.MULTILINE)
    outcome = runner.run_check(folder)
    assert not outcome.passed
    assert reason in outcome.text


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, float]:
    """A copy in which each exercise is solved, what `check` said there, and the seconds that it took."""
    copy = copied(tmp_path_factory.mktemp("solved"), solved=True)
    before, began = files(copy), monotonic()
    done = course(copy, "check")
    took = monotonic() - began
    assert files(copy) == before, "a check changed a file of the course"
    assert done.stderr == ""
    return copy, done.stdout, took


@each
def test_the_solution_passes(folder: Path, solved: tuple[Path, str, float]) -> None:
    said = [line for line in solved[1].splitlines() if line.startswith("PASSED")]
    exercise = runner.Exercise(folder)
    assert f"PASSED   {exercise.number}. {exercise.title}" in said, solved[1]


def test_the_course_as_a_whole_takes_less_than_a_minute_to_check(solved: tuple[Path, str, float]) -> None:
    assert solved[1].splitlines()[-1] == f"{len(NAMES)} of {len(NAMES)} exercises done."
    assert solved[2] < 60


def test_who_has_solved_all_is_told_what_to_read(solved: tuple[Path, str, float]) -> None:
    done = course(solved[0])
    assert done.returncode == 0
    assert f"{len(NAMES)} of {len(NAMES)} exercises done." in done.stdout and "graph_agent/runtime" in done.stdout


def test_no_cache_is_left_in_an_exercises_folder(solved: tuple[Path, str, float]) -> None:
    assert [path for path in solved[0].rglob("__pycache__") if path.parent.name in NAMES] == []


@each
def test_the_exercise_runs_as_it_stands(folder: Path, tmp_path: Path) -> None:
    copy = copied(tmp_path)
    before = files(copy)
    done = course(copy, "run", str(int(folder.name[:2])), GRAPH_AGENT_HOME=str(tmp_path / "home"))
    assert (done.returncode, done.stderr) == (0, "")
    changed = {path for path, text in files(copy).items() if before.get(path) != text}
    assert not [path for path in changed if not path.startswith(f"exercises/{folder.name}/")]


PYTHON_BLOCKS = [
    pytest.param(block, id=f"{folder.name}-{number}")
    for folder in (COURSE, *FOLDERS)
    for number, block in enumerate(blocks(readme(folder), "python"), 1)
]


@pytest.mark.parametrize("block", PYTHON_BLOCKS)
def test_each_python_block_of_each_page_runs_on_its_own(block: str, tmp_path: Path) -> None:
    done = python("-W", "error", "-c", block, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@each
def test_each_link_and_each_command_of_a_page_leads_somewhere(folder: Path) -> None:
    page_is_right(folder)


def test_each_link_and_each_command_of_the_first_page_leads_somewhere() -> None:
    page_is_right(COURSE)


def page_is_right(folder: Path) -> None:
    text = readme(folder)
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (folder / link).is_file()] == []
    for command, number in re.findall(r"python3 -m exercises +(\w+)(?: +(\d+))?", text):
        assert command in ("status", "check", "run", "hint", "watch", "reset")
        assert not number or int(number) <= 17
    for module in re.findall(r"python3 (exercises/\S+\.py)", text):
        assert (ROOT / module).is_file()


def test_the_map_has_each_exercise_by_its_title() -> None:
    rows = re.findall(r"^\| (\d+) \| \[(.+?)\]\((\w+)/README\.md\) \|", README, re.MULTILINE)
    assert rows == [(str(e.number), e.title, e.folder.name) for e in runner.exercises()]


def test_the_first_page_shows_each_command() -> None:
    shown = re.findall(r"^python3 -m exercises +(\w+)? ", "\n".join(blocks(README, "sh")), re.MULTILINE)
    assert set(shown) == {"", "check", "run", "hint", "watch", "reset"}


def test_the_course_asks_three_questions_before_the_first_prompt() -> None:
    part = README.split("### Three questions before you touch a prompt")[1].split("## ")[0]
    assert re.findall(r"^(\d)\. \*\*.+\?\*\*", part, re.MULTILINE) == ["1", "2", "3"]
    assert any("three questions" in readme(folder).lower() for folder in FOLDERS[:8])


def test_the_course_needs_the_standard_library_and_graph_agent_alone() -> None:
    for path in sorted(COURSE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.partition(".")[0]
                assert top in sys.stdlib_module_names or top in ("graph_agent", "exercises"), f"{path}: {name}"


# The table of symptoms.

ROWS = [line.split(" | ") for line in README.split("## When a run goes wrong")[1].splitlines() if line[:2] == "| "][1:]
COMMANDS = sorted({command for row in ROWS for command in re.findall(r"`(python3 [^`]+)`", row[3])})
HISTORY = re.findall(r"^    (python3 .+)$", README.split("## When a run goes wrong")[1], re.MULTILINE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where one run is kept, made as the page says."""
    (made,) = re.findall(r"`(python3 -m graph_agent repair [^`]+)`", README)
    folder = str(tmp_path_factory.mktemp("home"))
    test = f"{shlex.quote(Path(sys.executable).as_posix())} -m unittest discover"
    done = python(*shlex.split(made)[1:], "--quiet", "--test", test, cwd=ROOT, GRAPH_AGENT_HOME=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_each_row_has_a_symptom_a_cause_a_cure_and_a_command() -> None:
    assert [len(row) for row in ROWS] == [4] * 6
    assert all("`python3 " in row[3] for row in ROWS)


@pytest.mark.parametrize("command", [*HISTORY, *COMMANDS])
def test_each_command_of_the_table_runs(command: str, home: str) -> None:
    done = python(*shlex.split(command)[1:], cwd=ROOT, GRAPH_AGENT_HOME=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_each_symptom_is_in_the_table_and_shown_ill_and_cured() -> None:
    shown = re.findall(r"python3 -m exercises\.symptoms (\w+)", README)
    assert shown == list(symptoms.SYMPTOMS)
    assert python("-m", "exercises.symptoms", "none", cwd=ROOT).returncode == 2


def states(name: str, *, cured: bool) -> list[Any]:
    """The states of a run of a symptom; the last is None when only the fuse stopped it."""
    events: list[Event] = []
    ctx = Context(llm=FakeLLM(lambda request: "x"))
    try:
        run_graph(*symptoms.SYMPTOMS[name](cured), ctx, on_event=events.append, max_steps=40)
    except StepLimitReached:
        return [*(event.state for event in events), None]
    return [event.state for event in events]


def test_ill_it_retries_for_ever_and_cured_it_stops() -> None:
    ill, cured = states("retries", cured=False), states("retries", cured=True)
    assert ill[-1] is None and {state.tries for state in ill[:-1]} == {0}
    assert len({state.route_reason for state in ill[1:-1:2]}) == 1
    assert cured[-1].route_reason == "3 of 3 tries are spent"


def test_ill_it_passes_without_a_test_and_cured_it_does_not() -> None:
    assert states("verifier", cured=False)[-1].stage is symptoms.Stage.DONE
    assert states("verifier", cured=True)[-1].stage is symptoms.Stage.HUMAN


def test_ill_the_first_plan_is_a_dead_end_and_cured_all_are_tried() -> None:
    assert len(states("plan", cured=False)) == 1
    assert states("plan", cured=True)[-1].dead_ends == ("plan 1", "plan 2")


def test_ill_it_forgets_a_step_and_cured_it_keeps_all() -> None:
    assert states("steps", cured=False)[-1].steps_done == ("step 2", "step 3")
    kept = states("steps", cured=True)
    assert kept[-1].steps_done == ("step 1", "step 2", "step 3")
    assert all(len(before.steps_done) <= len(after.steps_done) for before, after in pairwise(kept))


def test_ill_one_observation_is_there_thrice_and_cured_once() -> None:
    assert len(states("twice", cured=False)[-1].seen) == 3
    assert len(states("twice", cured=True)[-1].seen) == 1


def test_ill_no_turn_is_counted_and_cured_the_budget_bites() -> None:
    assert states("budget", cured=False)[-1] is None
    assert states("budget", cured=True)[-1].route_reason == "2 of 2 turns are spent: work did not start"
