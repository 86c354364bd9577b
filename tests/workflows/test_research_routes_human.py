"""What a person may answer at APPROVE and at HUMAN: where each answer leads, or why it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import AnswerError, PatchError, answer, pause_id
from graph_agent.runtime.advance import apply_patch
from graph_agent.runtime.answer import question
from graph_agent.testing.grading import grade
from graph_agent.workflows.research import routes
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.routes import offers_of
from graph_agent.workflows.research.state import Plan, ResearchState, Stage
from tests.workflows.research_states import (
    BLOCKED,
    DISPUTED,
    FULL,
    GLOBAL,
    LAST,
    LOCAL,
    PART,
    PASSED,
    PLAN,
    UNCLEAR,
    UNKNOWN,
    task,
    verified,
)
from tests.workflows.test_research_routes import ASKING, NOTE, decided

Patch = dict[str, Any]
Case = tuple[str, ResearchState, Patch, "Stage | str"]

GIVES_UP: Patch = {"give_up": True}
EMPTY: Patch = {"notes": (" ",)}
OTHER: Patch = {"goal": "How old?"}
TURNS_SPENT: Patch = {"max_turns": 3, "spent_turns": 3}
WHOLE: Patch = {"answer": FULL, "approve": ("finish",)}
SECOND_LAYER: Patch = {**ASKING, "asks": ("s1", "s2"), "cursor": 1, "rounds": 1, "verdicts": (PASSED,)}


def at(stage: Stage, came_from: Stage, base: ResearchState, **more: Any) -> ResearchState:
    """At the pause r:7."""
    return replace(base, stage=stage, came_from=came_from, steps=7, **more)


def at_approve(**more: Any) -> ResearchState:
    return at(Stage.APPROVE, Stage.PLAN, task(**more))


def at_human(came_from: Stage, base: ResearchState, **more: Any) -> ResearchState:
    return at(Stage.HUMAN, came_from, base, **more)


PLAN_WAITS = at_approve(approve=("plan",))
ACTS = at_approve(**ASKING)
BOTH = at_approve(**ASKING, approve=("plan",))
LATER = at(Stage.APPROVE, Stage.ADVANCE, task(**SECOND_LAYER))
BLOCKED_ONE = at_human(Stage.VERIFY, verified(BLOCKED))
UNKNOWN_ONE = at_human(Stage.VERIFY, verified(replace(UNKNOWN, round=2), UNKNOWN))
DISPUTED_ONE = at_human(Stage.VERIFY, verified(DISPUTED))
UNCLEAR_ONE = at_human(Stage.PLAN, task(plan=UNCLEAR))
NO_PLAN = at_human(Stage.PLAN, task(plan=None, plan_no=0, planned_goal=""))
ANSWERED = at_human(Stage.FINALIZE, verified(LAST, PASSED, **WHOLE))
PARTIAL = at_human(Stage.FINALIZE, verified(LOCAL, answer=PART, approve=("finish",), max_rounds=1))
FAILED = at_human(Stage.FINALIZE, verified(GLOBAL, answer=PART, approve=("finish",), replans=3))
UNWRITTEN = at_human(Stage.FINALIZE, verified(LAST, PASSED))
NOT_PLANNED_ANEW = at_human(Stage.PLAN, task(approve=("plan",)))
BOTH_TURNED_DOWN = at_human(Stage.PLAN, task(**ASKING, approve=("plan",)))
EARLIER = at_human(Stage.VERIFY, verified(BLOCKED, answer=PART, approve=("finish",)))
DOWN = at_human(Stage.EXECUTE, task())
INTERRUPTED = at_human(Stage.EXECUTE, task(**ASKING))
HALTED = at_human(Stage.ADVANCE, verified(PASSED))


def approved(state: ResearchState, *which: str) -> Patch:
    return {"approval": tuple(getattr(state, f"{name}_fingerprint") for name in which)}


def accepts(state: ResearchState) -> Patch:
    assert state.answer is not None
    return {"approval": (state.answer.fingerprint,)}


AT_APPROVE: list[Case] = [
    ("the plan is approved", PLAN_WAITS, approved(PLAN_WAITS, "plan"), Stage.EXECUTE),
    ("the effects are approved", ACTS, approved(ACTS, "layer"), Stage.EXECUTE),
    ("both are approved at once", BOTH, approved(BOTH, "plan", "layer"), Stage.EXECUTE),
    ("a later layer's effects", LATER, approved(LATER, "layer"), Stage.EXECUTE),
    ("one of two", BOTH, approved(BOTH, "plan"), "waits for approval of the layer's effects"),
    ("the other of two", BOTH, approved(BOTH, "layer"), "waits for approval of the plan"),
    ("nothing of two", BOTH, {}, "waits for approval of the plan and the layer's effects: add 'plan 1 "),
    ("nothing", PLAN_WAITS, {}, "it waits for approval of the plan: add 'plan 1 "),
    ("nothing of the effects", ACTS, {}, "it waits for approval of the layer's effects: add 'layer 1.0 "),
    ("another layer's", LATER, approved(ACTS, "layer"), "not among the choices"),
    ("another plan's", PLAN_WAITS, approved(replace(PLAN_WAITS, plan_no=2), "plan"), "not among the choices"),
    ("approved, and carried out", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), **decided("execute")}, Stage.EXECUTE),
    ("approved, and back", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), **decided("back")}, Stage.EXECUTE),
    ("carried out, and not approved", PLAN_WAITS, decided("execute"), "waits for approval of the plan"),
    ("finished there", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), **decided("finalize")}, "nothing is finished here"),
    ("planned anew", PLAN_WAITS, decided("plan"), Stage.PLAN),
    ("planned anew, though approved", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), **decided("plan")}, Stage.PLAN),
    ("an old decision", PLAN_WAITS, decided("plan", "r:3"), "waits for approval"),
    ("the decision before", PLAN_WAITS, decided("plan", "r:6"), "waits for approval"),
    ("a decision to come", PLAN_WAITS, decided("plan", "r:8"), "waits for approval"),
    ("a decision of another run", PLAN_WAITS, decided("plan", "x:7"), "waits for approval"),
    ("another goal", PLAN_WAITS, OTHER, Stage.PLAN),
    ("no goal", PLAN_WAITS, {"goal": " "}, "goal is empty"),
    ("no goal and no note", PLAN_WAITS, {"goal": " ", **EMPTY}, "goal is empty"),
    ("an empty note", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), **EMPTY}, "a note is empty"),
    ("a note alone", PLAN_WAITS, NOTE, "waits for approval"),
    ("gives up", PLAN_WAITS, GIVES_UP, Stage.GIVE_UP),
    ("gives up, without a goal", PLAN_WAITS, {**GIVES_UP, "goal": ""}, Stage.GIVE_UP),
    ("no round", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), "max_rounds": 0}, "0 of 0 rounds are spent: raise"),
    ("no round, planned anew", PLAN_WAITS, {**decided("plan"), "max_rounds": 0}, "0 of 0 rounds are spent: raise"),
    ("fewer rounds than spent", LATER, {**approved(LATER, "layer"), "max_rounds": 0}, "no limit can be below that"),
    ("more rounds", PLAN_WAITS, {**approved(PLAN_WAITS, "plan"), "max_rounds": 20}, Stage.EXECUTE),
    ("turns spent, between layers", replace(LATER, **TURNS_SPENT), approved(LATER, "layer"), "3 of 3 turns are spent"),
    ("turns spent", replace(PLAN_WAITS, **TURNS_SPENT), approved(PLAN_WAITS, "plan"), "3 of 3 turns are spent: raise"),
    (
        "turns raised",
        replace(PLAN_WAITS, **TURNS_SPENT),
        {**approved(PLAN_WAITS, "plan"), "max_turns": 9},
        Stage.EXECUTE,
    ),
]
AT_HUMAN: list[Case] = [
    ("blocked, go on", BLOCKED_ONE, {}, "information from outside is needed: add it to notes"),
    ("blocked, back", BLOCKED_ONE, decided("back"), "information from outside is needed"),
    ("blocked, an old decision", BLOCKED_ONE, decided("finalize", "r:2"), "information from outside is needed"),
    ("blocked, the decision before", BLOCKED_ONE, decided("finalize", "r:6"), "information from outside is needed"),
    ("blocked, a decision to come", BLOCKED_ONE, decided("execute", "r:8"), "information from outside is needed"),
    ("blocked, a note", BLOCKED_ONE, NOTE, Stage.EXECUTE),
    ("blocked, back with a note", BLOCKED_ONE, {**NOTE, **decided("back")}, Stage.EXECUTE),
    ("blocked, as far as it goes", BLOCKED_ONE, decided("finalize"), Stage.FINALIZE),
    ("blocked, again", BLOCKED_ONE, decided("execute"), Stage.EXECUTE),
    ("blocked, planned anew", BLOCKED_ONE, decided("plan"), Stage.PLAN),
    ("blocked, another goal", BLOCKED_ONE, OTHER, Stage.PLAN),
    ("blocked, no goal", BLOCKED_ONE, {"goal": ""}, "goal is empty: say what is to be found out"),
    ("blocked, gives up", BLOCKED_ONE, GIVES_UP, Stage.GIVE_UP),
    ("blocked, no results may be approved", BLOCKED_ONE, approved(BLOCKED_ONE, "results"), "not among the choices"),
    ("unknown, judged again", UNKNOWN_ONE, {}, Stage.VERIFY),
    ("unknown, accepted", UNKNOWN_ONE, approved(UNKNOWN_ONE, "results"), Stage.VERIFY),
    ("unknown, a note", UNKNOWN_ONE, NOTE, Stage.EXECUTE),
    ("unknown, no round for it", UNKNOWN_ONE, {"max_rounds": 2}, "2 of 2 rounds are spent: raise max_rounds too"),
    ("unknown, no round again", UNKNOWN_ONE, {**decided("execute"), "max_rounds": 2}, "2 of 2 rounds are spent"),
    ("unknown, finished all the same", UNKNOWN_ONE, {**decided("finalize"), "max_rounds": 2}, Stage.FINALIZE),
    ("unknown, a round left", UNKNOWN_ONE, {"max_rounds": 3}, Stage.VERIFY),
    ("unknown, no rounds and a note", UNKNOWN_ONE, {**EMPTY, "max_rounds": 1}, "a note is empty"),
    ("unknown, fewer replans than rounds", UNKNOWN_ONE, {"max_replans": 1}, Stage.VERIFY),
    ("unknown, fewer rounds", UNKNOWN_ONE, {"max_rounds": 1}, "2 rounds and 0 replans are spent: no limit"),
    ("unknown, fewer replans", replace(UNKNOWN_ONE, replans=1), {"max_replans": 0}, "2 rounds and 1 replans are spent"),
    ("unknown, turns spent", replace(UNKNOWN_ONE, **TURNS_SPENT), {}, Stage.VERIFY),
    ("unknown, again, turns spent", replace(UNKNOWN_ONE, **TURNS_SPENT), decided("execute"), "raise max_turns too"),
    ("unknown, anew, turns spent", replace(UNKNOWN_ONE, **TURNS_SPENT), decided("plan"), "raise max_turns too"),
    ("unknown, no limit of turns", replace(UNKNOWN_ONE, spent_turns=99), decided("plan"), Stage.PLAN),
    ("disputed, accepted", DISPUTED_ONE, approved(DISPUTED_ONE, "results"), Stage.VERIFY),
    ("disputed, as far as it goes", DISPUTED_ONE, decided("finalize"), Stage.FINALIZE),
    ("unclear, go on", UNCLEAR_ONE, {}, "the goal is still unclear"),
    ("unclear, back", UNCLEAR_ONE, decided("back"), "the goal is still unclear"),
    ("unclear, and giving up failed", at_human(Stage.GIVE_UP, task(plan=UNCLEAR)), {}, Stage.GIVE_UP),
    ("unclear, a note", UNCLEAR_ONE, NOTE, Stage.PLAN),
    ("unclear, another goal", UNCLEAR_ONE, OTHER, Stage.PLAN),
    ("unclear, again", UNCLEAR_ONE, decided("plan"), Stage.PLAN),
    ("unclear, carried out", UNCLEAR_ONE, decided("execute"), "there is no plan to carry out or to finish"),
    ("unclear, a note, and no round", UNCLEAR_ONE, {**NOTE, "max_rounds": 0}, "0 of 0 rounds are spent"),
    ("no plan, go on", NO_PLAN, {}, Stage.PLAN),
    ("no plan, another goal", NO_PLAN, OTHER, Stage.PLAN),
    ("no plan, carried out", NO_PLAN, decided("execute"), "there is no plan"),
    ("no plan, finished", NO_PLAN, decided("finalize"), "there is no plan"),
    ("no plan to approve, carried out", replace(NO_PLAN, approve=("plan",)), decided("execute"), "there is no plan"),
    ("no plan, no round", NO_PLAN, {"max_rounds": 0}, "0 of 0 rounds are spent"),
    ("no step at all, finished", replace(NO_PLAN, plan=Plan(steps=())), decided("finalize"), "there is no plan"),
    ("the plan was turned down, carried out", NOT_PLANNED_ANEW, decided("execute"), "nobody has approved this plan"),
    ("the plan was turned down, and it acts", BOTH_TURNED_DOWN, decided("execute"), "nobody has approved this plan"),
    ("the plan was turned down, go on", NOT_PLANNED_ANEW, {}, Stage.PLAN),
    ("the answer is approved", ANSWERED, accepts(ANSWERED), Stage.FINALIZE),
    ("the answer, go on", ANSWERED, {}, "it waits for approval of the answer: add 'answer "),
    ("the answer, back", ANSWERED, decided("back"), "it waits for approval of the answer"),
    ("the answer, finished", ANSWERED, decided("finalize"), "it waits for approval of the answer"),
    ("the answer, finished and approved", ANSWERED, {**decided("finalize"), **accepts(ANSWERED)}, Stage.FINALIZE),
    ("the answer, a note", ANSWERED, NOTE, Stage.EXECUTE),
    ("the answer, another one's approval", ANSWERED, accepts(PARTIAL), "not among the choices"),
    ("the answer, another goal", ANSWERED, OTHER, Stage.PLAN),
    ("a partial answer is approved", PARTIAL, accepts(PARTIAL), Stage.FINALIZE),
    ("a partial answer, again", PARTIAL, decided("execute"), "1 of 1 rounds are spent: raise max_rounds too"),
    ("a partial answer, again, raised", PARTIAL, {**decided("execute"), "max_rounds": 4}, Stage.EXECUTE),
    ("a partial answer, a note", PARTIAL, NOTE, "1 of 1 rounds are spent"),
    ("a partial answer, a note, raised", PARTIAL, {**NOTE, "max_rounds": 4}, Stage.EXECUTE),
    ("a partial answer, anew", PARTIAL, decided("plan"), "1 of 1 rounds are spent"),
    ("a partial answer, another goal", PARTIAL, OTHER, "1 of 1 rounds are spent"),
    ("replans spent, anew", FAILED, decided("plan"), "3 of 3 replans are spent: raise max_replans too"),
    ("replans spent, anew, raised", FAILED, {**decided("plan"), "max_replans": 4}, Stage.PLAN),
    ("replans spent, another goal", FAILED, OTHER, Stage.PLAN),
    ("replans and rounds spent, anew", replace(FAILED, max_rounds=1), decided("plan"), "1 of 1 rounds are spent"),
    ("replans and turns spent, anew", replace(FAILED, **TURNS_SPENT), decided("plan"), "3 of 3 replans are spent"),
    ("replans spent, again", FAILED, decided("execute"), Stage.EXECUTE),
    ("an earlier answer, finished anew", EARLIER, decided("finalize"), Stage.FINALIZE),
    ("an answer nobody asked to see, go on", replace(ANSWERED, approve=()), {}, Stage.FINALIZE),
    ("nothing was written, go on", UNWRITTEN, {}, Stage.FINALIZE),
    ("the model was down, go on", DOWN, {}, Stage.EXECUTE),
    ("the model was down, turns spent", replace(DOWN, **TURNS_SPENT), {}, "3 of 3 turns are spent"),
    ("the model was down, turns raised", replace(DOWN, **TURNS_SPENT), {"max_turns": 4}, Stage.EXECUTE),
    ("interrupted in what acts, go on", INTERRUPTED, {}, "the layer uses send, which does more than read: have it"),
    ("interrupted in what acts, again", INTERRUPTED, decided("execute"), "which does more than read"),
    ("interrupted in what acts, finished", INTERRUPTED, decided("finalize"), Stage.FINALIZE),
    ("interrupted, approved before", replace(INTERRUPTED, **approved(ACTS, "layer")), {}, Stage.EXECUTE),
    ("halted between layers, go on", HALTED, {}, Stage.ADVANCE),
    ("halted between layers, no round", HALTED, {"max_rounds": 1}, "1 of 1 rounds are spent"),
]
CASES = [*AT_APPROVE, *AT_HUMAN]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1].stage}: {case[0]}")
def test_where_an_answer_leads_or_why_it_is_refused(case: Case) -> None:
    _, state, patch, expected = case
    if isinstance(expected, Stage):
        assert answer(GRAPH, state, patch, pause_id="r:7").stage is expected
        return
    with pytest.raises(AnswerError) as refused:
        answer(GRAPH, state, patch)
    assert expected in str(refused.value)


OTHER_TARGETS = "an answer leads to one stage, so at most one of the two holds"
FIRST, SECOND = (
    "if target is Stage.PLAN and unclear and not state.fresh_notes:",
    "if target is Stage.FINALIZE and _waiting(state):",
)
EQUIVALENT = {f"_refused_at_human: `{FIRST}` and `{SECOND}` change places": OTHER_TARGETS}
HELPERS = (
    routes._refused_at_approve,
    routes._refused_at_human,
    routes._beyond_the_budget,
    routes._waiting,
    routes._turns_spent,
    routes._plan_approved,
    routes.needs_approval,
)


def test_every_slip_in_what_is_refused_is_seen_by_these_cases() -> None:
    """But for answers that the choices refuse before."""
    rows = [(case[1], case[2], case[3]) for case in CASES if "not among the choices" not in case[3]]
    merged = [(apply_patch(GRAPH, state, patch), expected) for state, patch, expected in rows]

    def check(refuse: Any) -> None:
        for state, expected in merged:
            found = refuse(state)
            assert found is None if isinstance(expected, Stage) else expected in found

    graded = grade(routes.refuse_answer, check, also=HELPERS, equivalent=EQUIVALENT)
    assert len(graded.graded) > 300
    graded.raise_on_survivors()


PAUSES = list(dict.fromkeys(case[1] for case in CASES))


@pytest.mark.parametrize("state", PAUSES, ids=lambda state: f"{state.stage} from {state.came_from}")
def test_what_is_offered_is_taken_and_giving_up_always_is(state: ResearchState) -> None:
    offers = question(GRAPH, state).offers
    assert list(offers)[-1] == "give up"
    for words, patch in offers.items():
        after = answer(GRAPH, state, patch, pause_id=pause_id(state))
        assert after.stage not in GRAPH.ends and after.stage is not state.stage, words
        raised = {name for name in ("max_rounds", "max_replans", "max_turns") if name in patch}
        assert words != "go on as it is" or not raised


OFFERED: list[tuple[str, ResearchState, list[str]]] = [
    ("the plan", PLAN_WAITS, ["approve the plan", "have it planned anew"]),
    ("the plan and its layer", BOTH, ["approve the plan and the layer", "have it planned anew"]),
    (
        "the plan, turns spent",
        replace(PLAN_WAITS, **TURNS_SPENT),
        ["approve the plan and allow more (max_turns 23)", "have it planned anew"],
    ),
    (
        "blocked",
        BLOCKED_ONE,
        ["have it planned anew", "have the steps tried again", "take the answer as far as it goes"],
    ),
    (
        "unknown",
        UNKNOWN_ONE,
        [
            "approve the results",
            "go on as it is",
            "have it planned anew",
            "have the steps tried again",
            "take the answer as far as it goes",
        ],
    ),
    ("unclear", UNCLEAR_ONE, ["have it planned anew"]),
    ("no plan", NO_PLAN, ["go on as it is", "have it planned anew"]),
    ("the answer", ANSWERED, ["approve the answer", "have it planned anew", "have the steps tried again"]),
    ("rounds spent", PARTIAL, ["approve the answer", "have it planned anew", "have the steps tried again"]),
    (
        "turns spent",
        replace(DOWN, **TURNS_SPENT),
        [
            "allow more (max_turns 23) and go on",
            "have it planned anew",
            "have the steps tried again",
            "take the answer as far as it goes",
        ],
    ),
    ("interrupted in what acts", INTERRUPTED, ["have it planned anew", "take the answer as far as it goes"]),
]


@pytest.mark.parametrize("row", OFFERED, ids=lambda row: row[0])
def test_what_is_offered(row: tuple[str, ResearchState, list[str]]) -> None:
    assert list(offers_of(row[1])) == [*row[2], "give up"]


def test_an_offer_raises_what_it_needs_and_nothing_else() -> None:
    anew, again = (offers_of(PARTIAL)[words] for words in ("have it planned anew", "have the steps tried again"))
    assert anew["max_rounds"] == again["max_rounds"] == 7
    assert "max_replans" not in anew
    spent = offers_of(FAILED)
    assert spent["have it planned anew"]["max_replans"] == 5
    assert set(spent["have the steps tried again"]) == {"decisions"}


def test_a_late_answer_is_refused_and_a_late_decision_does_not_count() -> None:
    with pytest.raises(AnswerError, match="was answered before"):
        answer(GRAPH, UNKNOWN_ONE, decided("plan"), pause_id="r:6")
    later = answer(GRAPH, UNKNOWN_ONE, decided("execute"))
    again = replace(later, stage=Stage.HUMAN, came_from=Stage.VERIFY, steps=10)
    assert answer(GRAPH, again, {}).stage is Stage.VERIFY
    assert answer(GRAPH, again, decided("finalize", "r:10")).stage is Stage.FINALIZE
    with pytest.raises(AnswerError, match="waits for approval"):
        answer(GRAPH, replace(PLAN_WAITS, steps=10), decided("plan"))


def test_an_answer_may_not_touch_what_is_the_runs_own() -> None:
    for name, value in {"rounds": 0, "replans": 0, "plan": PLAN, "verdicts": (PASSED,), "cursor": 1}.items():
        with pytest.raises(PatchError, match=f"{name} is not human's to write"):
            answer(GRAPH, UNKNOWN_ONE, {name: value})


def test_each_pause_shows_what_an_approval_would_be_for() -> None:
    assert question(GRAPH, BOTH).choices == {"approval": (BOTH.plan_fingerprint, BOTH.layer_fingerprint)}
    assert question(GRAPH, UNKNOWN_ONE).choices == {"approval": (UNKNOWN_ONE.results_fingerprint,)}
    assert question(GRAPH, ANSWERED).choices == {"approval": (FULL.fingerprint,)}
    assert question(GRAPH, BLOCKED_ONE).choices == {"approval": ()}
    shown = question(GRAPH, ANSWERED).shown
    assert shown["answer"] == FULL and shown["plan"] == (ANSWERED.plan_fingerprint, PLAN)


def test_an_approval_is_for_this_plan_these_results_and_this_answer_alone() -> None:
    other = replace(PLAN_WAITS, plan=replace(PLAN, steps=PLAN.steps[:1]))
    assert other.plan_fingerprint != PLAN_WAITS.plan_fingerprint
    more = replace(UNKNOWN_ONE, results=(replace(UNKNOWN_ONE.results[0], text="Else [E1].", attempt=1),))
    assert more.results_fingerprint != UNKNOWN_ONE.results_fingerprint
    assert replace(FULL, text="Else.").fingerprint != FULL.fingerprint
    assert replace(ACTS, cursor=1).layer_fingerprint != ACTS.layer_fingerprint
