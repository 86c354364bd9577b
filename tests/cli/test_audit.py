"""`audit` from the shell, on real runs: what agrees, what was tampered with, and what a person says of a sample."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from graph_agent.cli import main
from graph_agent.runtime.reading import read_run
from graph_agent.runtime.records import line_of
from tests.cli.running import ENOUGH, FIXTURES, TESTS, Ended, cli, repair, tree, variables, workspace

pytestmark = pytest.mark.slow

WHERE = "Where is the emergency cache of food?"
NEVER = "Who composed the anthem of the station's football club?"
BOTH = "At what wind speed does the goods hoist stop?"  # by two documents
OTHER_TESTS = """\
import unittest

from calc import add


class MoreTest(unittest.TestCase):
    def test_it_adds(self):
        self.assertEqual(add(2, 3), 5)

    def test_it_joins_texts_as_well(self):
        self.assertEqual(add("a", "b"), {wanted!r})
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a repair that passed, on a workspace that is told not to have held-out tests."""
    home = tmp_path_factory.mktemp("begun")
    done = repair(workspace(home / "ws"), "--quiet", "--holdout", "none", home=home)
    assert done.code == 0, done.err
    return home


@pytest.fixture
def repaired(begun: Path, tmp_path: Path) -> Path:
    shutil.copytree(begun / "kept", tmp_path / "kept")
    return tmp_path


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three researches: an answer from two documents, a partial one, and an answer."""
    home = tmp_path_factory.mktemp("asked")
    shutil.copytree(FIXTURES / "documents", home / "documents")
    for question, code in ((BOTH, 0), (NEVER, 5), (WHERE, 0)):
        done = cli("research", question, "--docs", home / "documents", "--quiet", home=home)
        assert done.code == code, done.err
    return home


@pytest.fixture
def researched(asked: Path, tmp_path: Path) -> Path:
    """With documents that a test may change."""
    shutil.copytree(asked / "kept", tmp_path / "kept")
    return tmp_path


def audit(home: Path, *words: str | Path) -> Ended:
    """In this process, which saves half a second each time."""
    given = ["audit", *map(str, words), "--run-dir", str(home / "kept" / "runs")]
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(given)
    return Ended(code, out.getvalue(), err.getvalue())


def newest(home: Path) -> Path:
    runs = home / "kept" / "runs"
    return max((one for one in runs.iterdir() if one.is_dir()), key=lambda one: read_run(one)[0][0]["time"])


def names(home: Path) -> list[str]:
    return sorted(one.name for one in (home / "kept" / "runs").iterdir() if one.is_dir())


def entries(home: Path) -> list[dict[str, Any]]:
    lines = (home / "kept" / "runs" / "audits.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def the_run(done: Ended) -> dict[str, Any]:
    (found,) = done.data["audited"]
    assert isinstance(found, dict)
    return found


def evidence_of(run: Path) -> dict[str, Any]:
    """That of the answer, the first."""
    _, folded, _ = read_run(run)
    name = folded.raw["answer"]["sources"][0]["id"]
    return next(one for one in folded.raw["evidence"] if one["id"] == name)


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


# Repairs


def test_a_repair_that_holds_agrees_and_nothing_of_the_run_is_changed(repaired: Path) -> None:
    before = tree(newest(repaired))
    done = cli("audit", home=repaired)
    assert (done.code, done.err) == (0, "")
    assert f"{newest(repaired).name}: agrees (the run says: a pass; found: a pass)" in done.out
    assert "100% (1/1)" in done.out
    assert tree(newest(repaired)) == before


def test_what_was_found_is_kept_with_who_when_and_the_policys_hash(repaired: Path) -> None:
    audit(repaired, "--who", "mo")
    (kept,) = entries(repaired)
    about: Any = read_run(newest(repaired))[0][0]["about"]
    assert (kept["kind"], kept["run"], kept["who"], kept["word"]) == ("audit", newest(repaired).name, "mo", "pass")
    assert kept["policy"] == about["policy_hash"]
    assert kept["at"] > "2020" and kept["passed"] is True


def test_a_workspace_that_was_tampered_with_disagrees_though_the_kept_bytes_still_pass(repaired: Path) -> None:
    (newest(repaired) / "workspace" / "calc.py").write_text("def add(a, b):\n    return 5\n", encoding="utf-8")
    done = audit(repaired, "--json")
    assert done.code == 1
    found = the_run(done)
    assert (found["verdict"], found["found"]) == ("disagrees", "pass")
    assert found["what"] == ["in the run's workspace calc.py is another than what the run left"]
    assert done.data["all"]["reverified"] == 0


def test_a_patch_that_was_tampered_with_disagrees(repaired: Path) -> None:
    patch = newest(repaired) / "patch.diff"
    patch.write_text(patch.read_text(encoding="utf-8").replace("a + b", "a + b + 0"), encoding="utf-8")
    assert "patch.diff is not the patch that the run made" in audit(repaired).out


def test_kept_bytes_that_were_altered_disagree_and_lost_ones_are_taken_from_the_workspace(repaired: Path) -> None:
    state: Any = read_run(newest(repaired))[1].raw
    blob = newest(repaired) / "blobs" / state["changes"][-1]["after"]
    blob.write_text("def add(a, b):\n    return 5\n", encoding="utf-8")
    altered = audit(repaired)
    assert altered.code == 1 and "what was kept of calc.py" in altered.out
    blob.unlink()
    gone = audit(repaired)
    assert gone.code == 0 and "calc.py is from the run's workspace" in gone.out


def test_bytes_that_are_nowhere_any_more_or_an_original_that_is_gone_are_no_verdict(repaired: Path) -> None:
    run = newest(repaired)
    shutil.rmtree(run / "blobs")
    shutil.rmtree(run / "workspace")
    done = audit(repaired)
    assert done.code == 0 and "can't tell" in done.out and "is nowhere any more" in done.out
    shutil.rmtree(run / "original")
    assert "the original is gone" in audit(repaired).out


def test_an_original_that_was_tampered_with_disagrees(repaired: Path) -> None:
    tests = newest(repaired) / "original" / "tests" / "test_calc.py"
    tests.write_text("", encoding="utf-8")
    done = audit(repaired)
    assert done.code == 1
    assert "the original is not what the run began with: tests/test_calc.py is another" in done.out


@pytest.mark.parametrize(("wanted", "code", "verdict"), [("ab", 0, "agrees"), ("ba", 1, "disagrees")])
def test_held_out_tests_that_the_loop_never_saw_confirm_or_refute_its_pass(
    repaired: Path, wanted: str, code: int, verdict: str
) -> None:
    held = workspace(repaired / "held", {"tests/test_more.py": OTHER_TESTS.format(wanted=wanted)})
    done = audit(repaired, "last", "--holdout", held, "--json")
    assert done.code == code
    found = the_run(done)
    assert found["verdict"] == verdict
    assert found["what"] == ([] if code == 0 else ["the held-out tests failed"])
    assert done.data["all"]["passed"] == 1
    assert bool(done.data["warnings"]) == bool(code)


def test_an_extra_check_that_fails_disagrees_and_says_how(repaired: Path) -> None:
    good = python("import pathlib; assert 'a + b' in pathlib.Path('calc.py').read_text()")
    assert audit(repaired, "--check", good).code == 0
    done = audit(repaired, "--check", good, "--check", python("raise SystemExit('calc.py:2: eval is used')"))
    assert done.code == 1
    assert "disagrees" in done.out and "(calc.py:2: eval is used)" in done.out


def test_a_check_that_is_not_there_is_no_verdict(repaired: Path) -> None:
    done = audit(repaired, "--check", "no-such-scanner --strict")
    assert done.code == 0
    assert "can't tell" in done.out and "command not found: no-such-scanner" in done.out


def test_the_policys_own_audit_commands_are_run_by_the_audit_and_not_by_the_loop(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    scan = python(f"import pathlib; pathlib.Path({str(mark)!r}).touch(); raise SystemExit('found: B101')")
    assert repair(workspace(tmp_path / "ws"), "--audit", scan, "--quiet", home=tmp_path).code == 0
    assert not mark.exists()
    done = audit(tmp_path)
    assert mark.exists()
    assert done.code == 1 and "found: B101" in done.out


def test_held_out_tests_of_the_run_that_are_others_by_now_are_no_verdict(tmp_path: Path) -> None:
    held = workspace(tmp_path / "ws_holdout", {"tests/test_more.py": OTHER_TESTS.format(wanted="ab")})
    assert repair(workspace(tmp_path / "ws"), "--quiet", home=tmp_path).code == 0
    assert "the run's held-out tests were run" in audit(tmp_path).out
    (held / "tests" / "test_more.py").write_text(TESTS, encoding="utf-8")
    done = audit(tmp_path)
    assert done.code == 0 and "can't tell" in done.out and "put them back as they were" in done.out


def test_a_run_that_waits_is_left_out_and_said_and_where_it_is_named_it_says_why(tmp_path: Path) -> None:
    assert repair(workspace(tmp_path / "ws"), "--approve", "finish", "--quiet", home=tmp_path).code == 3
    done = audit(tmp_path)
    assert done.code == 0 and "there is no finished run" in done.out and ": 1 are not over" in done.out
    assert "can't tell" in audit(tmp_path, "last").out
    assert "it is not over: it stands at human" in audit(tmp_path, "last").out
    assert not (tmp_path / "kept" / "runs" / "audits.jsonl").exists()


def test_a_run_that_was_given_up_after_a_pass_agrees_and_counts_as_not_passed(tmp_path: Path) -> None:
    assert repair(workspace(tmp_path / "ws"), "--approve", "finish", "--quiet", home=tmp_path).code == 3
    assert cli("answer", "last", "give_up=true", home=tmp_path).code == 1
    done = audit(tmp_path, "--json")
    assert the_run(done)["verdict"] == "agrees"
    assert (done.data["all"]["finished"], done.data["all"]["passed"]) == (1, 0)


def test_a_damaged_journal_is_said_and_does_not_stop_the_others(repaired: Path) -> None:
    runs = repaired / "kept" / "runs"
    shutil.copytree(newest(repaired), runs / "other")
    raw = (runs / "other" / "journal.jsonl").read_bytes()
    (runs / "other" / "journal.jsonl").write_bytes(raw.replace(b"calc.py", b"clac.py", 1))
    done = audit(repaired)
    assert done.code == 0
    assert "other: can't tell" in done.out and "its journal is damaged" in done.out and ": agrees" in done.out


def test_a_run_whose_journal_was_shortened_is_audited_as_before(repaired: Path) -> None:
    day = audit(repaired, "--json").data["rates"][0]["period"]
    assert cli("compact", "last", home=repaired).code == 0
    done = audit(repaired, "--json")
    assert (done.code, the_run(done)["verdict"], done.data["rates"][0]["period"]) == (0, "agrees", day)


def test_a_run_that_can_not_be_read_is_no_verdict_and_the_others_are_looked_at(repaired: Path) -> None:
    runs = repaired / "kept" / "runs"
    shutil.copytree(newest(repaired), runs / "other")
    (runs / "other" / "patch.diff").unlink()
    (runs / "other" / "blobs").rename(runs / "other" / "elsewhere")
    (runs / "other" / "blobs").symlink_to("blobs")  # round in a circle
    done = audit(repaired)
    assert "other: can't tell" in done.out and ": agrees" in done.out


# Researches


def test_answers_whose_citations_hold_agree_the_partial_one_too(researched: Path) -> None:
    done = audit(researched, "--json")
    assert done.code == 0
    assert done.data["counts"] == {"agrees": 3, "disagrees": 0, "can't tell": 0}
    assert (done.data["all"]["finished"], done.data["all"]["passed"], done.data["all"]["reverified"]) == (3, 2, 2)
    notes = [one["notes"][0] for one in done.data["audited"]]
    assert notes == [f"citations read back: {n}, in the documents too: {n}" for n in (1, 0, 2)]


def test_evidence_that_was_altered_disagrees(researched: Path) -> None:
    run = newest(researched)
    blob = run / "blobs" / evidence_of(run)["text"]
    blob.write_text(blob.read_text(encoding="utf-8").replace("under the floor", "above the floor"), encoding="utf-8")
    done = audit(researched, "last", "--json")
    assert done.code == 1
    assert the_run(done)["verdict"] == "disagrees"
    assert "can't be read back" in the_run(done)["what"][0] and "was altered" in the_run(done)["what"][0]


def test_evidence_that_is_gone_is_read_in_the_document_and_else_is_no_verdict(asked: Path, tmp_path: Path) -> None:
    home, run = moved(tmp_path, asked)
    (run / "blobs" / evidence_of(run)["text"]).unlink()
    with_document = audit(home, run.name)
    assert with_document.code == 0 and ": agrees" in with_document.out
    assert "is gone, and was read in stores-and-water.md" in with_document.out
    shutil.rmtree(home / "documents")
    without = audit(home, run.name)
    assert without.code == 0 and ": can't tell" in without.out and "is gone from blobs" in without.out


def test_a_document_that_changed_since_is_said_and_the_kept_text_decides(asked: Path, tmp_path: Path) -> None:
    home, run = moved(tmp_path, asked)
    document = home / "documents" / evidence_of(run)["source"]
    document.write_text("# Nothing\n\nThe cache was moved.\n", encoding="utf-8")
    done = audit(home, run.name)
    assert done.code == 0 and ": agrees" in done.out
    assert f"{document.name} changed since, so only the kept text was read" in done.out
    document.unlink()
    assert f"{document.name} is gone since" in audit(home, run.name).out


def test_evidence_that_does_not_stand_in_its_unchanged_document_disagrees(asked: Path, tmp_path: Path) -> None:
    home, run = moved(tmp_path, asked, span="1-2")
    done = audit(home, run.name)
    assert done.code == 1
    assert "in the document itself: the quote 'The emergency cache lies" in done.out


def test_an_answer_file_that_says_something_else_disagrees(researched: Path) -> None:
    path = newest(researched) / "answer.md"
    path.write_text(path.read_text(encoding="utf-8").replace("under", "above"), encoding="utf-8")
    done = audit(researched, "last")
    assert done.code == 1 and "answer.md is not the answer of the run" in done.out


def moved(tmp_path: Path, before: Path, span: str = "") -> tuple[Path, Path]:
    """Another home, with its newest run written anew for the documents there; and with another span of its evidence."""
    home = tmp_path / "home"
    shutil.copytree(before, home)
    run = newest(home)
    old_span = evidence_of(run)["span"]
    lines = []
    for record in read_run(run)[0]:
        text = json.dumps(record).replace(json.dumps(str(before))[1:-1], json.dumps(str(home))[1:-1])
        text = text.replace(f'"span": "{old_span}"', f'"span": "{span or old_span}"')
        text = text.replace(f'.md:{old_span}"', f'.md:{span or old_span}"')
        lines.append(line_of({key: value for key, value in json.loads(text).items() if key != "crc"}))
    (run / "journal.jsonl").write_bytes(b"".join(lines))
    (run / "answer.md").unlink()
    return home, run


# A person's judgement


def answers(home: Path, *lines: Any) -> Path:
    path = home / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_without_a_terminal_a_sample_says_how_to_judge_it_and_exits_with_3(researched: Path) -> None:
    done = audit(researched, "--sample", "2", "--seed", "7")
    assert done.code == 3
    assert "2 of the sample wait for a person's judgement" in done.err
    assert '--answers FILE, a line for each: {"run": "NAME"' in done.err
    as_json = audit(researched, "--sample", "2", "--seed", "7", "--json")
    assert as_json.code == as_json.data["exit_code"] == 3
    assert [one["run"] for one in as_json.data["sample"]["wait"]] == as_json.data["sample"]["runs"]
    for one in as_json.data["sample"]["wait"]:
        assert one["run"] in done.err and one["to_judge"].startswith("asked: ")


def test_a_loop_that_fools_its_metric_shows_as_a_judged_rate_below_its_pass_rate(researched: Path) -> None:
    run = newest(researched).name
    given = answers(researched, {"run": run, "verdict": "reject", "why": "it answers another question"})
    done = audit(researched, run, "--sample", "1", "--answers", given, "--who", "mo", "--json")
    assert done.code == 0
    whole = done.data["all"]
    assert (whole["judged"], whole["accepted"], whole["passed_of_judged"]) == (1, 0, 1)
    assert "the judged rate is lower than the pass rate" in done.data["warnings"][0]
    assert run in done.data["warnings"][1]
    judged = next(one for one in entries(researched) if one["kind"] == "judged")
    assert (judged["who"], judged["word"], judged["why"]) == ("mo", "reject", "it answers another question")
    told = audit(researched)
    assert "LOOK: the judged rate is lower" in told.out and "0% (0/1)" in told.out


def test_what_was_judged_is_not_drawn_again_and_the_same_answers_change_nothing(researched: Path) -> None:
    chosen = audit(researched, "--sample", "2", "--json").data["sample"]["runs"]
    given = answers(researched, *({"run": run, "verdict": "accept", "why": ""} for run in chosen))
    assert audit(researched, "--sample", "2", "--answers", given).code == 0
    again = audit(researched, "--sample", "2", "--answers", given, "--json")
    assert set(again.data["sample"]["runs"]) == set(names(researched)) - set(chosen)
    assert again.code == 3
    assert sum(one["kind"] == "judged" for one in entries(researched)) == 2


def test_nobody_picks_what_he_judges(researched: Path) -> None:
    (chosen,) = audit(researched, "--sample", "1", "--json").data["sample"]["runs"]
    other = next(run for run in names(researched) if run != chosen)
    given = answers(researched, {"run": other, "verdict": "accept", "why": ""})
    done = audit(researched, "--sample", "1", "--answers", given)
    assert done.code == 2
    assert f"{other!r} was not drawn" in done.err and chosen in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1 is no JSON"),
        ("[]", "line 1 is no object of texts"),
        ('{"run": "RUN"}', "line 1 has run: write"),
        ('{"run": "RUN", "verdict": "acept"}', "'acept'"),
        ('{"run": "RUN", "verdict": "reject", "why": " "}', "say why"),
        ('{"run": "RUN", "verdict": "accept", "reason": "x"}', "has reason, run, verdict"),
        ('{"run": "RUN", "verdict": "accept"}\n{"run": "RUN", "verdict": "accept"}', "stands there twice"),
    ],
)
def test_an_answer_of_no_use_is_named_by_its_line_and_nothing_is_recorded(
    researched: Path, line: str, said: str
) -> None:
    run = newest(researched).name
    path = researched / "answers.jsonl"
    path.write_text(line.replace("RUN", run) + "\n", encoding="utf-8")
    done = audit(researched, run, "--sample", "1", "--answers", path)
    assert done.code == 2
    assert said in done.err
    assert not (researched / "kept" / "runs" / "audits.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sample", "0"), "at least 1"),
        (("--answers", "x"), "give --sample N too"),
        (("--holdout", "x"), "name its runs"),
        (("last", "--holdout", "x"), "no folder that holds tests"),
        (("nobody",), "there is no run 'nobody'"),
        (("--sample", "1", "--answers", "gone.jsonl"), "can't be read"),
        (("--sample", "1", "--who", " "), "give --who NAME"),
        (("--check", ""), "--check"),
    ],
)
def test_options_of_no_use_are_refused(researched: Path, words: tuple[str, ...], said: str) -> None:
    done = audit(researched, *words)
    assert done.code in (1, 2) and said in done.err
    assert done.out == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_on_a_terminal_the_person_sees_what_to_judge_and_no_verdict_before(researched: Path) -> None:
    run = newest(researched).name
    shown, out, code = on_a_terminal(researched, "maybe\nr\n\nit is off the question\n", "audit", run, "--sample", "1")
    assert code == 0
    before = shown.partition("accept, reject, or skip?")[0]
    assert f"asked: {WHERE}" in before and "The emergency cache lies under the floor" in before
    assert "agrees" not in before and "a pass" not in before
    assert "agrees" in out and "LOOK: the judged rate is lower" in out
    judged = next(one for one in entries(researched) if one["kind"] == "judged")
    assert (judged["word"], judged["why"]) == ("reject", "it is off the question")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_what_is_skipped_on_a_terminal_still_waits_and_json_stays_alone_on_stdout(researched: Path) -> None:
    shown, out, code = on_a_terminal(researched, "skip\naccept\n\n", "audit", "--sample", "2", "--json")
    data = json.loads(out)
    assert code == 3 and "2 of 2" in shown
    assert [one["run"] for one in data["sample"]["wait"]] == data["sample"]["runs"][:1]
    assert data["all"]["accepted"] == 1


def on_a_terminal(home: Path, typed: str, *words: str) -> tuple[str, str, int]:
    """What stands on the terminal, what came on stdout, and the exit code."""
    ours, theirs = os.openpty()
    env = variables(home, LOGNAME="mo", TERM="dumb")
    process = subprocess.Popen(
        [sys.executable, "-m", "graph_agent", *words],
        cwd=home,
        env=env,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    seen = bytearray()
    with suppress(OSError):  # how Linux says that the other side is closed
        while chunk := os.read(ours, 4096):
            seen += chunk
    out, _ = process.communicate(timeout=ENOUGH)
    os.close(ours)
    return seen.decode("utf-8", "replace"), out.decode("utf-8"), process.returncode
