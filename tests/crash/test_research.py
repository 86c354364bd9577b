"""A research with a retry, a replan and a person's note, killed at every point of every step: it ends as undisturbed.

What the model says depends on what it is asked alone, since a killed process takes a script's place along.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, FakeLLM, Request, Toolbox
from graph_agent.runtime.journal import Run
from graph_agent.testing.crash import RUN, Crash, check_every_crash, crash_at, run_to_end
from graph_agent.workflows.research.graph import research_graph
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import ResearchState, Stage
from tests.workflows.researching import (
    LOAD,
    LOAD_STEP,
    TEXTS,
    WIND,
    WIND_STEP,
    all_satisfied,
    call,
    judgement,
    kind_of,
    plan_of,
    reading,
    said,
    step,
)

pytestmark = pytest.mark.slow

FIRST = plan_of(step("all", "Find all at once", "it says all", "and more"), step("end", depends_on=("all",)))
ASKS = step("keeper", "Ask the keeper", "it gives the keeper's limit")
SECOND = plan_of(WIND_STEP, LOAD_STEP, replace(ASKS, depends_on=("wind", "load")))


def answers(request: Request) -> Any:
    """The first plan fails as a whole, the wind needs a retry, and the keeper has to be asked."""
    context = request.context
    if kind_of(request) == "plan":
        return SECOND if "dead_ends" in context else FIRST
    if kind_of(request) == "judge":
        bad = context["task"] == FIRST.steps[0].goal
        return judgement("violated", "violated") if bad else all_satisfied(context)
    return _moved(context)


def _moved(context: Any) -> Any:
    name, found = context["step"]["id"], context["evidence"]
    last = found[-1]["id"] if found else ""
    if name == "all":
        return _all(found)
    if name == "wind":
        return said(f"{WIND} [{last}]") if "what_was_wrong_last_time" in context else said("It stops in strong wind.")
    if name == "load":
        return said(f"{LOAD} [{last}]")
    notes = [one["id"] for one in found if one["by"] == "person"]
    return said(f"> We stop at 12. [{notes[-1]}]") if notes else said("BLOCKED: the keeper's own limit")


def _all(found: Any) -> Any:
    return said(f"> {TEXTS['huts.md']} [{found[-1]['id']}]") if found else call("read_text", path="huts.md")


def answer(state: ResearchState) -> dict[str, Any] | None:
    return {"notes": ("We stop at 12.",)} if state.stage is Stage.HUMAN and not state.notes else None


def make(folder: Path) -> Any:
    tools = reading()
    ctx = Context(llm=FakeLLM(answers), tools=tools, policy=ResearchPolicy(tools=cards_of(tools.specs())))
    graph = research_graph(one.name for one in tools.specs())
    return graph, ResearchState(task_id="hoist", goal="When does the hoist stop?", max_turns=60), ctx


def kept(folder: Path) -> list[str]:
    """The texts beside the journal, by their names, which are their hashes."""
    return sorted(path.name for path in (folder / RUN / "blobs").rglob("*") if path.is_file())


def test_a_research_that_is_killed_anywhere_ends_as_one_that_is_not(tmp_path: Path) -> None:
    killed = check_every_crash(make, tmp_path, probe=kept, answer=answer, snapshots=(6,))
    end = run_to_end(make, tmp_path / "undisturbed", probe=kept, answer=answer)
    stages = [stage for _, stage, *_ in end.trace]
    assert stages == [
        "plan", "execute", "verify", "plan", "execute", "verify", "execute", "verify", "advance", "execute", "verify",
        "human", "execute", "verify", "finalize",
    ]  # fmt: skip
    assert killed >= 3 * len(stages)
    assert end.state.stage is Stage.DONE, end.state.route_reason
    assert [one.id for one in end.state.evidence] == ["E1", "E6", "E11", "E16", "E26"]
    assert end.state.answer.text == f"{WIND} [E16]\n\n{LOAD} [E11]\n\n> We stop at 12. [E26]"


def test_a_resume_that_is_killed_too_gives_no_id_twice(tmp_path: Path) -> None:
    expected = run_to_end(make, tmp_path / "undisturbed", probe=kept, answer=answer)
    executes = [at for at, (_, stage, *_) in enumerate(expected.trace, 1) if stage == "execute"]
    for at in executes[:2]:
        place = tmp_path / f"execute-{at}"
        for crash in (Crash("after effect", at), Crash("after effect", 1), Crash("within record", 1)):
            crash_at(make, place, crash, answer=answer)
        assert run_to_end(make, place, probe=kept, answer=answer) == expected


def sending(folder: Path) -> Toolbox:
    def send(text: str) -> str:
        """Send a text."""
        with (folder / "sent.txt").open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        return "The text was sent to the keeper."

    return reading().add(send, effect="external")


SENDS = plan_of(
    step("send", "Tell the keeper", "it was sent", tool="send", args={"text": "stop"}),
    step("rest", "Say so", "it was sent", kind="close", depends_on=("send",)),
)


def send_answers(request: Request) -> Any:
    if kind_of(request) == "plan":
        return SENDS
    if kind_of(request) == "judge":
        return all_satisfied(request.context)
    return said(f"> The text was sent to the keeper. [{request.context['evidence'][-1]['id']}]")


def make_sending(folder: Path) -> Any:
    tools = sending(folder)
    ctx = Context(llm=FakeLLM(send_answers), tools=tools, policy=ResearchPolicy(tools=cards_of(tools.specs())))
    graph = research_graph((one.name for one in tools.specs()), effects=True)
    return graph, ResearchState(task_id="hoist", goal="Tell the keeper.", max_turns=60), ctx


def approve(state: ResearchState) -> dict[str, Any] | None:
    return {"approval": (state.layer_fingerprint,)} if state.stage is Stage.APPROVE else None


def test_a_layer_that_acts_and_was_interrupted_is_put_before_a_person_and_nothing_is_sent_again(tmp_path: Path) -> None:
    crash_at(make_sending, tmp_path, Crash("after effect", 3), answer=approve)
    stopped = run_to_end(make_sending, tmp_path, answer=approve)
    assert (
        stopped.state.stage is Stage.HUMAN and "it can't be told whether its effects happened" in stopped.trace[-1][-1]
    )
    assert (tmp_path / "sent.txt").read_text(encoding="utf-8") == "stop\n"
    with Run.open(tmp_path / RUN, make_sending(tmp_path)[0]) as run:
        assert run.state.results == (), "nobody guesses that it was done"
