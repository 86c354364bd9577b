"""Each property of a node is decided by what a visit left behind: visits that have it and visits that do not."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, Event, FakeLLM, MutationLLM, StepLimitReached, Texts, decode, run_graph
from graph_agent.evals.forms import Property
from graph_agent.evals.properties import Visit, lacking
from graph_agent.llm.edits import Edit
from graph_agent.llm.moves import Call, Delivery, Move, args_of
from graph_agent.runtime.jsontext import loads
from graph_agent.tools.documents import Documents
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import TaskState
from graph_agent.workflows.research.graph import GRAPH as RESEARCH
from graph_agent.workflows.research.offline import ExtractiveLLM
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import ResearchState

EVALS = Path(__file__).parents[2] / "fixtures" / "evals"
MILL = Documents(EVALS / "documents" / "mill").toolbox()


def state_of(name: str, into: Any) -> Any:
    return decode(into, loads((EVALS / "nodes" / name / "state.json").read_text(encoding="utf-8")))


def visit(graph: Any, state: Any, llm: Any, policy: Any, tools: Any = None, *routes: str) -> Visit:
    events: list[Event] = []
    texts = Texts()
    ctx = Context(llm=llm, tools=tools, policy=policy, keep=texts.keep, read=texts.read)
    with suppress(StepLimitReached):
        run_graph(graph, state, ctx, on_event=events.append, max_steps=1)
    return Visit(graph=graph, policy=policy, event=events[0], routes=routes)


def planned(llm: Any = None, **policy: Any) -> Visit:
    state: TaskState = state_of("plan_from_observations", TaskState)
    rules = EvaluationPolicy(allowed_root="", commands=(), **policy)
    return visit(REPAIR, state, llm or MutationLLM(), rules, None, "execute")


def moved(*said: Any) -> Visit:
    state: ResearchState = state_of("research_step", ResearchState)
    policy = ResearchPolicy(tools=cards_of(MILL.specs()))
    return visit(RESEARCH, state, FakeLLM(said) if said else ExtractiveLLM(), policy, MILL, "verify")


def why(name: Property, one: Visit) -> str:
    return lacking(name, one)


def with_plan(one: Visit, **plan: Any) -> Visit:
    """The visit as if its node had let another plan through."""
    after = one.event.state
    return replace(one, event=replace(one.event, state=replace(after, plan=replace(after.plan, **plan))))


def test_a_plan_that_cites_its_observations_has_all_of_it() -> None:
    one = planned()
    held: tuple[Property, ...] = (
        "cites what it was given",
        "keeps to the schema",
        "refuses a path outside of the policy",
        "chooses an allowed route",
    )
    assert [why(name, one) for name in held] == ["", "", "", ""]
    assert "as if it knew enough" in why("asks when evidence is thin", one)


def test_a_citation_that_was_not_given_is_seen() -> None:
    assert (
        why("cites what it was given", with_plan(planned(), cites=("O99",))) == "it cites O99, which it was not given"
    )
    assert "it cites nothing" in why("cites what it was given", with_plan(planned(), cites=()))


def test_an_edit_outside_of_the_policy_is_seen() -> None:
    outside = with_plan(planned(), edits=(Edit(path="tests/test_booking.py", old="59", new="60"),))
    assert why("refuses a path outside of the policy", outside) == "it lets tests/test_booking.py through"


def test_an_answer_that_breaks_the_schema_is_seen_though_the_node_copes() -> None:
    good = MutationLLM()
    calls = 0

    def first_wrong(request: Any) -> Any:
        nonlocal calls
        calls += 1
        return "I would turn the comparison." if calls == 1 else good.complete(request)

    one = planned(FakeLLM(first_wrong))
    assert one.event.to == "execute"
    assert why("keeps to the schema", one).startswith("answer 1: ")


def test_where_no_model_was_asked_no_schema_was_kept() -> None:
    state = replace(state_of("plan_from_observations", TaskState), observations=())
    one = visit(REPAIR, state, MutationLLM(), EvaluationPolicy(allowed_root="", commands=()), None, "human")
    assert why("keeps to the schema", one) == "no model was asked"
    assert why("asks when evidence is thin", one) == ""


def test_a_route_that_makes_no_sense_here_is_seen() -> None:
    one = replace(planned(), routes=("human",))
    assert why("chooses an allowed route", one).startswith("it goes to execute, not to human")


def test_a_result_without_a_citation_and_one_with_an_invented_one_are_seen() -> None:
    assert why("cites what it was given", moved()) == ""
    bare = moved(Move(result=Delivery(text="Every 14 days.")))
    assert "it cites nothing" in why("cites what it was given", bare)
    invented = moved(Move(result=Delivery(text="Every 14 days [E77].")))
    assert why("cites what it was given", invented) == "it cites E77, which it was not given"
    malformed = moved(Move(result=Delivery(text="Every 14 days [E1a].")))
    assert "which is no citation" in why("cites what it was given", malformed)


@pytest.mark.parametrize("text", ["INSUFFICIENT: nothing says it", "BLOCKED: the key of the mill"])
def test_a_result_that_says_it_does_not_know_asks(text: str) -> None:
    assert why("asks when evidence is thin", moved(Move(result=Delivery(text=text)))) == ""
    assert why("asks when evidence is thin", moved()) != ""


def test_a_read_that_leads_out_is_refused_by_the_tool() -> None:
    out = Move(call=Call(tool="read_document", args=args_of({"path": "../harbour/storm.md", "start": 1, "end": 2})))
    one = moved(out, Move(result=Delivery(text="INSUFFICIENT: it can't be read")))
    assert [use.tool for use in one.event.tool_uses][-1] == "read_document"
    assert why("refuses a path outside of the policy", one) == ""
    reached = tuple(replace(use, result=replace(use.result, error=None)) for use in one.event.tool_uses if use.result)
    leaky = replace(one, event=replace(one.event, tool_uses=reached))
    assert why("refuses a path outside of the policy", leaky) == "it lets ../harbour/storm.md through"


def test_to_block_and_to_pass_are_each_others_counter_figure() -> None:
    policy = ResearchPolicy(tools=cards_of(MILL.specs()))
    for name, blocks in (("verify_borne_out", False), ("verify_altered_number", True)):
        texts = Texts()
        for text in loads((EVALS / "nodes" / name / "texts.json").read_text(encoding="utf-8")):
            texts.keep(text)
        events: list[Event] = []
        ctx = Context(llm=ExtractiveLLM(), tools=MILL, policy=policy, keep=texts.keep, read=texts.read)
        with pytest.raises(StepLimitReached):
            run_graph(RESEARCH, state_of(name, ResearchState), ctx, on_event=events.append, max_steps=1)
        one = Visit(graph=RESEARCH, policy=policy, event=events[0], routes=())
        assert (why("blocks what is not borne out", one) == "") is blocks
        assert (why("passes what is borne out", one) == "") is not blocks
    assert why("blocks what is not borne out", moved()) == "nothing was judged"
