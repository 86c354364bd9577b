"""The offline model on documents with known facts: what it finds, and that it seldom quotes beside the point."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from graph_agent import Context, ExtractiveLLM, Request, run_graph
from graph_agent.llm.offline import OfflineError
from graph_agent.tools.documents import Documents
from graph_agent.verify.judge import Item
from graph_agent.verify.remote import JudgedBy
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.offline import questions_of
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import ResearchState, Stage
from tests.workflows.research_facts import FACTS, FOLDER, UNANSWERED, Fact


@cache
def documents() -> Documents:
    return Documents(FOLDER)


def asked(question: str, documents: Documents) -> ResearchState:
    tools = documents.toolbox()
    ctx = Context(llm=ExtractiveLLM(), tools=tools, policy=ResearchPolicy(tools=cards_of(tools.specs())))
    return run_graph(GRAPH, ResearchState(task_id="t", goal=question, max_turns=400), ctx)


@cache
def right() -> tuple[Fact, ...]:
    ends = {fact: asked(fact.question, documents()) for fact in FACTS}
    done = {fact: end.answer.text for fact, end in ends.items() if end.stage is Stage.DONE}
    return tuple(fact for fact, text in done.items() if fact.answer in " ".join(text.split()))


def test_it_finds_two_in_three_facts_of_the_documents() -> None:
    assert len(right()) >= 2 * len(FACTS) / 3, [fact.question for fact in FACTS if fact not in right()]


def test_it_answers_all_kinds_of_facts() -> None:
    formats = {fact.source.rpartition(".")[2] for fact in right()}
    assert formats == {"md", "txt", "rst", "html"}
    assert {fact.kind for fact in right()} >= {"one", "contradiction", "superseded"}
    assert any(not fact.question.isascii() for fact in right())


def test_what_the_documents_do_not_say_ends_as_partial_nine_times_in_ten() -> None:
    answered = [question for question in UNANSWERED if asked(question, documents()).answer.text]
    assert len(answered) <= len(UNANSWERED) / 10, answered


def test_both_sides_of_a_contradiction_are_cited() -> None:
    (fact,) = [fact for fact in FACTS if fact.kind == "contradiction"]
    answer = asked(fact.question, documents()).answer
    places = {source.place.partition(":")[0] for source in answer.sources}
    assert {fact.source, *(source for source, _ in fact.others)} <= places
    assert "These sources contradict each other" in answer.text


def test_the_same_question_has_the_same_answer() -> None:
    question = FACTS[0].question
    assert asked(question, documents()) == asked(question, documents())


@pytest.mark.parametrize(
    ("goal", "questions"),
    [
        ("How high is it?", ["How high is it?"]),
        ("How high is it? And who built it?", ["How high is it?", "who built it?"]),
        ("how high is it and who built it", ["how high is it", "who built it"]),
        ("salt and pepper", ["salt and pepper"]),
        ("Who built it, and when?", ["Who built it, when?"]),
        ("Who built it? Why?", ["Who built it, Why?"]),
        ("塔有多高？谁建的？", ["塔有多高？", "谁建的？"]),
        ("iron? wool? salt? silk? wood?", ["iron?", "wool?", "salt?", "silk? wood?"]),
    ],
)
def test_a_goal_is_split_into_its_questions(goal: str, questions: list[str]) -> None:
    assert questions_of(goal) == questions


def test_a_question_of_another_kind_is_refused() -> None:
    with pytest.raises(OfflineError, match="name a model"):
        ExtractiveLLM().complete(Request(instructions="Write a poem."))


def test_it_answers_from_the_topics_that_every_python_has(tmp_path: Path) -> None:
    topics = pytest.importorskip("pydoc_data.topics").topics
    folder = tmp_path / "topics"
    folder.mkdir()
    for name, text in topics.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    end = asked("Which statement terminates the nearest enclosing loop?", Documents(folder))
    assert end.stage is Stage.DONE
    assert "terminates the nearest enclosing loop" in " ".join(end.answer.text.split())
    nothing = asked("Which minister signed the treaty of Utrecht?", Documents(folder))
    assert nothing.stage is Stage.PARTIAL and nothing.answer.text == ""


def test_no_tools_to_search_with_is_no_reason_to_invent() -> None:
    ctx = Context(llm=ExtractiveLLM(), tools=Documents(FOLDER).toolbox(), policy=ResearchPolicy(tools=()))
    end = run_graph(GRAPH, ResearchState(task_id="t", goal="How high is the station?", max_turns=50), ctx)
    assert (end.stage, end.answer.text) == (Stage.PARTIAL, "")


def test_a_model_of_ones_own_judge_is_asked_in_its_place() -> None:
    class Strict:
        def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
            return tuple(Item(criterion=one, status="violated", why="it is never good enough") for one in criteria)

    tools = documents().toolbox()
    llm = JudgedBy(ExtractiveLLM(), Strict())
    ctx = Context(llm=llm, tools=tools, policy=ResearchPolicy(tools=cards_of(tools.specs())))
    end = run_graph(GRAPH, ResearchState(task_id="t", goal=FACTS[0].question, max_turns=400), ctx)
    assert end.stage is Stage.PARTIAL
