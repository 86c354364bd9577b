"""`stats`: over one run, some, or all; as text, JSON and CSV; what is damaged is named and left out."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.cli.running import FIXTURES, cli, repair, variables, workspace

DOCUMENTS = str(FIXTURES / "documents")


def made(home: Path) -> None:
    """A repair that is done, a research that is done, one that is partial, and one that waits."""
    repair(workspace(home / "ws"), "--quiet", home=home)
    for question, more in (
        ("Where is the emergency cache of food?", ()),
        ("Who composed the anthem of the station's football club?", ()),
        ("Where is the emergency cache of food?", ("--approve", "plan")),
    ):
        cli("research", question, "--docs", DOCUMENTS, "--quiet", *more, home=home)


def test_all_runs_are_told_by_workflow_with_how_to_read_them(tmp_path: Path) -> None:
    made(tmp_path)
    told = cli("stats", home=tmp_path)
    assert told.code == 0
    assert "repair: 1 run\n" in told.out and "research: 3 runs\n" in told.out
    assert "not converging  " in told.out and "look at the planner's prompt" in told.out
    for header in ("p50", "p90", "most", "mean", "s p90"):
        assert header in told.out
    by_outcome = cli("stats", "--by", "outcome", home=tmp_path).out
    assert "done: 2 runs" in by_outcome and "partial: 1 run" in by_outcome and "approve: 1 run" in by_outcome
    assert cli("stats", "--by", "day", home=tmp_path).out.partition(":")[0].count("-") == 2


def test_one_run_is_told_alone_and_as_json(tmp_path: Path) -> None:
    made(tmp_path)
    data = cli("stats", "last", "--json", home=tmp_path).data
    (group,) = data["groups"].values()
    assert group["runs"] == 1 and group["outcomes"] == {"approve": 1}
    assert group["spread"]["steps"]["p50"] == 1
    assert group["stages"]["plan"]["model_calls"] == 1


def test_a_spreadsheet_has_a_line_a_run(tmp_path: Path) -> None:
    made(tmp_path)
    rows = list(csv.DictReader(io.StringIO(cli("stats", "--csv", home=tmp_path).out)))
    assert len(rows) == 4
    assert {row["workflow"] for row in rows} == {"repair", "research"}
    assert all(int(row["steps"]) > 0 and float(row["seconds"]) >= 0 for row in rows)


def test_a_damaged_run_is_named_and_ends_nothing(tmp_path: Path) -> None:
    made(tmp_path)
    runs = tmp_path / "kept" / "runs"
    damaged = next(folder for folder in runs.iterdir() if folder.name.startswith("ws"))
    journal = damaged / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"stage":"plan"', b'"stage":"plam"', 1))
    told = cli("stats", home=tmp_path)
    assert told.code == 0 and "research: 3 runs" in told.out and "repair: " not in told.out
    assert f"left out: {damaged.name}: " in told.err


def test_a_console_without_unicode_gets_plain_bars(tmp_path: Path) -> None:
    made(tmp_path)
    told = cli("stats", home=tmp_path, env={**variables(tmp_path), "PYTHONIOENCODING": "ascii"})
    assert told.code == 0 and "##########" in told.out and "\\u2588" not in told.out


def test_no_runs_and_no_such_run_are_said(tmp_path: Path) -> None:
    assert "there is no run in " in cli("stats", home=tmp_path).out
    made(tmp_path)
    missing = cli("stats", "nothing-like-it", home=tmp_path)
    assert missing.code == 1 and "there is no run 'nothing-like-it'" in missing.err
