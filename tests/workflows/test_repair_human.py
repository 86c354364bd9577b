"""HUMAN: what a person may answer, what is refused, and where an answer leads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import AnswerError, answer, pause_id, question
from graph_agent.workflows.repair import routes
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Decision, Review, Stage, TaskState
from tests.workflows.repairing import GREEN, RIGHT, WRONG, failed_once, plan_of, repair_of, verification

PASSED = (verification(GREEN),)


def paused(came_from: Stage = Stage.VERIFY, **fields: Any) -> TaskState:
    known = {"came_from": came_from, "steps": 7, "retries": 2, "route_reason": "2 of 2 retries are spent"}
    return failed_once(Stage.HUMAN, **{**known, **fields})


def decide(state: TaskState, to: Any, **patch: Any) -> TaskState:
    return answer(GRAPH, state, {"decisions": (Decision(pause=pause_id(state), to=to),), **patch})


def test_giving_up_ends_the_run_as_failed() -> None:
    after = answer(GRAPH, paused(), {"give_up": True})
    assert (after.stage, after.route_reason) == (Stage.FAILED, "a person gave up")


def test_raised_retries_lead_back_to_where_the_run_stopped() -> None:
    after = answer(GRAPH, paused(), {"max_retries": 4})
    assert (after.stage, after.max_retries) == (Stage.VERIFY, 4)


@pytest.mark.parametrize("came_from", [Stage.INTAKE, Stage.DIAGNOSE, Stage.PLAN, Stage.EXECUTE, Stage.REPAIR])
def test_back_is_the_stage_from_which_the_pause_was_entered(came_from: Stage) -> None:
    assert answer(GRAPH, paused(came_from, retries=1), {}).stage is came_from
    assert decide(paused(came_from, retries=1), "back").stage is came_from


@pytest.mark.parametrize(("to", "stage"), [("plan", Stage.PLAN), ("execute", Stage.EXECUTE), ("verify", Stage.VERIFY)])
def test_a_person_may_send_the_run_on(to: str, stage: Stage) -> None:
    assert decide(paused(), to).stage is stage


@pytest.mark.parametrize("limit", [0, 5, 6])
@pytest.mark.parametrize("came_from", [Stage.DIAGNOSE, Stage.PLAN, Stage.EXECUTE, Stage.REPAIR, Stage.REVIEW])
def test_a_limit_of_turns_at_or_below_what_is_spent_is_refused(came_from: Stage, limit: int) -> None:
    state = paused(came_from, spent_turns=6, max_turns=6, retries=1)
    with pytest.raises(AnswerError, match=r"6 of \d turns are spent: raise max_turns"):
        answer(GRAPH, state, {"max_turns": limit})
    assert answer(GRAPH, state, {"max_turns": 7}).stage is came_from
    assert answer(GRAPH, state, {"max_turns": None}).stage is came_from
    assert answer(GRAPH, state, {"give_up": True}).stage is Stage.FAILED


@pytest.mark.parametrize("to", ["plan", "execute"])
def test_nothing_that_spends_is_entered_with_all_turns_spent(to: str) -> None:
    with pytest.raises(AnswerError, match="raise max_turns"):
        decide(paused(spent_turns=12), to)


def test_stages_that_cost_nothing_are_open_with_all_turns_spent() -> None:
    assert decide(paused(spent_turns=12), "verify").stage is Stage.VERIFY
    assert answer(GRAPH, paused(Stage.INTAKE, spent_turns=12), {}).stage is Stage.INTAKE


@pytest.mark.parametrize("limit", [0, 1])
def test_a_limit_of_retries_below_what_is_spent_is_refused(limit: int) -> None:
    with pytest.raises(AnswerError, match=f"max_retries={limit} is below"):
        decide(paused(), "verify", max_retries=limit)


def test_going_back_to_a_failed_verification_needs_a_limit_that_is_raised() -> None:
    """Else the run would come round to the same question."""
    with pytest.raises(AnswerError, match="2 of 2 retries are spent: raise max_retries"):
        answer(GRAPH, paused(), {})
    with pytest.raises(AnswerError, match="12 of 12 turns are spent: raise max_turns"):
        answer(GRAPH, paused(spent_turns=12), {"max_retries": 5})
    assert answer(GRAPH, paused(spent_turns=12), {"max_retries": 5, "max_turns": 20}).stage is Stage.VERIFY
    assert answer(GRAPH, paused(verifications=()), {}).stage is Stage.VERIFY, "there is nothing that failed"


def test_another_try_of_a_repair_needs_a_retry_that_is_left() -> None:
    """REPAIR counts a try whatever comes of it, so a blocked one can't be had again for nothing."""
    state = paused(Stage.REPAIR, blocked="no valid repair: x")
    with pytest.raises(AnswerError, match="raise max_retries"):
        answer(GRAPH, state, {})
    assert answer(GRAPH, state, {"max_retries": 3}).stage is Stage.REPAIR


def test_an_approved_repair_is_carried_out_though_it_was_the_last_one() -> None:
    state = paused(Stage.REPAIR, repairs=(repair_of(RIGHT),), approve=("plan",))
    assert answer(GRAPH, state, {"approval": (state.plan_fingerprint,)}).stage is Stage.EXECUTE


def test_done_is_accepted_on_a_pass_only() -> None:
    with pytest.raises(AnswerError, match="nothing passed verification"):
        decide(paused(), "done")
    with pytest.raises(AnswerError, match="nothing passed verification"):
        decide(paused(verifications=()), "done")
    after = decide(paused(verifications=PASSED, approve=("finish",)), "done")
    assert after.stage is Stage.DONE


def test_the_router_itself_does_not_take_a_persons_word_for_a_pass() -> None:
    state = paused(decisions=(Decision(pause="t:7", to="done"),))
    assert routes.route_after_human(state).stage is not Stage.DONE


def test_execute_needs_a_plan() -> None:
    with pytest.raises(AnswerError, match="no plan to carry out"):
        decide(paused(plan=None), "execute")
    with pytest.raises(AnswerError, match="no plan to carry out"):
        decide(paused(repairs=(repair_of(decision="clarify", plan=None),)), "execute")


def test_a_decision_counts_for_its_own_pause_only() -> None:
    old = Decision(pause="t:3", to="done")
    state = paused(verifications=PASSED, decisions=(old,))
    assert routes.decision_of(state) == ""
    assert answer(GRAPH, state, {}).stage is Stage.VERIFY
    assert answer(GRAPH, state, {"decisions": (Decision(pause="other:7", to="plan"),)}).stage is Stage.VERIFY
    assert decide(state, "plan").stage is Stage.PLAN


def test_an_earlier_answer_does_not_answer_the_next_question() -> None:
    first = decide(paused(max_retries=9), "verify")
    second = replace(first, stage=Stage.HUMAN, came_from=Stage.VERIFY, steps=first.steps + 1)
    assert routes.decision_of(second) == ""


def test_an_approved_plan_is_carried_out() -> None:
    state = paused(Stage.PLAN, plan=plan_of(RIGHT), approve=("plan",), changes=(), verifications=())
    after = answer(GRAPH, state, {"approval": (state.plan_fingerprint,)})
    assert (after.stage, after.plan_approved) == (Stage.EXECUTE, True)


def test_an_approval_is_for_the_plan_that_was_shown() -> None:
    state = paused(Stage.PLAN, plan=plan_of(RIGHT), approve=("plan",))
    other = replace(state, plan=plan_of(WRONG)).plan_fingerprint
    with pytest.raises(AnswerError, match="is not among the choices"):
        answer(GRAPH, state, {"approval": (other,)})
    assert not replace(state, approval=(other,)).plan_approved


def test_an_approved_plan_does_not_cover_the_repair_after_it() -> None:
    state = paused(Stage.PLAN, plan=plan_of(WRONG), approve=("plan",), verifications=())
    approved = answer(GRAPH, state, {"approval": (state.plan_fingerprint,)})
    repaired = replace(approved, repairs=(repair_of(RIGHT),))
    assert routes.route_after_repair(repaired).stage is Stage.HUMAN


def test_a_plan_that_was_blocked_is_not_carried_out_on_an_old_approval() -> None:
    state = paused(Stage.PLAN, plan=plan_of(WRONG), approve=("plan",), blocked="no valid plan: x")
    after = answer(GRAPH, state, {"approval": (state.plan_fingerprint,)})
    assert after.stage is Stage.PLAN


def test_an_approved_patch_is_done() -> None:
    state = paused(verifications=PASSED, approve=("finish",), retries=0)
    after = answer(GRAPH, state, {"approval": (state.patch_fingerprint,)})
    assert (after.stage, after.route_reason) == (Stage.DONE, "a person accepts the verified patch")


def test_an_approval_of_an_earlier_patch_is_void() -> None:
    state = paused(verifications=PASSED, approve=("finish",), retries=0)
    later = replace(state, verifications=(*PASSED, verification(GREEN, id="V2")))
    with pytest.raises(AnswerError, match="is not among the choices"):
        answer(GRAPH, later, {"approval": (state.patch_fingerprint,)})
    assert not replace(later, approval=(state.patch_fingerprint,)).patch_approved


def test_a_patch_that_failed_cannot_be_approved_into_done() -> None:
    state = paused(approve=("finish",), retries=0)
    assert answer(GRAPH, state, {"approval": (state.patch_fingerprint,)}).stage is Stage.VERIFY


def test_a_person_may_overrule_the_reviewer() -> None:
    state = paused(Stage.REVIEW, verifications=PASSED, review=True, reviews=(Review(blockers=("ugly",)),))
    assert decide(state, "done").stage is Stage.DONE


@pytest.mark.parametrize(
    "field", ["verifications", "changes", "plan", "retries", "blocked", "baseline", "observations"]
)
def test_a_person_may_not_write_what_the_run_knows(field: str) -> None:
    with pytest.raises(Exception, match="not human's to write"):
        answer(GRAPH, paused(), {field: getattr(paused(), field)})


def test_a_late_answer_is_refused() -> None:
    with pytest.raises(AnswerError, match="t:5"):
        answer(GRAPH, paused(), {"max_retries": 9}, pause_id="t:5")


def test_the_question_shows_what_an_approval_would_be_for() -> None:
    state = paused(risks=("the diff could not be read",))
    asked = question(GRAPH, state)
    assert "2 of 2 retries are spent" in asked.text
    assert asked.shown["risks"] == (state.risks_fingerprint, "the diff could not be read")
    assert asked.shown["plan"] == (state.plan_fingerprint, state.plan_now)
    assert asked.shown["patch"] == (state.patch_fingerprint, state.verification)
