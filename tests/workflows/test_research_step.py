"""One step: what its prompt holds, which calls are made, what becomes of their results, and what it may deliver."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import Reply, Request, Toolbox
from graph_agent.llm.moves import Delivery, Move
from graph_agent.tools.sourced import Sourced
from graph_agent.workflows.research.nodes.step import DELIVER, Work, evidence_of, read_result, shortened
from graph_agent.workflows.research.state import Result
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
    call,
    item,
    plan_of,
    planned,
    reading,
    result,
    said,
    step,
    verdict,
)

ALONE = plan_of(
    step("wind", WIND_STEP.goal, SAYS_WIND), step("rest", "Find the rest", "it says the rest", depends_on=("wind",))
)


def carried(*moves: Any, tools: Any = None, plan: Any = ALONE, **changes: Any) -> tuple[World, Any]:
    """A world and the state after one step, "wind", was carried out."""
    world = World(llm=Model([], {"wind": moves}), tools=tools or reading(), changes=changes)
    return world, world.one(planned(plan=plan))


def test_a_call_and_then_a_result() -> None:
    world, after = carried(call("read_text", path="hoist.md"), said(f"{WIND} [E1]", claim="It gives the speed."))
    assert after.results == (
        Result(
            plan=1,
            step="wind",
            attempt=0,
            goal=WIND_STEP.goal,
            text=f"{WIND} [E1]",
            gist=f"{TEXTS['hoist.md']} [E1]",
            claim="It gives the speed.",
        ),
    )
    (piece,) = after.evidence
    assert (piece.id, piece.by, piece.source, piece.span, piece.step) == ("E1", "read_text", "hoist.md", "1-1", "wind")
    assert world.texts.read(piece.text) == TEXTS["hoist.md"]
    assert piece.place == "hoist.md:1-1"


def test_the_prompt_has_the_goal_first_and_last_and_no_claim() -> None:
    world, _ = carried(call("read_text", path="hoist.md"), said(f"{WIND} [E1]"))
    first, second = world.llm.asked("move")
    for request in (first, second):
        names = list(request.context)
        assert (names[0], names[-1]) == ("goal", "the_goal_again")
        assert request.context["goal"] == request.context["the_goal_again"] == GOAL
        assert request.temperature == 0.0
    assert first.context["evidence"] == []
    assert second.context["evidence"] == [
        {
            "id": "E1",
            "by": "read_text",
            "source": "hoist.md:1-1",
            "text": TEXTS["hoist.md"],
            "arguments": {"path": "hoist.md"},
        }
    ]
    assert (first.context["calls_left"], second.context["calls_left"]) == (5, 4)
    assert first.context["step"]["done_when"] == [SAYS_WIND]


def test_the_tool_that_the_plan_names_is_called_before_the_model_is_asked() -> None:
    world, after = carried(said(f"{WIND} [E1]"), plan=plan_of(WIND_STEP, replace(LOAD_STEP, depends_on=("wind",))))
    (request,) = world.llm.requests
    assert [one["id"] for one in request.context["evidence"]] == ["E1"]
    assert after.evidence[0].digest == TEXTS["hoist.md"]


def test_after_five_calls_a_step_delivers_with_what_it_has() -> None:
    calls = [call("read_text", path=path) for path in ("hoist.md", "loads.md", "huts.md", "hoist.md", "loads.md")]
    world, after = carried(*calls, said(f"{WIND} [E1]"))
    assert [one.id for one in after.evidence] == ["E1", "E2", "E3", "E4", "E5"]
    last = world.llm.requests[-1].context
    assert (last["now"], last["calls_left"], last["tools"]) == (DELIVER, 0, [])
    assert "now" not in world.llm.requests[-2].context
    assert after.results[0].text == f"{WIND} [E1]"


def test_a_sixth_call_goes_back_once_and_is_never_made() -> None:
    calls = [call("find_texts", word="hoist")] * 6
    world, after = carried(*calls, said(f"{WIND} [E1]"))
    assert len(after.evidence) == 5 and after.results[0].text == f"{WIND} [E1]"
    assert world.llm.requests[-1].context["what_was_wrong"] == DELIVER

    _, after = carried(*calls, call("find_texts", word="hut"))
    assert len(after.evidence) == 5
    assert after.results[0].failed == f"the answer is of no use: {DELIVER}"


BAD = call("read_text", page="hoist.md")


def test_bad_arguments_go_back_once_with_the_validators_words() -> None:
    world, after = carried(BAD, call("read_text", path="hoist.md"), said(f"{WIND} [E1]"))
    second, third = world.llm.requests[1:]
    assert "read_text has no argument 'page'" in second.context["your_last_call_was_wrong"]
    assert "your_last_call_was_wrong" not in third.context
    assert [one.id for one in after.evidence] == ["E1"], "a call that was not made is no evidence"


def test_bad_arguments_a_second_time_fail_the_step_with_those_words() -> None:
    world, after = carried(BAD, call("read_text", path=("a", "b")))
    assert after.results[0].failed.startswith("twice a call that can't be made: read_text cannot take path")
    assert len(world.llm.requests) == 2
    judged = world.one(after)
    assert judged.verdict.layer == "structure" and "read_text cannot take path" in judged.verdict.reason


def test_the_plans_own_bad_arguments_count_too() -> None:
    bad = replace(WIND_STEP, args=())
    world, after = carried(call("read_text", path="hoist.md"), said(f"{WIND} [E1]"), plan=plan_of(bad, ALONE.steps[1]))
    assert "needs path" in world.llm.requests[0].context["your_last_call_was_wrong"]
    assert after.results[0].text
    _, after = carried(BAD, plan=plan_of(bad, ALONE.steps[1]))
    assert "read_text has no argument 'page'" in after.results[0].failed


def test_an_unknown_tool_goes_back_once_with_the_nearest_name() -> None:
    world, after = carried(call("read_txt", path="hoist.md"), said("INSUFFICIENT: nothing there"))
    wrong = world.llm.requests[1].context["your_last_call_was_wrong"]
    assert "'read_txt' is no tool of this step" in wrong and "read_text" in wrong
    assert after.results[0].insufficient == "nothing there"


def test_a_step_without_any_tools_is_told_so() -> None:
    world, after = carried(call("read_text", path="x"), said("INSUFFICIENT: no tools"), tools=Toolbox())
    assert world.llm.requests[1].context["your_last_call_was_wrong"].endswith("there are none")
    assert world.llm.requests[0].context["tools"] == [] and after.results[0].insufficient


@pytest.mark.parametrize("bad", ["{}", "prose", Move(), Reply(text='{"call": 1}')])
def test_an_answer_that_is_neither_call_nor_result_goes_back_once_and_then_fails_the_step(bad: Any) -> None:
    world, after = carried(bad, said("INSUFFICIENT: nothing"))
    assert "what_was_wrong" in world.llm.requests[1].context
    assert after.results[0].insufficient == "nothing"
    world, after = carried(bad, bad)
    assert after.results[0].failed.startswith("the answer is of no use: ")


@pytest.mark.parametrize("reply", [Reply(text="{", finish="length"), Reply(text="no", finish="refused")])
def test_a_cut_or_refused_answer_is_the_steps_failure_and_keeps_its_evidence(reply: Reply) -> None:
    world, after = carried(call("read_text", path="hoist.md"), reply)
    assert after.results[0].failed.startswith("the answer is of no use: ")
    assert [one.id for one in after.evidence] == ["E1"]
    assert world.one(after).verdict.scope == "local"


def long_tool(length: int) -> Toolbox:
    def read_long() -> Sourced:
        """Read a long text."""
        return Sourced(
            text="x" * length, source="long.md", span="3-9", heading="Winds", summary="It is long.", caveat="It is old."
        )

    return Toolbox([read_long])


@pytest.mark.parametrize("length", [399, 400, 401, 800, 801, 5_000])
def test_a_digest_has_400_characters_and_a_prompt_800_with_a_mark_where_it_was_cut(length: int) -> None:
    world, after = carried(call("read_long"), said("INSUFFICIENT: it is long"), tools=long_tool(length))
    (piece,) = after.evidence
    assert len(piece.digest) == min(length, 400) and piece.digest.endswith("[... cut]") == (length > 400)
    told = world.llm.requests[-1].context["evidence"][0]["text"]
    assert len(told) == min(length, 800) and told.endswith("[... cut]") == (length > 800)
    assert world.texts.read(piece.text) == "x" * length, "all of it is kept"


def test_what_a_tool_says_of_its_text_goes_along() -> None:
    world, after = carried(call("read_long"), said("INSUFFICIENT: it is long"), tools=long_tool(30))
    (piece,) = after.evidence
    assert (piece.place, piece.heading, piece.summary, piece.caveat) == (
        "long.md:3-9",
        "Winds",
        "It is long.",
        "It is old.",
    )
    shown = world.llm.requests[-1].context["evidence"][0]
    assert (shown["source"], shown["heading"], shown["summary"], shown["caveat"]) == (
        "long.md:3-9",
        "Winds",
        "It is long.",
        "It is old.",
    )


@given(st.text(max_size=60), st.integers(12, 40))
def test_a_text_is_cut_to_its_length_and_never_unmarked(text: str, most: int) -> None:
    cut = shortened(text, most)
    assert len(cut) <= most
    assert cut == text or (
        len(text) > most and cut.endswith("[... cut]") and text.startswith(cut[: -len(" [... cut]")])
    )


@pytest.mark.parametrize("nothing", ["", " \n", None, [], {}])
def test_an_empty_result_becomes_a_placeholder_that_says_so(nothing: Any) -> None:
    def look() -> Any:
        """Look."""
        return nothing

    world, after = carried(call("look"), said("INSUFFICIENT: nothing was found"), tools=Toolbox([look]))
    (piece,) = after.evidence
    assert (piece.id, piece.empty, piece.digest) == ("E1", True, "(look found nothing)")
    assert world.llm.requests[-1].context["evidence"][0]["text"] == "(look found nothing)"


def test_a_placeholder_is_no_evidence_that_a_result_could_rest_on() -> None:
    world, after = carried(call("find_texts", word="zebra"), said('There is a "zebra" on the hoist [E1].'))
    judged = world.one(after)
    assert judged.verdict.layer == "evidence" and "there is no evidence E1" in judged.verdict.reason


def test_data_of_a_tool_is_a_text_that_can_be_quoted() -> None:
    def beds() -> dict[str, Any]:
        """Count the beds."""
        return {"hut": "upper", "beds": 12}

    world, after = carried(call("beds"), said("The hut has 12 beds, as counted [E1]."), tools=Toolbox([beds]))
    assert json.loads(world.texts.read(after.evidence[0].text)) == {"hut": "upper", "beds": 12}
    assert world.one(after).verdict.layer == "goal"


def delivered(text: str, claim: str = "c") -> Result:
    work = Work(planned(plan=ALONE), World().ctx, ALONE.steps[0], 0, 1, True)
    return read_result(work, Delivery(text=text, claim=claim))


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("INSUFFICIENT: no text says so", "insufficient", "no text says so"),
        ("  **INSUFFICIENT:** no text", "insufficient", "no text"),
        ("- INSUFFICIENT\uff1a\u6ca1\u6709", "insufficient", "\u6ca1\u6709"),
        ("INSUFFICIENT:", "insufficient", "no reason given"),
        ("BLOCKED: the price of this year", "needs", "the price of this year"),
        ("I looked.\nBLOCKED: the price", "needs", "the price"),
        ("INSUFFICIENT: nothing\nBLOCKED: the price", "needs", "the price"),
    ],
)
def test_insufficient_and_blocked_are_legal_results(text: str, field: str, why: str) -> None:
    made = delivered(text)
    assert getattr(made, field) == why and made.text == "" and made.claim == "c"


def test_refutes_stands_apart_from_the_statements() -> None:
    made = delivered(f"{WIND} [E1]\n\nREFUTES: there is no hoist any more")
    assert (made.text, made.refutes) == (f"{WIND} [E1]", "there is no hoist any more")
    both = delivered("INSUFFICIENT: nothing\nREFUTES: there is no hoist")
    assert (both.insufficient, both.refutes) == ("nothing", "there is no hoist")


@pytest.mark.parametrize(
    "text",
    [
        "The data are insufficient: they end in May [E1].",
        "The road is BLOCKED: snow lies on it [E1].",
        "> BLOCKED: the job waits for another [E1]",
        "> INSUFFICIENT: storage is used up. [E1]",
        '"REFUTES: it" is what it says [E1].',
    ],
)
def test_the_words_count_only_where_a_line_of_the_step_itself_begins_with_them(text: str) -> None:
    """A source may have lines of its own that begin so, and may be quoted."""
    made = delivered(text)
    assert made.text == text
    assert not (made.insufficient or made.needs or made.refutes)


def test_a_claim_is_kept_apart_and_judged_by_nobody() -> None:
    world, after = carried(
        call("read_text", path="hoist.md"), said(f"{WIND} [E1]", claim="It is excellent, and meets all.")
    )
    world.one(after)
    assert "excellent" not in json.dumps([dict(one.context) for one in world.llm.asked("judge")])


def before_retry(*pieces: Any, text: str = f"{WIND} [E1]", **fields: Any) -> Any:
    found = verdict(item("wind", "violated", SAYS_WIND, why="no number"))
    known = {"results": (result("wind", text),), "verdicts": (found,), "rounds": 1, "evidence": pieces}
    return planned(plan=ALONE, **{**known, **fields})


def asked_once(world: World, state: Any) -> Request:
    world.one(state)
    return world.llm.asked("move")[0]


def test_a_retry_may_cite_what_its_former_attempt_found() -> None:
    world = World(llm=Model([], {"wind": [said("INSUFFICIENT: no")]}))
    mine = world.evidence(1, TEXTS["hoist.md"], plan=1, step="wind")
    others = world.evidence(2, TEXTS["loads.md"], plan=1, step="other")
    empty = world.evidence(3, "(nothing)", plan=1, step="wind", empty=True)
    request = asked_once(world, before_retry(mine, others, empty))
    assert [one["id"] for one in request.context["evidence"]] == ["E1"]
    assert request.context["evidence"][0]["text"] == TEXTS["hoist.md"]


def test_a_prompt_has_the_latest_twelve_pieces_of_earlier_evidence_at_most() -> None:
    world = World(llm=Model([], {"wind": [said("INSUFFICIENT: no")]}))
    pieces = [world.evidence(number, f"text {number}", plan=1, step="wind") for number in range(1, 31)]
    request = asked_once(world, before_retry(*pieces))
    assert [one["id"] for one in request.context["evidence"]] == [f"E{number}" for number in range(19, 31)]


def test_evidence_that_cant_be_read_back_is_shown_by_its_digest() -> None:
    world = World(llm=Model([], {"wind": [said("INSUFFICIENT: no")]}))
    gone = replace(world.evidence(1, "whole", plan=1, step="wind"), text="0" * 64, digest="the beginning")
    request = asked_once(world, before_retry(gone))
    assert request.context["evidence"][0]["text"] == "the beginning"


def test_the_reasons_of_another_step_are_not_told() -> None:
    two = plan_of(step("wind", WIND_STEP.goal, SAYS_WIND), step("load", LOAD_STEP.goal, SAYS_LOAD))
    found = verdict(
        item("wind", "violated", SAYS_WIND, why="no number"),
        item("load", "insufficient_evidence", SAYS_LOAD, why="none"),
    )
    world = World(llm=Model([], {"wind": [said("INSUFFICIENT: no")], "load": [said("INSUFFICIENT: no")]}))
    results = (result("wind", f"{WIND} [E1]"), result("load", f"{LOAD} [E6]"))
    world.one(planned(plan=two, results=results, verdicts=(found,), rounds=1))
    told = {one.context["step"]["id"]: one.context["what_was_wrong_last_time"] for one in world.llm.requests}
    assert told == {
        "wind": [f"violated: {SAYS_WIND} (no number)"],
        "load": [f"insufficient_evidence: {SAYS_LOAD} (none)"],
    }


def test_a_persons_note_has_the_form_of_all_evidence() -> None:
    world = World()
    note = evidence_of(world.ctx, "E7", "person", Sourced(text="Ask the keeper. " * 40, source="person"))
    assert (note.id, note.by, note.place, note.empty, len(note.digest)) == ("E7", "person", "person", False, 400)
