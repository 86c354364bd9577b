"""The books of a fan-out against an invented clock: no thread, no waiting, every moment chosen."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.protocols import ToolDenied
from graph_agent.runtime.batch import Batch, Cancelled, Entry, Outcome, Rules


class Signal(BaseException):
    pass


def rules(workers: int = 2, timeout: float | None = None, job_timeout: float | None = None, **policies: str) -> Rules:
    words = {"on_error": "collect", "on_timeout": "collect"} | policies
    return Rules(workers=workers, timeout=timeout, job_timeout=job_timeout, **words)


def statuses(batch: Batch) -> list[str]:
    return [outcome.status for outcome in batch.outcomes()]


def ok(value: object = None) -> Outcome:
    return Outcome(status="ok", value=value)


def simulate(jobs: list[tuple[int, str]], rule: Rules) -> tuple[Batch, list[int], int]:
    """Drive a batch through jobs of (seconds, kind). Returns it, the jobs in the order of their starts, and the
    largest number that ran at once."""
    batch: Batch = Batch(len(jobs), rule, 0.0)
    ends: list[tuple[float, int, Entry]] = []
    started: list[int] = []
    now, most = 0.0, 0
    while not batch.finished:
        while (entry := batch.take(now)) is not None:
            started.append(entry.index)
            heappush(ends, (now + jobs[entry.index][0], entry.index, entry))
        most = max(most, sum(entry.open for _, _, entry in ends))
        pause = batch.pause(now)
        if ends and (pause is None or ends[0][0] < now + pause):
            now, index, entry = heappop(ends)
            kind = jobs[index][1]
            batch.settle(entry, ok(index) if kind == "ok" else ValueError(index), now)
        elif not batch.finished:
            assert pause is not None
            now += pause
            batch.expire(now)
    return batch, started, most


def schedule(jobs: list[tuple[int, str]], rule: Rules) -> list[str]:
    """What should come of it, worked out from the plain idea: each job starts at the first moment a worker is free."""
    whole = float("inf") if rule.timeout is None else rule.timeout
    each = float("inf") if rule.job_timeout is None else rule.job_timeout
    free = [0.0] * rule.workers
    found = []
    for seconds, kind in jobs:
        start = heappop(free)
        heappush(free, min(start + seconds, start + each))
        if start >= whole:
            found.append("cancelled")
        elif seconds >= each or start + seconds >= whole:
            found.append("timeout")
        else:
            found.append(kind)
    return found


JOBS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["ok", "error"])), max_size=12)
LIMIT = st.none() | st.integers(1, 9)


@given(jobs=JOBS, workers=st.integers(1, 5), timeout=LIMIT, job_timeout=LIMIT)
def test_a_collecting_batch_does_what_a_naive_schedule_says(jobs, workers, timeout, job_timeout):
    rule = rules(workers, timeout, job_timeout)
    batch, _, _ = simulate(jobs, rule)
    assert statuses(batch) == schedule(jobs, rule)


@given(
    jobs=JOBS,
    workers=st.integers(1, 5),
    timeout=LIMIT,
    job_timeout=LIMIT,
    on_error=st.sampled_from(["collect", "fail_fast"]),
    on_timeout=st.sampled_from(["collect", "cancel_rest"]),
)
def test_under_every_policy_jobs_start_in_order_within_the_bound_and_end_once(
    jobs, workers, timeout, job_timeout, on_error, on_timeout
):
    rule = rules(workers, timeout, job_timeout, on_error=on_error, on_timeout=on_timeout)
    batch, started, most = simulate(jobs, rule)
    found = batch.outcomes()
    assert most <= workers
    assert started == list(range(len(started)))
    assert len(found) == len(jobs)
    assert all(outcome.status == "cancelled" for outcome in found[len(started) :])
    assert all(outcome.value == index for index, outcome in enumerate(found) if outcome.ok)
    assert all((outcome.error is not None) == (outcome.status == "error") for outcome in found)
    if on_error == "fail_fast":
        assert statuses(batch).count("error") <= 1
    if "error" not in statuses(batch) and "timeout" not in statuses(batch):
        assert set(statuses(batch)) <= {"ok"}


@given(jobs=JOBS, workers=st.integers(1, 5), job_timeout=LIMIT)
def test_what_a_stopped_batch_kept_is_what_a_collecting_one_found(jobs, workers, job_timeout):
    whole, _, _ = simulate(jobs, rules(workers, None, job_timeout))
    stopped, _, _ = simulate(jobs, rules(workers, None, job_timeout, on_error="fail_fast", on_timeout="cancel_rest"))
    for kept, found in zip(statuses(stopped), statuses(whole), strict=True):
        assert kept in (found, "cancelled")


def test_a_result_that_comes_at_the_deadline_is_late_even_when_nobody_had_looked():
    batch: Batch = Batch(1, rules(job_timeout=5), 0.0)
    entry = batch.take(1.0)
    assert not batch.settle(entry, ok("late"), 6.0)
    assert batch.outcomes() == (Outcome(status="timeout"),)


def test_what_comes_after_the_batch_was_stopped_is_dropped():
    batch: Batch = Batch(2, rules(on_error="fail_fast"), 0.0)
    first, second = batch.take(0.0), batch.take(0.0)
    assert batch.settle(second, ValueError("broken"), 1.0)
    assert not batch.settle(first, ok("late"), 2.0)
    assert statuses(batch) == ["cancelled", "error"]


def test_two_jobs_that_fall_due_together_are_both_timeouts_when_the_rest_is_cancelled():
    batch: Batch = Batch(3, rules(job_timeout=5, on_timeout="cancel_rest"), 0.0)
    batch.take(0.0), batch.take(0.0)
    batch.expire(5.0)
    assert statuses(batch) == ["timeout", "timeout", "cancelled"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_signals_the_one_of_the_earlier_job_is_raised_whichever_came_first(order):
    batch: Batch = Batch(2, rules(), 0.0)
    entries = batch.take(0.0), batch.take(0.0)
    signals = Signal("first"), ToolDenied("second")
    for index in order:
        assert not batch.settle(entries[index], signals[index], 1.0)
    with pytest.raises(Signal, match="first"):
        batch.outcomes()


def test_a_signal_from_a_job_that_was_given_up_still_ends_the_whole():
    batch: Batch = Batch(3, rules(workers=1, job_timeout=5), 0.0)
    late = batch.take(0.0)
    batch.expire(5.0)
    running = batch.take(5.0)
    batch.settle(late, Signal("spent"), 6.0)
    assert batch.finished
    assert running.token.cancelled
    with pytest.raises(Signal):
        batch.outcomes()


def test_the_pause_is_until_the_first_job_falls_due_and_for_ever_without_limits():
    batch: Batch = Batch(2, rules(timeout=20, job_timeout=5), 0.0)
    assert batch.pause(0.0) == 5
    batch.take(1.0), batch.take(3.0)
    assert batch.pause(4.0) == 2
    assert Batch(1, rules(timeout=20), 0.0).pause(4.0) == 16
    assert Batch(1, rules(), 0.0).pause(4.0) is None


def test_a_token_says_why_its_job_is_to_stop():
    batch: Batch = Batch(3, rules(on_error="fail_fast"), 0.0)
    first, second = batch.take(0.0), batch.take(0.0)
    assert second.token.time_left is None
    second.token.raise_if_cancelled()
    batch.settle(first, ValueError("broken"), 1.0)
    assert second.token.time_left == 0.0
    with pytest.raises(Cancelled, match="another job failed"):
        second.token.raise_if_cancelled()


def test_a_job_that_was_due_tells_the_reason_that_came_first():
    batch: Batch = Batch(2, rules(workers=1, timeout=9, job_timeout=5), 0.0)
    entry = batch.take(0.0)
    batch.expire(5.0)
    batch.expire(9.0)
    with pytest.raises(Cancelled, match="it ran past its time"):
        entry.token.raise_if_cancelled()


@given(starts=st.lists(st.integers(0, 20), min_size=2, max_size=6).map(sorted), timeout=LIMIT, job_timeout=LIMIT)
def test_no_job_falls_due_before_one_that_started_earlier(starts, timeout, job_timeout):
    batch: Batch = Batch(len(starts), rules(len(starts), timeout, job_timeout), 0.0)
    taken = [entry for now in starts if (entry := batch.take(now)) is not None]
    assert all(one.token._deadline <= other.token._deadline for one, other in pairwise(taken))
