"""`answer`: a person's word from a process of its own, typed, checked, taken once, and acted upon."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_agent.runtime.reading import read_run
from graph_agent.workflows.repair.state import Stage
from tests.cli.running import ENOUGH, cli, repair
from tests.cli.runs import REPAIR, as_they_are, only_run, patch_of, shop, started, state_of

pytestmark = pytest.mark.slow


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """The home of a run whose plan waits for approval."""
    shop(tmp_path / "ws")
    assert repair("ws", "--approve", "plan", home=tmp_path).code == 3
    return tmp_path


def approved(home: Path) -> list[str]:
    state = state_of(only_run(home))
    return ["answer", "last", "--pause", f"{state.task_id}:{state.steps}", f"approval={state.plan_fingerprint}"]


def test_nothing_waits_for_approval_unless_that_is_asked_for(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", home=tmp_path).code == 0
    assert state_of(only_run(tmp_path)).approve == ()


def test_each_plan_and_the_patch_are_approved_one_after_the_other_by_processes_of_their_own(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--approve", "plan", "--approve", "finish", home=tmp_path).code == 3
    folder = only_run(tmp_path)
    for attempt in range(3):
        state = state_of(folder)
        assert (state.stage, len(state.changes)) == (Stage.HUMAN, attempt)
        ended = cli("answer", folder.name, f"approval={state.plan_fingerprint}", home=tmp_path)
        assert ended.code == 3, ended.err
    state = state_of(folder)
    assert state.came_from is Stage.VERIFY
    assert "The patch:" in ended.out
    assert "the patch waits for approval" in ended.err
    ended = cli("answer", folder.name, f"approval={state.patch_fingerprint}", home=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.next_words == ["apply", folder.name]
    assert "price <= limit" in patch_of(folder)


def test_several_approvals_may_be_one_list(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--approve", "finish,plan", "--quiet", home=tmp_path).code == 3
    assert state_of(only_run(tmp_path)).approve == ("plan", "finish")


def test_an_approval_is_for_the_plan_that_was_shown_and_no_later_one(waiting: Path) -> None:
    words = approved(waiting)
    assert cli(*words, home=waiting).code == 3
    folder = only_run(waiting)
    before = state_of(folder)
    assert (before.came_from, len(before.changes)) == (Stage.REPAIR, 1)
    cli("answer", "last", words[-1], home=waiting)
    after = state_of(folder)
    assert after.stage is Stage.HUMAN
    assert after.changes == before.changes


def test_a_second_and_a_foreign_answer_are_refused_and_nothing_changes(waiting: Path) -> None:
    words = approved(waiting)
    assert cli(*words, home=waiting).code == 3
    before = as_they_are(only_run(waiting))
    second = cli(*words, home=waiting)
    assert second.code == 1
    assert "was answered before: the run waits at " in second.err
    foreign = cli("answer", "last", "--pause", "other-run:3", "give_up=true", home=waiting)
    assert foreign.code == 1
    assert "is not of this run" in foreign.err
    assert as_they_are(only_run(waiting)) == before


def test_of_two_answers_at_once_one_is_taken(waiting: Path) -> None:
    words = approved(waiting)
    both = [started(waiting, *words), started(waiting, *words)]
    told = [process.communicate(timeout=ENOUGH) for process in both]
    assert sorted(process.returncode for process in both) == [1, 3], told
    (refused,) = (err.decode() for process, (_, err) in zip(both, told, strict=True) if process.returncode == 1)
    assert any(why in refused for why in ("is held by process ", "was answered before", "nothing is asked")), refused
    records = read_run(only_run(waiting))[0]
    assert [record["type"] for record in records].count("answered") == 1


WRONG = {
    "a field that is none": (["approvl=x"], 2, "did you mean 'approval'"),
    "a field of another's": (["plan=null"], 2, "  max_retries: int"),
    "a word that is no field": (["yes"], 2, "give FIELD=VALUE"),
    "a field twice": (["max_retries=3", "max_retries=4"], 2, "max_retries is there twice"),
    "another type": (["max_retries=many"], 2, "max_retries: expected int, got 'many'"),
    "a limit that is spent": (["max_turns=1"], 1, "are spent"),
    "a decision for no stage": (['decisions={"pause":"x","to":"moon"}'], 2, "decisions[0].to: expected one of 'back'"),
    "a decision that nothing allows": (["decisions=DONE"], 1, "nothing passed verification"),
}


@pytest.mark.parametrize("words, code, said", WRONG.values(), ids=WRONG)
def test_an_answer_that_will_not_do_is_refused_with_the_reason_and_nothing_changes(
    waiting: Path, words: list[str], code: int, said: str
) -> None:
    state = state_of(only_run(waiting))
    done = f'{{"pause":"{state.task_id}:{state.steps}","to":"done"}}'
    before = as_they_are(waiting)
    ended = cli("answer", "last", *(word.replace("DONE", done) for word in words), home=waiting)
    assert ended.code == code
    assert said in ended.err
    assert as_they_are(waiting) == before


def test_an_answer_to_what_is_no_longer_so_is_refused_and_the_new_question_is_asked(waiting: Path) -> None:
    folder = only_run(waiting)
    (folder / "workspace" / "calc.py").write_text("# a stranger's\n", encoding="utf-8")
    refused = cli(*approved(waiting), home=waiting)
    assert refused.code == 1
    assert "the world has changed meanwhile: " in refused.err
    assert "calc.py" in refused.err
    state = state_of(folder)
    assert (state.stage, state.steps, state.approval) == (Stage.HUMAN, 4, ())
    assert f"it asks (pause {folder.name}:4)" in cli("show", "last", home=waiting).out
    assert cli("answer", "last", "give_up=true", home=waiting).code == 1


def test_a_run_that_is_over_asks_nothing(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", home=tmp_path).code == 0
    before = as_they_are(tmp_path)
    ended = cli("answer", "last", "give_up=true", home=tmp_path)
    assert ended.code == 1
    assert "nothing is asked: the run stands at done" in ended.err
    assert as_they_are(tmp_path) == before


def test_a_person_may_give_up(waiting: Path) -> None:
    ended = cli("answer", "last", "give_up=true", "--json", home=waiting)
    assert (ended.code, ended.data["status"], ended.data["reason"]) == (1, "failed", "a person gave up")
    assert ended.data["next"][-1]["command"].startswith("python3 -m graph_agent repair ")


def test_an_answer_goes_on_with_a_line_a_step_that_begins_with_the_answer(waiting: Path) -> None:
    lines = cli(*approved(waiting), home=waiting).out.splitlines()
    assert lines[0] == "  4 | human -> execute | 0 turns | a person lets the plan be carried out"
    assert lines[1].startswith("  5 | execute -> verify | 1 turn | ")
    assert cli("answer", "last", "give_up=true", "--quiet", home=waiting).out.startswith("\n")


def test_a_request_that_a_person_changed_is_what_is_asked_from_then_on(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    assert repair("ws", "--request", "Fix it and deploy it.", home=tmp_path).code == 3
    risks = state_of(only_run(tmp_path)).risks_fingerprint
    ended = cli("answer", "last", "request=Fix 7 of it.", f"approval={risks}", home=tmp_path)
    assert ended.code == 0, ended.err
    assert state_of(only_run(tmp_path)).request == "Fix 7 of it."


def test_an_approval_that_is_none_is_usage(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    ended = repair("ws", "--approve", "plans", home=tmp_path)
    assert ended.code == 2
    assert "did you mean 'plan'" in ended.err


def test_without_an_id_it_is_the_pause_that_stood_there_when_the_command_began(waiting: Path) -> None:
    words = approved(waiting)
    assert cli(words[0], words[1], words[-1], home=waiting).code == 3
    assert len(state_of(only_run(waiting)).approval) == 1


def test_the_plan_that_waits_is_shown_with_its_edits(tmp_path: Path) -> None:
    """An approval is for what was seen."""
    shop(tmp_path / "ws")
    ended = cli(*REPAIR, "--approve", "plan", home=tmp_path)
    shown = cli("show", "last", home=tmp_path)
    for out in (ended.out, shown.out):
        lines = [line.strip() for line in out.splitlines()]
        assert "calc.py" in lines
        assert any(line.startswith("-     ") for line in lines)
        assert any(line.startswith("+     ") for line in lines)


def test_what_was_not_shown_cannot_be_approved(tmp_path: Path) -> None:
    shop(tmp_path / "ws")
    cli(*REPAIR, "--approve", "plan", home=tmp_path)
    before = as_they_are(only_run(tmp_path))
    ended = cli("answer", "last", "approval=0123456789abcdef", home=tmp_path)
    assert ended.code == 1
    assert "approval='0123456789abcdef' is not among the choices" in ended.err
    assert as_they_are(only_run(tmp_path)) == before
