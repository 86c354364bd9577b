"""INTAKE decides by rules, before a model sees a word."""

from __future__ import annotations

import pytest

from graph_agent import FakeLLM, FakeTools, ToolError, answer, pause_id
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage
from tests.workflows.repairing import FILES, infos, one_step, task, with_policy


def listing(files: dict[str, str] | None = None) -> FakeTools:
    return FakeTools({"list_files": infos(FILES if files is None else files)})


def test_every_file_is_taken_down_and_no_turn_is_spent() -> None:
    after = one_step(task(), tools=listing())
    assert (after.stage, after.spent_turns, after.blocked) == (Stage.DIAGNOSE, 0, "")
    assert [file.path for file in after.baseline] == ["shop.py", "tests/test_shop.py"]
    assert after.route_reason == "2 files taken down"


@pytest.mark.parametrize("request_text", ["", "  \n\t"])
def test_an_empty_request_ends_the_run_as_failed(request_text: str) -> None:
    tools = listing()
    after = one_step(task(request=request_text), tools=tools)
    assert after.stage is Stage.FAILED
    assert "empty" in after.route_reason
    assert tools.calls == []


@pytest.mark.parametrize(
    "request_text", ["Fix it and deploy.", "DELETE the old rows", "then force push it", "put the password in"]
)
def test_a_forbidden_word_goes_to_a_person_and_never_to_a_model(request_text: str) -> None:
    llm = FakeLLM([])
    after = one_step(task(request=request_text), tools=listing(), llm=llm)
    assert after.stage is Stage.HUMAN
    assert "only a person may decide" in after.route_reason
    assert after.risk == "high"
    assert llm.requests == []


@pytest.mark.parametrize("request_text", ["redeployed", "the undeleted rows", "Passwordless"])
def test_a_word_that_only_holds_a_forbidden_one_is_none(request_text: str) -> None:
    assert one_step(task(request=request_text), tools=listing()).stage is Stage.DIAGNOSE


def test_a_person_may_allow_what_a_forbidden_word_asks_for() -> None:
    stopped = one_step(task(request="delete() fails on an empty list"), tools=listing())
    refused = answer(GRAPH, stopped, {}, pause_id=pause_id(stopped))
    assert one_step(refused, tools=listing()).stage is Stage.HUMAN

    allowed = answer(GRAPH, stopped, {"approval": (stopped.risks_fingerprint,)})
    after = one_step(allowed, tools=listing())
    assert (after.stage, after.risk) == (Stage.DIAGNOSE, "low")


def test_a_person_may_ask_for_something_else_instead() -> None:
    stopped = one_step(task(request="deploy it"), tools=listing())
    after = one_step(answer(GRAPH, stopped, {"request": "Make the tests pass."}), tools=listing())
    assert after.stage is Stage.DIAGNOSE
    assert after.blocked == ""


@pytest.mark.parametrize(
    "workspace", ["/elsewhere/t", "/runs-of-another/t", "/runs/../etc", "relative/path", "/runs/t/../../etc"]
)
def test_a_workspace_outside_of_the_allowed_root_goes_to_a_person(workspace: str) -> None:
    tools = listing()
    after = one_step(task(workspace=workspace), tools=tools)
    assert after.stage is Stage.HUMAN
    assert "outside of the allowed root" in after.route_reason
    assert tools.calls == []


@pytest.mark.parametrize("files", [{}, {"README.md": "x"}, {"tests/test_shop.py": "x", "conftest.py": "x"}])
def test_a_workspace_without_source_goes_to_a_person(files: dict[str, str]) -> None:
    after = one_step(task(), tools=listing(files))
    assert after.stage is Stage.HUMAN
    assert "no file may be changed" in after.route_reason


def test_a_workspace_that_cannot_be_listed_goes_to_a_person() -> None:
    tools = FakeTools({"list_files": [ToolError("too_large", "The workspace has too many files.")]})
    after = one_step(task(), tools=tools)
    assert after.stage is Stage.HUMAN
    assert "too many files" in after.route_reason


def test_the_words_are_those_of_the_policy() -> None:
    policy = with_policy(forbidden_words=("teleport",))
    assert one_step(task(request="deploy"), tools=listing(), policy=policy).stage is Stage.DIAGNOSE
    assert one_step(task(request="Teleport!"), tools=listing(), policy=policy).stage is Stage.HUMAN
