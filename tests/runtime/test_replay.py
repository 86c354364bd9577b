"""Recording and replay: what went by is kept whole, and a node run again on it is the same or says what differs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph_agent import (
    Context,
    FakeLLM,
    FakeTools,
    JournalError,
    LLMError,
    Request,
    Run,
    Toolbox,
    ToolError,
    aresume,
    read_run,
    resume,
)
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.replay import replay_step
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import with_changes


@dataclass(frozen=True)
class Nail:
    length: int


def measure(nails: tuple[Nail, ...]) -> tuple[Nail, ...]:
    """Measure nails."""
    if not nails:
        raise ToolError("no_nails", "There are none.", hint="Give some.", lines=(3,))
    return tuple(Nail(nail.length + 1) for nail in nails)


def asks(state: Count, ctx: Context) -> Any:
    """It asks a model twice and calls a tool, once in vain."""
    first = ctx.llm.complete(Request(instructions="First", context={"pair": (1, 2)})).text
    nails = ctx.tools.call("measure", nails=(Nail(2),)).value
    wrong = ctx.tools.call("measure", nails=()).error
    try:
        ctx.llm.complete(Request(instructions="Second"))
    except LLMError as error:
        first += f"; {error}"
    return {"count": state.count + nails[0].length, "log": (first, str(wrong))}


TOOLS = Toolbox([measure])


def graph(work: Any = asks, **node: Any) -> Any:
    return counting(work, model=True, tools=("measure",), **node)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of one visit of WORK that is recorded."""
    monkeypatch.setenv("GRAPH_AGENT_RECORD", "1")
    with Run.create(tmp_path / "run", graph(), start(task_id="run")) as run:
        resume(run, Context(llm=FakeLLM(["one", LLMError("it is down")]), tools=TOOLS))
    return tmp_path / "run"


def replayed(folder: Path, graph_: Any, step: int = 1) -> tuple[str, ...]:
    records, _, _ = read_run(folder)
    return replay_step(records, Blobs(folder / "blobs"), graph_, step, tools=TOOLS.specs()).differences


def test_the_same_code_gives_the_same_and_touches_nothing(folder: Path) -> None:
    assert replayed(folder, graph()) == ()
    assert replayed(folder, graph(), 2) == ()


def test_all_that_went_by_is_in_one_blob(folder: Path) -> None:
    record: Any = read_run(folder)[0][1]
    assert record["blobs"] == [record["recorded"]]
    told = json.loads(Blobs(folder / "blobs").read(record["recorded"]))
    assert told["before"]["count"] == 0
    assert told["patch"]["log"] == ["one; it is down", "There are none. Give some."]
    assert [one["request"]["instructions"] for one in told["models"]] == ["First", "Second"]
    assert told["models"][0]["reply"]["text"] == "one"
    assert told["models"][1]["reply"] is None
    assert {"type": "LLMError", "message": "it is down"}.items() <= told["models"][1]["error"].items()
    assert told["tools"][0]["value"] == {"tuple": [{"class": "tests.runtime.test_replay:Nail", "data": {"length": 3}}]}
    assert told["tools"][1]["error"] == {
        "kind": "no_nails",
        "message": "There are none.",
        "hint": "Give some.",
        "lines": [3],
    }


def changed(**changes: Any) -> Any:
    """`asks`, with a difference."""

    def work(state: Count, ctx: Context) -> Any:
        if changes.get("raises"):
            raise OSError("no more")
        asked = Request(instructions=changes.get("asks", "First"), context={"pair": (1, 2)})
        first = ctx.llm.complete(asked).text
        nails = ctx.tools.call("measure", nails=(Nail(changes.get("length", 2)),)).value
        if not changes.get("less"):
            wrong = ctx.tools.call("measure", nails=()).error
            try:
                ctx.llm.complete(Request(instructions="Second"))
            except LLMError as error:
                first += f"; {error}"
            return {"count": state.count + nails[0].length + changes.get("more", 0), "log": (first, str(wrong))}
        return {"count": state.count + nails[0].length, "log": (first,)}

    return graph(work)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"more": 1}, ["count is 4; recorded: 3"]),
        ({"asks": "Other"}, ["instructions of request 1 is 'Other'; recorded: 'First'"]),
        (
            {"length": 9},
            ["a call was not made then: measure(nails='(Nail(length=9),)')"],
        ),
        (
            {"less": True},
            ["log is ['one']; recorded: ", "a request was not made: 'Second'", "a call was not made: measure(nails)"],
        ),
        ({"raises": True}, ["it failed: OSError: no more; recorded: work is followed by check"]),
    ],
    ids=str,
)
def test_what_differs_is_said(folder: Path, changes: dict[str, Any], said: list[str]) -> None:
    found = replayed(folder, changed(**changes))
    for text in said:
        assert any(one.startswith(text) for one in found), found


def test_another_route_and_a_broken_contract_are_differences(folder: Path) -> None:
    other = graph(to=Stage.HUMAN)
    assert any(one.startswith("stage is 'human'; recorded: 'check'") for one in replayed(folder, other))
    broken = counting(lambda state, ctx: {"score": 1.0})
    assert any("score is not work's to write" in one for one in replayed(folder, broken))


def test_a_step_that_failed_is_replayed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_RECORD", "1")

    def fails(state: Count, ctx: Context) -> Any:
        raise OSError("once")

    failing = counting(fails, on_error=Stage.HUMAN)
    with Run.create(tmp_path / "run", failing, start(task_id="run")) as run:
        resume(run)
    assert replayed(tmp_path / "run", failing) == ()
    assert replayed(tmp_path / "run", counting(on_error=Stage.HUMAN))[0].startswith(
        "it did not fail; recorded: work failed"
    )


def test_without_a_recording_a_step_that_asked_cannot_be_replayed_and_others_can(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", graph(), start(task_id="run")) as run:
        resume(run, Context(llm=FakeLLM(["one", LLMError("down")]), tools=TOOLS))
    assert "recorded" not in read_run(tmp_path / "run")[0][1]
    with pytest.raises(JournalError, match="was not recorded: runs that are made with GRAPH_AGENT_RECORD=1 are"):
        replayed(tmp_path / "run", graph())
    assert replayed(tmp_path / "run", graph(), 2) == ()


def test_a_step_at_which_no_node_ran_is_said(tmp_path: Path) -> None:
    waits = with_changes(counting(tools=("measure",), on_limit=Stage.HUMAN))
    with Run.create(tmp_path / "run", waits, start(task_id="run", max_turns=0)) as run:
        resume(run, Context(tools=TOOLS))
        run.answer({"max_turns": 3})
    with pytest.raises(JournalError, match="at step 1 a person answered: no node can be run again there"):
        replayed(tmp_path / "run", waits)
    with pytest.raises(JournalError, match="has no step 9: its journal has 0 to 1"):
        replayed(tmp_path / "run", waits, 9)


def test_what_json_cannot_hold_is_marked_and_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_RECORD", "1")

    def work(state: Count, ctx: Context) -> Any:
        ctx.tools.call("measure", nails=object())
        ctx.llm.complete(Request(instructions="x", context={"odd": {1, 2}}))
        return {"count": 2}

    odd = FakeTools({"measure": object()})
    with Run.create(tmp_path / "run", graph(work), start(task_id="run")) as run:
        assert resume(run, Context(llm=FakeLLM(["one"]), tools=odd)).stage is Stage.DONE
    text = Blobs(tmp_path / "run" / "blobs").read(read_run(tmp_path / "run")[0][1]["recorded"])  # type: ignore[arg-type]
    assert text.count("can't be recorded") == 3
    (difference,) = replayed(tmp_path / "run", graph(work))
    assert difference.startswith(
        "what measure gave can't be given again: it can't be recorded: 'object cannot be saved"
    )


def test_an_asynchronous_node_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_RECORD", "1")

    async def work(state: Count, ctx: Context) -> Any:
        await asyncio.sleep(0)
        return {"count": 2}

    async def on() -> None:
        with Run.create(tmp_path / "run", counting(work), start(task_id="run")) as run:
            await aresume(run)

    asyncio.run(on())
    assert replayed(tmp_path / "run", counting(work)) == ()
