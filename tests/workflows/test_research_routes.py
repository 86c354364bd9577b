"""Every route of the research, as a table: the state that nodes and persons left, where it leads, and why."""

# ruff: noqa: E501  # a row of the table is a line

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graph_agent import BACK, Route
from graph_agent.workflows.research import routes
from graph_agent.workflows.research.state import Decision, ResearchState, Stage
from tests.workflows.research_states import (
    BLOCKED,
    DEAD,
    DISPUTED,
    DOUBT,
    FULL,
    GLOBAL,
    LAST,
    LOCAL,
    NO,
    PART,
    PASSED,
    PLAN,
    REFUTED,
    SPENT,
    THIN,
    THINLY,
    UNBORNE,
    UNCLEAR,
    UNFORMED,
    UNKNOWN,
    YES,
    result,
    task,
    verdict,
    verified,
)

Row = tuple[Callable[[ResearchState], Route], str, ResearchState, Any, str]

after_plan, after_verify = routes.route_after_plan, routes.route_after_verify
APPROVED = (task().plan_fingerprint,)
ASKING = {"asks": ("s1",), "plan": replace(PLAN, steps=(replace(PLAN.steps[0], tool="send"), PLAN.steps[1]))}
LAYER = (task(**ASKING).layer_fingerprint,)

NO_STEPS = replace(UNCLEAR, unclear="")
LATER = (task(cursor=1, asks=("s2",)).layer_fingerprint,)

PLANNED: list[Row] = [
    (after_plan, "no goal", task(goal=" "), Stage.FAILED, "the goal is empty"),
    (after_plan, "blocked", task(blocked="no valid plan: x"), Stage.GIVE_UP, "no valid plan: x"),
    (after_plan, "blocked, unclear", task(blocked="again", plan=UNCLEAR), Stage.GIVE_UP, "again"),
    (after_plan, "no goal, blocked", task(goal="", blocked="no valid plan"), Stage.FAILED, "the goal is empty"),
    (after_plan, "blocked, no plan", task(plan=None, blocked="again"), Stage.GIVE_UP, "again"),
    (after_plan, "no steps, unapproved", task(plan=NO_STEPS, approve=("plan",)), Stage.HUMAN, "no steps"),
    (after_plan, "no plan", task(plan=None), Stage.HUMAN, "there is no plan"),
    (after_plan, "unclear", task(plan=UNCLEAR), Stage.HUMAN, "unclear: Which of the two?"),
    (after_plan, "no steps", task(plan=NO_STEPS), Stage.HUMAN, "no steps"),
    (after_plan, "waits", task(approve=("plan",)), Stage.APPROVE, "plan 1 waits for approval: s1 | s2"),
    (after_plan, "approved", task(approve=("plan",), approval=APPROVED), Stage.EXECUTE, "plan 1: s1 | s2"),
    (after_plan, "finish alone", task(approve=("finish",)), Stage.EXECUTE, "plan 1"),
    (after_plan, "effects", task(**ASKING), Stage.APPROVE, "the layer uses send, which does more than read"),
    (after_plan, "effects approved", task(**ASKING, approval=LAYER), Stage.EXECUTE, "plan 1"),
    (after_plan, "effects later", task(asks=("s2",)), Stage.EXECUTE, "plan 1"),
    (after_plan, "valid", task(), Stage.EXECUTE, "plan 1: s1 | s2"),
    (routes.route_after_execute, "done", task(results=(result(),)), Stage.VERIFY, "1 of 1 steps have a result"),
    (routes.route_after_execute, "nothing", task(), Stage.VERIFY, "0 of 1 steps have a result, 0 evidence"),
    (routes.route_after_advance, "on", task(cursor=1), Stage.EXECUTE, "layer 2 of 2"),
    (
        routes.route_after_advance,
        "effects",
        task(cursor=1, asks=("s2",)),
        Stage.APPROVE,
        "does more than read; layer 2",
    ),
    (
        routes.route_after_advance,
        "effects approved",
        task(cursor=1, asks=("s2",), approval=LATER),
        Stage.EXECUTE,
        "layer 2",
    ),
    (routes.route_after_advance, "no plan", task(plan=None), Stage.EXECUTE, "layer 1 of 0"),
]

SPENT_ROUNDS, SPENT_REPLANS = {"max_rounds": 1}, {"replans": 3, "max_replans": 3}
ALL_AGAIN = {"fingerprints": (replace(DEAD, failed=("criterion 1", "criterion 2")),), "replans": 1}
TWO_DEAD = {
    "fingerprints": (replace(DEAD, failed=("criterion 9",)), replace(DEAD, failed=("criterion 1",))),
    "replans": 2,
}
OTHER_GOALS = {"fingerprints": (replace(DEAD, failed=("criterion 1",), goal="How old?"),), "replans": 1}
THIS_GOAL = {"fingerprints": (replace(DEAD, failed=("criterion 1",), goal="How high?"),), "replans": 1}
FAILED_AGAIN = {"fingerprints": (replace(DEAD, failed=("criterion 1",)),), "replans": 1}
MORE_FAILED = {"fingerprints": (replace(DEAD, failed=("criterion 1", "criterion 9")),), "replans": 1}
LAST_OF_ALL = {"verdicts": (PASSED, LAST)}
AFTER_VERIFY: list[tuple[str, ResearchState, Any, str]] = [
    ("nothing judged", task(stage=Stage.VERIFY), Stage.FINALIZE, "missing or malformed"),
    ("no items", verified(verdict()), Stage.FINALIZE, "missing or malformed"),
    ("of another round", verified(PASSED, rounds=2), Stage.FINALIZE, "missing or malformed"),
    ("of another step", verified(verdict(YES, on="s9")), Stage.FINALIZE, "missing or malformed"),
    ("of another layer", verified(PASSED, cursor=1), Stage.FINALIZE, "missing or malformed"),
    ("of another plan", verified(PASSED, plan_no=2), Stage.FINALIZE, "missing or malformed"),
    ("the last passed", verified(LAST, PASSED), Stage.FINALIZE, "100% of the criteria met"),
    ("the last passed, on the last round", verified(LAST, PASSED, max_rounds=2), Stage.FINALIZE, "score 1.00: 100% of"),
    (
        "the last did not pass",
        verified(verdict(YES, NO, on="s2", cursor=1, round=2), PASSED),
        Stage.EXECUTE,
        "s2 violated",
    ),
    ("the last passed and refutes", verified(replace(LAST, refuted="x"), PASSED), Stage.FINALIZE, "100% of"),
    ("rounds spent", verified(LOCAL, **SPENT_ROUNDS), Stage.FINALIZE, "the rounds are spent; s1 violated: criterion 2"),
    ("passed, rounds spent", verified(PASSED, **SPENT_ROUNDS), Stage.FINALIZE, "the rounds are spent; 100%"),
    ("two rounds spent", verified(replace(LOCAL, round=2), max_rounds=2), Stage.FINALIZE, "the rounds are spent"),
    ("both spent", verified(GLOBAL, replans=3, max_rounds=1), Stage.FINALIZE, "the rounds are spent"),
    ("a round left", verified(LOCAL, max_rounds=2), Stage.EXECUTE, "s1 violated"),
    ("replans spent, global", verified(GLOBAL, **SPENT_REPLANS), Stage.FINALIZE, "the replans are spent"),
    ("replans spent, local", verified(LOCAL, **SPENT_REPLANS), Stage.EXECUTE, "s1 violated"),
    ("replans spent, refuted", verified(REFUTED, **SPENT_REPLANS), Stage.FINALIZE, "the replans are spent"),
    ("a replan left", verified(GLOBAL, replans=2), Stage.PLAN, "the plan has failed"),
    ("not converging", verified(GLOBAL, **FAILED_AGAIN), Stage.GIVE_UP, "not converging"),
    (
        "not converging, spent steps",
        verified(replace(SPENT, items=GLOBAL.items), **FAILED_AGAIN),
        Stage.GIVE_UP,
        "not conv",
    ),
    ("all of it fails again", verified(GLOBAL, **ALL_AGAIN), Stage.GIVE_UP, "not converging"),
    ("as a plan for this goal", verified(GLOBAL, **THIS_GOAL), Stage.GIVE_UP, "not converging"),
    ("as a plan for another goal", verified(GLOBAL, **OTHER_GOALS), Stage.PLAN, "the plan has failed"),
    ("as the plan before", verified(GLOBAL, **TWO_DEAD), Stage.GIVE_UP, "not converging"),
    (
        "not converging, replans spent",
        verified(GLOBAL, **{**FAILED_AGAIN, "replans": 3}),
        Stage.FINALIZE,
        "replans are spent",
    ),
    (
        "not converging and blocked",
        verified(verdict(THIN, needs="a key", refuted="x"), **FAILED_AGAIN),
        Stage.GIVE_UP,
        "not",
    ),
    ("others fail now", verified(GLOBAL, **MORE_FAILED), Stage.PLAN, "the plan has failed"),
    (
        "nothing had failed",
        verified(GLOBAL, fingerprints=(replace(DEAD, failed=()),)),
        Stage.PLAN,
        "the plan has failed",
    ),
    ("the same, local", verified(verdict(NO, YES), **FAILED_AGAIN), Stage.EXECUTE, "s1 violated: criterion 1"),
    ("blocked", verified(BLOCKED), Stage.HUMAN, "information from outside is needed: the key of the archive"),
    ("disputed", verified(DISPUTED), Stage.HUMAN, "the judges disagree on: criterion 2"),
    ("unknown once", verified(UNKNOWN), Stage.EXECUTE, "s1 unknown: criterion 2"),
    ("unknown twice", verified(replace(UNKNOWN, round=2), UNKNOWN), Stage.HUMAN, "s1 unknown"),
    ("unknown twice after another", verified(replace(UNKNOWN, round=3), LOCAL, UNKNOWN), Stage.HUMAN, "s1 unknown"),
    ("unknown, another between", verified(replace(UNKNOWN, round=2), LOCAL), Stage.EXECUTE, "s1 unknown"),
    ("unknown in another layer", verified(replace(UNKNOWN, round=2), replace(UNKNOWN, cursor=1)), Stage.EXECUTE, "unk"),
    ("unknown in another plan", verified(replace(UNKNOWN, round=2), replace(UNKNOWN, plan=0)), Stage.EXECUTE, "unk"),
    ("refuted", verified(REFUTED), Stage.PLAN, "what the plan rests on is refuted: there are two towers"),
    ("refuted and not passed", verified(verdict(YES, NO, refuted="x")), Stage.PLAN, "the plan has failed; s1 violated"),
    ("passed", verified(PASSED), Stage.ADVANCE, "100% of the criteria met"),
    ("passed by a person", verified(replace(PASSED, by_person=True)), Stage.ADVANCE, "a person accepts them"),
    ("four of five", verified(verdict(YES, YES, YES, YES, THIN)), Stage.ADVANCE, "80% of the criteria met"),
    ("three of four", verified(verdict(YES, YES, YES, THIN)), Stage.EXECUTE, "insufficient_evidence: criterion 4"),
    ("four of five, one violated", verified(verdict(YES, YES, YES, YES, NO)), Stage.EXECUTE, "s1 violated"),
    ("global", verified(GLOBAL), Stage.PLAN, "the plan has failed; s1 violated: criterion 1"),
    ("half violated", verified(LOCAL), Stage.EXECUTE, "s1 violated: criterion 2"),
    ("thin alone", verified(verdict(THIN, THIN)), Stage.EXECUTE, "insufficient_evidence"),
    ("thin, spent", verified(verdict(THIN, THIN, spent=("s1",))), Stage.PLAN, "the plan has failed"),
    ("retries spent", verified(SPENT), Stage.PLAN, "the plan has failed"),
    ("structure", verified(UNFORMED), Stage.EXECUTE, "score 0.00: s1 violated"),
    ("evidence", verified(UNBORNE), Stage.EXECUTE, "score 0.20: s1 violated"),
    ("structure, spent", verified(replace(UNFORMED, spent=("s1",))), Stage.PLAN, "the plan has failed"),
    ("thinly", verified(THINLY), Stage.EXECUTE, "score 0.50"),
]

FINISHED = {"stage": Stage.FINALIZE, **LAST_OF_ALL}
ENDED: list[Row] = [
    (routes.route_after_finalize, "no answer", verified(LAST, PASSED), Stage.HUMAN, "no answer was written"),
    (routes.route_after_finalize, "no answer, which was to be approved", verified(LAST, PASSED, approve=("finish",)), Stage.HUMAN, "no answer"),
    (routes.route_after_finalize, "complete", verified(LAST, PASSED, answer=FULL), Stage.DONE, "answered, with 0 sources"),
    (routes.route_after_finalize, "partial", verified(LAST, PASSED, answer=PART), Stage.PARTIAL, "nothing is known"),
    (routes.route_after_finalize, "no reason", verified(LOCAL, answer=replace(PART, why="")), Stage.PARTIAL, "not all"),
    (routes.route_after_finalize, "not complete", verified(PASSED, answer=FULL), Stage.PARTIAL, "not all"),
    (routes.route_after_finalize, "a layer did not pass", verified(LAST, answer=FULL), Stage.PARTIAL, "not all"),
    (routes.route_after_finalize, "failed", verified(replace(LAST, items=UNKNOWN.items), PASSED, answer=FULL), Stage.PARTIAL, "not"),
    (routes.route_after_finalize, "waits", verified(LAST, PASSED, answer=FULL, approve=("finish",)), Stage.HUMAN,
     "the complete answer waits for approval"),
    (routes.route_after_finalize, "partial waits", verified(LOCAL, answer=PART, approve=("finish",)), Stage.HUMAN, "partial"),
    (routes.route_after_finalize, "approved",
     verified(LAST, PASSED, answer=FULL, approve=("finish",), approval=(FULL.fingerprint,)), Stage.DONE, "answered"),
    (routes.route_after_finalize, "plan alone", verified(LAST, PASSED, answer=FULL, approve=("plan",)), Stage.DONE, "answ"),
    (routes.route_after_give_up, "why", task(answer=PART), Stage.PARTIAL, "nothing is known"),
    (routes.route_after_give_up, "no answer", task(), Stage.PARTIAL, "given up"),
    (routes.route_after_give_up, "no reason", task(answer=replace(PART, why="")), Stage.PARTIAL, "given up"),
]  # fmt: skip


def paused(stage: Stage, came_from: Stage | None, base: ResearchState | None = None, **more: Any) -> ResearchState:
    """Where the pause r:7 was just left."""
    return replace(base or task(), stage=stage, came_from=came_from, steps=8, **more)


def decided(to: Any, pause: str = "r:7") -> dict[str, Any]:
    return {"decisions": (Decision(pause=pause, to=to),)}


HUMAN, APPROVE = Stage.HUMAN, Stage.APPROVE
TWICE: dict[str, Any] = {"decisions": (Decision(pause="r:7", to="plan"), Decision(pause="r:7", to="back"))}
NOTE: dict[str, Any] = {"notes": ("The tower is 25 metres high.",)}
ANSWERED: list[Row] = [
    (routes.route_after_approve, "approves", paused(APPROVE, Stage.PLAN), Stage.EXECUTE, "a person approves"),
    (routes.route_after_approve, "gives up", paused(APPROVE, Stage.PLAN, give_up=True), Stage.GIVE_UP, "gave up"),
    (routes.route_after_approve, "another plan", paused(APPROVE, Stage.PLAN, **decided("plan")), Stage.PLAN, "anew"),
    (routes.route_after_approve, "another goal", paused(APPROVE, Stage.PLAN, goal="How old?"), Stage.PLAN, "anew"),
    (routes.route_after_approve, "gives up all the same",
     paused(APPROVE, Stage.PLAN, give_up=True, **decided("plan")), Stage.GIVE_UP, "gave up"),
    (routes.route_after_approve, "an old decision", paused(APPROVE, Stage.PLAN, **decided("plan", "r:5")), Stage.EXECUTE, "appr"),
    (routes.route_after_approve, "the one before", paused(APPROVE, Stage.PLAN, **decided("plan", "r:6")), Stage.EXECUTE, "appr"),
    (routes.route_after_approve, "one to come", paused(APPROVE, Stage.PLAN, **decided("plan", "r:8")), Stage.EXECUTE, "appr"),
    (routes.route_after_approve, "the latest counts", paused(APPROVE, Stage.PLAN, **TWICE), Stage.EXECUTE, "approves"),
    (routes.route_after_approve, "no goal was planned for", paused(APPROVE, None, planned_goal=""), Stage.EXECUTE, "appr"),
    (routes.route_after_human, "the latest counts", paused(HUMAN, Stage.VERIFY, **TWICE), BACK, "go on"),
    (routes.route_after_human, "go on", paused(HUMAN, Stage.VERIFY), BACK, "lets the run go on"),
    (routes.route_after_human, "back", paused(HUMAN, Stage.VERIFY, **decided("back")), BACK, "lets the run go on"),
    (routes.route_after_human, "gives up", paused(HUMAN, Stage.PLAN, give_up=True, **decided("plan")), Stage.GIVE_UP, "gave up"),
    (routes.route_after_human, "plan", paused(HUMAN, Stage.VERIFY, **decided("plan")), Stage.PLAN, "planned anew"),
    (routes.route_after_human, "goal", paused(HUMAN, Stage.VERIFY, goal="How old?"), Stage.PLAN, "planned anew"),
    (routes.route_after_human, "first goal", paused(HUMAN, Stage.PLAN, planned_goal=""), BACK, "go on"),
    (routes.route_after_human, "goal before execute",
     paused(HUMAN, Stage.VERIFY, goal="How old?", **decided("execute")), Stage.PLAN, "planned anew"),
    (routes.route_after_human, "execute", paused(HUMAN, Stage.VERIFY, **decided("execute")), Stage.EXECUTE, "tried again"),
    (routes.route_after_human, "finalize", paused(HUMAN, Stage.VERIFY, **decided("finalize")), Stage.FINALIZE, "as far as"),
    (routes.route_after_human, "execute with a note", paused(HUMAN, Stage.PLAN, **decided("execute"), **NOTE), Stage.EXECUTE, "tried"),
    (routes.route_after_human, "finalize with a note", paused(HUMAN, Stage.PLAN, **decided("finalize"), **NOTE), Stage.FINALIZE, "far"),
    (routes.route_after_human, "an old decision", paused(HUMAN, Stage.VERIFY, **decided("plan", "r:5")), BACK, "go on"),
    (routes.route_after_human, "the one before", paused(HUMAN, Stage.VERIFY, **decided("plan", "r:6")), BACK, "go on"),
    (routes.route_after_human, "one to come", paused(HUMAN, Stage.VERIFY, **decided("plan", "r:8")), BACK, "go on"),
    (routes.route_after_human, "a foreign one", paused(HUMAN, Stage.VERIFY, **decided("plan", "x:7")), BACK, "go on"),
    (routes.route_after_human, "a note for the plan", paused(HUMAN, Stage.PLAN, **NOTE), Stage.PLAN, "what was missing"),
    (routes.route_after_human, "a note for the judge", paused(HUMAN, Stage.VERIFY, **NOTE), Stage.EXECUTE, "what was missing"),
    (routes.route_after_human, "a note on the answer", paused(HUMAN, Stage.FINALIZE, **NOTE), Stage.EXECUTE, "what was miss"),
    (routes.route_after_human, "a note elsewhere", paused(HUMAN, Stage.EXECUTE, **NOTE), BACK, "go on"),
    (routes.route_after_human, "a note, no plan", paused(HUMAN, Stage.VERIFY, plan=None, **NOTE), BACK, "go on"),
]  # fmt: skip

ROWS: list[Row] = [
    *PLANNED,
    *((after_verify, *row) for row in AFTER_VERIFY),
    *ENDED,
    *ANSWERED,
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0].__name__}: {row[1]}")
def test_each_row_of_the_table(row: Row) -> None:
    route, _, state, stage, reason = row
    found = route(state)
    assert found.stage is stage, found
    assert reason in found.reason


@pytest.mark.parametrize("row", AFTER_VERIFY, ids=lambda row: row[0])
def test_every_reason_after_a_round_names_rounds_replans_cursor_and_score(
    row: tuple[str, ResearchState, Any, str],
) -> None:
    state = row[1]
    reason = after_verify(state).reason
    assert f"rounds {state.rounds}/{state.max_rounds}, replans {state.replans}/{state.max_replans}, cursor " in reason
    assert "score " in reason


@pytest.mark.parametrize(
    ("found", "status", "score", "scope"),
    [
        (PASSED, "PASS", 1.0, "local"),
        (LOCAL, "FAIL", 0.5, "local"),
        (GLOBAL, "FAIL", 0.0, "global"),
        (verdict(YES, NO, NO), "FAIL", 1 / 3, "global"),
        (THINLY, "PARTIAL", 0.5, "local"),
        (verdict(YES, YES, YES, YES, THIN), "PASS", 0.8, "local"),
        (verdict(YES, YES, YES, THIN), "PARTIAL", 0.75, "local"),
        (verdict(THIN), "PARTIAL", 0.0, "local"),
        (verdict(THIN, spent=("s1",)), "PARTIAL", 0.0, "global"),
        (verdict(THIN, NO, spent=("s1",)), "FAIL", 0.0, "global"),
        (UNKNOWN, "UNKNOWN", 0.5, "local"),
        (verdict(DOUBT, NO), "FAIL", 0.0, "global"),
        (DISPUTED, "UNKNOWN", 0.5, "local"),
        (verdict(YES, disputed=("criterion 1",)), "UNKNOWN", 1.0, "local"),
        (BLOCKED, "BLOCKED", 0.0, "local"),
        (verdict(YES, needs="a key"), "BLOCKED", 1.0, "local"),
        (UNFORMED, "FAIL", 0.0, "local"),
        (UNBORNE, "FAIL", 0.2, "local"),
        (replace(UNBORNE, spent=("s1",)), "FAIL", 0.2, "global"),
        (REFUTED, "PASS", 1.0, "global"),
        (verdict(), "FAIL", 0.0, "local"),
        (verdict(YES, layer="structure"), "FAIL", 0.0, "local"),
    ],
)
def test_status_score_and_scope_are_worked_out_from_the_items(
    found: Any, status: str, score: float, scope: str
) -> None:
    assert (found.status, found.score, found.scope) == (status, pytest.approx(score), scope)


def test_criteria_that_failed_are_compared_without_case_width_and_punctuation() -> None:
    assert verdict(NO, items=(replace(LOCAL.items[1], criterion="\uff33aid,  TWICE!"),)).failed == ("said twice",)
