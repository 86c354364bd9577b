"""EXECUTE: which steps run, side by side or one at a time, under which ids, and what is kept of what they bring."""

from __future__ import annotations

import itertools
from dataclasses import replace
from threading import Event, Lock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import FakeLLM, LLMError, Toolbox, ToolError
from graph_agent.workflows.research.nodes.execute import first_id
from graph_agent.workflows.research.state import ResearchState, Stage
from tests.workflows.researching import (
    CLOSE_STEP,
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
    call,
    item,
    judgement,
    plan_of,
    planned,
    reading,
    research,
    result,
    said,
    step,
    verdict,
    writing,
)


def ids(state: ResearchState) -> list[str]:
    return [one.id for one in state.evidence]


def test_the_steps_of_a_layer_have_their_ids_reserved_in_plan_order() -> None:
    after = World(llm=Model([], GOOD_MOVES)).one(planned())
    assert [one.step for one in after.results] == ["wind", "load"]
    assert [(one.id, one.step, one.plan) for one in after.evidence] == [("E1", "wind", 1), ("E6", "load", 1)]
    assert after.stage is Stage.VERIFY and after.route_reason == "2 of 2 steps have a result, 2 evidence"


def test_only_the_layer_at_the_cursor_runs() -> None:
    model = Model([], {"both": GOOD_MOVES["both"]})
    after = World(llm=model).one(planned(cursor=1))
    assert [one.step for one in after.results] == ["both"]


def test_what_reads_runs_side_by_side_and_lands_in_plan_order() -> None:
    """Each waits for the one after it: run one at a time they would never end, and the last one ends first."""
    names = ("a", "b", "c")
    ended = {name: Event() for name in names}
    order: list[str] = []

    def look(name: str, after: str) -> str:
        """Look, but not before another has."""
        assert not after or ended[after].wait(20), f"{after} did not run beside {name}"
        order.append(name)
        ended[name].set()
        return f"text of {name}"

    steps = [
        step(name, tool="look", args={"name": name, "after": after})
        for name, after in zip(names, ("b", "c", ""), strict=True)
    ]
    moves = {name: [said(f"It is the text of {name} [E1].")] for name in names}
    world = World(llm=Model([], moves), tools=Toolbox([look]))
    after = world.one(planned(plan=plan_of(*steps)))
    assert order == ["c", "b", "a"]
    assert [one.step for one in after.results] == ["a", "b", "c"]
    assert ids(after) == ["E1", "E6", "E11"]
    assert [one.digest for one in after.evidence] == ["text of a", "text of b", "text of c"]


def test_what_writes_runs_one_at_a_time_in_plan_order_after_what_reads() -> None:
    busy, lock, order = [0], Lock(), list[str]()

    def send(name: str) -> str:
        """Send something."""
        with lock:
            busy[0] += 1
            assert busy[0] == 1
        order.append(name)
        with lock:
            busy[0] -= 1
        return f"sent {name}"

    tools = reading().add(send, effect="external")
    steps = [step(name, tool="send", args={"name": name}) for name in ("z", "a", "m")]
    plan = plan_of(steps[0], WIND_STEP, steps[1], steps[2])
    moves = {name: [said(f"It was sent as {name} [E1].")] for name in ("z", "a", "m")} | {"wind": GOOD_MOVES["wind"]}
    world = World(llm=Model([], moves), tools=tools)
    asking = planned(plan=plan, asks=("z", "a", "m"))
    after = world.one(replace(asking, approval=(asking.layer_fingerprint,)))
    assert order == ["z", "a", "m"], "in the plan's order"
    assert [one.step for one in after.results] == ["z", "wind", "a", "m"]
    assert ids(after) == ["E1", "E6", "E11", "E16"]
    assert world.llm.asked("move")[0].context["step"]["id"] == "wind"


def test_a_layer_that_writes_is_a_pause_before_it_and_an_approval_of_another_layer_does_not_help() -> None:
    saved: list[str] = []
    plan = plan_of(
        step("one", tool="save", args={"text": "x"}),
        step("two", tool="save", args={"text": "y"}, depends_on=("one",)),
    )
    moves = {"one": [said("It is saved, as it says [E1].")], "two": [said("It is saved, as it says [E6].")]}
    world = World(llm=Model([plan], moves), tools=writing(saved))
    first = world.run()
    assert first.stage is Stage.APPROVE and saved == []
    second = world.run(world.answered(first, approval=(first.layer_fingerprint,)))
    assert second.stage is Stage.APPROVE and saved == ["x"], "the second layer is approved by itself"
    end = world.run(world.answered(second, approval=(second.layer_fingerprint,)))
    assert end.stage is Stage.DONE and saved == ["x", "y"]


def test_without_an_approval_a_step_has_no_tool_that_writes() -> None:
    saved: list[str] = []
    plan = plan_of(step("one", tool="save", args={"text": "x"}), step("two"))
    moves = {"one": [call("save", text="z")], "two": [said("INSUFFICIENT: no")]}
    world = World(llm=Model([], moves), tools=writing(saved))
    after = world.one(planned(plan=plan, asks=("one",)))
    assert saved == []
    assert "'save' is no tool of this step" in after.results[0].failed
    shown = [one["name"] for one in world.llm.asked("move", "one")[0].context["tools"]]
    assert shown == ["read_text", "find_texts"]


def test_an_approval_for_something_else_gives_a_step_no_tool_that_writes() -> None:
    saved: list[str] = []
    plan = plan_of(step("one", tool="save", args={"text": "x"}), step("two", depends_on=("one",)))
    world = World(llm=Model([], {"one": [said("INSUFFICIENT: no")]}), tools=writing(saved))
    state = planned(plan=plan, asks=("one",))
    other = replace(state, cursor=1).layer_fingerprint
    after = world.one(replace(state, approval=(other, state.plan_fingerprint)))
    assert saved == [] and after.results[0].insufficient


def test_a_step_may_not_write_with_another_steps_tool() -> None:
    """Its approval was for the tool that the plan names."""
    saved: list[str] = []
    plan = plan_of(step("one"), step("two", tool="save", args={"text": "y"}))
    moves = {
        "one": [call("save", text="z"), call("save", text="z")],
        "two": [said("It is saved, as it says [E6].")],
    }
    world = World(llm=Model([], moves), tools=writing(saved))
    state = planned(plan=plan, asks=("two",))
    after = world.one(replace(state, approval=(state.layer_fingerprint,)))
    assert saved == ["y"] and after.results[0].failed


def test_effects_that_the_policy_asks_nobody_for_are_used_at_once() -> None:
    saved: list[str] = []
    plan = plan_of(step("one", tool="save", args={"text": "x"}), step("two"))
    moves = {"one": [said("It is saved, as it says [E1].")], "two": [said("INSUFFICIENT: no")]}
    world = World(llm=Model([plan], moves), tools=writing(saved), changes={"ask_for": ("execute", "external")})
    ready = world.one(research())
    assert ready.stage is Stage.EXECUTE and ready.asks == ()
    world.one(ready)
    assert saved == ["x"]


def test_a_retry_of_a_step_that_wrote_does_not_write_again_unasked() -> None:
    saved: list[str] = []
    plan = plan_of(step("one", tool="save", args={"text": "x"}), step("two", depends_on=("one",)))
    moves = {"one": [said("It is saved but I cite nothing."), said("It is saved, as it says [E1].")]}
    world = World(llm=Model([], moves), tools=writing(saved))
    state = planned(plan=plan, asks=("one",))
    after = world.one(world.one(world.one(replace(state, approval=(state.layer_fingerprint,)))))
    assert [one.attempt for one in after.results] == [0, 1] and saved == ["x"]
    again = world.llm.asked("move", "one")[1].context
    assert [one["id"] for one in again["evidence"]] == ["E1"]
    assert "save" in [one["name"] for one in again["tools"]], "it may be asked to"


def test_what_was_written_before_the_model_was_gone_is_recorded_and_not_written_again() -> None:
    saved: list[str] = []
    plan = plan_of(step("one", tool="save", args={"text": "x"}), step("two", depends_on=("one",)))
    moves = {"one": [LLMError("connection reset"), said("It is saved, as it says [E1].")]}
    world = World(llm=Model([], moves), tools=writing(saved))
    state = planned(plan=plan, asks=("one",))
    first = world.one(replace(state, approval=(state.layer_fingerprint,)))
    assert first.stage is Stage.VERIFY and first.results[0].failed == "the model can't be asked: connection reset"
    assert ids(first) == ["E1"]
    after = world.one(world.one(first))
    assert saved == ["x"] and after.results[-1].text == "It is saved, as it says [E1]."


def failed_once(**fields: Any) -> ResearchState:
    """The wind was found; the load was said without a number."""
    found = verdict(item("wind", "satisfied", SAYS_WIND), item("load", "violated", SAYS_LOAD, why="no number"))
    known = {
        "results": (result("wind", f"{WIND} [E1]"), result("load", "It carries much [E6].")),
        "verdicts": (found,),
        "rounds": 1,
        "reasons": ("plan 1, layer 1: goal FAIL",),
    }
    return planned(**{**known, **fields})


def test_a_retry_runs_only_the_steps_that_failed_with_their_own_reasons_first() -> None:
    model = Model([], {"load": [said(f"{LOAD} [E11]")]})
    after = World(llm=model).one(failed_once())
    assert [(one.step, one.attempt) for one in after.results] == [("wind", 0), ("load", 0), ("load", 1)]
    assert {one.context["step"]["id"] for one in model.requests} == {"load"}
    (request,) = model.asked("move")
    names = list(request.context)
    assert names[0] == "what_was_wrong_last_time"
    assert request.context["what_was_wrong_last_time"] == [f"violated: {SAYS_LOAD} (no number)"]


def test_the_old_result_stands_beside_the_new_one() -> None:
    before = failed_once()
    after = World(llm=Model([], {"load": [said(f"{LOAD} [E11]")]})).one(before)
    assert after.results[:2] == before.results
    assert [one.text for one in after.latest_results] == [f"{WIND} [E1]", f"{LOAD} [E11]"]


def test_attempts_are_counted_until_two_retries_are_spent() -> None:
    moves = {"wind": [said("It stops when the wind is strong.")] * 3, "load": GOOD_MOVES["load"]}
    world = World(llm=Model([PLAN, "none", "none"], moves))
    end = world.run()
    assert [(one.step, one.attempt) for one in end.results] == [("wind", 0), ("load", 0), ("wind", 1), ("wind", 2)]
    assert end.verdicts[-1].spent == ("wind",) and world.stages[-2:] == ["plan", "give_up"]


def test_where_a_judge_could_not_tell_nothing_is_done_again() -> None:
    unknown = verdict(item("wind", "satisfied", SAYS_WIND), item("load", "unknown", SAYS_LOAD, why="unreachable"))
    state = failed_once(verdicts=(unknown,))
    model = Model()
    after = World(llm=model).one(state)
    assert (after.results, after.evidence) == (state.results, state.evidence)
    assert model.requests == [] and after.stage is Stage.VERIFY


def test_ids_go_on_after_a_retry_and_are_never_given_again() -> None:
    """Two results have had ten ids between them, used or not."""
    model = Model([], {"load": [said(f"{LOAD} [E11]")]})
    world = World(llm=model)
    state = failed_once()
    state = replace(state, evidence=(world.evidence(1, "a"), world.evidence(6, "b")))
    assert ids(world.one(state)) == ["E1", "E6", "E11"]


@given(st.lists(st.sampled_from(["result", "note"]), max_size=8))
def test_the_next_id_is_past_all_that_were_reserved(what: list[str]) -> None:
    world = World()
    state, highest = planned(), 0
    for kind in what:
        first = first_id(state, world.policy)
        assert first > highest
        if kind == "note":
            state = replace(state, evidence=(*state.evidence, world.evidence(first, "note", by="person")))
            highest = first
        else:
            state = replace(state, results=(*state.results, result("wind", "text")))
            highest = first + world.policy.most_calls - 1
    assert first_id(state, world.policy) == highest + 1


def test_ids_are_run_wide_over_rounds_and_plans() -> None:
    """A whole run with a retry, a replan and a kept result: each id once, in order, and nothing numbered anew."""
    other = plan_of(
        WIND_STEP,
        step("beds", "Count the beds in the huts", "it counts the beds", tool="read_text", args={"path": "huts.md"}),
    )
    moves = {
        "wind": [said(f"{WIND} [E1]")],
        "load": [said("It carries a lot of goods, I am told."), said("It carries a lot, I am told [E6].")],
        "beds": [said(f"> {TEXTS['huts.md']} [E21]")],
    }

    def judge(context: Any) -> Any:
        bad = context["task"] == LOAD_STEP.goal
        return judgement(*["violated" if bad else "satisfied"] * len(context["criteria"]))

    two_loads = plan_of(WIND_STEP, replace(LOAD_STEP, done_when=(SAYS_LOAD, "it says who may ride", "and for whom")))
    world = World(llm=Model([two_loads, other], moves, judge))
    end = world.run()
    assert end.stage is Stage.DONE, end.route_reason
    numbers = [int(one.id.removeprefix("E")) for one in end.evidence]
    assert numbers == sorted(set(numbers)) == [1, 6, 11, 21]
    assert world.stages.count("execute") == 3
    states = [event.state for event in world.events]
    for before, after in itertools.pairwise(states):
        assert after.results[: len(before.results)] == before.results
        assert after.evidence[: len(before.evidence)] == before.evidence


def kept_state(**fields: Any) -> ResearchState:
    """The load was accepted under plan 1, which failed; plan 2 asks for nearly the same, with another criterion."""
    near = replace(LOAD_STEP, id="burden", goal="Find what the hoist may carry!", done_when=("it names the kilograms",))
    old = verdict(item("wind", "violated", SAYS_WIND), item("load", "satisfied", SAYS_LOAD))
    known = {
        "plan": plan_of(near, step("beds", "Count the beds", tool="read_text", args={"path": "huts.md"})),
        "plan_no": 2,
        "replans": 1,
        "rounds": 1,
        "results": (
            result("wind", f"{WIND} [E1]", goal=WIND_STEP.goal),
            result("load", f"{LOAD} [E6]", goal=LOAD_STEP.goal),
        ),
        "verdicts": (old,),
    }
    return planned(**{**known, **fields})


def test_an_accepted_result_for_the_same_goal_is_kept_and_judged_again_under_the_new_criteria() -> None:
    model = Model([], {"beds": [said(f"> {TEXTS['huts.md']} [E16]")]})
    world = World(llm=model)
    piece = world.evidence(6, TEXTS["loads.md"])
    executed = world.one(kept_state(evidence=(piece,)))
    assert model.asked("move", "burden") == [], "it is not carried out again"
    kept = executed.results[2]
    assert (kept.plan, kept.step, kept.attempt, kept.kept, kept.text) == (2, "burden", 0, True, f"{LOAD} [E6]")
    assert kept.goal == "Find what the hoist may carry!"
    assert ids(executed) == ["E6", "E16"], "its ids were reserved all the same: gaps are fine"
    judged = world.one(executed)
    asked = [one.context for one in model.asked("judge")]
    assert [one["criterion"] for one in asked[0]["criteria"]] == ["it names the kilograms"]
    assert judged.verdicts[-1].items[0].criterion == "it names the kilograms"
    assert judged.verdicts[-1].status == "PASS"


def test_a_kept_result_that_fails_the_new_criteria_is_carried_out_and_may_cite_what_it_cited() -> None:
    def judge(context: Any) -> Any:
        return judgement(
            *["insufficient_evidence" if "kilograms" in context["criteria"][0]["criterion"] else "satisfied"]
        )

    moves = {"beds": [said(f"> {TEXTS['huts.md']} [E16]")], "burden": [said(f"{LOAD} [E6]")]}
    world = World(llm=Model([], moves, judge))
    piece = world.evidence(6, TEXTS["loads.md"], plan=1, step="load")
    judged = world.one(world.one(kept_state(evidence=(piece,))))
    assert judged.stage is Stage.EXECUTE
    after = world.one(judged)
    last = after.results[-1]
    assert (last.step, last.attempt, last.kept) == ("burden", 1, False)
    (request,) = world.llm.asked("move", "burden")
    assert "E6" in [one["id"] for one in request.context["evidence"]]
    assert request.context["what_was_wrong_last_time"] == ["insufficient_evidence: it names the kilograms"]


@pytest.mark.parametrize("status", ["violated", "insufficient_evidence", "unknown"])
def test_what_was_not_accepted_is_never_kept(status: str) -> None:
    old = verdict(item("wind", "violated", SAYS_WIND), item("load", status, SAYS_LOAD))
    moves = {"beds": [said(f"> {TEXTS['huts.md']} [E16]")], "burden": [said(f"{LOAD} [E11]")]}
    after = World(llm=Model([], moves)).one(kept_state(verdicts=(old,)))
    assert not any(one.kept for one in after.results)


def test_another_goal_is_carried_out_anew() -> None:
    state = kept_state()
    other = replace(state.plan.steps[0], goal="Find who may ride on the hoist")
    moves = {"beds": [said(f"> {TEXTS['huts.md']} [E16]")], "burden": [said(f"{LOAD} [E11]")]}
    after = World(llm=Model([], moves)).one(replace(state, plan=plan_of(other, state.plan.steps[1])))
    assert not any(one.kept for one in after.results)


def blocked_once(**fields: Any) -> ResearchState:
    plan = plan_of(step("wind", WIND_STEP.goal, SAYS_WIND), step("beds", "Count the beds", depends_on=("wind",)))
    return planned(plan=plan, **fields)


def test_information_from_outside_is_asked_for_and_a_persons_note_is_evidence_that_can_be_cited() -> None:
    moves = {
        "wind": [
            said("BLOCKED: the limit that was agreed on this year"),
            said('The keeper says "stop at 12 metres a second" [E6].'),
        ],
        "beds": [said("INSUFFICIENT: no text counts them")] * 3,
    }
    world = World(llm=Model([], moves))
    stopped = world.run(blocked_once())
    assert stopped.stage is Stage.HUMAN
    assert "information from outside is needed: the limit that was agreed on this year" in stopped.route_reason
    after = world.one(world.answered(stopped, notes=("stop at 12 metres a second.",)))
    note = after.evidence[-1]
    assert (note.id, note.by, note.source, note.place) == ("E6", "person", "person", "person")
    assert world.texts.read(note.text) == "stop at 12 metres a second."
    assert after.fresh_notes == ()
    shown = world.llm.asked("move", "wind")[1].context["evidence"]
    assert [(one["id"], one["by"], one["text"]) for one in shown] == [("E6", "person", "stop at 12 metres a second.")]
    judged = world.one(after)
    assert judged.verdict.status == "PASS" and judged.stage is Stage.ADVANCE


def test_a_blocked_run_without_a_note_goes_on_only_by_a_persons_decision() -> None:
    world = World(llm=Model([], {"wind": [said("BLOCKED: the new limit")]}))
    stopped = world.run(blocked_once())
    with pytest.raises(Exception, match="add it to notes"):
        world.answered(stopped)


def test_notes_get_ids_before_the_steps_do() -> None:
    world = World(llm=Model([], GOOD_MOVES))
    after = world.one(planned(notes=("first", "second")))
    assert ids(after) == ["E1", "E2", "E3", "E8"]
    assert [one.by for one in after.evidence] == ["person", "person", "read_text", "read_text"]


def test_a_step_that_takes_too_long_is_its_own_failure_and_what_comes_later_is_dropped() -> None:
    go_on = Event()

    def wait() -> str:
        """Wait."""
        assert go_on.wait(20)
        return "at last"

    tools = reading().add(wait)
    plan = plan_of(step("slow", tool="wait"), WIND_STEP)
    world = World(
        llm=Model([], {"wind": [said(f"{WIND} [E6]")], "slow": [said("It came at last [E1].")]}),
        tools=tools,
        changes={"step_timeout": 0.5},
    )
    after = world.one(planned(plan=plan))
    go_on.set()
    assert [one.step for one in after.results] == ["slow", "wind"]
    assert after.results[0].failed == "it took more than 0.5 seconds"
    assert ids(after) == ["E6"]
    judged = world.one(after)
    assert judged.verdict.layer == "structure" and judged.verdict.scope == "local"
    assert "it took more than 0.5 seconds" in judged.verdict.reason


def test_a_model_that_cant_be_reached_stops_for_a_person_and_the_run_goes_on() -> None:
    down = World(llm=FakeLLM([LLMError("connection refused"), LLMError("connection refused")]))
    stopped = down.run(planned())
    assert stopped.stage is Stage.HUMAN and "connection refused" in stopped.route_reason
    assert (stopped.results, stopped.evidence) == ((), ())
    up = World(llm=Model([], GOOD_MOVES), texts=down.texts)
    end = up.run(up.answered(stopped))
    assert end.stage is Stage.DONE, end.route_reason


def test_a_tool_with_a_bug_stops_for_a_person() -> None:
    def broken() -> str:
        """Break."""
        raise ZeroDivisionError("a bug")

    world = World(tools=Toolbox([broken]))
    stopped = world.one(planned(plan=plan_of(step("a", tool="broken"), step("b", depends_on=("a",)))))
    assert stopped.stage is Stage.HUMAN and "a bug" in stopped.route_reason


def test_a_tools_own_error_is_evidence_that_says_so_and_another_call_may_be_made() -> None:
    def read_text(path: str) -> str:
        """Read a text."""
        if path == "gone.md":
            raise ToolError("not_found", "there is no gone.md.")
        return TEXTS[path]

    first = step("wind", WIND_STEP.goal, SAYS_WIND, tool="read_text", args={"path": "gone.md"})
    world = World(
        llm=Model([], {"wind": [call("read_text", path="hoist.md"), said(f"{WIND} [E2]")]}),
        tools=Toolbox([read_text]),
    )
    after = world.one(planned(plan=plan_of(first, step("b", depends_on=("wind",)))))
    assert [(one.id, one.empty) for one in after.evidence] == [("E1", True), ("E2", False)]
    assert after.evidence[0].digest == "(read_text failed: there is no gone.md.)"
    assert after.results[0].text == f"{WIND} [E2]"


def test_a_spent_budget_ends_the_layer_and_not_one_step() -> None:
    world = World(llm=Model([], GOOD_MOVES))
    end = world.run(planned(max_turns=1))
    assert end.stage is Stage.PARTIAL and world.stages == ["execute", "give_up"]
    assert end.spent_turns <= 1


def test_the_close_step_is_told_the_accepted_results() -> None:
    world = World(llm=Model([PLAN], GOOD_MOVES))
    end = world.run()
    assert end.stage is Stage.DONE
    (request,) = world.llm.asked("move", CLOSE_STEP.id)
    assert [one["text"] for one in request.context["results"]] == [f"{WIND} [E1]", f"{LOAD} [E6]"]
    assert [one["id"] for one in request.context["evidence"]] == ["E1", "E6"]
