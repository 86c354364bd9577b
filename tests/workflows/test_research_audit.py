"""A research verified once more: its citations by kept texts and documents, its status by its verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent.verify.report import Verdict as Said
from graph_agent.workflows.research.audit import (
    answer_problems,
    cited,
    claimed,
    document_problems,
    status_problems,
)
from graph_agent.workflows.research.state import (
    Answer,
    Evidence,
    Item,
    Plan,
    ResearchState,
    Result,
    Source,
    Stage,
    Step,
    Verdict,
)

TEXT = 'The mast is "25 metres" high [E1].\n\nIt was built in 1998 [E2].'
KEPT = {"E1": "Here the mast stands 25 metres tall.", "E2": "Built in 1998 by a crew of six."}
STEPS = (Step(id="s1", goal="how high", done_when=("it is said",), kind="work"),)
ANSWER = Answer(
    status="complete", text=TEXT, sources=(Source(id="E1", place="a.md:1-2"), Source(id="E2", place="b.md:3-3"))
)


def evidence(name: str, source: str, span: str) -> Evidence:
    return Evidence(id=name, by="read_document", text="0" * 64, digest="", source=source, span=span, version="v")


def verdict(*statuses: Any, **more: Any) -> Verdict:
    items = tuple(Item(step="s1", attempt=0, criterion=f"c{n}", status=one) for n, one in enumerate(statuses))
    return Verdict(**{"round": 1, "plan": 1, "cursor": 0, "layer": "goal", "items": items, **more})


DONE = ResearchState(
    task_id="r", goal="How high is the mast?", stage=Stage.DONE, plan=Plan(steps=STEPS), plan_no=1, rounds=1,
    results=(Result(plan=1, step="s1", attempt=0, goal="how high", text=TEXT),),
    evidence=(evidence("E1", "a.md", "1-2"), evidence("E2", "b.md", "3-3"), evidence("E3", "c.md", "1-1")),
    verdicts=(verdict("satisfied"),), answer=ANSWER,
)  # fmt: skip


def test_an_answer_that_holds_has_no_problem_of_any_kind() -> None:
    assert list(answer_problems(ANSWER, KEPT)) == []
    assert list(document_problems(ANSWER, KEPT)) == []
    assert list(status_problems(DONE)) == []
    assert [one.id for one in cited(DONE)] == ["E1", "E2"]


@pytest.mark.parametrize(
    ("kept", "problem"),
    [
        ({**KEPT, "E1": "The mast stands 24 metres tall."}, "the quote '25 metres' does not stand in E1"),
        ({**KEPT, "E2": "Built in 1997."}, "the number 1998 does not occur in E2"),
        ({"E1": KEPT["E1"]}, "there is no evidence E2"),
    ],
)
def test_quotes_and_numbers_are_looked_up_again(kept: dict[str, str], problem: str) -> None:
    assert any(problem in one for one in answer_problems(ANSWER, kept))


def test_a_statement_without_a_citation_is_a_problem() -> None:
    bare = replace(ANSWER, text="The mast is high.\n\nIt was built in 1998 [E2].")
    assert any("no citation stands with 'The mast is high.'" in one for one in answer_problems(bare, KEPT))


def test_of_what_is_lost_nothing_is_told_and_the_rest_is_still_looked_at() -> None:
    assert list(answer_problems(ANSWER, {"E2": KEPT["E2"]}, {"E1"})) == []
    assert len(list(answer_problems(ANSWER, {"E2": "Built in 1997."}, {"E1"}))) == 1


def test_documents_are_only_held_against_statements_whose_every_source_was_read() -> None:
    both = replace(ANSWER, text="It is 25 metres high since 1998 [E1, E2].")
    assert list(document_problems(both, {"E1": "It is 20 metres high."})) == []
    (found, *_) = document_problems(ANSWER, {"E1": "The mast was taken down."})
    assert found.startswith("in the document itself: the quote '25 metres' does not stand")


def test_a_partial_answer_claims_no_pass_and_a_run_without_one_nothing() -> None:
    partial = replace(DONE, stage=Stage.PARTIAL, answer=replace(ANSWER, status="partial", why="the rounds are spent"))
    assert (claimed(DONE), claimed(partial)) == (Said.PASS, Said.FAIL)
    assert claimed(replace(DONE, stage=Stage.FAILED, answer=None)) is Said.UNKNOWN
    assert list(status_problems(partial)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"verdicts": (verdict("violated", "satisfied"),)},
            "say so: 0 of 1 layers of plan 1 passed",
        ),
        ({"verdicts": ()}, "0 of 1 layers"),
        ({"rounds": 2}, "the verdicts do not say so"),
        ({"answer": replace(ANSWER, status="partial")}, "the run ended as answered, and its answer is partial"),
        ({"answer": replace(ANSWER, text="", sources=())}, "says nothing"),
    ],
)
def test_only_a_run_whose_every_layer_passed_may_call_its_answer_complete(changes: Any, problem: str) -> None:
    assert any(problem in one for one in status_problems(replace(DONE, **changes)))


def test_a_statement_that_no_accepted_result_says_is_a_problem() -> None:
    more = replace(ANSWER, text=f"{TEXT}\n\nNobody may climb it [E2].")
    assert list(status_problems(replace(DONE, answer=more))) == ["no accepted result says 'Nobody may climb it.'"]


def test_the_listed_sources_are_those_that_are_cited_and_from_where_their_evidence_is() -> None:
    moved = replace(ANSWER, sources=(Source(id="E1", place="x.md:1-2"), Source(id="E3", place="c.md:1-1")))
    found = list(status_problems(replace(DONE, answer=moved)))
    assert [one.split(" is listed")[0] for one in found] == ["the source E1", "the source E2", "the source E3"]
