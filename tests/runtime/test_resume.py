"""Going on: finished steps never again, an interrupted effect by the policy of its node, the world looked at first."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from graph_agent import (
    Context,
    Graph,
    GraphAgentError,
    InDoubt,
    Look,
    Run,
    Seen,
    aresume,
    pause_id,
    read_run,
    resume,
    settle,
)
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import Died, bytes_of, graph, interrupted, outbox, run_on, sent, whole, with_changes


def types(folder: Path) -> list[str]:
    return [str(one["type"]) for one in read_run(folder)[0]]


def test_an_interrupted_effect_is_named_with_its_key(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    assert types(folder) == ["header", "started"]
    with Run.open(folder, graph(tmp_path)) as run:
        assert run.in_flight is not None
        assert (run.in_flight["stage"], run.in_flight["key"]) == ("work", "run:work:1")


def test_by_default_a_person_is_asked_and_the_effect_is_not_repeated(tmp_path: Path) -> None:
    folder = interrupted(tmp_path)
    with Run.open(folder, graph(tmp_path)) as run:
        final = resume(run)
        assert (final.stage, final.came_from, final.steps) == (Stage.HUMAN, Stage.WORK, 1)
        said = "work was interrupted (key run:work:1): it can't be told whether its effects happened"
        assert final.route_reason == said
    assert sent(tmp_path) == ["run:work:1"]
    assert types(folder) == ["header", "started", "doubt", "asked"]
    with Run.open(folder, graph(tmp_path)) as run:
        run.answer({})
        assert resume(run).stage is Stage.DONE
    assert sent(tmp_path) == ["run:work:1", "run:work:3", "run:work:5"], "the person's word makes it another visit"


def test_without_a_pause_for_doubts_the_resume_is_refused_with_the_facts(tmp_path: Path) -> None:
    folder = interrupted(tmp_path, doubt=False)
    before = bytes_of(folder)
    with Run.open(folder, graph(tmp_path, doubt=False)) as run, pytest.raises(InDoubt) as error:
        resume(run)
    assert (error.value.stage, error.value.key) == ("work", "run:work:1")
    assert "look whether they did; give the graph an on_doubt pause" in str(error.value)
    assert bytes_of(folder) == before
    assert sent(tmp_path) == ["run:work:1"]


def test_a_retry_runs_it_again_with_the_same_key(tmp_path: Path) -> None:
    folder = interrupted(tmp_path, on_interrupted="retry")
    with Run.open(folder, graph(tmp_path, on_interrupted="retry")) as run:
        final = resume(run)
    assert (final.stage, final.steps) == (Stage.DONE, 4)
    assert sent(tmp_path) == ["run:work:1", "run:work:1", "run:work:3"]


def test_a_fail_goes_where_errors_go(tmp_path: Path) -> None:
    folder = interrupted(tmp_path, on_interrupted="fail", error=True)
    with Run.open(folder, graph(tmp_path, on_interrupted="fail", error=True)) as run:
        final = resume(run)
    assert (final.stage, final.came_from) == (Stage.HUMAN, Stage.WORK)
    assert final.route_reason.startswith("work failed: Interrupted: work was interrupted (key run:work:1)")
    assert sent(tmp_path) == ["run:work:1"]


def test_a_fail_without_a_place_for_errors_is_refused_with_the_facts(tmp_path: Path) -> None:
    folder = interrupted(tmp_path, on_interrupted="fail")
    before = bytes_of(folder)
    with Run.open(folder, graph(tmp_path, on_interrupted="fail")) as run, pytest.raises(InDoubt, match="no on_error"):
        resume(run)
    assert bytes_of(folder) == before


def test_a_node_without_effects_is_simply_run_again(tmp_path: Path) -> None:
    graph_ = counting(outbox(tmp_path, dies=True))
    with Run.create(tmp_path / "run", graph_, start(task_id="run")) as run, pytest.raises(Died):
        resume(run)
    with Run.open(tmp_path / "run", counting(outbox(tmp_path))) as run:
        assert run.in_flight is None
        assert resume(run).stage is Stage.DONE


def test_attempts_of_a_retry_are_one_visit_with_one_key_and_one_start(tmp_path: Path) -> None:
    tries = [0]

    def work(state: Count, ctx: Context) -> Any:
        outbox(tmp_path)(state, ctx)
        tries[0] += 1
        if tries[0] == 1:
            raise OSError("once")
        return {"count": state.count + 2}

    with Run.create(tmp_path / "run", counting(work, effects=True, retry=1), start(task_id="run")) as run:
        resume(run)
    assert sent(tmp_path) == ["run:work:1", "run:work:1"]
    assert types(tmp_path / "run").count("started") == 1
    assert read_run(tmp_path / "run")[0][2]["attempts"] == 2


def test_a_real_kill_inside_a_node_with_an_effect(tmp_path: Path) -> None:
    def hangs(state: Count, ctx: Context) -> Any:
        outbox(tmp_path)(state, ctx)
        time.sleep(60)

    child = os.fork()
    if child == 0:
        try:
            with Run.create(tmp_path / "run", counting(hangs, effects=True), start(task_id="run")) as run:
                resume(run)
        finally:
            os._exit(1)
    deadline = time.monotonic() + 30
    while not sent(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Run.open(tmp_path / "run", graph(tmp_path)) as run:
        assert run.in_flight is not None
        assert resume(run).stage is Stage.HUMAN
    assert sent(tmp_path) == ["run:work:1"]


def test_an_asynchronous_run_goes_on_too(tmp_path: Path) -> None:
    async def work(state: Count, ctx: Context) -> Any:
        await asyncio.sleep(0)
        return {"count": state.count + 1}

    async def on() -> Any:
        with Run.create(tmp_path / "run", counting(work), start(task_id="run")) as run:
            with pytest.raises(GraphAgentError, match="max_steps"):
                await aresume(run, max_steps=1)
        with Run.open(tmp_path / "run", counting(work)) as run:
            return await aresume(run)

    final = asyncio.run(on())
    assert (final.stage, final.steps) == (Stage.DONE, 4)


@pytest.mark.parametrize(
    ("policy", "stage", "keys"),
    [("retry", Stage.DONE, ["run:work:1", "run:work:1", "run:work:3"]), ("ask", Stage.HUMAN, ["run:work:1"])],
)
def test_an_asynchronous_effect_in_flight_is_settled_like_any_other(
    tmp_path: Path, policy: Any, stage: Stage, keys: list[str]
) -> None:
    async def work(state: Count, ctx: Context) -> Any:
        await asyncio.sleep(0)
        return outbox(tmp_path)(state, ctx)

    def made(run: Any) -> Graph[Count]:
        return with_changes(counting(run, effects=True, on_interrupted=policy), on_doubt=Stage.HUMAN)

    async def dies(state: Count, ctx: Context) -> Any:
        await work(state, ctx)
        raise Died

    async def on() -> Any:
        with Run.create(tmp_path / "run", made(dies), start(task_id="run")) as run, pytest.raises(Died):
            await aresume(run)
        with Run.open(tmp_path / "run", made(work)) as run:
            return await aresume(run)

    assert asyncio.run(on()).stage is stage
    assert sent(tmp_path) == keys


class World:
    """Something outside that a look can see."""

    def __init__(self) -> None:
        self.problem, self.looked = "", 0

    def look(self, state: Count, ctx: Context) -> Seen:
        self.looked += 1
        ctx.tools.call("peep")
        return Seen(facts=(f"{state.count} counted",), problem=self.problem)


class Peep:
    """Tools with one that a look may use."""

    def __init__(self) -> None:
        from graph_agent import FakeTools

        self.ctx = Context(tools=FakeTools({"peep": "ok", "other": "no"}))


def watched(world: Any, **look: Any) -> Graph[Count]:
    return with_changes(
        counting(), on_doubt=Stage.HUMAN, look=Look(getattr(world, "look", world), tools=("peep",), **look)
    )


def half(tmp_path: Path, graph_: Graph[Count]) -> Path:
    """A run that stopped after two steps."""
    with Run.create(tmp_path / "run", graph_, start(task_id="run")) as run:
        with pytest.raises(GraphAgentError, match="max_steps"):
            run_on(run, max_steps=2)
    return tmp_path / "run"


def test_an_undisturbed_look_is_recorded_and_changes_nothing(tmp_path: Path) -> None:
    world = World()
    folder = half(tmp_path, watched(world))
    with Run.open(folder, watched(world)) as run:
        before = run.state
        assert settle(run, Peep().ctx) is before
        final = resume(run, Peep().ctx)
    with Run.open(whole(tmp_path / "other"), counting()) as run:
        assert final == run.state, "a resumed run is the uninterrupted one"
    record = next(one for one in read_run(folder)[0] if one["type"] == "checked")
    assert (record["facts"], record["problem"]) == (["1 counted"], "")


def test_a_problem_goes_to_a_person_once(tmp_path: Path) -> None:
    world = World()
    folder = half(tmp_path, watched(world))
    world.problem = "somebody was here"
    with Run.open(folder, watched(world)) as run:
        stopped = resume(run, Peep().ctx)
        assert (stopped.stage, stopped.route_reason, stopped.came_from) == (
            Stage.HUMAN,
            "somebody was here",
            Stage.WORK,
        )
        run.answer({}, pause_id=pause_id(stopped))
    with Run.open(folder, watched(world)) as run:
        assert settle(run, Peep().ctx).stage is Stage.WORK, "the person let it pass"
        assert resume(run, Peep().ctx).stage is Stage.DONE
    world.problem = "and again"
    with Run.open(half(tmp_path / "again", watched(world)), watched(world)) as run:
        assert settle(run, Peep().ctx).route_reason == "and again"


def test_a_problem_that_nobody_saw_is_told_until_somebody_does(tmp_path: Path) -> None:
    world = World()
    folder = half(tmp_path, watched(world))
    world.problem = "somebody was here"
    with Run.open(folder, watched(world)) as run:
        settle(run, Peep().ctx)
        waiting = pause_id(run.state)
    with Run.open(folder, watched(world)) as run:
        assert pause_id(settle(run, Peep().ctx)) == waiting, "a pause is not looked at, unless an answer is coming"
        settled = settle(run, Peep().ctx, also_paused=True)
        assert pause_id(settled) == waiting, "whoever answers has this problem before them"
        world.problem = "somebody else was here"
        settled = settle(run, Peep().ctx, also_paused=True)
        assert pause_id(settled) != waiting, "the question is another one now"


def test_compacting_does_not_forget_what_was_seen(tmp_path: Path) -> None:
    from graph_agent import compact

    world = World()
    folder = half(tmp_path, watched(world))
    world.problem = "somebody was here"
    with Run.open(folder, watched(world)) as run:
        settle(run, Peep().ctx)
        run.answer({})
    compact(folder, keep=0)
    with Run.open(folder, watched(world)) as run:
        assert settle(run, Peep().ctx).stage is Stage.WORK


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (lambda state, ctx: 1 // 0, "the world can't be looked at: ZeroDivisionError"),
        (lambda state, ctx: True, "the look returned True and no Seen"),
        (lambda state, ctx: ctx.tools.call("other"), "the world can't be looked at: ToolDenied"),
        (lambda state, ctx: ctx.llm.complete({}), "the world can't be looked at: ToolDenied"),
    ],
)
def test_a_look_that_cannot_look_is_a_problem(tmp_path: Path, look: Any, said: str) -> None:
    folder = half(tmp_path, watched(look))
    with Run.open(folder, watched(look)) as run:
        assert said in settle(run, Peep().ctx).route_reason


def test_at_an_end_nothing_is_looked_at(tmp_path: Path) -> None:
    world = World()
    with Run.create(tmp_path / "run", watched(world), start(task_id="run")) as run:
        run_on(run)
        settle(run, Peep().ctx, also_paused=True)
    assert world.looked == 0


def test_first_the_interrupted_effect_then_the_look(tmp_path: Path) -> None:
    """What is in flight is settled first, so that the look sees where the run stands then."""
    world = World()
    interrupted(tmp_path)
    with Run.open(tmp_path / "run", with_changes(graph(tmp_path), look=Look(world.look, tools=("peep",)))) as run:
        assert settle(run, Peep().ctx).stage is Stage.HUMAN
    assert types(tmp_path / "run")[2:] == ["doubt", "asked", "checked"]
