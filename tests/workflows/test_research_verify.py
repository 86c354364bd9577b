"""VERIFY: three layers, the cheapest first, each ends it; what the judge sees; score, status and scope of a round."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, LLMError, Reply
from graph_agent.runtime.journal import Run
from graph_agent.workflows.research.nodes.verify import BORNE_OUT, WELL_FORMED, verify
from graph_agent.workflows.research.state import ResearchState, Stage
from tests.workflows.researching import (
    GOAL,
    LOAD,
    LOAD_STEP,
    SAYS_LOAD,
    SAYS_WIND,
    TEXTS,
    WIND,
    WIND_STEP,
    Model,
    World,
    item,
    judgement,
    plan_of,
    planned,
    research,
    result,
    said,
    step,
    verdict,
)

FIVE = tuple(f"it says thing {number}" for number in range(1, 6))
PAIR = plan_of(
    step("wind", WIND_STEP.goal, SAYS_WIND), step("end", "Write the end", kind="close", depends_on=("wind",))
)


def always(*statuses: str, why: str = "") -> Any:
    return lambda context: judgement(*statuses, why=why)


def executed(world: World, text: str = f"{WIND} [E1]", plan: Any = PAIR, **fields: Any) -> ResearchState:
    """The step "wind" has this result, and the texts are there as E1, E2 and E3."""
    pieces = tuple(
        world.evidence(number, body, source=name, step="wind", plan=1)
        for number, (name, body) in enumerate(TEXTS.items(), 1)
    )
    known = {"results": (result("wind", text, goal=WIND_STEP.goal),), "evidence": pieces}
    return planned(Stage.VERIFY, plan, **{**known, **fields})


def judged(text: str, judge: Any = None, plan: Any = PAIR, **more: Any) -> tuple[ResearchState, Model]:
    model = Model([], {}, judge) if judge else Model()
    world = World(llm=model)
    return world.one(executed(world, text, plan, **more)), model


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Yes [E1].", "the result has 9 characters: write at least 20"),
        ("The hoist stops in strong wind.", "no citation stands with"),
        (f"{WIND} (E1)", "'(E1)' is no citation"),
        ("The hoist stops: TBD [E1]. To be determined.", "stand-in"),
        ("# Winds\n\n## The hoist\n", "makes no statement"),
    ],
)
def test_a_fault_of_structure_ends_it_with_score_zero_and_asks_no_judge(text: str, why: str) -> None:
    after, model = judged(text)
    found = after.verdicts[-1]
    assert (found.layer, found.score, found.status, found.scope) == ("structure", 0.0, "FAIL", "local")
    assert found.items[0].criterion == WELL_FORMED and why in found.items[0].why
    assert after.stage is Stage.EXECUTE and model.requests == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{WIND} [E9]", "there is no evidence E9"),
        (f"{WIND} [E1, E9]", "there is no evidence E9"),
        (f"{WIND} [E2]", "does not stand in E2"),
        ("> The goods hoist is stopped when the wind exceeds 15 metres a second. [E1]", "does not stand in E1"),
        ("> the goods hoist is stopped when the wind exceeds [E1]", "does not stand in E1"),
        ("The hoist carries 301 kilograms in all [E2].", "the number 301 does not occur in E2"),
        ("The hoist carries 300 kilograms in all [E1].", "the number 300 does not occur in E1"),
        (f"{WIND} [E1]\n\n```\nstop = 15\n```", "the block 'stop = 15' does not stand in E1"),
    ],
)
def test_a_fault_of_evidence_ends_it_with_score_a_fifth_whatever_a_model_says(text: str, why: str) -> None:
    after, model = judged(text)
    found = after.verdicts[-1]
    assert (found.layer, found.score, found.status, found.scope) == ("evidence", 0.2, "FAIL", "local")
    assert found.items[0].criterion == BORNE_OUT and why in found.items[0].why
    assert after.stage is Stage.EXECUTE and model.requests == []


@pytest.mark.parametrize(
    "text",
    [
        "> The goods hoist is stopped\n> when the wind  exceeds 14\n> metres a second. [E1]",
        'It is stopped "when the wind exceeds 14 metres" and no sooner [E1].',
        "The hoist carries 300 kilograms in all [E2].",
        f"{WIND} [E1]\n\n> Nobody may ride on it. [E2]",
    ],
)
def test_white_space_is_folded_and_what_holds_goes_to_the_judge(text: str) -> None:
    after, model = judged(text)
    found = after.verdicts[-1]
    assert (found.layer, found.score, found.status) == ("goal", 1.0, "PASS")
    assert len(model.requests) == 1 and after.stage is Stage.ADVANCE


def test_the_judge_sees_the_task_the_criteria_and_the_output_and_nothing_else() -> None:
    after, model = judged(f"{WIND} [E1]")
    (request,) = model.requests
    assert dict(request.context) == {
        "task": WIND_STEP.goal,
        "criteria": [{"number": 1, "criterion": SAYS_WIND}],
        "output": f"{WIND} [E1]",
    }
    assert request.temperature == 0.0
    assert GOAL not in json.dumps(dict(request.context))
    assert after.verdicts[-1].items == (item("wind", "satisfied", SAYS_WIND),)


def criteria_plan(*done_when: str) -> Any:
    return plan_of(step("wind", WIND_STEP.goal, *done_when), PAIR.steps[1])


@pytest.mark.parametrize(
    ("statuses", "score", "status", "scope", "to"),
    [
        (("satisfied",) * 5, 1.0, "PASS", "local", Stage.ADVANCE),
        (("satisfied",) * 4 + ("insufficient_evidence",), 0.8, "PASS", "local", Stage.ADVANCE),
        (("satisfied",) * 4 + ("violated",), 0.8, "FAIL", "local", Stage.EXECUTE),
        (("satisfied",) * 3 + ("insufficient_evidence",) * 2, 0.6, "PARTIAL", "local", Stage.EXECUTE),
        (("satisfied",) * 3 + ("violated",) * 2, 0.6, "FAIL", "local", Stage.EXECUTE),
        (("satisfied",) * 2 + ("insufficient_evidence",) * 3, 0.4, "PARTIAL", "local", Stage.EXECUTE),
        (("satisfied",) * 2 + ("violated",) + ("insufficient_evidence",) * 2, 0.4, "FAIL", "global", Stage.PLAN),
        (("violated",) * 5, 0.0, "FAIL", "global", Stage.PLAN),
        (("satisfied",) * 4 + ("unknown",), 0.8, "UNKNOWN", "local", Stage.EXECUTE),
        (("satisfied",) * 4 + ("perhaps",), 0.8, "UNKNOWN", "local", Stage.EXECUTE),
    ],
)
def test_score_status_and_scope_follow_from_the_items(
    statuses: tuple[str, ...], score: float, status: str, scope: str, to: Stage
) -> None:
    after, _ = judged(f"{WIND} [E1]", always(*statuses), criteria_plan(*FIVE))
    found = after.verdicts[-1]
    assert (found.score, found.status, found.scope) == (score, status, scope)
    assert after.stage is to
    assert f"score {score:.2f}" in after.route_reason and "rounds 1/12, replans 0/3, cursor 1/2" in after.route_reason


def test_a_pass_at_four_fifths_says_in_the_answer_what_is_insufficient() -> None:
    plan = plan_of(step("wind", WIND_STEP.goal, *FIVE, tool="read_text", args={"path": "hoist.md"}), LOAD_STEP)

    def judge(context: Any) -> Any:
        count = len(context["criteria"])
        return judgement(*["satisfied"] * min(count, 4), *["insufficient_evidence"] * (count - min(count, 4)))

    moves = {"wind": [said(f"{WIND} [E1]")], "load": [said(f"{LOAD} [E6]")]}
    end = World(llm=Model([plan], moves, judge)).run()
    assert end.stage is Stage.DONE and end.answer.status == "complete"
    assert end.answer.caveats == ("the evidence is insufficient for: it says thing 5",)


def test_the_trace_line_of_a_round_says_layer_score_and_scope() -> None:
    world = World(llm=Model())
    after = world.one(executed(world, "Not cited at all, and long."))
    assert world.notes == ["round=1 | layer=structure | score=0.00 | scope=local"]
    assert after.rounds == 1 and len(after.reasons) == 1
    assert after.reasons[0].startswith("plan 1, layer 1: structure FAIL, wind violated: ")


def test_a_round_is_a_visit_and_counts_whatever_comes_of_it() -> None:
    after, _ = judged(f"{WIND} [E1]", rounds=4)
    assert after.rounds == 5 and after.verdicts[-1].round == 5


def test_insufficient_is_a_legal_result_that_skips_the_layers_of_code() -> None:
    world = World(llm=Model())
    state = executed(world, results=(result("wind", insufficient="no text says so"),))
    after = world.one(state)
    found = after.verdicts[-1]
    assert (found.layer, found.score, found.status, found.scope) == ("goal", 0.0, "PARTIAL", "local")
    assert found.items == (item("wind", "insufficient_evidence", SAYS_WIND, why="no text says so"),)
    assert world.llm.requests == [] and after.stage is Stage.EXECUTE


def test_insufficient_twice_is_a_failure_of_the_plan() -> None:
    world = World(llm=Model())
    twice = tuple(result("wind", attempt=number, insufficient="no text") for number in range(2))
    after = world.one(executed(world, results=twice))
    found = after.verdicts[-1]
    assert (found.spent, found.scope) == (("wind",), "global") and after.stage is Stage.PLAN


def test_insufficient_under_an_earlier_plan_does_not_count() -> None:
    world = World(llm=Model())
    results = (
        result("wind", plan=1, insufficient="none"),
        result("wind", plan=1, attempt=1, insufficient="none"),
        result("wind", plan=2, insufficient="none"),
    )
    after = world.one(executed(world, results=results, plan_no=2, replans=1))
    assert after.verdicts[-1].scope == "local"


@pytest.mark.parametrize(("attempt", "scope"), [(0, "local"), (1, "local"), (2, "global")])
def test_a_step_has_two_local_retries(attempt: int, scope: str) -> None:
    after, _ = judged("Not cited at all, and long.", results=(result("wind", "Not cited, and long.", attempt=attempt),))
    assert after.verdicts[-1].scope == scope
    assert after.stage is (Stage.PLAN if scope == "global" else Stage.EXECUTE)


def test_information_from_outside_is_blocked_and_goes_to_a_person() -> None:
    world = World(llm=Model())
    after = world.one(executed(world, results=(result("wind", needs="the new limit"),)))
    found = after.verdicts[-1]
    assert (found.status, found.needs, found.scope) == ("BLOCKED", "the new limit", "local")
    assert after.stage is Stage.HUMAN and "information from outside is needed: the new limit" in after.route_reason


def test_a_refutation_passes_the_step_and_fails_the_plan() -> None:
    world = World(llm=Model())
    one = result("wind", f"{WIND} [E1]", refutes="there is no hoist any more")
    after = world.one(executed(world, results=(one,)))
    found = after.verdicts[-1]
    assert (found.status, found.refuted, found.scope) == ("PASS", "there is no hoist any more", "global")
    assert after.stage is Stage.PLAN and "refuted: there is no hoist any more" in after.route_reason


def test_an_absent_result_is_a_fault_of_structure() -> None:
    world = World(llm=Model())
    after = world.one(executed(world, results=()))
    assert after.verdicts[-1].layer == "structure" and after.verdicts[-1].items[0].why == "it has no result"


TWO = plan_of(step("wind", WIND_STEP.goal, SAYS_WIND), step("load", LOAD_STEP.goal, SAYS_LOAD))


def test_each_result_goes_through_the_layers_and_the_round_is_of_the_lowest_that_failed() -> None:
    world = World(llm=Model())
    results = (result("wind", f"{WIND} [E1]"), result("load", "It carries 301 kilograms in all [E2]."))
    after = world.one(executed(world, plan=TWO, results=results))
    found = after.verdicts[-1]
    assert (found.layer, found.score) == ("evidence", 0.2)
    assert [(one.step, one.status) for one in found.items] == [("wind", "satisfied"), ("load", "violated")]
    assert len(world.llm.asked("judge")) == 1, "one failing result does not keep the other from its judge"


def test_what_was_accepted_at_this_attempt_is_not_judged_again() -> None:
    world = World(llm=Model())
    earlier = verdict(item("wind", "satisfied", SAYS_WIND), item("load", "insufficient_evidence", SAYS_LOAD))
    results = (result("wind", f"{WIND} [E1]"), result("load", "?"), result("load", f"{LOAD} [E2]", attempt=1))
    after = world.one(executed(world, plan=TWO, results=results, verdicts=(earlier,), rounds=1))
    assert [one.context["task"] for one in world.llm.requests] == [LOAD_STEP.goal]
    assert after.verdicts[-1].status == "PASS" and len(after.verdicts[-1].items) == 2


def test_seven_criteria_of_two_steps_are_judged_step_by_step_and_six_at_once_at_most() -> None:
    plan = plan_of(step("wind", WIND_STEP.goal, *FIVE), step("load", LOAD_STEP.goal, *FIVE))
    world = World(llm=Model())
    results = (result("wind", f"{WIND} [E1]"), result("load", f"{LOAD} [E2]"))
    world.one(executed(world, plan=plan, results=results))
    assert [len(one.context["criteria"]) for one in world.llm.asked("judge")] == [5, 5]


@pytest.mark.parametrize(
    "bad",
    [
        "certainly, it is fine",
        "{}",
        Reply(text="{", finish="length"),
        Reply(text="I can't help with that", finish="refused"),
        LLMError("connection refused"),
        {"concerns": "", "items": []},
        {"concerns": "", "items": [{"number": 0, "status": "satisfied"}]},
        {"concerns": "", "items": [{"number": 1, "status": "yes"}]},
    ],
)
def test_a_judge_that_is_unreadable_refuses_or_cant_be_reached_is_unknown_and_never_a_pass(bad: Any) -> None:
    after, _ = judged(f"{WIND} [E1]", lambda context: bad)
    found = after.verdicts[-1]
    assert (found.status, found.scope) == ("UNKNOWN", "local")
    assert after.stage is Stage.EXECUTE, "once it is tried again"


def test_unknown_twice_running_is_a_question_for_a_person_who_may_accept_the_results() -> None:
    world = World(llm=Model([], {}, lambda context: LLMError("connection refused")))
    first = world.one(executed(world))
    again = world.one(first)
    assert (again.results, again.stage) == (first.results, Stage.VERIFY), "nothing is done again"
    stopped = world.one(again)
    assert stopped.stage is Stage.HUMAN and stopped.rounds == 2
    approved = world.answered(stopped, approval=(stopped.results_fingerprint,))
    assert approved.stage is Stage.VERIFY
    after = world.one(approved)
    found = after.verdicts[-1]
    assert (found.status, found.by_person) == ("PASS", True) and after.stage is Stage.ADVANCE
    assert found.items[0].why == "accepted by a person"
    assert "a person accepts them" in found.reason


def test_what_was_unknown_is_judged_again_and_may_pass() -> None:
    answers = iter([LLMError("connection refused"), judgement("satisfied")])
    world = World(llm=Model([], {}, lambda context: next(answers)))
    after = world.one(world.one(world.one(executed(world))))
    assert [one.status for one in after.verdicts] == ["UNKNOWN", "PASS"] and after.stage is Stage.ADVANCE


def test_a_person_cant_accept_what_the_layers_of_code_turn_down() -> None:
    """An approval stands for the judge; quotes are looked up all the same."""
    world = World(llm=Model())
    state = executed(world, f"{WIND} [E2]")
    after = world.one(replace(state, approval=(state.results_fingerprint,)))
    assert after.verdicts[-1].layer == "evidence" and after.verdicts[-1].status == "FAIL"


def test_an_approval_of_other_results_does_not_count() -> None:
    world = World(llm=Model([], {}, always("insufficient_evidence")))
    state = executed(world)
    other = replace(state, results=(result("wind", f"{WIND} [E1]", attempt=1),))
    after = world.one(replace(state, approval=(other.results_fingerprint,)))
    assert not after.verdicts[-1].by_person and after.verdicts[-1].status == "PARTIAL"


def two_judges(first: str, second: str) -> tuple[World, ResearchState]:
    world = World(llm=Model([], {}, always(first), always(second)), changes={"judges": 2})
    return world, world.one(executed(world))


def test_two_judges_that_agree_are_one() -> None:
    world, after = two_judges("satisfied", "satisfied")
    assert after.verdicts[-1].status == "PASS" and after.stage is Stage.ADVANCE
    first, second = world.llm.asked("judge")
    assert first.instructions != second.instructions and first.context == second.context
    assert "judgement" not in json.dumps(dict(second.context)), "the second has not seen the first's word"


@pytest.mark.parametrize(("first", "second"), [("satisfied", "violated"), ("insufficient_evidence", "satisfied")])
def test_judges_that_disagree_are_a_question_for_a_person(first: str, second: str) -> None:
    _world, after = two_judges(first, second)
    found = after.verdicts[-1]
    assert found.disputed == (SAYS_WIND,) and found.status != "PASS"
    assert after.stage is Stage.HUMAN
    assert SAYS_WIND in after.route_reason


def test_a_person_accepts_what_judges_disagree_on_and_the_answer_says_so() -> None:
    plan = plan_of(
        step("wind", WIND_STEP.goal, SAYS_WIND, tool="read_text", args={"path": "hoist.md"}),
        step("load", LOAD_STEP.goal, SAYS_LOAD, tool="read_text", args={"path": "loads.md"}, depends_on=("wind",)),
    )

    def second(context: Any) -> Any:
        return judgement("insufficient_evidence" if context["task"] == WIND_STEP.goal else "satisfied")

    moves = {"wind": [said(f"{WIND} [E1]")], "load": [said(f"{LOAD} [E6]")]}
    world = World(llm=Model([plan], moves, judge2=second), changes={"judges": 2})
    stopped = world.run()
    assert stopped.stage is Stage.HUMAN
    end = world.run(world.answered(stopped, approval=(stopped.results_fingerprint,)))
    assert end.stage is Stage.DONE, end.route_reason
    assert end.answer.caveats == (f"a person, not a judge, accepted: {SAYS_WIND}",)


def test_a_comparison_is_judged_in_both_orders_and_what_hangs_on_the_order_is_not_decided() -> None:
    compares = "it compares the hoist with the hut"
    plan = criteria_plan(compares, SAYS_WIND)
    text = f"{WIND} [E1]\n\n> The upper hut has twelve beds and a stove. [E3]"

    def judge(context: Any) -> Any:
        hoist_first = context["output"].startswith("> The goods")
        return judgement(*["satisfied" if hoist_first else "insufficient_evidence"] * len(context["criteria"]))

    after, model = judged(text, judge, plan)
    _first, second = model.asked("judge")
    assert [one["criterion"] for one in second.context["criteria"]] == [compares]
    assert second.context["output"].startswith("> The upper hut")
    assert [one.status for one in after.verdicts[-1].items] == ["insufficient_evidence", "satisfied"]
    assert "in one order" in after.verdicts[-1].items[0].why


def on_disk(run: Run[Any], world: World) -> Context:
    return replace(world.ctx, keep=run.keep, read=run.read)


def test_quotes_are_read_back_from_the_blob_and_one_that_was_altered_bears_nothing_out(tmp_path: Path) -> None:
    world = World(llm=Model())
    with Run.create(tmp_path / "run", world.graph, research()) as run:
        ctx = on_disk(run, world)
        piece = replace(world.evidence(1, TEXTS["hoist.md"]), text=run.keep(TEXTS["hoist.md"]), digest="")
        state = executed(world, evidence=(piece,))
        assert verify(state, ctx)["verdicts"][0].status == "PASS"
        (blob,) = (one for one in (tmp_path / "run" / "blobs").rglob("*") if one.is_file())
        blob.chmod(0o644)
        blob.write_text(TEXTS["hoist.md"].replace("14", "15"), encoding="utf-8")
        (found,) = verify(state, ctx)["verdicts"]
        assert (found.layer, found.score) == ("evidence", 0.2)
        assert "there is no evidence E1" in found.reason


def test_evidence_that_cant_be_read_back_is_noted() -> None:
    world = World(llm=Model())
    gone = replace(world.evidence(1, TEXTS["hoist.md"]), text="0" * 64)
    after = world.one(executed(world, evidence=(gone,)))
    assert after.verdicts[-1].layer == "evidence"
    assert world.notes[0].startswith("E1 can't be read back: ")


def test_a_quote_past_the_digest_is_found_in_the_whole_text() -> None:
    world = World(llm=Model())
    long = "word " * 500 + "The hoist is stopped at 14 metres a second."
    piece = world.evidence(1, long)
    after = world.one(executed(world, "> The hoist is stopped at 14 metres a second. [E1]", evidence=(piece,)))
    assert after.verdicts[-1].status == "PASS"


def test_what_the_judge_costs_is_not_the_agents_spending() -> None:
    after, model = judged(f"{WIND} [E1]", max_turns=5, spent_turns=5)
    assert len(model.requests) == 1 and after.spent_turns == 5 and after.verdicts[-1].status == "PASS"


def test_a_retry_that_meets_its_criteria_passes_the_round() -> None:
    statuses = iter(["violated", "satisfied", "satisfied"])
    plan = plan_of(
        step("wind", WIND_STEP.goal, SAYS_WIND, "it names the hoist", tool="read_text", args={"path": "hoist.md"}),
        step("end", "Write the end", kind="close", depends_on=("wind",)),
    )

    def judge(context: Any) -> Any:
        return judgement(next(statuses), *["satisfied"] * (len(context["criteria"]) - 1))

    moves = {
        "wind": [said("It stops early, in wind [E1]."), said(f"{WIND} [E6]")],
        "end": [said(f"{WIND} [E6]")],
    }
    world = World(llm=Model([plan], moves, judge))
    end = world.run()
    assert end.stage is Stage.DONE and world.stages.count("verify") == 3
    assert [one.status for one in end.verdicts] == ["FAIL", "PASS", "PASS"]
