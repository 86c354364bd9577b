"""`arun_graph`: the same run, with nodes, models and tools that are awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from graph_agent import Context, FakeLLM, NodeError, Reply, Request, StepLimitReached, arun_graph, run_graph
from tests.runtime.counting import Count, Echo, Stage, counting, start, work


async def work_later(state: Count, ctx: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return work(state, ctx)


class LaterEcho(Echo):
    async def complete(self, request: Any, /) -> Reply:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().complete(request)


async def ask_later(state: Count, ctx: Any) -> dict[str, Any]:
    reply = await ctx.llm.complete(Request(instructions="say something"))
    return {"count": state.count + 1, "log": (reply.text,)}


@pytest.mark.parametrize("node", [work, work_later])
def test_plain_and_async_nodes_give_the_state_that_a_plain_run_gives(node):
    assert asyncio.run(arun_graph(counting(node), start(need=3))) == run_graph(counting(), start(need=3))


def test_an_awaited_model_is_counted_like_any_other():
    events: list[Any] = []
    ctx = Context(llm=LaterEcho())
    final = asyncio.run(arun_graph(counting(ask_later, model=True), start(), ctx, on_event=events.append))
    assert (final.log, final.spent_turns) == (("answer 1", "answer 2"), 2)
    assert [(event.model_calls, event.tokens_in, event.tokens_out) for event in events[::2]] == [(1, 3, 5), (1, 3, 5)]


def test_the_budget_ends_an_awaiting_node():
    model = LaterEcho()
    graph = counting(ask_later, model=True, on_limit=Stage.HUMAN)
    final = asyncio.run(arun_graph(graph, start(need=9, max_turns=2), Context(llm=model)))
    assert (final.stage, final.spent_turns, model.asked) == (Stage.HUMAN, 2, 2)


def test_an_async_node_that_fails_is_tried_again():
    calls: list[int] = []

    async def flaky(state: Count, ctx: Any) -> dict[str, Any]:
        calls.append(len(calls))
        await asyncio.sleep(0)
        if len(calls) < 3:
            raise OSError("not yet")
        return {"count": 2}

    final = asyncio.run(arun_graph(counting(flaky, retry=2), start()))
    assert (final.stage, final.steps, len(calls)) == (Stage.DONE, 2, 3)
    calls.clear()
    with pytest.raises(NodeError, match="not yet"):
        asyncio.run(arun_graph(counting(flaky, retry=1), start()))


def test_a_run_that_is_cancelled_is_cancelled_and_not_failed():
    async def hang(state: Count, ctx: Any) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        run = asyncio.create_task(arun_graph(counting(hang, retry=9, on_error=Stage.FAILED), start()))
        await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(asyncio.wait_for(main(), 20))


def test_runs_side_by_side_on_one_loop_do_not_meet():
    async def main() -> list[Count]:
        return await asyncio.gather(
            *(arun_graph(counting(work_later), start(task_id=str(n), need=n)) for n in (3, 1, 2))
        )

    assert [final.count for final in asyncio.run(main())] == [3, 1, 2]


def test_the_fuse_and_the_events_are_those_of_a_plain_run():
    told: list[Any] = []
    with pytest.raises(StepLimitReached) as error:
        asyncio.run(arun_graph(counting(work_later), start(need=9), on_event=told.append, max_steps=3))
    assert error.value.state == told[-1].state
    assert [event.stage for event in told] == ["work", "check", "work"]


def test_a_plain_fake_model_works_in_an_async_node():
    async def ask(state: Count, ctx: Any) -> dict[str, Any]:
        return {"count": 2, "answer": ctx.llm.complete(Request(instructions="?")).text}

    final = asyncio.run(arun_graph(counting(ask, model=True), start(), Context(llm=FakeLLM(["yes"]))))
    assert final.answer == "yes"
