"""PLAN: which plans are turned down and why, what the planner is shown, and what becomes of a plan that failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graph_agent import FakeLLM, LLMError, Reply
from graph_agent.workflows.research.nodes.memory import fingerprint_of
from graph_agent.workflows.research.nodes.plan import NOT_AGAIN, failed_plan, plan_problem
from graph_agent.workflows.research.state import DeadEnd, Plan, ResearchState, Stage, Step
from tests.workflows.researching import (
    CLOSE_STEP,
    GOAL,
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
    call,
    item,
    judgement,
    plan_of,
    planned,
    research,
    result,
    said,
    step,
    verdict,
    writing,
)

OTHER = plan_of(step("beds", "Count the beds"), step("stove", "Look for a stove"))


def many(count: int) -> tuple[Step, ...]:
    return tuple(step(f"s{number}") for number in range(count))


def criteria(*done_when: str) -> Plan:
    return plan_of(Step(id="s1", kind="work", goal="Find it", done_when=done_when), step("s2"))


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (plan_of(*many(1)), "there are 1 steps: give 2 to 6"),
        (plan_of(*many(7)), "there are 7 steps: give 2 to 6"),
        (plan_of(), "there are 0 steps"),
        (plan_of(step("s1"), step("s1", "Another")), "duplicate id 's1': 2 steps have it"),
        (plan_of(step("s1"), step("s2", depends_on=("s3",))), "'s2' depends on 's3', which is no step"),
        (plan_of(step("s1"), step("s2", depends_on=("s2",))), "'s2' depends on itself"),
        (
            plan_of(step("s1", depends_on=("s2",)), step("s2", depends_on=("s1",))),
            "the steps go round in a cycle: s1 -> s2 -> s1",
        ),
        (criteria(), "'s1' has 0 sentences in done_when: give 1 to 6"),
        (criteria("it is there", " "), "'s1' has 1 sentences in done_when: give 1 to 6, none empty"),
        (criteria(*["it is there"] * 7), "'s1' has 7 sentences in done_when: give 1 to 6"),
        (criteria("the answer is reasonable"), "nobody can check 'reasonable', say what must be there"),
        (criteria("it is Appropriate"), "nobody can check 'appropriate'"),
        (criteria("as far as possible all loads"), "nobody can check 'as far as possible'"),
        (criteria("\u5c3d\u91cf\u5217\u51fa\u6240\u6709\u6570\u5b57"), "nobody can check '\u5c3d\u91cf'"),
        (criteria("\u7b54\u6848\u662f\u5408\u7406\u7684"), "nobody can check '\u5408\u7406'"),
        (plan_of(step("s1", tool="read_txt"), step("s2")), "'s1' uses 'read_txt', which is no tool"),
        (plan_of(step("a b"), step("s2")), "'a b' is no id"),
        (plan_of(step("s" * 21), step("s2")), "is no id"),
        (plan_of(step("s1", " "), step("s2")), "'s1' has no goal"),
        (
            plan_of(step("s1", kind="probe", depends_on=("s2",)), step("s2")),
            "'s1' is a probe and depends on 's2', which runs later: change a kind",
        ),
    ],
)
def test_a_plan_that_cant_be_carried_out_or_judged_is_turned_down_with_the_reason(plan: Plan, reason: str) -> None:
    assert reason in (plan_problem(plan, World().policy) or "")


@pytest.mark.parametrize("word", ["unreasonably priced", "it names the Appropriations act", "a sufficientarian view"])
def test_a_word_within_a_word_is_not_vague(word: str) -> None:
    assert plan_problem(criteria(word), World().policy) is None


def test_all_faults_of_a_plan_are_said_at_once() -> None:
    problem = plan_problem(plan_of(step("s1", " ", "it is good enough", tool="nothing")), World().policy) or ""
    for part in ("there are 1 steps", "has no goal", "'good enough'", "'nothing', which is no tool: there are read"):
        assert part in problem


def test_an_unknown_tool_is_told_the_nearest_one() -> None:
    problem = plan_problem(plan_of(step("s1", tool="read_txt"), step("s2")), World().policy) or ""
    assert "read_text" in problem.partition("no tool")[2]


def test_a_plan_that_holds_is_kept_without_its_rationale() -> None:
    made = plan_of(*PLAN.steps, rationale="both, then the answer")
    world = World(llm=Model([made]))
    after = world.one(research())
    assert after.stage is Stage.EXECUTE
    assert after.plan == PLAN and after.plan.rationale == ""
    assert (after.plan_no, after.planned_goal, after.cursor, after.replans) == (1, GOAL, 0, 0)
    assert after.route_reason == "plan 1: wind, load | both"


def test_an_invalid_plan_is_asked_for_once_more_with_the_reason() -> None:
    world = World(llm=Model([plan_of(*many(1)), PLAN]))
    after = world.one(research())
    assert after.plan == PLAN and after.stage is Stage.EXECUTE
    first, second = world.llm.asked("plan")
    assert "what_was_wrong" not in first.context
    assert second.context["what_was_wrong"] == "there are 1 steps: give 2 to 6"
    assert json.loads(second.context["your_last_answer"])["steps"][0]["id"] == "s0"
    assert {**second.context, **first.context} == second.context, "the same question, with two things added"
    assert "invalid plan: there are 1 steps: give 2 to 6" in world.notes


@pytest.mark.parametrize("bad", [plan_of(*many(1)), "no JSON at all", {"steps": "none"}])
def test_a_plan_that_is_twice_invalid_ends_the_run_and_says_what_was_wrong(bad: Any) -> None:
    world = World(llm=Model([bad, bad]))
    end = world.run()
    assert end.stage is Stage.PARTIAL and world.stages == ["plan", "give_up"]
    assert end.plan is None and end.blocked.startswith("no valid plan: ")
    assert end.answer.why == end.blocked
    assert end.answer.missing == (f"nothing was found out on: {GOAL}",)
    assert "another wording" in end.answer.would_help
    assert len(world.llm.requests) == 2


@pytest.mark.parametrize("reply", [Reply(text="{}", finish="length"), Reply(text="no", finish="refused")])
def test_a_planner_that_refuses_or_is_cut_is_a_persons_matter(reply: Reply) -> None:
    end = World(llm=FakeLLM([reply])).run()
    assert end.stage is Stage.HUMAN and end.plan is None


def test_a_planner_that_cant_be_reached_stops_for_a_person_and_the_run_goes_on() -> None:
    down = World(llm=FakeLLM([LLMError("connection refused")]))
    stopped = down.run()
    assert stopped.stage is Stage.HUMAN and "connection refused" in stopped.route_reason
    up = World(llm=Model([PLAN]))
    after = up.one(up.answered(stopped))
    assert after.stage is Stage.EXECUTE and after.plan == PLAN


def test_an_empty_goal_ends_at_once_and_asks_nobody() -> None:
    world = World(llm=Model())
    end = world.run(research(goal="  \n"))
    assert end.stage is Stage.FAILED and "empty" in end.route_reason
    assert world.llm.requests == []


def test_an_unclear_goal_is_a_question_to_the_person_whose_note_the_next_planner_sees() -> None:
    world = World(llm=Model([plan_of(unclear=" Which hoist? "), PLAN]))
    stopped = world.run()
    assert stopped.stage is Stage.HUMAN and "the goal is unclear: Which hoist?" in stopped.route_reason
    after = world.one(world.answered(stopped, notes=("the goods hoist",)))
    assert after.stage is Stage.EXECUTE and after.plan == PLAN
    assert world.llm.asked("plan")[1].context["a_person_says"] == ["the goods hoist"]


def test_blanks_are_no_question() -> None:
    world = World(llm=Model([plan_of(unclear="  "), plan_of(*PLAN.steps, unclear=" ")]))
    assert world.one(research()).stage is Stage.EXECUTE


def test_the_planner_sees_the_goal_first_and_last_and_each_tool_with_its_schema() -> None:
    world = World(llm=Model([PLAN]))
    world.one(research())
    (request,) = world.llm.requests
    names = list(request.context)
    assert (names[0], names[-1]) == ("goal", "the_goal_again")
    assert request.context["goal"] == request.context["the_goal_again"] == GOAL
    shown = {one["name"]: one for one in request.context["tools"]}
    assert shown["read_text"]["arguments"]["properties"] == {"path": {"type": "string"}}
    assert shown["find_texts"]["description"] == "The texts that have a word."
    assert shown["read_text"]["effect"] == "read"
    assert request.temperature == 0.2
    assert not {"accepted", "failures", "dead_ends", "a_person_says"} & set(names)


def failed_state(**fields: Any) -> ResearchState:
    """The load was found, the wind was violated: the plan as a whole has failed."""
    found = verdict(
        item("wind", "violated", SAYS_WIND, why="it gives a temperature"),
        item("load", "satisfied", SAYS_LOAD),
        item("more", "violated", "it says more"),
    )
    known = {
        "results": (result("wind", f"{WIND} [E1]"), result("load", f"{LOAD} [E6]", goal=LOAD_STEP.goal)),
        "verdicts": (found,),
        "rounds": 1,
        "reasons": ("plan 1, layer 1: goal FAIL",),
    }
    return planned(Stage.PLAN, **{**known, **fields})


def test_the_planner_never_sees_the_old_plan_or_the_history() -> None:
    state = failed_state()
    world = World(llm=Model([OTHER]))
    world.one(state)
    (request,) = world.llm.requests
    told = json.dumps({name: said for name, said in request.context.items() if name != "dead_ends"})
    for old in PLAN.steps:
        assert f'"{old.id}"' not in told and f'"{old.tool or "no tool"}", "args"' not in told
    for word in ("done_when", "depends_on", "your_last_answer", WIND_STEP.goal, CLOSE_STEP.goal, "claim"):
        assert word not in told
    assert "Take another kind of decomposition" in request.instructions
    assert request.context["accepted"] == [{"goal": LOAD_STEP.goal, "gist": f"{LOAD} [E6]"}]
    assert request.context["dead_ends"] == [
        f"tried {WIND_STEP.goal}; {LOAD_STEP.goal}; {CLOSE_STEP.goal}, failed because "
        f"wind violated: {SAYS_WIND} (it gives a temperature)"
    ]
    assert request.context["failures"]["unmet"][0] == {"criterion": SAYS_WIND, "why": "it gives a temperature"}


def test_a_plan_that_failed_as_a_whole_becomes_a_dead_end_and_is_replaced_whole() -> None:
    world = World(llm=Model([OTHER]))
    after = world.one(failed_state())
    assert after.plan == OTHER and after.plan_no == 2 and after.replans == 1 and after.cursor == 0
    assert after.fingerprints == (
        DeadEnd(
            fingerprint=fingerprint_of(PLAN),
            tried=f"{WIND_STEP.goal}; {LOAD_STEP.goal}; {CLOSE_STEP.goal}",
            why=f"wind violated: {SAYS_WIND} (it gives a temperature)",
            failed=tuple(sorted(("it gives the wind speed", "it says more"))),
            goal=failed_state().goal,
        ),
    )
    (line,) = world.notes
    assert line == (
        f"replan 1: {fingerprint_of(PLAN)} -> {fingerprint_of(OTHER)} (2 steps) | failed: it gives the wind speed; "
        f"it says more | because wind violated: {SAYS_WIND} (it gives a temperature)"
    )
    assert after.results == failed_state().results, "results only grow"


def test_a_new_plan_begins_at_its_first_layer() -> None:
    later = verdict(item("both", "violated"), cursor=1, round=2)
    first = verdict(item("wind"), item("load"))
    after = World(llm=Model([OTHER])).one(failed_state(cursor=1, rounds=2, verdicts=(first, later)))
    assert after.replans == 1 and after.cursor == 0 and after.plan == OTHER


def test_making_a_plan_makes_no_dead_end() -> None:
    after = World(llm=Model([PLAN])).one(research())
    assert after.fingerprints == ()


def test_a_plan_that_failed_locally_or_was_refused_by_a_person_is_no_dead_end() -> None:
    local = failed_state(verdicts=(verdict(item("wind", "insufficient_evidence"), item("load")),))
    assert failed_plan(local) is None
    assert failed_plan(failed_state(planned_goal="another goal")) is None
    assert failed_plan(failed_state(verdicts=())) is None


def test_a_refuted_plan_is_a_dead_end_that_says_what_refuted_it() -> None:
    state = failed_state(verdicts=(verdict(item("wind"), item("load"), refuted="there is no hoist"),))
    dead = failed_plan(state)
    assert dead is not None and dead.why == "refuted: there is no hoist" and dead.failed == ()


def reworded(plan: Plan) -> Plan:
    """Other ids, criteria, order, case, blanks, punctuation and width; the same goals and tools."""
    steps = [
        step(f"z{number}", f"  {old.goal.upper()} \uff01", "another criterion", tool=old.tool)
        for number, old in enumerate(reversed(plan.steps))
    ]
    return plan_of(*steps)


def test_a_dead_end_is_known_again_however_it_is_worded() -> None:
    assert fingerprint_of(reworded(PLAN)) == fingerprint_of(PLAN)
    assert fingerprint_of(plan_of(WIND_STEP, LOAD_STEP)) != fingerprint_of(PLAN)
    other_tool = step("wind", WIND_STEP.goal, tool="find_texts")
    assert fingerprint_of(plan_of(other_tool, LOAD_STEP, CLOSE_STEP)) != fingerprint_of(PLAN)


def test_at_the_first_round_no_plan_can_repeat_one() -> None:
    """A plan is a dead end only when it has failed, and not because it was made before."""
    made_before = planned(Stage.PLAN, goal="another goal", planned_goal=GOAL)
    for state in (research(), made_before):
        world = World(llm=Model([PLAN]))
        after = world.one(state)
        assert after.plan == PLAN and after.stage is Stage.EXECUTE and after.fingerprints == ()


def test_at_the_first_replan_a_repeated_plan_is_asked_for_once_more_with_a_strong_hint() -> None:
    world = World(llm=Model([reworded(PLAN), OTHER]))
    after = world.one(failed_state())
    assert after.plan == OTHER and after.stage is Stage.EXECUTE and after.replans == 1
    first, second = world.llm.asked("plan")
    assert "what_was_wrong" not in first.context and second.context["what_was_wrong"] == NOT_AGAIN
    assert "your_last_answer" not in second.context, "a model that sees its plan edits it"
    assert f"the plan repeats a dead end: {fingerprint_of(PLAN)}" in world.notes


def test_a_plan_that_is_repeated_twice_ends_the_run() -> None:
    world = World(llm=Model([reworded(PLAN), PLAN]))
    after = world.one(failed_state())
    assert after.stage is Stage.GIVE_UP
    assert after.blocked == f"the new plan repeats one that has failed: {after.fingerprints[0].tried}"
    assert after.plan == PLAN and after.replans == 1 and len(after.fingerprints) == 1
    assert world.notes[-1].startswith(f"replan 1: {fingerprint_of(PLAN)} -> none | ")


@pytest.mark.parametrize(("rounds", "asked"), [(9, 2), (10, 1), (11, 1)])
def test_with_two_rounds_or_fewer_left_a_repeated_plan_ends_the_run_at_once(rounds: int, asked: int) -> None:
    found = verdict(item("wind", "violated"), round=rounds)
    world = World(llm=Model([reworded(PLAN), OTHER]))
    after = world.one(failed_state(rounds=rounds, max_rounds=12, verdicts=(found,)))
    assert len(world.llm.requests) == asked
    assert after.stage is (Stage.EXECUTE if asked == 2 else Stage.GIVE_UP)


def test_a_first_plan_for_another_goal_repeats_no_dead_end() -> None:
    world = World(llm=Model([OTHER]))
    old = DeadEnd(fingerprint=fingerprint_of(OTHER), tried="huts", why="no beds", goal="Where are the huts?")
    after = world.one(failed_state(fingerprints=(old,)))
    assert after.plan == OTHER and not after.blocked


def test_a_dead_end_of_any_earlier_plan_counts_not_only_the_last() -> None:
    old = DeadEnd(fingerprint=fingerprint_of(OTHER), tried="huts", why="no beds", failed=("a",))
    world = World(llm=Model([OTHER, reworded(OTHER)]))
    after = world.one(failed_state(fingerprints=(old,)))
    assert after.stage is Stage.GIVE_UP and "repeats one that has failed: huts" in after.blocked
    dead_ends = world.llm.requests[0].context["dead_ends"]
    assert dead_ends[0] == "tried huts, failed because no beds" and len(dead_ends) == 2


def test_at_the_limit_no_further_plan_is_asked_for() -> None:
    """The last replan is made; when its plan fails too, the run ends without another."""

    def violated(context: Any) -> Any:
        return judgement(*["violated"] * len(context["criteria"]))

    def moved(context: Any) -> Any:
        found = context["evidence"]
        return said(f"> {TEXTS['huts.md']} [{found[0]['id']}]") if found else call("read_text", path="huts.md")

    plans = [
        plan_of(step("a", f"Look {way}", f"it says {way}"), step("b", f"Then {way * 30}", f"it tells {way}"))
        for way in ("first", "second", "third")
    ]
    world = World(llm=Model(plans, moved, violated))
    end = world.run(research(max_replans=2))
    assert end.stage is Stage.PARTIAL and end.replans == 2 and end.plan_no == 3
    assert len(world.llm.asked("plan")) == 3 and world.stages[-1] == "finalize"
    assert "replans 2/2" in end.answer.why and "the replans are spent" in end.answer.why


def test_an_unclear_replan_is_a_question_even_where_its_empty_steps_are_no_plan() -> None:
    world = World(llm=Model([plan_of(unclear="Which hut?")]))
    after = world.one(failed_state())
    assert after.stage is Stage.HUMAN and after.replans == 1 and after.blocked == ""


def test_kinds_run_in_their_order_whatever_the_model_says() -> None:
    plan = plan_of(
        step("end", kind="close"), step("mid"), step("look", kind="probe"), step("mid2", depends_on=("mid",))
    )
    after = World(llm=Model([plan])).one(research())
    assert after.route_reason == "plan 1: look | mid | mid2 | end"
    assert [one.id for one in after.layer] == ["look"]


def test_within_a_layer_what_others_depend_on_comes_first_and_else_the_plans_order() -> None:
    plan = plan_of(step("a"), step("b"), step("c"), step("d", depends_on=("c",)), step("e", depends_on=("b", "d")))
    names = [[one.id for one in layer] for layer in plan.layers]
    assert names == [["b", "c", "a"], ["d"], ["e"]]


def test_a_plan_whose_layer_needs_approval_waits_for_it() -> None:
    world = World(llm=Model([plan_of(step("s1", tool="save", args={"text": "x"}), step("s2"))]), tools=writing([]))
    after = world.one(research())
    assert after.stage is Stage.APPROVE and after.asks == ("s1",)
    assert "the layer uses save, which does more than read" in after.route_reason


def test_advance_moves_the_cursor_by_one_and_asks_nobody() -> None:
    world = World(llm=Model())
    after = world.one(planned(Stage.ADVANCE, cursor=0))
    assert (after.cursor, after.stage, after.route_reason) == (1, Stage.EXECUTE, "layer 2 of 2")
    assert world.llm.requests == [] and after.plan == PLAN
