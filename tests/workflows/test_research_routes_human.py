"""What a person may answer a research: what is refused, and why; what is offered, and that it would be taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import AnswerError, answer, question
from graph_agent.workflows.research import routes
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.state import ResearchState, Stage
from tests.workflows.research_states import (
    BLOCKED,
    DISPUTED,
    FULL,
    GLOBAL,
    LAST,
    LOCAL,
    PASSED,
    PLAN,
    UNCLEAR,
    UNKNOWN,
    step,
    task,
    verified,
)
from tests.workflows.test_research_routes import APPROVE, HUMAN, NOTE, decided, paused

ASKING = replace(PLAN, steps=(step("s1", tool="send"), PLAN.steps[1]))

AT_PLAN = paused(APPROVE, Stage.PLAN, approve=("plan",))
AT_LAYER = paused(APPROVE, Stage.ADVANCE, plan=ASKING, asks=("s1",))
AT_BLOCKED = paused(HUMAN, Stage.VERIFY, verified(BLOCKED))
AT_UNKNOWN = paused(HUMAN, Stage.VERIFY, verified(UNKNOWN))
AT_UNCLEAR = paused(HUMAN, Stage.PLAN, plan=UNCLEAR)
AT_ANSWER = paused(HUMAN, Stage.FINALIZE, verified(LAST, PASSED, answer=FULL), approve=("finish",))
AT_FAILED = paused(HUMAN, Stage.FINALIZE, verified(GLOBAL, answer=FULL, replans=3), approve=("finish",))
AT_LIMIT = paused(HUMAN, Stage.FINALIZE, verified(LOCAL, answer=FULL, max_rounds=1), approve=("finish",))

REFUSED: list[tuple[str, ResearchState, dict[str, Any], str]] = [
    ("an empty goal", AT_PLAN, {"goal": " "}, "goal is empty"),
    ("fewer rounds than are spent", AT_BLOCKED, {"max_rounds": 0}, "1 rounds and 0 replans are spent"),
    ("fewer replans than are spent", AT_FAILED, {"max_replans": 2, **decided("execute")}, "no limit can be below that"),
    ("a plan that is not approved", AT_PLAN, {}, "it waits for approval of the plan: give approval='plan 1 "),
    ("effects that are not approved", AT_LAYER, {}, "it waits for approval of the layer's effects"),
    ("effects, by another word", AT_LAYER, decided("execute"), "it waits for approval of the layer's effects"),
    ("an answer that is not approved", AT_ANSWER, {}, "it waits for approval of the answer: give approval='answer "),
    ("an answer, once more", AT_ANSWER, decided("finalize"), "it waits for approval of the answer"),
    ("what is blocked, without a word", AT_BLOCKED, {}, "information from outside is needed: add it to notes"),
    ("what is unclear, without a word", AT_UNCLEAR, {}, "the goal is still unclear"),
    ("steps of a plan that is none", AT_UNCLEAR, decided("execute"), "there is no plan to carry out"),
    ("the end of a plan that is none", AT_UNCLEAR, decided("finalize"), "there is no plan to carry out"),
    ("rounds that are spent", AT_LIMIT, decided("execute"), "1 of 1 rounds are spent: raise max_rounds too"),
    ("a plan without rounds", AT_LIMIT, decided("plan"), "1 of 1 rounds are spent: raise max_rounds too"),
    ("a goal without rounds", AT_LIMIT, {"goal": "How old?"}, "1 of 1 rounds are spent: raise max_rounds too"),
    ("replans that are spent", AT_FAILED, decided("plan"), "3 of 3 replans are spent: raise max_replans too"),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_an_answer_that_will_not_do_is_refused_with_the_way_out(
    row: tuple[str, ResearchState, dict[str, Any], str],
) -> None:
    _, state, patch, why = row
    with pytest.raises(AnswerError) as refused:
        answer(GRAPH, state, patch)
    assert why in str(refused.value)


TAKEN: list[tuple[str, ResearchState, dict[str, Any], Stage]] = [
    ("the plan", AT_PLAN, {"approval": (AT_PLAN.plan_fingerprint,)}, Stage.EXECUTE),
    ("the effects", AT_LAYER, {"approval": (AT_LAYER.layer_fingerprint,)}, Stage.EXECUTE),
    ("another goal", AT_PLAN, {"goal": "How old?"}, Stage.PLAN),
    ("the answer", AT_ANSWER, {"approval": (FULL.fingerprint,)}, Stage.FINALIZE),
    ("the results", AT_UNKNOWN, {"approval": (AT_UNKNOWN.results_fingerprint,)}, Stage.VERIFY),
    ("the judge, once more", AT_UNKNOWN, {}, Stage.VERIFY),
    ("what was missing", AT_BLOCKED, dict(NOTE), Stage.EXECUTE),
    ("what was unclear", AT_UNCLEAR, dict(NOTE), Stage.PLAN),
    ("as far as it goes", AT_BLOCKED, decided("finalize"), Stage.FINALIZE),
    ("with more rounds", AT_LIMIT, {**decided("execute"), "max_rounds": 3}, Stage.EXECUTE),
    ("with more replans", AT_FAILED, {**decided("plan"), "max_replans": 4}, Stage.PLAN),
    ("another goal without replans", AT_FAILED, {"goal": "How old?"}, Stage.PLAN),
    ("giving up", AT_LIMIT, {"give_up": True}, Stage.GIVE_UP),
]


@pytest.mark.parametrize("row", TAKEN, ids=lambda row: row[0])
def test_an_answer_leads_where_it_says(row: tuple[str, ResearchState, dict[str, Any], Stage]) -> None:
    _, state, patch, stage = row
    assert answer(GRAPH, state, patch).stage is stage


PLACES = [AT_PLAN, AT_LAYER, AT_BLOCKED, AT_UNKNOWN, AT_UNCLEAR, AT_ANSWER, AT_FAILED, AT_LIMIT]


@pytest.mark.parametrize("state", PLACES, ids=lambda state: state.came_from.value)
def test_what_is_offered_is_taken_and_giving_up_is_among_it(state: ResearchState) -> None:
    offers = question(GRAPH, state).offers
    assert {"give_up": True} in offers.values()
    for patch in offers.values():
        answer(GRAPH, state, patch)


def test_the_likeliest_answer_is_offered_first() -> None:
    assert next(iter(question(GRAPH, AT_PLAN).offers)) == "approve the plan"
    assert next(iter(question(GRAPH, AT_ANSWER).offers)) == "approve the answer"
    assert next(iter(question(GRAPH, AT_UNKNOWN).offers)) == "approve the results"
    assert next(iter(question(GRAPH, AT_FAILED).offers)) == "approve the answer"


@pytest.mark.parametrize("verdict", [LOCAL, GLOBAL, PASSED, BLOCKED])
def test_results_that_a_judge_has_judged_are_not_accepted_by_a_person(verdict: Any) -> None:
    state = paused(HUMAN, Stage.VERIFY, verified(verdict))
    assert routes._wanted(state) == ""


def test_results_that_judges_differ_on_may_be_accepted() -> None:
    state = paused(HUMAN, Stage.VERIFY, verified(DISPUTED))
    assert routes._wanted(state) == state.results_fingerprint


def test_only_what_is_shown_can_be_approved() -> None:
    with pytest.raises(AnswerError):
        answer(GRAPH, AT_PLAN, {"approval": ("plan 1 0000000000000000",)})


def test_a_question_shows_what_an_approval_is_for() -> None:
    shown: Any = question(GRAPH, AT_PLAN).shown
    assert shown["plan"] == (AT_PLAN.plan_fingerprint, AT_PLAN.plan)
    assert question(GRAPH, replace(task(), stage=HUMAN, came_from=Stage.VERIFY)).text.endswith("Go on, and how?")
