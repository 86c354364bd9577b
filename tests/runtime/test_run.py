"""`run_graph`: until the run stops by itself, at an end or a pause, or with a typed error that carries the state."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent import (
    NodeError,
    PatchError,
    Route,
    RouteError,
    RunError,
    StateError,
    StepLimitReached,
    load_checkpoint,
    run_graph,
    save_checkpoint,
)
from graph_agent.runtime.errors import ArgumentError
from tests.runtime.counting import Count, Stage, counting, start, work


class Fails:
    """A node that raises the first `times` times."""

    def __init__(self, times: int, error: BaseException | None = None) -> None:
        self.times, self.calls, self.error, self.seen = times, 0, error or OSError("try again"), []

    def __call__(self, state: Count, ctx: Any) -> dict[str, Any]:
        self.calls += 1
        self.seen.append(state)
        if self.calls <= self.times:
            raise self.error
        return {"count": state.count + 1}


def test_a_run_goes_on_to_its_end():
    final = run_graph(counting(), start(need=3))
    assert (final.stage, final.count, final.steps) == (Stage.DONE, 3, 6)
    assert final.log == ("visit 1", "visit 2", "visit 3")
    assert final.route_reason == "3 of 3"


@pytest.mark.parametrize("stage", [Stage.DONE, Stage.FAILED, Stage.HUMAN])
def test_a_run_that_stands_at_an_end_or_a_pause_runs_nothing(stage):
    state = start(stage=stage)
    assert run_graph(counting(Fails(99)), state) is state
    assert run_graph(counting(Fails(99)), state, max_steps=0) is state


@pytest.mark.parametrize("need", range(1, 5))
@pytest.mark.parametrize("fuse", range(10))
def test_the_fuse_lets_through_that_many_visits_and_an_end_on_the_last_of_them_is_an_end(need, fuse):
    visits = 2 * need
    if fuse >= visits:
        assert run_graph(counting(), start(need=need), max_steps=fuse).steps == visits
        return
    with pytest.raises(StepLimitReached, match="max_steps") as error:
        run_graph(counting(), start(need=need), max_steps=fuse)
    assert error.value.state.steps == fuse
    assert run_graph(counting(), error.value.state) == run_graph(counting(), start(need=need))


@pytest.mark.parametrize("fuse", [-1, True, 2.0, "5", None, float("nan")])
def test_a_fuse_that_is_no_number_of_visits_is_refused(fuse):
    with pytest.raises(ArgumentError, match="max_steps is"):
        run_graph(counting(), start(), max_steps=fuse)
    assert issubclass(ArgumentError, ValueError)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("a text", "this graph runs on Count"),
        (None, "this graph runs on Count"),
        (start(count="1"), "count expected int, got '1'"),
        (start(count=True), "count expected int, got True"),
        (start(log=["a"]), "log expected tuple"),
        (start(stage="work"), "stage expected Stage"),
        (start(max_turns=-1), "max_turns is -1: give 0 or more"),
        (start(spent_turns=-1), "spent_turns is -1: give 0 or more"),
        (start(steps=-1), "steps is -1: give 0 or more"),
        (start(max_turns=True), "max_turns expected int | None, got True"),
        (start(max_turns=float("nan")), "max_turns expected int | None, got nan"),
        (start(max_turns="5"), "max_turns expected int | None, got '5'"),
    ],
    ids=str,
)
def test_a_state_that_does_not_fit_is_refused_before_anything_runs(state, said):
    node = Fails(99)
    with pytest.raises(StateError) as error:
        run_graph(counting(node), state)
    assert said in str(error.value)
    assert node.calls == 0


def test_an_error_of_a_node_carries_the_state_the_stage_and_its_cause():
    node = Fails(99)
    with pytest.raises(NodeError, match="work failed: OSError: try again") as error:
        run_graph(counting(node), start(count=5))
    assert (error.value.stage, error.value.error, error.value.state) == (Stage.WORK, node.error, start(count=5))
    assert error.value.__cause__ is node.error


def test_a_run_goes_on_from_the_state_of_its_error_once_the_cause_is_mended():
    node = Fails(1)
    with pytest.raises(RunError) as error:
        run_graph(counting(node), start())
    assert run_graph(counting(node), error.value.state) == run_graph(counting(Fails(0)), start())


@pytest.mark.parametrize(("retry", "attempts"), [(0, 1), (1, 2), (3, 4)])
def test_retry_is_the_number_of_extra_attempts(retry, attempts):
    node = Fails(99)
    with pytest.raises(NodeError):
        run_graph(counting(node, retry=retry), start())
    assert node.calls == attempts


def test_attempts_are_not_visits_and_each_sees_the_same_state():
    node = Fails(2)
    final = run_graph(counting(node, retry=2), start(need=1))
    assert (final.steps, node.calls) == (2, 3)
    assert node.seen == [start(need=1)] * 3


def test_retries_are_counted_anew_for_each_visit():
    class EverySecond(Fails):
        def __call__(self, state: Count, ctx: Any) -> dict[str, Any]:
            self.calls += 1
            if self.calls % 2:
                raise self.error
            return {"count": state.count + 1}

    node = EverySecond(0)
    final = run_graph(counting(node, retry=1), start(need=4), max_steps=8)
    assert (final.stage, final.count, node.calls) == (Stage.DONE, 4, 8)


def test_a_node_that_fails_goes_to_on_error_with_the_reason_when_its_retries_are_used_up():
    node = Fails(99)
    final = run_graph(counting(node, retry=1, on_error=Stage.HUMAN), start())
    assert (final.stage, final.came_from, final.steps, node.calls) == (Stage.HUMAN, Stage.WORK, 1, 2)
    assert final.route_reason == "work failed: OSError: try again"


def test_on_error_may_be_a_node_and_its_own_failure_is_raised():
    graph = counting(Fails(99), on_error=Stage.CHECK)
    final = run_graph(graph, start(need=1, count=1))
    assert (final.stage, final.steps) == (Stage.DONE, 2)
    with pytest.raises(NodeError, match="check failed: ZeroDivisionError") as error:
        run_graph(graph, start(need=0))
    assert error.value.stage is Stage.CHECK
    assert error.value.state.route_reason == "work failed: OSError: try again"


def test_a_bad_patch_or_a_bad_route_is_never_routed_to_on_error():
    with pytest.raises(PatchError):
        run_graph(counting(lambda s, c: {"nope": 1}, on_error=Stage.FAILED, retry=3), start())
    lost = counting(to=lambda s: Route(Stage.DONE, "undeclared"), exits={Stage.CHECK}, on_error=Stage.FAILED)
    with pytest.raises(RouteError):
        run_graph(lost, start())


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_what_is_no_error_of_the_node_goes_through_as_it_is(signal):
    node = Fails(1, signal)
    with pytest.raises(type(signal)) as raised:
        run_graph(counting(node, retry=5, on_error=Stage.FAILED), start())
    assert raised.value is signal
    assert node.calls == 1


def test_a_node_may_run_a_graph_of_its_own():
    def nested(state: Count, ctx: Any) -> dict[str, Any]:
        inner = run_graph(counting(), start(task_id="inner", need=3), ctx)
        return {"count": inner.count}

    assert run_graph(counting(nested), start(need=3)).steps == 2


def test_what_an_inner_run_raises_is_the_nodes_error():
    def nested(state: Count, ctx: Any) -> dict[str, Any]:
        return {"count": run_graph(counting(), start(need=9), ctx, max_steps=1).count}

    with pytest.raises(NodeError, match="work failed: StepLimitReached"):
        run_graph(counting(nested), start())


def test_two_runs_of_one_graph_do_not_meet():
    graph = counting()
    assert [run_graph(graph, start(task_id=str(n), need=n)).count for n in (3, 1, 2)] == [3, 1, 2]
    assert work(start(), None) == {"count": 1, "log": ("visit 1",)}


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("error", [ValueError("\udcff.txt"), Unsayable()])
def test_whatever_an_error_says_the_state_after_it_can_be_saved(error, tmp_path):
    def node(state, ctx):
        raise error

    stopped = run_graph(counting(node, on_error=Stage.HUMAN), start())
    save_checkpoint(stopped, tmp_path / "state.json")
    assert load_checkpoint(tmp_path / "state.json", Count) == stopped
    assert type(error).__name__ in stopped.route_reason
