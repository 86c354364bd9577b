"""What a second verification says beside the loop and a person: agreement, the rates, and who is drawn."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.audit import Audited, Entry, Finished, drawn, fooled, period_of, rows, total, turned_down
from graph_agent.verify.report import Verdict

DAY = 86_400.0
PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


def entry(run: str, word: Any, *, kind: Any = "audit", ended: float = 0, passed: bool = True, **more: Any) -> Entry:
    known = {"workflow": "W", "policy": "p", "at": "2026-03-31T00:00:00+00:00", "who": "mo"}
    return Entry(**{"kind": kind, "run": run, "word": word, "ended": ended, "passed": passed, **known, **more})


def judged(run: str, word: Any, **more: Any) -> Entry:
    return entry(run, word, kind="judged", **more)


def ended(run: str, passed: bool = True, at: float = 0) -> Finished:
    return Finished(run=run, ended=at, passed=passed)


@pytest.mark.parametrize(
    ("claimed", "found", "verdict"),
    [
        (PASS, PASS, "agrees"),
        (FAIL, FAIL, "agrees"),
        (PASS, FAIL, "disagrees"),
        (FAIL, PASS, "disagrees"),
        (PASS, UNKNOWN, "can't tell"),
        (UNKNOWN, PASS, "can't tell"),
        (UNKNOWN, UNKNOWN, "can't tell"),
    ],
)
def test_what_cannot_be_told_is_no_agreement(claimed: Verdict, found: Verdict, verdict: str) -> None:
    assert Audited(claimed=claimed, found=found).verdict == verdict


@pytest.mark.parametrize("claimed", list(Verdict))
@pytest.mark.parametrize("found", list(Verdict))
def test_no_verdict_outweighs_what_is_not_as_the_run_left_it(claimed: Verdict, found: Verdict) -> None:
    audited = Audited(claimed=claimed, found=found, wrong=("a.py is another",), reasons=("tests failed",))
    assert (audited.verdict, audited.passes) == ("disagrees", FAIL)
    assert audited.what == ("a.py is another", "tests failed")


def test_the_rates_stand_in_the_period_in_which_the_run_ended() -> None:
    finished = [ended("a", at=0), ended("b", passed=False, at=1), ended("c", at=DAY)]
    entries = [entry("a", "pass"), entry("c", "fail", ended=DAY), judged("c", "reject", ended=DAY)]
    first, second = rows(finished, entries, "day")
    assert (first.period, first.finished, first.passed, first.told, first.reverified) == ("1970-01-01", 2, 1, 1, 1)
    assert (second.period, second.told, second.reverified, second.judged, second.accepted) == ("1970-01-02", 1, 0, 1, 0)
    assert [one.period for one in rows(finished, entries, "week")] == ["1970-W01"]


def test_the_latest_of_several_looks_counts() -> None:
    entries = [entry("a", "fail"), judged("a", "reject"), entry("a", "pass"), judged("a", "accept")]
    row = total([ended("a")], entries)
    assert (row.audited, row.reverified, row.judged, row.accepted) == (1, 1, 1, 1)
    assert fooled(row) == () and turned_down([ended("a")], entries) == ()


def test_a_run_that_is_gone_still_counts_by_what_was_written_of_it() -> None:
    row = total([], [judged("gone", "reject"), judged("gone too", "accept", passed=False)])
    assert (row.finished, row.passed, row.judged, row.accepted) == (2, 1, 2, 1)


def test_what_could_not_be_told_is_in_no_rate() -> None:
    row = total([ended("a"), ended("b")], [entry("a", "unknown"), entry("b", "pass")])
    assert (row.audited, row.told, row.reverified, row.passed_of_told) == (2, 1, 1, 1)
    assert fooled(row) == ()


def test_a_judged_rate_is_held_against_the_loops_own_on_the_same_runs() -> None:
    finished = [ended("a"), ended("b"), ended("c", passed=False), ended("d", passed=False)]
    as_good = [judged("a", "accept"), judged("c", "reject", passed=False)]
    assert fooled(total(finished, as_good)) == ()  # though half of all runs passed and half of the judged
    worse = [*as_good, judged("b", "reject")]
    (told,) = fooled(total(finished, worse))
    assert "the judged rate is lower than the pass rate: of 3 judged runs the loop passed 2" in told
    assert turned_down(finished, worse) == ("b",)


def test_a_second_verification_that_fails_what_the_loop_passed_is_said_too() -> None:
    finished = [ended("a"), ended("b", passed=False)]
    entries = [entry("a", "fail"), entry("b", "fail", passed=False)]
    assert fooled(total(finished, entries)) == (
        "the re-verified rate is lower than the pass rate: of 2 runs verified again the loop passed 1, 0 hold",
    )
    assert turned_down(finished, entries) == ("a",)


@given(st.sets(st.text(max_size=8), max_size=20), st.integers(0, 25), st.integers())
def test_who_is_drawn_depends_on_the_seed_and_not_on_the_order(runs: set[str], count: int, seed: int) -> None:
    shuffled = list(runs)
    random.Random(1).shuffle(shuffled)
    chosen = drawn(shuffled, count, seed)
    assert chosen == drawn(sorted(runs), count, seed)
    assert len(set(chosen)) == len(chosen) == min(count, len(runs))
    assert set(chosen) <= runs
    assert drawn(runs, len(runs), seed)[:count] == chosen


def test_another_seed_draws_others() -> None:
    runs = [f"run-{number}" for number in range(50)]
    assert len({drawn(runs, 3, seed) for seed in range(10)}) > 5


@pytest.mark.parametrize(
    ("seconds", "day", "week"),
    [(0.0, "1970-01-01", "1970-W01"), (1_767_225_600.0, "2026-01-01", "2026-W01"), (-DAY, "1969-12-31", "1970-W01")],
)
def test_periods_are_named_in_utc_and_weeks_by_iso_8601(seconds: float, day: str, week: str) -> None:
    assert (period_of(seconds, "day"), period_of(seconds, "week")) == (day, week)
