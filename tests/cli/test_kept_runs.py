"""The commands on runs that are kept: trace, why, history, fork, apply, runs, compact, verify-journal."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from graph_agent.cli import main
from graph_agent.runtime.lock import Lock
from graph_agent.runtime.reading import read_run
from tests.cli.running import cli, tree
from tests.cli.runs import REPAIR, STEPS, as_they_are, only_run, same_in_all_runs, shop, state_of

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def _done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    shop(home / "ws")
    assert cli(*REPAIR, home=home).code == 0
    return home


class Here:
    """A home of one's own with a run that is done. Commands run in this process: what they share is small."""

    def __init__(self, home: Path, capture: Capture) -> None:
        self.home, self.folder, self._capture = home, only_run(home), capture

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main([*words, "--run-dir", str(self.home / "kept" / "runs")])
        out, err = self._capture.readouterr()
        return code, out, err

    def data(self, *words: str) -> Any:
        code, out, err = self(*words, "--json")
        assert (out.count("\n"), err) == (1, "")
        return json.loads(out) | {"code": code}


@pytest.fixture
def here(_done: Path, tmp_path: Path, capsys: Capture) -> Here:
    home = tmp_path / "home"
    shutil.copytree(_done, home)
    journal = next((home / "kept" / "runs").iterdir()) / "journal.jsonl"
    assert str(_done / "ws") in journal.read_text(encoding="utf-8"), "the run's own workspace is the first home's"
    return Here(home, capsys)


def test_a_trace_has_a_line_a_step(here: Here) -> None:
    code, out, err = here("trace", "last")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", STEPS)
    assert lines[0] == "  1 | intake -> diagnose | 0 turns | 3 files taken down"
    assert lines[-1] == f" {STEPS} | verify -> done | 0 turns | V3 passed: all checks passed"


def test_a_trace_of_all_has_the_facts_with_their_times(here: Here) -> None:
    _, out, _ = here("trace", "last", "--all")
    assert "    | begun, at intake" in out.splitlines()[0]
    assert out.count("| execute begins, which has effects (key ") == 3
    assert all(line[:4].isdecimal() for line in out.splitlines())
    data = here.data("trace", "last", "--all")
    assert [one["type"] for one in data["records"]][:3] == ["header", "finished", "finished"]
    assert all("state" not in one and "patch" not in one for one in data["records"])


def test_a_torn_end_is_said_and_the_rest_is_told(here: Here) -> None:
    journal = here.folder / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9])
    code, out, err = here("trace", "last")
    assert (code, len(out.splitlines())) == (0, STEPS - 1)
    assert err.startswith("graph_agent: not read: the last line (")


def test_why_tells_of_each_file_what_led_to_it(here: Here) -> None:
    code, out, _ = here("why", "last")
    assert code == 0
    assert "who may write: execute alone, files that match **/*.py" in out
    assert "\ncalc.py\n  attempt 1: " in out
    assert "    rests on O2: run_command" in out
    assert "    V1 fail: tests failed" in out
    assert "    V3 pass: all checks passed" in out
    (file,) = here.data("why", "last", "--file", "calc.py")["files"]
    assert [one["attempt"] for one in file["attempts"]] == [1, 2, 3]
    assert file["attempts"][-1]["verified_by"][0]["verdict"] == "pass"
    assert file["attempts"][-1]["edits"] == [
        {"old": "        if price < limit:\n", "new": "        if price <= limit:\n"}
    ]


def test_why_of_a_file_that_was_not_changed_names_those_that_were(here: Here) -> None:
    code, _, err = here("why", "last", "--file", "calk.py")
    assert code == 2
    assert "--file 'calk.py' was not changed, did you mean 'calc.py'?: the run has calc.py" in err


def test_history_is_the_state_after_a_step(here: Here) -> None:
    state = here.data("history", "last", "--at", "4")["state"]
    assert (state["steps"], state["stage"], len(state["changes"])) == (4, "verify", 1)
    assert here.data("history", "last", "--at", "0")["state"]["observations"] == []
    final = here.data("history", "last", "--at", str(STEPS))["state"]
    assert final == read_run(here.folder)[1].raw
    code, out, _ = here("history", "last", "--at", "4", "--field", "retries")
    assert (code, out) == (0, "retries = 0\n")


def test_history_of_two_steps_is_what_differs(here: Here) -> None:
    changed = {one["field"]: one for one in here.data("history", "last", "--at", "3", "--to", "4")["changed"]}
    assert set(changed) == {"stage", "route_reason", "steps", "spent_turns", "changes"}
    assert [one["path"] for one in changed["changes"]["added"]] == ["calc.py"]
    assert changed["stage"] == {"field": "stage", "before": "execute", "after": "verify"}
    _, out, _ = here("history", "last", "--at", "4", "--to", "3", "--field", "changes")
    assert out.startswith('changes - {"path":"calc.py"')
    assert here("history", "last", "--at", "4", "--to", "4")[1] == "nothing differs\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("history", "last", "--at", "99"), 1, f"has no step 99: its journal has 0 to {STEPS}"),
        (("history", "last", "--at", "1", "--field", "retrys"), 2, "no such field, did you mean 'retries'?"),
        (("fork", "last", "--at", "99"), 1, "has no step 99"),
        (("fork", "last", "--at", "1", "--name", "a/b"), 2, "--name 'a/b' is taken, or is no name"),
        (("compact", "last", "--keep", "-1"), 2, "give the number of steps to keep"),
        (("trace", "nowhere"), 1, "there is no run 'nowhere'"),
        (("show", "../ws"), 2, "is no name of a run but a path"),
        (("verify-journal", ""), 2, "is no name of a run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_not_there_is_said_and_nothing_happens(here: Here, words: Any, code: int, said: str) -> None:
    before = as_they_are(here.home)
    ended, out, err = here(*words)
    assert (ended, out) == (code, "")
    assert said in err
    assert as_they_are(here.home) == before


def test_the_nearest_name_is_named(here: Here) -> None:
    name = here.folder.name
    assert f"did you mean {name!r}?" in here("trace", name[:-1])[2]


def test_reading_changes_nothing(here: Here) -> None:
    before = as_they_are(here.home)
    for words in (("trace",), ("why",), ("show",), ("verify-journal",), ("history", "--at", "1")):
        assert here(words[0], "last", *words[1:])[0] == 0
    assert here("runs")[0] == 0
    assert as_they_are(here.home) == before


def test_a_fork_goes_on_to_the_same_end_and_its_parent_stays_as_it_was(here: Here) -> None:
    """From before the first candidate, from the middle, and from the end of the first attempt."""
    before = as_they_are(here.folder)
    told = same_in_all_runs(here.folder)
    for step in (0, 4, 5):
        made = here.data("fork", "last" if step == 0 else here.folder.name, "--at", str(step), "--name", f"child{step}")
        child = here.folder.parent / made["run"]
        if step == 4:
            assert "kept = kept" in (child / "workspace" / "calc.py").read_text(encoding="utf-8")
        code, _, err = here("resume", made["run"], "--quiet")
        assert (code, err) == (0, "")
        assert same_in_all_runs(child)["files"] == told["files"]
        assert state_of(child).task_id == made["run"]
        assert read_run(child)[0][0]["parent"]["run"] == here.folder.name  # type: ignore[index,call-overload]
    assert as_they_are(here.folder) == before


def test_a_fork_has_the_files_as_they_were_at_that_step(here: Here) -> None:
    here("fork", "last", "--at", "4", "--name", "then")
    child = here.folder.parent / "then"
    assert tree(child / "original") == tree(here.folder / "original")
    state = state_of(child)
    (change,) = state.changes
    files = {name: found for name, found in tree(child / "workspace").items() if name == "calc.py"}
    assert files == {"calc.py": change.after}


def test_a_fork_that_cannot_be_made_leaves_nothing(here: Here) -> None:
    shutil.rmtree(here.folder / "blobs")
    code, _, err = here("fork", "last", "--at", "4", "--name", "child")
    assert code == 1
    assert "the workspace can't be made as it was: the blob " in err
    assert not (here.folder.parent / "child").exists()


def test_the_last_line_of_a_fork_is_the_command_that_goes_on(here: Here) -> None:
    _, out, _ = here("fork", "last", "--at", "5", "--name", "child")
    assert out.splitlines()[-1].strip().startswith("python3 -m graph_agent resume child --run-dir ")


def test_the_patch_is_applied_once_and_then_is_there(here: Here, _done: Path) -> None:
    workspace = _done / "ws"
    before = tree(workspace)
    try:
        code, out, _ = here("apply", "last")
        assert (code, out) == (0, f"applied: calc.py, in {workspace}\n")
        assert "price <= limit" in (workspace / "calc.py").read_text(encoding="utf-8")
        assert here("apply", "last")[:2] == (0, f"the patch is there already: calc.py, in {workspace}\n")
        (workspace / "calc.py").write_text("# another's\n", encoding="utf-8")
        code, _, err = here("apply", "last")
        assert code == 1
        assert "nothing was applied: 'calc.py' changed while the run was under way" in err
        assert (workspace / "calc.py").read_text(encoding="utf-8") == "# another's\n"
    finally:
        shutil.rmtree(workspace)
        shop(workspace)
    assert tree(workspace) == before


def test_only_the_patch_of_a_run_that_is_done_is_applied(here: Here) -> None:
    here("fork", "last", "--at", "5", "--name", "child")
    code, _, err = here("apply", "child")
    assert code == 1
    assert "child is at repair: only the verified patch of a run that is done is applied" in err
    assert "python3 -m graph_agent show child" in err


def test_runs_are_listed_newest_first_with_where_they_stand(here: Here) -> None:
    here("fork", "last", "--at", "5", "--name", "child")
    _, out, _ = here("runs")
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["child", here.folder.name]
    assert [row[2] for row in rows] == ["repair", "done"]
    runs = here.data("runs")["runs"]
    assert [(one["run"], one["workflow"], one["steps"]) for one in runs][0] == ("child", "repair", 5)


def test_a_damaged_run_and_what_is_none_do_not_keep_the_list_from_being_told(here: Here) -> None:
    journal = here.folder / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([lines[0], b"x" + lines[1], *lines[2:]]))
    (here.folder.parent / "a file").write_text("", encoding="utf-8")
    (here.folder.parent / "no_run").mkdir()
    (one,) = here.data("runs")["runs"]
    assert one["stage"] == "DAMAGED"
    assert "line 2" in one["why"]


def test_no_runs_are_said(here: Here, tmp_path: Path, capsys: Capture) -> None:
    assert main(["runs", "--run-dir", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out == f"there is no run in {tmp_path / 'none'}\n"


def test_a_run_that_is_worked_on_is_shown_as_held_and_not_compacted(here: Here) -> None:
    with Lock(here.folder / "lock"):
        (one,) = here.data("runs")["runs"]
        assert one["held_by"].startswith(f"process {os.getpid()} ")
        code, _, err = here("compact", "last", "--keep", "1")
        assert code == 1
        assert f"is held by process {os.getpid()}" in err
    assert here.data("runs")["runs"][0]["held_by"] is None


def test_a_compacted_run_is_the_same_run(here: Here) -> None:
    before = state_of(here.folder)
    data = here.data("compact", "last", "--keep", "2")
    assert data["after"] < data["before"]
    assert state_of(here.folder) == before
    assert len(here("trace", "last")[1].splitlines()) == 2
    code, _, err = here("history", "last", "--at", "3")
    assert code == 1
    assert f"its journal has {STEPS - 2} to {STEPS}, the ones before were compacted" in err
    assert here.data("verify-journal", "last")["ok"]
    assert "as short as it can be" in here("compact", "last", "--keep", "2")[1]


def test_a_whole_journal_is_told_so(here: Here) -> None:
    code, out, _ = here("verify-journal", "last")
    assert code == 0
    assert [line[:5] for line in out.splitlines()] == ["ok   "] * 4
    assert "it fits repair as it is today, at done" in out


@pytest.mark.parametrize(
    ("damage", "check", "found"),
    [
        (lambda raw: raw.replace(b'"step":3', b'"step":4', 1), "journal", "line 4: its checksum does not fit"),
        (
            lambda raw: b"".join(raw.splitlines(keepends=True)[:3] + raw.splitlines(keepends=True)[4:]),
            "journal",
            "line 4: seq is 4 after 2",
        ),
        (lambda raw: raw[raw.index(b"\n") + 1 :], "journal", "the first record is no header"),
    ],
    ids=["a byte", "a line is missing", "no header"],
)
def test_a_damaged_journal_is_told_with_the_line(here: Here, damage: Any, check: str, found: str) -> None:
    journal = here.folder / "journal.jsonl"
    journal.write_bytes(damage(journal.read_bytes()))
    data = here.data("verify-journal", "last")
    (bad,) = [one for one in data["checks"] if not one["ok"]]
    assert (data["code"], data["ok"], bad["check"]) == (1, False, check)
    assert found in bad["found"]


@pytest.mark.parametrize("what", ["gone", "altered"])
def test_a_blob_that_is_gone_or_altered_is_told(here: Here, what: str) -> None:
    blob = next((here.folder / "blobs").iterdir())
    blob.unlink() if what == "gone" else blob.write_text("other", encoding="utf-8")
    data = here.data("verify-journal", "last")
    (bad,) = [one for one in data["checks"] if not one["ok"]]
    assert bad["check"] == "blobs"
    assert what in bad["found"]
