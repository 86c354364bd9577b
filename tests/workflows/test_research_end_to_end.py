"""Whole runs on the real graph: with a retry and a replan, with a person, by models that answer anything, to an end."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.runtime.codec import decode, encode
from graph_agent.verify.evidence import evidence_problems
from graph_agent.verify.statements import statements
from graph_agent.workflows.research.nodes.memory import fingerprint_of
from graph_agent.workflows.research.state import Plan, ResearchState, Stage
from tests.workflows.research_anyhow import anyhow
from tests.workflows.researching import (
    CLOSE_STEP,
    GOAL,
    GOOD_MOVES,
    LOAD,
    LOAD_STEP,
    PLAN,
    SAYS_LOAD,
    SAYS_WIND,
    TEXTS,
    WIND,
    WIND_STEP,
    Model,
    World,
    all_satisfied,
    judgement,
    plan_of,
    reading,
    research,
    said,
    step,
)


def test_a_question_is_planned_carried_out_judged_and_answered() -> None:
    world = World(llm=Model([PLAN], GOOD_MOVES))
    end = world.run()
    assert end.stage is Stage.DONE
    assert world.stages == ["plan", "execute", "verify", "advance", "execute", "verify", "finalize"]
    assert end.answer.status == "complete" and end.rounds == 2 and end.spent_turns == 6
    assert decode(ResearchState, encode(end)) == end


BAD = step("any", "Find anything on the hoist", SAYS_WIND, SAYS_LOAD, tool="find_texts", args={"word": "hoist"})
FIRST = plan_of(BAD, step("end", "Write it down", depends_on=("any",)))


def retry_and_replan() -> World:
    """The first plan's step cites nothing, then what is beside the point; the second plan passes."""

    def judge(context: Any) -> Any:
        bad = context["task"] == BAD.goal
        return judgement("violated", "violated", why="it is beside the point") if bad else all_satisfied(context)

    moves = {
        "any": [said("The hoist stops in strong wind."), said("The texts are hoist.md and loads.md [E1].")],
        "wind": [said(f"{WIND} [E11]")],
        "load": [said(f"{LOAD} [E16]")],
        "both": [said(f"{WIND} [E11]", f"{LOAD} [E16]")],
    }
    return World(llm=Model([FIRST, PLAN], moves, judge))


def test_a_run_with_a_retry_a_replan_and_a_pass() -> None:
    world = retry_and_replan()
    end = world.run()
    assert end.stage is Stage.DONE, end.route_reason
    assert world.stages == [
        "plan", "execute", "verify", "execute", "verify", "plan", "execute", "verify", "advance", "execute", "verify",
        "finalize",
    ]  # fmt: skip
    rounds = [
        "round=1 | layer=structure | score=0.00 | scope=local",
        "round=2 | layer=goal | score=0.00 | scope=global",
        "round=3 | layer=goal | score=1.00 | scope=local",
        "round=4 | layer=goal | score=1.00 | scope=local",
    ]
    assert [one for one in world.notes if one.startswith("round=")] == rounds
    (replan,) = [one for one in world.notes if one.startswith("replan")]
    assert replan == (
        f"replan 1: {fingerprint_of(FIRST)} -> {fingerprint_of(PLAN)} (3 steps) | failed: it gives the load in "
        f"kilograms; it gives the wind speed | because any violated: {SAYS_WIND} (it is beside the point)"
    )
    assert [(one.plan, one.step, one.attempt) for one in end.results] == [
        (1, "any", 0),
        (1, "any", 1),
        (2, "wind", 0),
        (2, "load", 0),
        (2, "both", 0),
    ]
    assert [one.id for one in end.evidence] == ["E1", "E6", "E11", "E16"]
    assert len(end.reasons) == end.rounds == 4


def test_a_plan_waits_for_a_person_who_may_change_the_goal_and_have_it_planned_anew() -> None:
    world = World(llm=Model([FIRST, PLAN], GOOD_MOVES))
    first = world.run(research(approve=("plan",)))
    assert first.stage is Stage.APPROVE and "plan 1 waits for approval" in first.route_reason
    second = world.run(world.answered(first, goal="When does it stop, and what is its load?"))
    assert second.stage is Stage.APPROVE and second.plan == PLAN and second.plan_no == 2
    assert (second.replans, second.fingerprints) == (0, ()), "a person's wish makes no dead end"
    assert world.llm.asked("plan")[1].context["goal"] == "When does it stop, and what is its load?"
    end = world.run(world.answered(second, approval=(second.plan_fingerprint,)))
    assert end.stage is Stage.DONE


def test_a_refuted_plan_is_replaced_and_what_refuted_it_is_kept() -> None:
    look = step(
        "look", "Look what there is", "it says what there is", kind="probe", tool="read_text", args={"path": "huts.md"}
    )
    stove = step("stove", "Say what the hut has", "it says it", tool="read_text", args={"path": "huts.md"})
    moves = {
        "look": [said(f"> {TEXTS['huts.md']} [E1]", "REFUTES: there is no hoist in the hut")],
        "wind": [said(f"{WIND} [E6]")],
        "load": [said(f"{LOAD} [E11]")],
        "both": [said(f"{WIND} [E6]", f"{LOAD} [E11]")],
    }
    world = World(llm=Model([plan_of(look, stove), PLAN], moves))
    end = world.run()
    assert end.stage is Stage.DONE and end.replans == 1
    assert end.verdicts[0].status == "PASS" and end.verdicts[0].refuted
    assert end.fingerprints[0].why == "refuted: there is no hoist in the hut"
    assert world.llm.asked("plan")[1].context["failures"]["hint"] == "refuted: there is no hoist in the hut"
    assert world.llm.asked("plan")[1].context["accepted"][0]["goal"] == look.goal
    assert end.answer.text == f"{WIND} [E6]\n\n{LOAD} [E11]", "a complete answer is that of its own plan"


def test_a_new_plan_that_fails_as_the_one_before_ends_the_run() -> None:
    def plan(word: str) -> Plan:
        return plan_of(
            step("wind", f"{word} the wind", SAYS_WIND, SAYS_LOAD, tool="read_text", args={"path": "huts.md"}),
            step("end", f"{word} the end", kind="close", depends_on=("wind",)),
        )

    moves = {"wind": [said(f"> {TEXTS['huts.md']} [E{number}]") for number in (1, 6)]}
    world = World(llm=Model([plan("Measure"), plan("Look up")], moves, lambda _: judgement("violated", "violated")))
    end = world.run()
    assert end.stage is Stage.PARTIAL and world.stages[-1] == "give_up"
    assert "not converging" in end.answer.why and len(world.llm.asked("plan")) == 2


def test_a_question_that_nothing_answers_ends_as_partial_and_cites_nothing() -> None:
    def moved(context: Any) -> Any:
        return said("INSUFFICIENT: no text says who built it")

    plans = [
        plan_of(step("a", f"Look in {n}", f"it says {n}"), step("b", f"End {n}", depends_on=("a",))) for n in "pqr"
    ]
    world = World(llm=Model(plans, moved))
    end = world.run(research(max_replans=2))
    assert end.stage is Stage.PARTIAL and end.answer.text == "" and end.answer.sources == ()
    assert end.answer.would_help == "documents that answer this: Look in r"
    assert world.llm.asked("judge") == []


def test_two_questions_of_which_one_can_be_answered() -> None:
    plan = plan_of(WIND_STEP, step("who", "Find who built it", "it names the builder"))

    def moved(context: Any) -> Any:
        wind = context["step"]["id"] == "wind"
        return said(f"{WIND} [E1]") if wind else said("INSUFFICIENT: no text names a builder")

    world = World(llm=Model([plan, "none", "none"], moved))
    end = world.run()
    assert end.stage is Stage.PARTIAL and end.answer.text == f"{WIND} [E1]"
    assert end.answer.missing == (
        "who, Find who built it: it names the builder is insufficient_evidence (no text names a builder)",
    )


def test_rounds_that_are_spent_end_with_what_stands() -> None:
    def judge(context: Any) -> Any:
        return judgement(
            *["satisfied" if context["task"] == WIND_STEP.goal else "insufficient_evidence"] * len(context["criteria"])
        )

    moves = {"wind": [said(f"{WIND} [E1]")], "load": [said(f"{LOAD} [E6]"), said(f"{LOAD} [E11]")]}
    world = World(llm=Model([PLAN], moves, judge))
    end = world.run(research(max_rounds=2))
    assert end.stage is Stage.PARTIAL and end.rounds == 2
    assert "the rounds are spent" in end.answer.why and end.answer.text == f"{WIND} [E1]"
    assert end.answer.missing == (
        f"load, {LOAD_STEP.goal}: {SAYS_LOAD} is insufficient_evidence",
        f"both, {CLOSE_STEP.goal}: void, since load failed",
    )
    assert end.answer.would_help == "more rounds than 2"


def test_finishing_on_the_last_round_is_complete() -> None:
    end = World(llm=Model([PLAN], GOOD_MOVES)).run(research(max_rounds=2))
    assert end.stage is Stage.DONE and end.rounds == end.max_rounds


def test_sources_that_contradict_each_other_are_both_cited() -> None:
    texts = {"old.md": "The hoist stops at 18 metres.", "new.md": "The hoist stops at 14 metres."}
    plan = plan_of(
        step("old", "Read the old text", "it gives a number", tool="read_text", args={"path": "old.md"}),
        step("new", "Read the new text", "it gives another", tool="read_text", args={"path": "new.md"}),
        step("end", "Say both", "it says both", kind="close", depends_on=("old", "new")),
    )
    both = (
        f"> {texts['old.md']} [E1]",
        f"> {texts['new.md']} [E6]",
        "The two contradict each other, 18 and 14 [E1, E6].",
    )
    moves = {"old": [said(both[0])], "new": [said(both[1])], "end": [said(*both)]}
    end = World(llm=Model([plan], moves), tools=reading(texts)).run()
    assert end.stage is Stage.DONE and both[2] in end.answer.text
    assert [one.place for one in end.answer.sources] == ["old.md:1-1", "new.md:1-1"]


def test_an_earlier_plans_result_is_carried_over_judged_and_told() -> None:
    """The load is found under the first plan; the second asks for it in nearly the same words."""
    first = plan_of(replace(BAD, done_when=(SAYS_WIND, "it says when", "it says why")), LOAD_STEP)
    again = replace(LOAD_STEP, id="weight", goal="find what the hoist may carry?", done_when=("it gives kilograms",))
    second = plan_of(WIND_STEP, again)

    def judge(context: Any) -> Any:
        status = "violated" if context["task"] == BAD.goal else "satisfied"
        return judgement(*[status] * len(context["criteria"]))

    moves = {
        "any": [said("The texts are hoist.md and loads.md [E1].")],
        "load": [said(f"{LOAD} [E6]")],
        "wind": [said(f"{WIND} [E11]")],
    }
    world = World(llm=Model([first, second], moves, judge))
    end = world.run()
    assert end.stage is Stage.DONE, end.route_reason
    assert [one.kept for one in end.results] == [False, False, False, True]
    assert end.answer.text == f"{WIND} [E11]\n\n{LOAD} [E6]"
    tasks = [one.context["task"] for one in world.llm.asked("judge")]
    assert tasks.count("find what the hoist may carry?") == 1


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6))
def test_whatever_a_model_says_the_run_ends_within_its_budget_and_what_it_answers_holds(seed: int) -> None:
    world, end = anyhow(seed)
    assert end.stage in (Stage.DONE, Stage.PARTIAL, Stage.HUMAN)
    assert end.rounds <= end.max_rounds and end.replans <= end.max_replans and end.spent_turns <= 80
    states = [event.state for event in world.events]
    for before, after in itertools.pairwise(states):
        for name in ("results", "evidence", "verdicts", "reasons", "fingerprints"):
            old = getattr(before, name)
            assert getattr(after, name)[: len(old)] == old, f"{name} only grows"
    ids = [one.id for one in end.evidence]
    assert len(set(ids)) == len(ids) and ids == sorted(ids, key=lambda name: int(name[1:]))
    assert all(event.reason for event in world.events)
    if end.answer is not None:
        texts = {one.id: world.texts.read(one.text) for one in end.evidence if not one.empty}
        assert evidence_problems(end.answer.text, texts) == ()
        assert all(one.cites for one in statements(end.answer.text))
        assert (end.stage is Stage.DONE) == (end.answer.status == "complete" and end.is_complete)
        assert end.answer.why or end.stage is Stage.DONE


def test_chance_takes_it_everywhere() -> None:
    """Else the test above would say little."""
    stages, ends = set(), set()
    for seed in range(60):
        world, end = anyhow(seed)
        stages |= set(world.stages)
        ends.add(end.stage)
    assert stages >= {"plan", "execute", "verify", "advance", "finalize", "give_up"}
    assert ends == {Stage.DONE, Stage.PARTIAL, Stage.HUMAN}


@pytest.mark.parametrize("order", [("load", "wind"), ("wind", "load")])
def test_the_answer_is_in_plan_order_whichever_step_came_last(order: tuple[str, str]) -> None:
    steps = {"wind": WIND_STEP, "load": LOAD_STEP}
    plan = plan_of(*(steps[name] for name in order))
    quotes = {"wind": WIND, "load": LOAD}
    numbers = {name: 1 + 5 * at for at, name in enumerate(order)}
    moves = {name: [said(f"{quotes[name]} [E{numbers[name]}]")] for name in order}
    end = World(llm=Model([plan], moves)).run()
    assert end.answer.text == "\n\n".join(f"{quotes[name]} [E{numbers[name]}]" for name in order)
    assert end.goal == GOAL
