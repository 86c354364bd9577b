"""`fan_out` on real threads. Hung jobs wait for an event that the test sets at its end, so none is left behind."""

from __future__ import annotations

import subprocess
import sys
from contextvars import ContextVar
from functools import partial
from threading import Event, Lock
from time import monotonic, sleep

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.protocols import GraphAgentError, ToolDenied
from graph_agent.runtime.fanout import FanOutError, Outcome, Token, fan_out
from graph_agent.runtime.limits import BudgetSpent, Meter

LONG = 30.0  # nothing here lasts so long unless it is broken


class Signal(BaseException):
    pass


@pytest.fixture
def release():
    """An event that hung jobs wait for; set when the test is over."""
    event = Event()
    yield event
    event.set()


def statuses(outcomes: tuple[Outcome, ...]) -> list[str]:
    return [outcome.status for outcome in outcomes]


def fails() -> None:
    raise ValueError("broken")


def until_cancelled(token: Token) -> None:
    end = monotonic() + LONG
    while not token.cancelled and monotonic() < end:
        sleep(0.005)


@settings(max_examples=20, deadline=None)
@given(delays=st.permutations([0, 0.002, 0.004, 0.006]), workers=st.integers(1, 5))
def test_outcomes_follow_the_order_of_the_jobs_and_not_of_their_ends(delays, workers):
    def job(name: str, delay: float) -> str:
        sleep(delay)
        return name

    outcomes = fan_out([partial(job, name, delay) for name, delay in zip("dbca", delays, strict=True)], workers=workers)
    assert "".join(outcome.value for outcome in outcomes) == "dbca"


@settings(max_examples=40, deadline=None)
@given(broken=st.lists(st.booleans(), max_size=30), workers=st.integers(1, 8))
def test_every_job_ends_with_one_status_and_the_others_go_on_after_an_error(broken, workers):
    outcomes = fan_out([fails if bad else partial(str, index) for index, bad in enumerate(broken)], workers=workers)
    assert [outcome.ok for outcome in outcomes] == [not bad for bad in broken]
    for index, outcome in enumerate(outcomes):
        if outcome.ok:
            assert (outcome.value, outcome.error) == (str(index), None)
        else:
            assert (outcome.status, outcome.value, str(outcome.error)) == ("error", None, "broken")


def test_no_jobs_give_no_outcomes():
    assert fan_out([], workers=3) == ()


def test_an_iterator_of_jobs_is_taken_once():
    assert [outcome.value for outcome in fan_out((lambda n=n: n for n in range(3)), workers=2)] == [0, 1, 2]


@pytest.mark.parametrize("workers", [1, 3])
def test_no_more_jobs_than_workers_run_at_once(workers):
    lock, running, most = Lock(), 0, 0

    def job() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        sleep(0.002)
        with lock:
            running -= 1

    fan_out([job] * 20, workers=workers)
    assert most <= workers


def test_a_hung_job_is_a_timeout_and_the_rest_is_done(release):
    hung = partial(release.wait, LONG)
    outcomes = fan_out([hung, lambda: 1, hung, lambda: 1, lambda: 1], workers=1, job_timeout=0.3)
    assert statuses(outcomes) == ["timeout", "ok", "timeout", "ok", "ok"]


def test_all_workers_may_hang_and_the_rest_is_still_done(release):
    outcomes = fan_out([partial(release.wait, LONG)] * 4 + [lambda: 1] * 4, workers=4, job_timeout=0.3)
    assert statuses(outcomes) == ["timeout"] * 4 + ["ok"] * 4


def test_a_late_value_is_dropped(release):
    ended = Event()

    def late() -> str:
        release.wait(LONG)
        ended.set()
        return "late"

    outcomes = fan_out([late], workers=1, job_timeout=0.05)
    release.set()
    assert ended.wait(LONG)
    assert outcomes == (Outcome(status="timeout"),)


def test_a_job_learns_from_its_token_that_its_time_is_up():
    seen, ended = [], Event()

    def job(token: Token) -> None:
        seen.append(token.time_left)
        until_cancelled(token)
        seen.extend([token.cancelled, token.time_left])
        ended.set()

    assert statuses(fan_out([job], workers=1, job_timeout=0.05)) == ["timeout"]
    assert ended.wait(LONG)
    assert 0 < seen[0] <= 0.05
    assert seen[1:] == [True, 0.0]


def test_the_time_of_a_job_counts_from_its_own_start():
    outcomes = fan_out([partial(sleep, 0.15)] * 6, workers=1, job_timeout=0.75)
    assert statuses(outcomes) == ["ok"] * 6


def test_when_the_time_for_the_whole_is_up_what_runs_is_a_timeout_and_what_waits_is_cancelled(release):
    started = []
    jobs = [lambda: "done", partial(release.wait, LONG), lambda: started.append(1)]
    outcomes = fan_out(jobs, workers=1, timeout=0.3)
    assert statuses(outcomes) == ["ok", "timeout", "cancelled"]
    assert started == []


def test_a_huge_timeout_is_no_error():
    assert statuses(fan_out([lambda: 1], workers=1, timeout=1e300, job_timeout=1e308)) == ["ok"]


def test_fail_fast_keeps_what_finished_tells_what_runs_and_starts_nothing_more():
    running, told, started = Event(), Event(), []

    def runs(token: Token) -> None:
        running.set()
        until_cancelled(token)
        told.set()

    def fails_then() -> None:
        running.wait(LONG)
        fails()

    jobs = [lambda: "kept", runs, fails_then, *[partial(started.append, n) for n in range(20)]]
    outcomes = fan_out(jobs, workers=2, on_error="fail_fast")
    assert statuses(outcomes) == ["ok", "cancelled", "error"] + ["cancelled"] * 20
    assert outcomes[0].value == "kept"
    assert told.wait(LONG)
    assert started == []


def test_fail_fast_does_not_wait_for_a_job_that_never_looks_at_its_token(release):
    began = monotonic()
    outcomes = fan_out([partial(release.wait, LONG), fails], workers=2, on_error="fail_fast")
    assert statuses(outcomes) == ["cancelled", "error"]
    assert monotonic() - began < LONG / 2


def test_fail_fast_lets_a_timeout_pass(release):
    outcomes = fan_out([partial(release.wait, LONG), lambda: 1], workers=1, job_timeout=0.3, on_error="fail_fast")
    assert statuses(outcomes) == ["timeout", "ok"]


def test_cancel_rest_cancels_all_that_has_not_ended_at_the_first_timeout(release):
    started = []
    jobs = [lambda: "kept", partial(release.wait, LONG), partial(started.append, 1)]
    outcomes = fan_out(jobs, workers=1, job_timeout=0.3, on_timeout="cancel_rest")
    assert statuses(outcomes) == ["ok", "timeout", "cancelled"]
    assert started == []


def test_cancel_rest_lets_an_error_pass():
    assert statuses(fan_out([fails, lambda: 1], workers=1, on_timeout="cancel_rest")) == ["error", "ok"]


@pytest.mark.parametrize("signal", [Signal("spent"), SystemExit(3), ToolDenied("not declared"), KeyboardInterrupt()])
@pytest.mark.parametrize("on_error", ["collect", "fail_fast"])
def test_a_signal_or_a_denied_tool_ends_the_whole_and_is_raised_in_the_caller(signal, on_error):
    running, told, started = Event(), Event(), []

    def runs(token: Token) -> None:
        running.set()
        until_cancelled(token)
        told.set()

    def raises() -> None:
        running.wait(LONG)
        raise signal

    with pytest.raises(type(signal)) as raised:
        fan_out([runs, raises, partial(started.append, 1)], workers=2, on_error=on_error)
    assert raised.value is signal
    assert told.wait(LONG)
    assert started == []


def test_a_signal_from_a_job_that_was_given_up_still_ends_the_whole():
    def late(token: Token) -> None:
        until_cancelled(token)
        raise Signal("spent")

    with pytest.raises(Signal):
        fan_out([late, until_cancelled], workers=1, job_timeout=0.2)


def test_a_signal_passes_through_a_fan_out_inside_a_fan_out():
    def spent() -> None:
        raise Signal("spent")

    with pytest.raises(Signal):
        fan_out([lambda: fan_out([spent], workers=1), lambda: 1], workers=2)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_parallel_calls_never_overdraw_the_budget_whatever_the_number_of_workers(workers):
    meter, calls = Meter(3), []

    def call() -> None:
        meter.charge()
        calls.append(1)

    with pytest.raises(BudgetSpent):
        fan_out([call] * 8, workers=workers)
    assert meter.turns == 3
    assert len(calls) <= 3


def test_a_value_that_is_an_exception_or_an_outcome_is_only_a_value():
    values = ValueError("just a value"), Outcome(status="error"), Signal("not raised")
    outcomes = fan_out([lambda value=value: value for value in values], workers=1)
    assert statuses(outcomes) == ["ok"] * 3
    assert all(outcome.value is value for outcome, value in zip(outcomes, values, strict=True))


def test_each_job_runs_in_its_own_copy_of_the_callers_context():
    trace: ContextVar[str] = ContextVar("trace", default="none")
    trace.set("caller")

    def job(name: str) -> str:
        before = trace.get()
        trace.set(name)
        return before

    outcomes = fan_out([partial(job, name) for name in "abc"], workers=1)
    assert [outcome.value for outcome in outcomes] == ["caller"] * 3
    assert trace.get() == "caller"


class Worker:
    def plain(self) -> str:
        return "plain"

    def looks(self, token: Token) -> Token:
        return token

    def __call__(self, token: Token) -> Token:
        return token


@pytest.mark.parametrize(
    ("job", "gets_token"),
    [
        (lambda token: token, True),
        (lambda anything, /: anything, True),
        (lambda token, size=3, *rest, **more: token, True),
        (partial(lambda size, token: token, 3), True),
        (Worker().looks, True),
        (Worker(), True),
        (lambda: None, False),
        (lambda token=None: token, False),
        (lambda *rest: rest[0] if rest else None, False),
        (Worker().plain, False),
        (dict, False),
    ],
)
def test_a_job_gets_its_token_only_when_it_needs_one_argument(job, gets_token):
    (outcome,) = fan_out([job], workers=1)
    assert outcome.ok
    assert isinstance(outcome.value, Token) is gets_token


async def a_coroutine_function() -> None: ...


def test_a_job_that_cannot_be_called_is_refused_before_any_other_starts():
    started = []
    with pytest.raises(FanOutError, match="'text' cannot be called: give a function, and do not call it"):
        fan_out([lambda: started.append(1), "text"], workers=1)
    assert started == []


@pytest.mark.parametrize("job", [lambda one, two: None, lambda *, token: None])
def test_a_job_that_needs_more_than_a_token_is_an_error(job):
    (outcome,) = fan_out([job], workers=1)
    assert isinstance(outcome.error, TypeError)


def test_a_coroutine_in_place_of_its_function_is_refused():
    coroutine = a_coroutine_function()
    with pytest.raises(FanOutError, match="cannot be called"):
        fan_out([coroutine], workers=1)
    coroutine.close()


@pytest.mark.parametrize("job", [a_coroutine_function, lambda: a_coroutine_function()])
def test_a_coroutine_that_a_job_returns_is_an_error_and_not_a_value(job):
    (outcome,) = fan_out([job], workers=1)
    assert outcome.status == "error"
    assert "use afan_out" in str(outcome.error)


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_is_a_whole_number_from_one(workers):
    with pytest.raises(FanOutError, match=r"workers is .*: give a whole number, 1 or more"):
        fan_out([], workers=workers)


@pytest.mark.parametrize("name", ["timeout", "job_timeout"])
@pytest.mark.parametrize("seconds", [0, -1.5, float("nan"), float("inf")])
def test_a_timeout_is_finite_and_above_zero(name, seconds):
    with pytest.raises(FanOutError, match=r"a timeout is .*: give seconds above 0"):
        fan_out([], workers=1, **{name: seconds})


def test_a_policy_that_does_not_exist_is_refused():
    with pytest.raises(FanOutError, match=r"no policy is .failfast.: use collect or fail_fast") as raised:
        fan_out([], workers=1, on_error="failfast")
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, GraphAgentError)
    with pytest.raises(FanOutError, match=r"no policy is .fail_fast.: use collect or cancel_rest"):
        fan_out([], workers=1, on_timeout="fail_fast")


def program(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, encoding="utf-8", timeout=LONG)


def test_a_program_ends_though_a_job_still_hangs():
    done = program(
        "from time import sleep\n"
        "from graph_agent.runtime.fanout import fan_out\n"
        "print(fan_out([lambda: sleep(600)], workers=1, job_timeout=0.1)[0].status)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "timeout\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that a process can send itself like Ctrl-C")
def test_an_interrupt_of_the_caller_cancels_the_jobs_and_goes_on():
    done = program(
        "import os, signal, threading, time\n"
        "from graph_agent.runtime.fanout import fan_out\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job's child ignores it
        "told = threading.Event()\n"
        "def job(token):\n"
        "    time.sleep(0.2)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    while not token.cancelled: threading.Event().wait(0.01)\n"
        "    told.set()\n"
        "try:\n"
        "    fan_out([job, lambda: print('started')], workers=1)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', told.wait(20))\n"
    )
    assert (done.stdout, done.stderr) == ("interrupted True\n", "")


def test_threads_need_no_event_loop():
    done = program(
        "import sys\n"
        "from graph_agent.runtime.fanout import fan_out\n"
        "fan_out([lambda: 1], workers=1)\n"
        "print([name for name in ('asyncio', 'concurrent.futures') if name in sys.modules])\n"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
