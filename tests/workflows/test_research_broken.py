"""What broke a research once: names, texts and results that nobody had thought of."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, ContextError, ExtractiveLLM, PatchError, Texts, Toolbox, ToolError, run_graph
from graph_agent.tools.documents import Documents
from graph_agent.tools.sourced import Sourced
from graph_agent.verify.evidence import evidence_problems
from graph_agent.verify.statements import asides
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.offline import questions_of
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import Answer, ResearchState, Stage
from tests.workflows.researching import PLAN, WIND, Model, World, plan_of, planned, research, said, step

LIMIT = {"E1": "At most 3 steps are taken, each in 20 seconds."}


def answer_of(folder: Path, question: str, **files: str) -> Answer:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    tools = Documents(folder).toolbox()
    texts = Texts()
    ctx = Context(
        llm=ExtractiveLLM(),
        tools=tools,
        policy=ResearchPolicy(tools=cards_of(tools.specs())),
        keep=texts.keep,
        read=texts.read,
    )
    found: ResearchState = run_graph(GRAPH, ResearchState(task_id="t", goal=question, max_turns=200), ctx)
    assert found.answer is not None
    return found.answer


@pytest.mark.parametrize(
    "name", ["1. Introduction.md", "10:30 talk.md", "a:1-2.md", "with space.md", "caf\u00e9 \U0001f6a2.md", "(x).md"]
)
def test_a_document_of_an_odd_name_is_found_and_read(tmp_path: Path, name: str) -> None:
    answer = answer_of(tmp_path, "How many berths has the zeppelin?", **{name: "# Z\n\nThe zeppelin has 88 berths.\n"})
    assert answer.text == "> The zeppelin has 88 berths. [E2]"
    assert [one.place for one in answer.sources] == [f"{name}:1-3"]


def test_a_heading_that_looks_like_a_place_is_none(tmp_path: Path) -> None:
    text = "# Meeting 10:30-11 (hall)\n\nThe zeppelin has 88 berths.\nOpening hours:9-17 (daily)\n"
    answer = answer_of(tmp_path, "How many berths has the zeppelin?", **{"z.md": text})
    assert answer.status == "complete"
    assert [one.place for one in answer.sources] == ["z.md:1-4"]


def test_a_name_with_a_line_break_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Here.", encoding="utf-8")
    try:
        (tmp_path / "b\nc.md").write_text("There.", encoding="utf-8")
    except OSError:
        pytest.skip("no such name here")
    documents = Documents(tmp_path)
    assert [one.path for one in documents] == ["a.md"]
    assert documents.left_out == (r"'b\nc.md' has a line break in its name: rename it.",)


def test_a_question_that_is_wrapped_is_one_question() -> None:
    assert questions_of("How many berths\nhas the zeppelin?") == ["How many berths\nhas the zeppelin?"]
    assert questions_of("How many berths?\nWhich colour?") == ["How many berths?", "Which colour?"]
    assert questions_of("Berths of the zeppelin\nColour of the tug") == ["Berths of the zeppelin", "Colour of the tug"]


@pytest.mark.parametrize(
    "question",
    [
        "\u706f\u53f0\u306e\u9ad8\u3055\u306f\u4f55\u30e1\u30fc\u30c8\u30eb\u3067\u3059\u304b",
        "\u706f\u53f0\u306e\u9ad8\u3055\u306f\u3069\u306e\u304f\u3089\u3044\u3067\u3059\u304b\uff1f",
    ],
)
def test_a_question_in_japanese_is_answered(tmp_path: Path, question: str) -> None:
    says = "\u706f\u53f0\u306e\u9ad8\u3055\u306f32\u30e1\u30fc\u30c8\u30eb\u3067\u3059\u3002"
    more = "\u898b\u5b66\u306f\u7121\u6599\u3067\u3059\u3002"
    answer = answer_of(tmp_path, question, **{"ja.md": f"# \u706f\u53f0\n\n{says}{more}\n"})
    assert answer.text == f"> {says} [E2]"


@pytest.mark.parametrize(
    "heading",
    [
        "# The limit is 99 steps",
        "**It takes 99 seconds**",
        "The limit is 99 steps\n=====",
        '# It says "never"',
        "| steps | 99 seconds |\n|---|---|\n| few | 3 [E1] |",
    ],
)
def test_a_heading_cannot_say_what_no_source_says(heading: str) -> None:
    assert "nothing that is cited: leave it out" in evidence_problems(f"{heading}\n\nAt most 3. [E1]", LIMIT)[0]


@pytest.mark.parametrize(
    "heading",
    ["# Limits", "## 2. Limits", "## Step 9", "### 9.1 Limits", "**7) Limits**", "# 3 steps", '# "At most 3 steps"'],
)
def test_a_heading_may_have_a_number_of_its_own(heading: str) -> None:
    assert evidence_problems(f"{heading}\n\nAt most 3. [E1]", LIMIT) == ()


def test_headings_are_told_without_their_numbers() -> None:
    assert asides("## 1.2 Limits\n\nAt most 3. [E1]\n\n| a | b |\n|---|---|\n| 3 | 20 [E1] |") == ("Limits", "a | b")


def test_a_long_result_on_a_long_source_is_looked_at_in_time() -> None:
    source = {"E1": "The ferry leaves every 45 minutes. " * 1000}
    begun = time.monotonic()
    assert evidence_problems("The ferry leaves every 45 minutes. [E1]\n\n" * 400, source) == ()
    assert time.monotonic() - begun < 20


def test_who_cites_what_is_not_there_is_told_what_is() -> None:
    world = World(llm=Model(moves={"wind": [said(f"{WIND} [E999]")], "load": [said(f"{WIND} [E1]")]}))
    after = world.one(world.one(planned(plan=PLAN)))
    assert after.verdict is not None
    assert "there is no evidence E999" in after.verdict.reason
    assert "E1, E6" in after.verdict.reason


def test_a_goal_of_nothing_but_signs_ends_without_a_quote(tmp_path: Path) -> None:
    for question in ("?", "\U0001f6a2", "\x1b[31m"):
        assert answer_of(tmp_path, question, **{"a.md": "The zeppelin has 88 berths."}).status == "partial"
    assert research().stage is Stage.PLAN


def brought(value: Any) -> ResearchState:
    """A run whose one tool gives this, or raises it."""

    def odd() -> Any:
        """Odd."""
        if isinstance(value, Exception):
            raise value
        return value

    steps = plan_of(step("a", "Find a", tool="odd"), step("b", "Answer", kind="close", depends_on=("a",)))
    return World(llm=Model([steps] * 3, lambda _: said("it says so [E1]")), tools=Toolbox([odd])).run(max_steps=60)


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("a\ud800b", "a text that is no Unicode"),
        (Sourced(text="a", source="b\udcff.md"), "as source, a text that is no Unicode"),
        (Sourced(text=5), "gave 5 as text, no text"),  # type: ignore[arg-type]
        (ENDLESS, "contains itself"),
    ],
)
def test_what_a_tool_gives_and_nobody_could_keep_is_told_to_a_person(value: Any, told: str) -> None:
    end = brought(value)
    assert end.stage is Stage.HUMAN
    assert "execute failed: NoText: odd gave" in end.route_reason and told in end.route_reason


def test_a_tool_may_fail_with_words_that_are_no_text() -> None:
    end = brought(ToolError("not_found", "there is no 'b\udcff.md'."))
    assert end.stage is Stage.PARTIAL
    assert r"b\udcff.md" in end.evidence[0].digest


def test_an_asynchronous_tool_is_refused_before_a_run() -> None:
    async def fetch() -> str:
        """Fetch."""
        return "it"

    with pytest.raises(ContextError, match=r"fetch is asynchronous.*give a plain function"):
        cards_of(Toolbox([fetch]).specs())


def test_a_run_without_a_policy_says_what_to_give() -> None:
    world = World(llm=Model([PLAN]))
    end = run_graph(world.graph, research(), replace(world.ctx, policy=None))
    assert "give Context(policy=ResearchPolicy(" in end.route_reason


def test_what_a_changed_document_bore_out_is_not_kept_for_a_new_plan(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The hoist stops at 14 metres.", encoding="utf-8")
    read = step("wind", "Find when", tool="read_document", args={"path": "a.md", "start": 1, "end": 1})
    steps = plan_of(read, step("b", "Answer", kind="close", depends_on=("wind",)))
    moves = {"wind": [said("> The hoist stops at 14 metres. [E1]"), said("> The hoist stops at 15 metres. [E11]")]}
    model = Model([replace(steps, steps=steps.steps[::-1])], {**moves, "b": [said("INSUFFICIENT: for now")]})
    world = World(llm=model, tools=Documents(tmp_path).toolbox())
    state = planned(plan=steps)
    for _ in range(4):
        state = world.one(state)
    (tmp_path / "a.md").write_text("The hoist stops at 15 metres.", encoding="utf-8")
    world.tools = Documents(tmp_path).toolbox()
    state = world.one(world.one(replace(state, stage=Stage.PLAN)))
    assert [(one.kept, one.text) for one in state.results if one.plan == 2] == [
        (False, "> The hoist stops at 15 metres. [E11]")
    ]


def test_a_note_that_says_nothing_is_not_taken() -> None:
    world = World(llm=Model([PLAN], lambda _: said("BLOCKED: the price of gas")))
    waits = world.run()
    assert waits.stage is Stage.HUMAN
    with pytest.raises(PatchError, match="a note is empty: say in it what is to be known"):
        world.answered(waits, notes=(" ",))
    assert world.answered(waits, notes=("Gas costs 3 EUR.",)).stage is Stage.EXECUTE


def test_a_tool_that_gives_an_empty_text_found_nothing() -> None:
    assert brought("").evidence[0].digest == "(odd found nothing)"
