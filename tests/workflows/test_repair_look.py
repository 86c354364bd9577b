"""What a resumed repair looks at: files against hashes, a pass against the tests; and what a pause offers."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, FakeLLM, answer, pause_id, question
from graph_agent.llm.edits import Edit
from graph_agent.runtime.journal import Run
from graph_agent.runtime.resume import resume, settle
from graph_agent.tools.workbench import Bench, copy_workspace, workbench
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.routes import offers_of
from graph_agent.workflows.repair.state import Plan, Stage, TaskState

SHOP = "def total(a, b):\n    return a - b\n"
HELP = "def twice(a):\n    return a * 3\n"
TEST = """\
import unittest
from shop import total
from helping import twice


class Tests(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(1, 2), 3)

    def test_twice(self):
        self.assertEqual(twice(2), 4)


if __name__ == "__main__":
    unittest.main()
"""
TESTS = Command(argv=(sys.executable, "-S", "-B", "-m", "unittest", "test_shop"))
GOOD = (Edit(path="shop.py", old="a - b", new="a + b"), Edit(path="helping.py", old="a * 3", new="a * 2"))


class Cut(BaseException):
    """The process dies here, as far as the journal can tell."""


class Place:
    """A run folder with a workspace of three files, and a bench on it."""

    def __init__(self, folder: Path) -> None:
        source = folder / "source"
        source.mkdir(parents=True)
        for name, text in (("shop.py", SHOP), ("helping.py", HELP), ("test_shop.py", TEST)):
            (source / name).write_text(text, encoding="utf-8")
        self.run, self.workspace = folder / "run", folder / "run" / "workspace"
        self.run.mkdir()
        copy_workspace(source, self.workspace)
        copy_workspace(source, self.run / "original")
        self.policy = EvaluationPolicy(allowed_root=str(source), commands=(TESTS,), formats=("replace",))
        self.state = TaskState(task_id="run", request="Mend it.", workspace=str(source), max_turns=40)

    def context(self, *plans: Any, run: Any = None) -> Context:
        bench = Bench(
            root=self.workspace,
            baseline=self.run / "original",
            writable=self.policy.write,
            protected=self.policy.protect,
            commands=(TESTS.argv,),
            tests=(TESTS.argv,),
            timeout=30,
            isolation="none",
            keep=None if run is None else run.keep,
        )
        return Context(llm=FakeLLM(list(plans)), tools=workbench(bench), policy=self.policy)

    def create(self, **changes: Any) -> Run[TaskState]:
        return Run.create(self.run, GRAPH, replace(self.state, **changes))

    def open(self) -> Run[TaskState]:
        return Run.open(self.run, GRAPH)

    def text(self, name: str) -> str:
        return (self.workspace / name).read_text(encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def plan(*edits: Edit) -> Plan:
    files = tuple(dict.fromkeys(edit.path for edit in edits))
    return Plan(hypothesis="wrong signs", steps=("mend",), files_to_change=files, cites=("O2",), edits=edits)


def dies_before(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    """The process dies when this stage has done its work and nothing of it is recorded."""
    write = Run.write

    def cut(self: Any, event: Any) -> None:
        if event.stage == stage:
            monkeypatch.undo()
            raise Cut
        write(self, event)

    monkeypatch.setattr(Run, "write", cut)


def stopped_before(place: Place, monkeypatch: pytest.MonkeyPatch, stage: str, **changes: Any) -> None:
    dies_before(monkeypatch, stage)
    with place.create(**changes) as run, pytest.raises(Cut):
        resume(run, place.context(plan(*GOOD), run=run))


def test_an_edit_that_was_made_before_the_kill_is_not_made_twice(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_before(place, monkeypatch, "execute")
    assert place.text("shop.py") == SHOP.replace("-", "+")
    with place.open() as run:
        assert run.in_flight is not None
        final = resume(run, place.context(run=run))
    assert final.stage is Stage.DONE
    assert [(one.path, one.attempt) for one in final.changes] == [("shop.py", 0), ("helping.py", 0)]
    assert place.text("shop.py") == SHOP.replace("-", "+")


def test_a_kill_between_two_files_ends_with_each_edited_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_before(place, monkeypatch, "execute")
    (place.workspace / "helping.py").write_text(HELP, encoding="utf-8")  # as if the second was not reached
    with place.open() as run:
        final = resume(run, place.context(run=run))
    assert final.stage is Stage.DONE
    assert place.text("helping.py") == HELP.replace("3", "2")


@pytest.mark.parametrize("name", ["shop.py", "helping.py", "test_shop.py"])
def test_a_workspace_that_a_stranger_changed_ends_at_a_person_with_the_file_named(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stopped_before(place, monkeypatch, "execute")
    (place.workspace / name).write_text("# a stranger's\n", encoding="utf-8")
    with place.open() as run:
        final = resume(run, place.context(run=run))
    assert final.stage is Stage.HUMAN
    assert name in final.route_reason
    assert place.text(name) == "# a stranger's\n"


def test_a_file_that_is_gone_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_before(place, monkeypatch, "verify")
    (place.workspace / "helping.py").unlink()
    with place.open() as run:
        final = resume(run, place.context(run=run))
        assert final.route_reason == "changed by somebody else while the run was stopped: helping.py (gone)"


def test_a_new_file_is_no_problem(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_before(place, monkeypatch, "plan")
    (place.workspace / "left.log").write_text("x", encoding="utf-8")
    with place.open() as run:
        settle(run, place.context(run=run))
        assert run.state.stage is Stage.PLAN


def test_before_anything_was_taken_down_there_is_nothing_to_compare(place: Place) -> None:
    with place.create() as run:
        settle(run, place.context(run=run))
        assert run.checked is not None
        assert run.checked["facts"] == ["nothing was taken down yet"]


def test_an_undisturbed_resume_is_the_same_run(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Place(tmp_path / "other")
    with other.create(workspace=place.state.workspace) as run:
        ctx = replace(other.context(plan(*GOOD), run=run), policy=place.policy)
        straight = resume(run, ctx)
    stopped_before(place, monkeypatch, "verify")
    with place.open() as run:
        final = resume(run, place.context(run=run))
    assert final == straight


def test_a_pass_is_looked_at_again_before_a_person_accepts_it(place: Place) -> None:
    with place.create(approve=("finish",)) as run:
        waiting = resume(run, place.context(plan(*GOOD), run=run))
    assert (waiting.stage, waiting.came_from) == (Stage.HUMAN, Stage.VERIFY)
    with place.open() as run:
        assert settle(run, place.context(run=run), also_paused=True) == waiting, "outside of steps and turns"
        assert run.checked is not None
        assert run.checked["facts"] == ["3 files compared", "V1 again: pass"]
        (approve, patch), *_ = question(GRAPH, run.state).offers.items()
        assert approve == "approve the patch"
        run.answer(patch, pause_id=pause_id(waiting))
        assert resume(run, place.context(run=run)).stage is Stage.DONE


def test_a_pass_that_is_none_any_more_is_put_before_a_person(place: Place) -> None:
    """The files are the same; something in the world is not: here a module that the tests find first."""
    with place.create(approve=("finish",)) as run:
        waiting = resume(run, place.context(plan(*GOOD), run=run))
    (place.workspace / "unittest.py").write_text("raise SystemExit('3 failed')\n", encoding="utf-8")
    with place.open() as run:
        moved = settle(run, place.context(run=run), also_paused=True)
        assert moved.stage is Stage.HUMAN
        assert pause_id(moved) != pause_id(waiting), "an answer to the old question is late"
        assert moved.came_from is Stage.VERIFY
        assert "V1 passed and does not pass any more" in moved.route_reason


def test_a_problem_is_put_before_a_person_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_before(place, monkeypatch, "plan")
    (place.workspace / "helping.py").write_text(HELP + "\n", encoding="utf-8")
    with place.open() as run:
        assert resume(run, place.context(run=run)).stage is Stage.HUMAN
        run.answer({})
    with place.open() as run:
        settle(run, place.context(run=run))
        assert run.state.stage is Stage.PLAN, "they let it pass"
    (place.workspace / "helping.py").write_text(HELP + "\n\n", encoding="utf-8")
    with place.open() as run:
        assert settle(run, place.context(run=run)).stage is Stage.HUMAN, "another change is another problem"


def test_each_written_file_is_kept_under_its_hash(place: Place) -> None:
    with place.create() as run:
        final = resume(run, place.context(plan(*GOOD), run=run))
        assert run.read(final.changes[0].after) == SHOP.replace("-", "+")
        assert run.read(final.changes[1].after) == HELP.replace("3", "2")


def test_what_a_check_printed_is_kept_whole_where_the_state_has_a_part(place: Place) -> None:
    (place.workspace.parent / "original" / "test_shop.py").write_text(TEST + "print('x' * 9000)\n", encoding="utf-8")
    (place.workspace / "test_shop.py").write_text(TEST + "print('x' * 9000)\n", encoding="utf-8")
    with place.create() as run:
        final = resume(run, place.context(plan(*GOOD), run=run))
        (check,) = final.verifications[-1].checks
        assert "x" * 9000 not in check.summary
        assert "x" * 9000 in run.read(check.output)
    without = GRAPH.state.__dataclass_fields__["verifications"]
    assert without.metadata, "the state itself holds the reference alone"


def test_a_restore_is_not_made_over_a_strangers_change(place: Place) -> None:
    tools = place.context().tools
    listed = {file.path: file.sha256 for file in tools.call("list_files").value}
    edited = tools.call("edit_file", path="shop.py", edits=[{"old": "a - b", "new": "a + b"}], before=listed["shop.py"])
    (place.workspace / "shop.py").write_text("# a stranger's\n", encoding="utf-8")
    refused = tools.call("restore_file", path="shop.py", before=edited.value.after)
    assert (refused.ok, refused.error.kind) == (False, "changed_meanwhile")
    (place.workspace / "shop.py").write_text(SHOP, encoding="utf-8")
    assert tools.call("restore_file", path="shop.py", before=edited.value.after).value.already


def test_a_real_kill_in_the_middle_of_the_run_ends_as_an_uninterrupted_one(place: Place, tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            with place.create() as run:
                resume(run, place.context(plan(*GOOD), run=run), on_event=lambda event: time.sleep(0.2))
        finally:
            os._exit(1)
    journal = place.run / "journal.jsonl"
    deadline = time.monotonic() + 30
    while not (journal.exists() and b'"stage":"execute"' in journal.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with place.open() as run:
        assert run.state.stage in (Stage.EXECUTE, Stage.VERIFY)
        final = resume(run, place.context(run=run))
    assert (final.stage, final.steps) == (Stage.DONE, 5)
    assert place.text("shop.py") == SHOP.replace("-", "+")


def offered(state: TaskState) -> None:
    """Each offer is taken and leads away, by the real rules."""
    offers = offers_of(state)
    assert "give up" in offers
    for words, patch in offers.items():
        after = answer(GRAPH, state, patch, pause_id=pause_id(state))
        assert after.stage is not Stage.HUMAN, words


def test_every_offer_is_an_answer_that_is_taken_and_leads_away() -> None:
    from tests.workflows.test_repair_exploration import all_states

    waiting = [state for state in all_states() if state.stage is Stage.HUMAN]
    assert len(waiting) > 1_000
    for state in waiting[::9]:  # one in nine, of every place in the runs
        offered(state)


def test_the_likeliest_offer_comes_first() -> None:
    from tests.workflows.repairing import plan_of, task
    from tests.workflows.test_repair_routes import FAIL, PASS

    at_human: dict[str, Any] = {"stage": Stage.HUMAN, "steps": 9}
    spent = task(
        **at_human, came_from=Stage.VERIFY, verifications=(FAIL,), plan=plan_of(*GOOD), retries=2, max_retries=2
    )
    assert next(iter(offers_of(spent).items())) == ("allow more (max_retries 4) and go on", {"max_retries": 4})
    turns = task(**at_human, came_from=Stage.PLAN, spent_turns=12, max_turns=12)
    assert next(iter(offers_of(turns).items())) == ("allow more (max_turns 20) and go on", {"max_turns": 20})
    plan_waits = task(**at_human, came_from=Stage.PLAN, plan=plan_of(*GOOD), approve=("plan",))
    assert next(iter(offers_of(plan_waits))) == "approve the plan"
    done = task(**at_human, came_from=Stage.VERIFY, plan=plan_of(*GOOD), verifications=(PASS,), approve=("finish",))
    assert list(offers_of(done))[:2] == ["approve the patch", "accept the verified patch"]
    forbidden = task(**at_human, came_from=Stage.INTAKE, risks=("it says 'delete'",), blocked="it says 'delete'")
    assert next(iter(offers_of(forbidden))) == "accept the risk and go on"
