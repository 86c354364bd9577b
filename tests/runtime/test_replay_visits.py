"""Whatever a visit was (stopped, awaited, side by side), run again it is the same; what is asked besides ends it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from graph_agent import (
    Context,
    FakeLLM,
    FakeTools,
    JournalError,
    LLMError,
    Reply,
    Request,
    Run,
    RunError,
    Toolbox,
    aresume,
    fan_out,
    read_run,
    resume,
)
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.replay import replay_step
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import with_changes
from tests.runtime.test_replay import TOOLS, Nail, graph, measure, replayed


def made(folder: Path, graph_: Any, ctx: Context, **fields: Any) -> Path:
    """A run that goes on until it stops, however that is."""
    with Run.create(folder / "run", graph_, start(task_id="run", **fields)) as run, suppress(RunError):
        resume(run, ctx)
    return folder / "run"


@pytest.fixture
def _recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_RECORD", "1")


class Busy(LLMError):
    pass


def asks_once(state: Count, ctx: Context) -> Any:
    return {"count": 2, "log": (ctx.llm.complete(Request(instructions="Go")).text,)}


@pytest.mark.usefixtures("_recording")
@pytest.mark.parametrize("more", [{"on_error": Stage.HUMAN}, {"retry": 1}, {}], ids=str)
def test_an_error_of_a_model_is_raised_again_as_what_it_was(tmp_path: Path, more: Any) -> None:
    busy = counting(asks_once, model=True, **more)
    folder = made(tmp_path, busy, Context(llm=FakeLLM([Busy("not now"), "late"])))
    assert replayed(folder, busy) == ()
    if "retry" not in more:
        assert replayed(folder, counting(on_error=Stage.HUMAN))[0] == (
            "it did not fail; recorded: work failed: Busy: not now"
        )


@pytest.mark.usefixtures("_recording")
def test_a_node_that_catches_all_gets_no_answer_that_was_given_to_another_question(tmp_path: Path) -> None:
    def catches(state: Count, ctx: Context) -> Any:
        try:
            text = ctx.llm.complete(Request(instructions="Something else")).text
        except Exception:
            text = "none"
        return {"count": 2, "log": (text,)}

    folder = made(tmp_path, counting(asks_once, model=True), Context(llm=FakeLLM(["one"])))
    assert replayed(folder, counting(catches, model=True)) == (
        "instructions of request 1 is 'Something else'; recorded: 'Go'",
    )


@pytest.mark.usefixtures("_recording")
def test_what_was_asked_one_by_one_has_an_order_and_what_was_asked_side_by_side_has_none(tmp_path: Path) -> None:
    def asking(*words: str) -> Any:
        def work(state: Count, ctx: Context) -> Any:
            return {"count": 2, "log": tuple(ctx.llm.complete(Request(instructions=word)).text for word in words)}

        return counting(work, model=True)

    folder = made(tmp_path, asking("a", "b"), Context(llm=FakeLLM(["one", "two"])))
    assert replayed(folder, asking("a", "b")) == ()
    assert "the requests were made in another order: as recorded they are 2, 1" in replayed(folder, asking("b", "a"))

    first = Event()

    class LastFirst:
        def complete(self, request: Request, /) -> Reply:
            if request.instructions == "a":
                assert first.wait(10)
            else:
                first.set()
            return Reply(text=request.instructions)

    def spread(state: Count, ctx: Context) -> Any:
        jobs = [partial(ctx.llm.complete, Request(instructions=word)) for word in "ab"]
        return {"count": 2, "log": tuple(one.value.text for one in fan_out(jobs, workers=2))}

    (tmp_path / "spread").mkdir()
    folder = made(tmp_path / "spread", counting(spread, model=True), Context(llm=LastFirst()))
    assert replayed(folder, counting(spread, model=True)) == ()


@pytest.mark.usefixtures("_recording")
def test_a_visit_that_the_budget_stopped_is_stopped_again_where_it_was(tmp_path: Path) -> None:
    def greedy(state: Count, ctx: Context) -> Any:
        return {"count": sum(ctx.tools.call("measure", nails=(Nail(1),)).ok for _ in range(3))}

    limited = counting(greedy, tools=("measure",), on_limit=Stage.HUMAN)
    folder = made(tmp_path, limited, Context(tools=TOOLS), max_turns=2)
    assert read_run(folder)[0][1]["type"] == "limit"
    assert replayed(folder, limited) == ()
    assert replayed(folder, counting(tools=("measure",), on_limit=Stage.HUMAN))[0].startswith("it did not fail")


@pytest.mark.usefixtures("_recording")
def test_tools_that_cost_nothing_cost_nothing_in_a_replay_either(tmp_path: Path) -> None:
    free = counting(asks_free, tools=("measure",), on_limit=Stage.HUMAN)
    folder = made(tmp_path, free, Context(tools=Toolbox().add(measure, metered=False)), max_turns=1)
    records, _, _ = read_run(folder)
    assert replay_step(records, Blobs(folder / "blobs"), free, 1).differences == ()


def asks_free(state: Count, ctx: Context) -> Any:
    return {"count": sum(ctx.tools.call("measure", nails=(Nail(1),)).ok for _ in range(2))}


@pytest.mark.usefixtures("_recording")
def test_the_step_before_one_that_did_not_start_is_its_own(tmp_path: Path) -> None:
    limited = counting(asks_once, model=True, on_limit=Stage.HUMAN)
    folder = made(tmp_path, limited, Context(llm=FakeLLM(["one"])), max_turns=1, need=3)
    assert [record["type"] for record in read_run(folder)[0]][1:4] == ["finished", "finished", "limit"]
    assert replayed(folder, limited, 2) == ()
    with pytest.raises(JournalError, match="has no step 3: its journal has 0 to 2"):
        replayed(folder, limited, 3)
    with pytest.raises(JournalError, match="step 0 is where the journal of run begins: no node can be run again there"):
        replayed(folder, limited, 0)


@pytest.mark.usefixtures("_recording")
def test_a_visit_that_stopped_the_run_is_the_step_that_it_would_have_made(tmp_path: Path) -> None:
    def fails(state: Count, ctx: Context) -> Any:
        if state.count:
            raise OSError("once")
        return {"count": 1}

    folder = made(tmp_path, counting(fails), Context())
    assert replayed(folder, counting(fails), 2) == ()
    assert replayed(folder, counting(fails), 3) == ()
    assert replayed(folder, counting(), 3)[0] == "it did not fail; recorded: work failed: OSError: once"
    with Run.open(folder, counting()) as run:
        resume(run)
    assert replayed(folder, counting(), 3) == ()


@pytest.mark.usefixtures("_recording")
def test_a_tool_that_crashed_crashes_again_and_is_not_called(tmp_path: Path) -> None:
    def calls(state: Count, ctx: Context) -> Any:
        return {"count": ctx.tools.call("measure").value}

    crashing = counting(calls, tools=("measure",), on_error=Stage.HUMAN)
    tools = FakeTools({"measure": [ZeroDivisionError("by zero")]})
    folder = made(tmp_path, crashing, Context(tools=tools))
    assert replayed(folder, crashing) == ()
    assert len(tools.calls) == 1


@pytest.mark.usefixtures("_recording")
def test_an_asynchronous_model_and_tool_are_awaited_again(tmp_path: Path) -> None:
    class Later:
        async def complete(self, request: Request, /) -> Reply:
            await asyncio.sleep(0)
            if request.instructions == "fail":
                raise Busy("later")
            return Reply(text="late")

    async def length() -> Nail:
        """Measure."""
        return Nail(1)

    async def work(state: Count, ctx: Context) -> Any:
        reply = await ctx.llm.complete(Request(instructions="go"))
        try:
            await ctx.llm.complete(Request(instructions="fail"))
        except Busy as error:
            nail = (await ctx.tools.call("length")).value
            return {"count": 1 + nail.length, "log": (reply.text, str(error))}

    later = counting(work, model=True, tools=("length",))

    async def on() -> None:
        with Run.create(tmp_path / "run", later, start(task_id="run")) as run:
            await aresume(run, Context(llm=Later(), tools=Toolbox([length])))

    asyncio.run(on())
    assert replayed(tmp_path / "run", later) == ()


def test_a_step_that_asked_nothing_needs_no_recording_though_it_may_ask(tmp_path: Path) -> None:
    quiet = counting(model=True, tools=("measure",))
    folder = made(tmp_path, quiet, Context(llm=FakeLLM([]), tools=TOOLS))
    assert replayed(folder, quiet) == ()
    assert replayed(folder, graph()) == ("request 1 was not made then: 'First'",)


def test_a_field_that_came_later_is_no_difference(tmp_path: Path) -> None:
    folder = made(tmp_path, counting(), Context())

    @dataclass(frozen=True, kw_only=True)
    class Wider(Count):
        added: int = 7

    Wider.__name__ = "Count"
    assert replayed(folder, with_changes(counting(), state=Wider)) == ()


def test_of_a_long_text_and_a_deep_value_the_place_is_shown_that_differs(tmp_path: Path) -> None:
    def says(end: str) -> Any:
        return counting(lambda state, ctx: {"count": 2, "log": ("first", "x" * 500 + end)})

    folder = made(tmp_path, says("one"), Context())
    assert replayed(folder, says("two")) == ("log[1] is ...'xxxxxxxxxxtwo'; recorded: ...'xxxxxxxxxxone'",)


@pytest.mark.usefixtures("_recording")
def test_a_node_that_tells_of_its_tools_is_replayed_where_they_are_given(tmp_path: Path) -> None:
    def tells(state: Count, ctx: Context) -> Any:
        (tool,) = ctx.tools.specs()
        ctx.llm.complete(Request(instructions=tool.description))
        return {"count": 2}

    folder = made(tmp_path, graph(tells), Context(llm=FakeLLM(["one"]), tools=TOOLS))
    assert replayed(folder, graph(tells)) == ()
    records, _, _ = read_run(folder)
    (difference,) = replay_step(records, Blobs(folder / "blobs"), graph(tells), 1).differences
    assert "not described here: give replay_step the tools" in difference
