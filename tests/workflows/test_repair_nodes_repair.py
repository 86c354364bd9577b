"""REPAIR asks what to do after a failure, counts the try, and holds the answer to the same rules as a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import FakeLLM, Reply, encode
from graph_agent.llm.edits import Edit
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Stage, TaskState
from tests.workflows.repairing import (
    POLICY,
    RIGHT,
    WRONG,
    changed,
    failed_once,
    one_step,
    plan_of,
    ran,
    repair_of,
    task,
    verification,
    with_policy,
)

START = failed_once()


def repaired(*script: Any, state: TaskState = START, policy: EvaluationPolicy = POLICY) -> tuple[TaskState, FakeLLM]:
    with FakeLLM(script) as llm:
        return one_step(state, llm=llm, policy=policy), llm


def test_a_new_plan_is_carried_out_next_and_the_try_is_counted() -> None:
    after, llm = repaired(repair_of(RIGHT))
    assert (after.stage, after.retries, after.spent_turns) == (Stage.EXECUTE, 1, 1)
    assert after.repairs == (repair_of(RIGHT),)
    assert after.plan == plan_of(WRONG), "the first plan stays"
    assert after.plan_now == plan_of(RIGHT)
    assert len(llm.requests) == 1


def test_the_model_sees_what_was_tried_and_what_came_of_it() -> None:
    state = failed_once(verifications=(verification(findings=("shop.py: an assert was removed",)),))
    _, llm = repaired(repair_of(RIGHT), state=state)
    context = llm.requests[0].context
    assert context["tried"] == [{"edits": [{"path": "shop.py", "old": WRONG.old, "new": WRONG.new}]}]
    shown = context["verification"]
    assert (shown["id"], shown["findings"]) == ("V1", ("shop.py: an assert was removed",))
    assert shown["checks"][0]["exit_code"] == 1
    assert "AssertionError" in shown["checks"][0]["output"]
    assert WRONG.new not in repr(context["files"]), "the text shown is the original"


@pytest.mark.parametrize("decision", ["clarify", "human_review"])
def test_a_model_may_ask_for_a_person(decision: str) -> None:
    after, _ = repaired(repair_of(decision=decision, why="two readings", plan=None, cites=("O2",)))
    assert after.stage is Stage.HUMAN
    assert after.route_reason == f"{decision}: two readings"
    assert after.retries == 1
    assert after.plan_now is None


def valid(**fields: Any) -> dict[str, Any]:
    return {**encode(repair_of(RIGHT)), **fields}


INVALID: dict[str, tuple[Any, str]] = {
    "an unknown decision": (valid(decision="ship it"), "ship it"),
    "no decision": ({"why": "x"}, "decision"),
    "a false cite": (valid(cites=["V9"]), "V9"),
    "no cite": (valid(cites=[]), "cites names nothing"),
    "a false cite of a person's business": (valid(decision="clarify", plan=None, cites=["O77"]), "O77"),
    "repair without a plan": (valid(plan=None), "plan is null"),
    "a false cite in the plan": (repair_of(plan=plan_of(RIGHT, cites=("O55",))), "O55"),
    "an unknown base": (valid(base="somewhere"), "base"),
    "the same edit again": (repair_of(WRONG), "those of attempt 0"),
    "an edit of the changed text on the original": (
        repair_of(Edit(path="shop.py", old="prices) * discount", new="prices)")),
        "does not apply to its original text",
    ),
    "an edit of the original text on the current": (
        repair_of(RIGHT, base="current"),
        "does not apply to its current text",
    ),
    "a protected file": (repair_of(Edit(path="tests/test_shop.py", old="180", new="190")), "may not be changed"),
    "prose": ("Sorry.", "JSON"),
}


@pytest.mark.parametrize(("answer", "fault"), INVALID.values(), ids=INVALID)
def test_an_invalid_repair_is_corrected_once(answer: Any, fault: str) -> None:
    after, llm = repaired(answer, repair_of(RIGHT))
    assert (after.stage, after.retries) == (Stage.EXECUTE, 1), "one try, though the model was asked twice"
    assert fault in llm.requests[1].context["what_was_wrong"]
    assert after.observations[-1].source == "plan check"


@pytest.mark.parametrize(("answer", "fault"), INVALID.values(), ids=INVALID)
def test_a_repair_that_stays_invalid_goes_to_a_person(answer: Any, fault: str) -> None:
    after, _ = repaired(answer, answer)
    assert after.stage is Stage.HUMAN
    assert fault in after.route_reason
    assert (after.repairs, after.retries) == ((), 1)


def test_a_refusal_is_not_asked_again() -> None:
    after, llm = repaired(Reply(text="no", finish="refused"))
    assert after.stage is Stage.HUMAN
    assert len(llm.requests) == 1


def test_the_current_text_is_the_original_with_the_last_edits_in() -> None:
    more = Edit(path="shop.py", old=WRONG.new, new=RIGHT.new)
    after, _ = repaired(repair_of(more, base="current"))
    assert after.stage is Stage.EXECUTE
    assert after.attempts[-1].base == "current"


def test_the_current_text_follows_repairs_that_build_on_one_another() -> None:
    first = Edit(path="shop.py", old=WRONG.new, new="sum(prices) * 2")
    state = failed_once(
        repairs=(repair_of(first, base="current"),),
        changes=(changed(WRONG), replace(changed(WRONG), attempt=1)),
        verifications=(verification(), verification(id="V2", attempt=1)),
        retries=1,
    )
    next_one = Edit(path="shop.py", old="sum(prices) * 2", new=RIGHT.new)
    after, _ = repaired(repair_of(next_one, base="current"), state=state)
    assert after.stage is Stage.EXECUTE


def test_an_attempt_that_was_planned_and_never_carried_out_may_be_made() -> None:
    state = failed_once(changes=())
    assert repaired(repair_of(WRONG), state=state)[0].stage is Stage.EXECUTE


def test_without_a_verification_there_is_nothing_to_repair_from() -> None:
    for state in (failed_once(verifications=()), task(Stage.REPAIR)):
        after, llm = repaired(state=state)
        assert after.stage is Stage.HUMAN
        assert llm.requests == []


def test_a_fence_becomes_a_repair_that_cites_the_verification() -> None:
    fence = "Percent.\n```python\ndef total(prices, discount):\n    return sum(prices) * (100 - discount) / 100\n```"
    after, _ = repaired(fence, policy=with_policy(formats=("function",)))
    assert after.stage is Stage.EXECUTE
    assert after.repair is not None
    assert (after.repair.decision, after.repair.base) == ("repair", "original")
    assert "V1" in after.repair.cites


def test_a_new_plan_that_a_person_wants_to_see_waits_for_them() -> None:
    after, _ = repaired(repair_of(RIGHT), state=failed_once(approve=("plan",)))
    assert after.stage is Stage.HUMAN
    assert "waits for approval" in after.route_reason


def test_of_the_held_out_tests_the_model_sees_one_word() -> None:
    state = failed_once(verifications=(verification(ran("3 passed in 0.1s"), holdout="fail"),))
    _, llm = repaired(repair_of(RIGHT), state=state)
    shown = llm.requests[0].context["verification"]
    assert shown["held_out_tests"] == "fail"
    assert shown["why"] == "the held-out tests failed"
    assert [check["verdict"] for check in shown["checks"]] == ["pass"]
