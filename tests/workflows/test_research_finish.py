"""FINALIZE and GIVE_UP: what stands is put together in plan order, read back once more, and what is missing is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graph_agent.workflows.research.state import ResearchState, Source, Stage
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
    item,
    plan_of,
    planned,
    research,
    result,
    step,
    verdict,
)

TWO = plan_of(WIND_STEP, LOAD_STEP)


def accepted(world: World, *texts: str, stage: Stage = Stage.FINALIZE, plan: Any = TWO, **fields: Any) -> ResearchState:
    """Both steps of a plan of one layer passed with these texts; E1, E2, E3 are the three documents."""
    names = [one.id for one in plan.steps][: len(texts)]
    pieces = tuple(
        world.evidence(number, body, source=name, span="1-1") for number, (name, body) in enumerate(TEXTS.items(), 1)
    )
    known = {
        "results": tuple(result(name, text) for name, text in zip(names, texts, strict=True)),
        "verdicts": (verdict(*(item(name) for name in names)),),
        "rounds": 1,
        "evidence": pieces,
        "route_reason": "rounds 1/12: passed",
    }
    return planned(stage, plan, **{**known, **fields})


def finished(state: ResearchState, world: World) -> Any:
    after = world.one(state)
    assert world.llm.requests == [], "no model stands here"
    return after.answer


def test_what_passed_is_put_together_in_plan_order_with_its_sources() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    swapped = replace(state, results=state.results[::-1])
    after = world.one(swapped)
    answer = after.answer
    assert answer.status == "complete" and answer.text == f"{WIND} [E1]\n\n{LOAD} [E2]"
    assert answer.sources == (Source(id="E1", place="hoist.md:1-1"), Source(id="E2", place="loads.md:1-1"))
    assert (answer.missing, answer.why, answer.would_help, answer.caveats) == ((), "", "", ())
    assert after.stage is Stage.DONE and after.route_reason == "answered, with 2 sources read back"


def test_sources_are_those_that_the_text_cites() -> None:
    world = World()
    answer = finished(accepted(world, f"{WIND} [E1]", 'It has "a stove", says one [E3].'), world)
    assert [one.id for one in answer.sources] == ["E1", "E3"]


def test_a_statement_that_no_longer_holds_is_dropped_and_said_and_the_answer_is_partial() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]\n\n> Nobody may ride on it. [E2]", f"{LOAD} [E2]")
    pieces = (state.evidence[0], replace(state.evidence[1], text=world.texts.keep("Nobody may ride on it."), id="E2"))
    after = world.one(replace(state, evidence=pieces))
    answer = after.answer
    assert answer.status == "partial" and answer.text == f"{WIND} [E1]\n\n> Nobody may ride on it. [E2]"
    (dropped,) = answer.missing
    assert dropped.startswith("left out: The goods hoist carries 300 kilograms. (the quote 'The goods hoist carries")
    assert "does not stand in E2" in dropped
    assert after.stage is Stage.PARTIAL, "it never looks complete"


def test_evidence_that_can_no_longer_be_read_drops_what_cites_it() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    gone = replace(state.evidence[0], text="0" * 64)
    after = world.one(replace(state, evidence=(gone, *state.evidence[1:])))
    assert after.answer.text == f"{LOAD} [E2]" and after.answer.status == "partial"
    assert [one.id for one in after.answer.sources] == ["E2"]
    assert "there is no evidence E1" in after.answer.missing[0]


def test_of_a_result_what_stands_is_kept_and_a_statement_without_a_citation_is_not() -> None:
    world = World()
    answer = finished(accepted(world, f"{WIND} [E1]\n\nIt is very safe in every way.", f"{LOAD} [E2]"), world)
    assert answer.text == f"{WIND} [E1]\n\n{LOAD} [E2]"
    assert answer.missing == ("left out: It is very safe in every way. (it has no citation)",)
    assert answer.status == "partial"


def test_the_same_statement_is_told_once() -> None:
    world = World()
    answer = finished(accepted(world, f"{WIND} [E1]", f"{WIND} [E1]\n\n{LOAD} [E2]"), world)
    assert answer.status == "complete" and answer.text == f"{WIND} [E1]\n\n{LOAD} [E2]"


def test_everything_dropped_is_no_complete_answer() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]", evidence=())
    after = world.one(state)
    assert (after.answer.text, after.answer.status, after.answer.sources) == ("", "partial", ())
    assert after.stage is Stage.PARTIAL and len(after.answer.missing) == 2


def test_an_answer_that_says_nothing_is_not_complete() -> None:
    world = World()
    after = world.one(accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]", results=()))
    assert (after.answer.text, after.answer.status, after.stage) == ("", "partial", Stage.PARTIAL)


def test_a_probe_is_told_only_where_there_is_nothing_else() -> None:
    world = World()
    plan = plan_of(step("look", kind="probe"), WIND_STEP)
    both = (verdict(item("look")), verdict(item("wind"), round=2, cursor=1))
    state = accepted(world, "> The upper hut has twelve beds and a stove. [E3]", f"{WIND} [E1]", plan=plan)
    done = replace(state, verdicts=both, rounds=2, cursor=1)
    assert finished(done, world).text == f"{WIND} [E1]"
    alone = replace(state, results=state.results[:1], verdicts=both[:1])
    assert finished(alone, world).text == "> The upper hut has twelve beds and a stove. [E3]"


def test_what_a_cited_source_says_of_itself_is_a_caveat() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    old = replace(state.evidence[0], caveat="superseded by a later text")
    unused = replace(state.evidence[2], caveat="nobody cites it")
    answer = finished(replace(state, evidence=(old, state.evidence[1], unused)), world)
    assert answer.caveats == ("E1 (hoist.md:1-1): superseded by a later text",)
    assert answer.sources[0].caveat == "superseded by a later text"


def test_a_complete_answer_whose_last_layer_refutes_says_so() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    refuted = replace(state, verdicts=(replace(state.verdicts[0], refuted="the hoist is gone"),))
    assert finished(refuted, world).caveats == ("what the plan rested on is refuted: the hoist is gone",)


def test_a_person_who_wants_to_see_the_answer_is_asked_and_approves_that_answer() -> None:
    world = World(llm=Model([PLAN], GOOD_MOVES))
    stopped = world.run(research(approve=("finish",)))
    assert stopped.stage is Stage.HUMAN and stopped.route_reason == "the complete answer waits for approval"
    end = world.run(world.answered(stopped, approval=(stopped.answer.fingerprint,)))
    assert end.stage is Stage.DONE and end.answer == stopped.answer


CHAIN = plan_of(
    WIND_STEP,
    step("after", "Find what follows", "it says what follows", depends_on=("wind",)),
    step("later", "Find what comes later", "it says what comes later", depends_on=("after",)),
    LOAD_STEP,
    step("free", "Find the rest", "it says the rest", kind="close"),
    step("on", "Find more", "it says more", kind="close", depends_on=("free",)),
)


def half(world: World, stage: Stage = Stage.GIVE_UP, **fields: Any) -> ResearchState:
    """Of the first layer the load passed, the wind did not; nothing after it was reached."""
    found = verdict(
        item("wind", "insufficient_evidence", SAYS_WIND, why="no number"), item("load", "satisfied", SAYS_LOAD)
    )
    known = {
        "results": (result("wind", f"{WIND} [E1]"), result("load", f"{LOAD} [E2]")),
        "verdicts": (found,),
        "route_reason": "rounds 1/12, replans 0/3, cursor 1/3, score 0.50: the replans are spent",
    }
    return accepted(world, plan=CHAIN, stage=stage, **{**known, **fields})


def test_giving_up_is_a_real_partial_result() -> None:
    world = World()
    after = world.one(half(world))
    answer = after.answer
    assert after.stage is Stage.PARTIAL and answer.status == "partial"
    assert answer.text == f"{LOAD} [E2]", "what is done, with citations"
    assert [one.id for one in answer.sources] == ["E2"]
    assert answer.why == half(world).route_reason == after.route_reason, "which fuse ended it"
    assert answer.would_help == f"documents that answer this: {WIND_STEP.goal}"


def test_steps_downstream_of_a_failed_one_are_void_and_named_so() -> None:
    world = World()
    assert world.one(half(world)).answer.missing == (
        f"wind, {WIND_STEP.goal}: {SAYS_WIND} is insufficient_evidence (no number)",
        "after, Find what follows: void, since wind failed",
        "later, Find what comes later: void, since wind failed",
        "free, Find the rest: not reached",
        "on, Find more: not reached",
    )


def test_a_step_that_waits_for_two_failed_ones_names_both() -> None:
    world = World()
    both = verdict(item("wind", "violated", SAYS_WIND), item("load", "violated", SAYS_LOAD))
    state = replace(half(world, verdicts=(both,)), plan=PLAN)
    assert world.one(state).answer.missing[-1] == f"both, {CLOSE_STEP.goal}: void, since wind, load failed"


def test_finalizing_a_run_that_is_not_complete_is_degraded_and_says_the_same() -> None:
    world = World()
    after = world.one(half(world, Stage.FINALIZE))
    assert after.stage is Stage.PARTIAL and after.answer == world.one(half(world)).answer


def test_without_a_plan_nothing_was_found_out() -> None:
    world = World()
    after = world.one(research(Stage.GIVE_UP, blocked="no valid plan: x", route_reason="no valid plan: x"))
    assert after.answer.missing == (f"nothing was found out on: {GOAL}",)
    assert after.answer.would_help == "another wording of the question, or a model that plans better"


def test_turns_that_are_spent_end_in_a_partial_answer_that_says_so() -> None:
    world = World(llm=Model([PLAN], GOOD_MOVES))
    end = world.run(research(max_turns=5))
    assert end.stage is Stage.PARTIAL and world.stages[-1] == "give_up"
    assert end.answer.status == "partial" and "turn" in end.answer.why and "5" in end.answer.why
    assert end.answer.would_help == "more turns than 5"
    assert end.answer.text == f"{WIND} [E1]\n\n{LOAD} [E6]", "what was accepted before stands"
    assert end.answer.missing == (f"both, {CLOSE_STEP.goal}: not reached",)


def test_what_would_help_is_named_by_what_ended_the_run() -> None:
    world = World()
    blocked = verdict(item("wind", "insufficient_evidence", SAYS_WIND), needs="the new limit")
    assert world.one(half(world, verdicts=(blocked,))).answer.would_help == "this information: the new limit"
    assert world.one(half(world, rounds=12)).answer.would_help == "more rounds than 12"
    violated = verdict(item("wind", "violated", SAYS_WIND))
    assert world.one(half(world, verdicts=(violated,))).answer.would_help.startswith("a look at why the last round")


def test_what_an_earlier_plan_found_stands_in_a_partial_answer_and_not_in_a_complete_one() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    beds = plan_of(step("beds", "Count the beds", "it counts the beds"), step("end", depends_on=("beds",)))
    partial = replace(state, stage=Stage.GIVE_UP, plan=beds, plan_no=2, replans=1)
    assert world.one(partial).answer.text == f"{WIND} [E1]\n\n{LOAD} [E2]"

    one = plan_of(step("beds", "Count the beds", "it counts the beds"), step("stove", "Find the stove"))
    texts = ("> The upper hut has twelve beds and a stove. [E3]", 'There is "a stove" in it [E3].')
    passed = verdict(item("beds"), item("stove"), plan=2, round=2)
    complete = replace(
        state,
        plan=one,
        plan_no=2,
        rounds=2,
        results=(
            *state.results,
            *(result(name, text, plan=2) for name, text in zip(("beds", "stove"), texts, strict=True)),
        ),
        verdicts=(*state.verdicts, passed),
    )
    after = world.one(complete)
    assert after.stage is Stage.DONE and after.answer.text == "\n\n".join(texts)


def test_of_two_results_for_a_goal_the_present_plans_is_told() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    newer = result("wind", "> The upper hut has twelve beds and a stove. [E3]", plan=2)
    found = verdict(item("wind"), item("load", "violated"), plan=2, round=2)
    again = replace(
        state,
        stage=Stage.GIVE_UP,
        plan_no=2,
        rounds=2,
        results=(*state.results, newer),
        verdicts=(*state.verdicts, found),
    )
    assert world.one(again).answer.text == f"{LOAD} [E2]\n\n{newer.text}"


def test_a_result_kept_from_an_earlier_plan_is_told_once() -> None:
    world = World()
    state = accepted(world, f"{WIND} [E1]", f"{LOAD} [E2]")
    old, load = state.results
    kept = replace(old, plan=2, step="wind", kept=True)
    violated = verdict(item("wind"), item("load", "violated"), plan=2, round=2)
    again = replace(state, stage=Stage.GIVE_UP, plan_no=2, rounds=2, results=(old, load, kept), verdicts=(
        verdict(item("wind"), item("load", "violated")), violated))  # fmt: skip
    assert world.one(again).answer.text == f"{WIND} [E1]"
