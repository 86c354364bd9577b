"""A resumed research looks whether the documents that it cites are still what they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graph_agent import Context, FakeLLM
from graph_agent.runtime.journal import Run
from graph_agent.runtime.resume import resume
from graph_agent.tools.documents import Documents
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.nodes.look import look
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import ResearchState, Stage
from tests.workflows.researching import TEXTS, Model, World, plan_of, planned, said, step

READ = {"path": "hoist.md", "start": 1, "end": 9}
PLAN = plan_of(
    step("wind", "Find when the hoist stops", "it gives the wind speed", tool="read_document", args=READ),
    step("load", "Find the load", "it gives the load", depends_on=("wind",)),
)


def documents(folder: Path, **changed: str) -> Documents:
    folder.mkdir(exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(changed.get(name.partition(".")[0], text) + "\n", encoding="utf-8")
    return Documents(folder)


def world_of(found: Documents, llm: FakeLLM | None = None) -> Context:
    tools = found.toolbox()
    return Context(llm=llm, tools=tools, policy=ResearchPolicy(tools=cards_of(tools.specs())))


def read_once(found: Documents) -> ResearchState:
    """A state with what one reading of a document leaves."""
    world = World(tools=found.toolbox(), llm=Model([], {"wind": [said(f"> {TEXTS['hoist.md']} [E1]")]}))
    return world.one(planned(plan=PLAN))


def test_documents_that_are_the_same_are_no_problem(tmp_path: Path) -> None:
    found = documents(tmp_path / "docs")
    seen = look(read_once(found), world_of(found))
    assert (seen.facts, seen.problem) == (("1 documents compared",), "")


def test_before_anything_was_read_there_is_nothing_to_compare(tmp_path: Path) -> None:
    seen = look(planned(plan=PLAN), world_of(documents(tmp_path / "docs")))
    assert (seen.facts, seen.problem) == (("no document was read yet",), "")


def test_a_document_that_changed_or_is_gone_is_named(tmp_path: Path) -> None:
    state = read_once(documents(tmp_path / "docs"))
    changed = look(state, world_of(documents(tmp_path / "other", hoist="The hoist never stops.")))
    assert changed.problem == "not as they were when they were read: hoist.md (changed)"
    folder = tmp_path / "docs"
    (folder / "hoist.md").unlink()
    gone = look(state, world_of(Documents(folder)))
    assert "hoist.md (There is no document 'hoist.md'" in gone.problem


def test_a_document_that_nobody_cites_may_change(tmp_path: Path) -> None:
    state = read_once(documents(tmp_path / "docs"))
    assert look(state, world_of(documents(tmp_path / "docs", huts="No beds."))).problem == ""


def test_what_another_tool_read_is_no_document_to_compare(tmp_path: Path) -> None:
    found = documents(tmp_path / "docs")
    state = read_once(found)
    page = replace(state.evidence[0], id="E9", by="fetch_page", source="a page", version="1" * 64)
    assert look(replace(state, evidence=(*state.evidence, page)), world_of(found)).problem == ""


def test_a_run_without_documents_has_nothing_to_look_at() -> None:
    """Its graph gives the look no tool."""
    world = World(llm=Model([], {"wind": [said("INSUFFICIENT: nothing")]}))
    piece = world.evidence(1, "text", by="read_document", version="1" * 64)
    node = world.graph.look
    assert node.tools == ()
    ctx = replace(world.ctx, tools=world.tools.only(()))
    assert look(planned(plan=PLAN, evidence=(piece,)), ctx).facts == ("there are no documents to compare with",)


def test_on_resume_a_changed_document_is_put_before_a_person_once(tmp_path: Path) -> None:
    found = documents(tmp_path / "docs")
    model = Model([PLAN], {"wind": [said(f"> {TEXTS['hoist.md']} [E1]")]})
    start = ResearchState(task_id="t", goal="When does the hoist stop?")
    with Run.create(tmp_path / "run", GRAPH, start) as run:
        try:
            resume(run, world_of(found, model), max_steps=2)
        except Exception as stopped:
            assert "max_steps" in str(stopped)
    changed = documents(tmp_path / "docs", hoist="The goods hoist never stops.")
    with Run.open(tmp_path / "run", GRAPH) as run:
        stopped = resume(run, world_of(changed, model))
        assert stopped.stage is Stage.HUMAN
        assert stopped.route_reason == "not as they were when they were read: hoist.md (changed)"
        run.answer({})
        moves = {"load": [said(f"> {TEXTS['hoist.md']} [E1]")]}
        end = resume(run, world_of(changed, Model([], moves)))
        assert end.stage is Stage.DONE, "a person lets it pass, and the kept text bears the quote out"
