"""A scripted model says what the script says, in its order, and hands the rest on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graph_agent import FakeLLM, Request, ask
from graph_agent.evals.script import ScriptedLLM, ScriptError, read_script
from graph_agent.llm.moves import Delivery, Move
from graph_agent.runtime.codec import json_schema
from graph_agent.verify.judge import Judgement
from graph_agent.workflows.repair.state import Plan as RepairPlan
from graph_agent.workflows.repair.state import Repair, Review
from graph_agent.workflows.research.state import Plan

BEHIND = "the model behind"


def said(llm: ScriptedLLM, into: type[Any], **context: Any) -> str:
    return str(llm.complete(Request(instructions="x", context=context, schema=json_schema(into))).text)


def test_each_form_of_answer_has_its_own_list_and_what_is_not_said_goes_behind() -> None:
    llm = ScriptedLLM(
        {"plan": ["p1", "offline", {"steps": []}], "repair": ["r"], "review": ["v"], "judge": ["j"]},
        FakeLLM(lambda _: BEHIND),
    )
    assert [said(llm, Plan), said(llm, RepairPlan), said(llm, Plan)] == ["p1", BEHIND, '{"steps":[]}']
    assert [said(llm, Repair), said(llm, Review), said(llm, Judgement)] == ["r", "v", "j"]
    assert {said(llm, into) for into in (Plan, Repair, Review, Judgement)} == {BEHIND}


def test_moves_are_told_apart_by_the_step_that_asks() -> None:
    llm = ScriptedLLM({"move": {"s1": ["a", "b"], "s2": ["c"]}}, FakeLLM(lambda _: BEHIND))
    order = [said(llm, Move, step={"id": name}) for name in ("s2", "s1", "s3", "s1", "s2")]
    assert order == ["c", "a", BEHIND, "b", BEHIND]


def test_an_answer_in_a_script_is_one_that_can_be_read() -> None:
    llm = ScriptedLLM({"move": {"s1": [{"result": {"text": "It is so [E1]."}}]}}, FakeLLM([]))
    moved = ask(llm, Request(instructions="x", context={"step": {"id": "s1"}}), Move)
    assert moved == Move(result=Delivery(text="It is so [E1]."))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([], "is no object"),
        ({"plans": []}, "did you mean 'plan'"),
        ({"move": {"s1": {}}}, "is no list"),
        (None, "read"),
    ],
    ids=str,
)
def test_a_script_that_is_none_is_refused(tmp_path: Path, script: Any, why: str) -> None:
    path = tmp_path / "script.json"
    path.write_text("{" if script is None else json.dumps(script), encoding="utf-8")
    with pytest.raises(ScriptError, match=why):
        read_script(path)
