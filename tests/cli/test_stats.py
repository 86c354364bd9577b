"""`stats`: over one run, some, or all; as text, JSON and CSV; what is damaged is named and left out."""

from __future__ import annotations

import csv
import io
import shutil
import time
from pathlib import Path

import pytest

from graph_agent import Run, resume
from graph_agent.cli.research_demo import simulated_research
from graph_agent.runtime.records import line_of, read_records
from graph_agent.workflows.research.graph import GRAPH as RESEARCH
from tests.cli.running import FIXTURES, cli, repair, variables, workspace

DOCUMENTS = str(FIXTURES / "documents")
FOUND = "Where is the emergency cache of food?"


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repair that is done, a research that is done, one that is partial, and one that waits."""
    home = tmp_path_factory.mktemp("four")
    repair(workspace(home / "ws"), "--quiet", home=home)
    for question, more in (
        (FOUND, ()),
        ("Who composed the anthem of the station's football club?", ()),
        (FOUND, ("--approve", "plan")),
    ):
        cli("research", question, "--docs", DOCUMENTS, "--quiet", *more, home=home)
    return home


@pytest.fixture
def home(four: Path, tmp_path: Path) -> Path:
    shutil.copytree(four / "kept", tmp_path / "kept")
    return tmp_path


def runs_of(home: Path) -> Path:
    return home / "kept" / "runs"


def test_all_runs_are_told_by_workflow_with_how_to_read_them(four: Path) -> None:
    told = cli("stats", home=four)
    assert told.code == 0 and told.err == ""
    assert "repair: 1 run\n" in told.out and "research: 3 runs\n" in told.out
    assert "not converging  " in told.out and "look at the planner's prompt" in " ".join(told.out.split())
    for header in ("p50", "p90", "max", "mean", "s p90", "turns max", "bad args"):
        assert header in told.out
    assert "\u2588" in told.out


def test_runs_are_grouped_by_outcome_and_by_day(four: Path) -> None:
    by_outcome = cli("stats", "--by", "outcome", home=four).out
    assert "done: 2 runs" in by_outcome and "partial: 1 run" in by_outcome and "approve: 1 run" in by_outcome
    days = cli("stats", "--by", "day", "--json", home=four).data["groups"]
    assert sum(group["runs"] for group in days.values()) == 4
    assert all(len(day.split("-")) == 3 for day in days)


def test_stages_of_two_workflows_are_not_added_up(four: Path) -> None:
    stages = cli("stats", "--by", "outcome", "--json", home=four).data["groups"]["done"]["stages"]
    assert stages["repair plan"]["visits"] == stages["research plan"]["visits"] == 1


def test_one_run_is_told_alone_and_as_json_and_once_however_often_it_is_named(four: Path) -> None:
    name = cli("show", "last", "--json", home=four).data["run"]
    data = cli("stats", "last", name, "--json", home=four).data
    (group,) = data["groups"].values()
    assert group["runs"] == 1 and group["outcomes"] == {"approve": 1} and group["stopped_by"] == {}
    assert group["spread"]["steps"]["p50"] == 1
    assert group["stages"]["plan"]["model_calls"] == 1
    assert (data["left_out"], data["notes"]) == ([], [])


def test_what_a_person_ended_is_told_so(home: Path) -> None:
    cli("answer", "last", "give_up=true", home=home)
    (group,) = cli("stats", "last", "--json", home=home).data["groups"].values()
    assert (group["outcomes"], group["stopped_by"]) == ({"partial": 1}, {"a person": 1})


def test_a_fork_is_not_counted_twice(home: Path) -> None:
    before = cli("stats", "--json", home=home).data["groups"]["research"]
    name = next(folder.name for folder in runs_of(home).iterdir() if folder.name.startswith("doc"))
    assert cli("fork", name, "--at", "1", home=home).code == 0
    after = cli("stats", "--json", home=home).data["groups"]["research"]
    assert after["runs"] == before["runs"] + 1
    assert after["spread"]["model_calls"]["total"] == before["spread"]["model_calls"]["total"]
    assert (after["rounds"], after["plans"]) == (before["rounds"], before["plans"])


def test_a_spreadsheet_has_a_line_a_run_with_whole_numbers(four: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("stats", "--csv", home=four).out)))
    assert len(rows) == 4
    assert {row["workflow"] for row in rows} == {"repair", "research"}
    assert all(int(row["steps"]) > 0 and float(row["seconds"]) > 0 and int(row["tokens_in"]) == 0 for row in rows)
    assert sorted(row["rounds_partial"] for row in rows) == ["0", "0", "0", "4"]
    both = cli("stats", "--csv", "--json", home=four)
    assert both.code == 2 and "give one of them" in both.err


def test_a_damaged_run_is_named_and_ends_nothing(home: Path) -> None:
    damaged = next(folder for folder in runs_of(home).iterdir() if folder.name.startswith("ws"))
    journal = damaged / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"stage":"plan"', b'"stage":"plam"', 1))
    told = cli("stats", home=home)
    assert told.code == 0 and "research: 3 runs" in told.out and "repair: " not in told.out
    assert f"left out: {damaged.name}: " in told.err and "checksum" in told.err
    assert [one["run"] for one in cli("stats", "--json", home=home).data["left_out"]] == [damaged.name]
    alone = cli("stats", damaged.name, home=home)
    assert alone.code == 1 and alone.out == "" and f"left out: {damaged.name}: " in alone.err


def test_a_torn_last_line_is_said_and_the_run_told(home: Path) -> None:
    torn = next(folder for folder in runs_of(home).iterdir() if folder.name.startswith("ws"))
    with (torn / "journal.jsonl").open("ab") as file:
        file.write(b'{"seq":')
    told = cli("stats", home=home)
    assert told.code == 0 and "repair: 1 run" in told.out and f"{torn.name}: dropped: the last line" in told.err


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="no file that is there and can't be read")
def test_a_journal_that_can_not_be_read_is_named_too(home: Path) -> None:
    folder = runs_of(home) / "unreadable"
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to("/proc/self/mem")
    told = cli("stats", home=home)
    assert told.code == 0 and "research: 3 runs" in told.out and "left out: unreadable: " in told.err
    assert "DAMAGED" in cli("runs", home=home).out


def rewritten(folder: Path, **header: str) -> None:
    """The journal with another header, as whole as it was."""
    path = folder / "journal.jsonl"
    first, *rest = read_records(path.read_bytes(), folder.name).records
    path.write_bytes(b"".join(map(line_of, ({**first, **header}, *rest))))


@pytest.mark.parametrize("name", ["Essay", "TaskState"])
def test_a_run_of_a_foreign_graph_gets_the_general_figures(name: str, home: Path) -> None:
    folder = next(folder for folder in runs_of(home).iterdir() if folder.name.startswith("doc"))
    rewritten(folder, workflow=name)
    told = cli("stats", folder.name, home=home)
    assert told.code == 0 and f"{name}: 1 run\n" in told.out
    assert "where the seconds go" in told.out and "rounds of verification" not in told.out
    assert ("only what every run has is told of it" in told.err) is (name == "TaskState")


def test_a_console_without_unicode_gets_plain_bars(four: Path) -> None:
    told = cli("stats", home=four, env={**variables(four), "PYTHONIOENCODING": "ascii"})
    assert told.code == 0 and "##########" in told.out and told.out.isascii() and "\\u2588" not in told.out
    latin = cli("stats", home=four, env={**variables(four), "PYTHONIOENCODING": "latin-1"})
    assert latin.code == 0 and latin.out.isascii()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_all_that_is_told_fits_the_terminal(columns: int, four: Path) -> None:
    told = cli("stats", home=four, env={**variables(four), "COLUMNS": str(columns)})
    assert max(map(len, told.out.splitlines())) <= columns


def test_no_runs_and_no_such_run_are_said(tmp_path: Path, four: Path) -> None:
    nothing = cli("stats", home=tmp_path)
    assert nothing.code == 0 and "there is no run in " in nothing.out
    assert cli("stats", "--json", home=tmp_path).data["groups"] == {}
    missing = cli("stats", "nothing-like-it", home=four)
    assert missing.code == 1 and "there is no run 'nothing-like-it'" in missing.err


def test_a_thousand_short_runs_take_seconds(tmp_path: Path) -> None:
    state, ctx = simulated_research()
    with Run.create(runs_of(tmp_path) / "first", RESEARCH, state, durability="flush") as made:
        resume(made, ctx)
    journal = (runs_of(tmp_path) / "first" / "journal.jsonl").read_bytes()
    for number in range(999):
        folder = runs_of(tmp_path) / f"run{number}"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(journal)
    begun = time.monotonic()
    told = cli("stats", home=tmp_path)
    assert time.monotonic() - begun < 30, "a generous bound"
    assert told.code == 0 and "research: 1000 runs" in told.out
