"""`afan_out` on a real event loop: the contract of `fan_out`, and what only tasks can do."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import partial
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.protocols import ToolDenied
from graph_agent.runtime.fanout import FanOutError, Outcome, Token, afan_out

LONG = 30.0


class Signal(BaseException):
    pass


def run(jobs, **rules) -> tuple[Outcome, ...]:
    async def main() -> tuple[Outcome, ...]:
        outcomes = await afan_out(jobs, **rules)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, "a task was left behind"
        return outcomes

    return asyncio.run(main())


def statuses(outcomes: tuple[Outcome, ...]) -> list[str]:
    return [outcome.status for outcome in outcomes]


async def hangs() -> None:
    await asyncio.sleep(LONG)


async def fails() -> None:
    raise ValueError("broken")


async def gives(value: object) -> object:
    return value


@settings(max_examples=20, deadline=None)
@given(delays=st.permutations([0, 0.002, 0.004, 0.006]), workers=st.integers(1, 5))
def test_outcomes_follow_the_order_of_the_jobs_and_not_of_their_ends(delays, workers):
    async def job(name: str, delay: float) -> str:
        await asyncio.sleep(delay)
        return name

    outcomes = run([partial(job, name, delay) for name, delay in zip("dbca", delays, strict=True)], workers=workers)
    assert "".join(outcome.value for outcome in outcomes) == "dbca"


@settings(max_examples=40, deadline=None)
@given(broken=st.lists(st.booleans(), max_size=30), workers=st.integers(1, 8))
def test_every_job_ends_with_one_status_and_the_others_go_on_after_an_error(broken, workers):
    outcomes = run([fails if bad else partial(gives, index) for index, bad in enumerate(broken)], workers=workers)
    assert [outcome.ok for outcome in outcomes] == [not bad for bad in broken]
    assert all(outcome.value == index for index, outcome in enumerate(outcomes) if outcome.ok)


def test_no_jobs_give_no_outcomes():
    assert run([], workers=3) == ()


def test_no_more_jobs_than_workers_run_at_once():
    running, most = 0, 0

    async def job() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    run([job] * 20, workers=3)
    assert most == 3


def test_a_hung_job_is_a_timeout_is_cancelled_and_the_rest_is_done():
    cleaned = []

    async def hung() -> None:
        try:
            await hangs()
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    outcomes = run([hung, partial(gives, 1), hung, partial(gives, 2)], workers=1, job_timeout=0.2)
    assert statuses(outcomes) == ["timeout", "ok", "timeout", "ok"]
    assert cleaned == [1, 1]


def test_a_job_that_refuses_to_be_cancelled_is_left_behind():
    async def stubborn(release: asyncio.Event) -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    async def main() -> tuple[Outcome, ...]:
        release = asyncio.Event()
        outcomes = await afan_out([partial(stubborn, release), partial(gives, 1)], workers=1, job_timeout=0.2)
        release.set()
        return outcomes

    assert statuses(asyncio.run(main())) == ["timeout", "ok"]


def test_when_the_time_for_the_whole_is_up_what_runs_is_a_timeout_and_what_waits_is_cancelled():
    started = []

    async def waits() -> None:
        started.append(1)

    assert statuses(run([partial(gives, 1), hangs, waits], workers=1, timeout=0.3)) == ["ok", "timeout", "cancelled"]
    assert started == []


def test_fail_fast_keeps_what_finished_cancels_what_runs_and_starts_nothing_more():
    started, seen = [], []

    async def runs(token: Token) -> None:
        try:
            await hangs()
        finally:
            seen.append((token.cancelled, token.time_left))

    async def waits() -> None:
        started.append(1)

    began = monotonic()
    outcomes = run([partial(gives, "kept"), runs, fails, waits], workers=2, on_error="fail_fast")
    assert statuses(outcomes) == ["ok", "cancelled", "error", "cancelled"]
    assert (seen, started) == ([(True, 0.0)], [])
    assert monotonic() - began < LONG / 2


def test_cancel_rest_cancels_all_that_has_not_ended_at_the_first_timeout():
    outcomes = run([partial(gives, 1), hangs, fails], workers=1, job_timeout=0.2, on_timeout="cancel_rest")
    assert statuses(outcomes) == ["ok", "timeout", "cancelled"]


def test_a_job_that_gives_up_by_itself_is_cancelled_and_its_caller_is_not():
    async def gives_up() -> None:
        raise asyncio.CancelledError

    assert statuses(run([gives_up, partial(gives, 1)], workers=1, on_error="fail_fast")) == ["cancelled", "ok"]


@pytest.mark.parametrize("signal", [Signal("spent"), ToolDenied("not declared"), SystemExit(3)])
def test_a_signal_or_a_denied_tool_ends_the_whole_and_is_raised_in_the_caller(signal):
    ended = []

    async def runs() -> None:
        try:
            await hangs()
        finally:
            ended.append(1)

    async def raises() -> None:
        await asyncio.sleep(0)
        raise signal

    with pytest.raises(type(signal)) as raised:
        run([runs, raises, hangs], workers=2)
    assert raised.value is signal
    assert ended == [1]


def test_a_cancelled_caller_cancels_its_jobs():
    ended = []

    async def job() -> None:
        try:
            await hangs()
        finally:
            ended.append(1)

    async def main() -> None:
        caller = asyncio.create_task(afan_out([job, job, job], workers=2))
        await asyncio.sleep(0.01)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller

    asyncio.run(main())
    assert ended == [1, 1]


def test_each_job_runs_in_its_own_copy_of_the_callers_context():
    trace: ContextVar[str] = ContextVar("trace", default="none")

    async def job(name: str) -> str:
        before = trace.get()
        trace.set(name)
        return before

    async def main() -> tuple[list[str], str]:
        trace.set("caller")
        outcomes = await afan_out([partial(job, name) for name in "abc"], workers=1)
        return [outcome.value for outcome in outcomes], trace.get()

    assert asyncio.run(main()) == (["caller"] * 3, "caller")


def test_a_plain_value_where_an_awaitable_belongs_is_an_error():
    (outcome,) = run([lambda: 3], workers=1)
    assert isinstance(outcome.error, TypeError)


@pytest.mark.parametrize("rules", [{"workers": 0}, {"workers": 1, "timeout": 0}, {"workers": 1, "on_error": "stop"}])
def test_arguments_of_no_use_are_refused(rules):
    with pytest.raises(FanOutError):
        run([], **rules)
