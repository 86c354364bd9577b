"""Trap 14: one branch of a fan-out fails. The stated policy holds; what finished is kept, in declared order."""

from __future__ import annotations

from threading import Event

import pytest

from graph_agent import fan_out

LONG = 30.0


def branches(calls: list[str]):
    """A slow one that ends last, one that fails while the slow one runs, and a quick one."""
    failed = Event()

    def slow() -> str:
        calls.append("slow")
        failed.wait(LONG)
        return "slow"

    def broken() -> str:
        calls.append("broken")
        failed.set()
        raise ConnectionError("no route")

    def quick() -> str:
        calls.append("quick")
        return "quick"

    return slow, broken, quick


@pytest.mark.parametrize("workers", [2, 3])
def test_with_collect_the_siblings_of_a_failed_branch_are_kept_in_declared_order(workers):
    calls: list[str] = []
    slow, broken, quick = fan_out(branches(calls), workers=workers)
    assert (slow.status, slow.value) == ("ok", "slow")
    assert (broken.status, str(broken.error)) == ("error", "no route")
    assert (quick.status, quick.value) == ("ok", "quick")
    assert sorted(calls) == ["broken", "quick", "slow"]


def test_with_fail_fast_what_finished_before_the_failure_is_kept_and_the_rest_is_cancelled():
    calls: list[str] = []
    _, broken, quick = branches(calls)
    outcomes = fan_out([quick, broken, quick, quick], workers=1, on_error="fail_fast")
    assert [outcome.status for outcome in outcomes] == ["ok", "error", "cancelled", "cancelled"]
    assert outcomes[0].value == "quick"
    assert calls == ["quick", "broken"]


def test_only_the_branches_that_failed_need_to_run_again():
    calls: list[str] = []
    jobs = branches(calls)
    first = fan_out(jobs, workers=2)
    missing = [job for job, outcome in zip(jobs, first, strict=True) if not outcome.ok]
    fan_out(missing, workers=2)
    assert {name: calls.count(name) for name in set(calls)} == {"slow": 1, "broken": 2, "quick": 1}
