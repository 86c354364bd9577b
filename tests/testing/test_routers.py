"""Laws of routers: each broken by a router that breaks it and no other, and told with the state that shows it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import strategies as st

from graph_agent import BACK, GraphState, Route, encode
from graph_agent.runtime.typecheck import misfit
from graph_agent.testing.exploring import explore
from graph_agent.testing.laws import never
from graph_agent.testing.machine import graph_machine
from graph_agent.testing.outcomes import ExplorationError
from graph_agent.testing.report import LawBroken
from graph_agent.testing.routers import RouterBroken, check_reads, check_router
from graph_agent.testing.states import Seeded, Source, states_of
from graph_agent.testing.tracing import reads
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.repair.state import TaskState
from tests.testing.graphs import GRAPH, OUTCOMES, START, Job, Stage, after_check, after_human, answers, refuse

EXITS = {Stage.DONE, Stage.HUMAN, Stage.WORK}
STATES = states_of(Job)
SEEDED: Seeded[Job] = Seeded(Source(Job, {}))


@pytest.mark.parametrize("states", [STATES, SEEDED, [START]], ids=["strategy", "seeded", "list"])
def test_a_good_router_keeps_all_laws(states: Any) -> None:
    check_router(after_check, states, exits=EXITS)
    check_router(after_check, states, exits=GRAPH.nodes[Stage.CHECK])
    check_router(after_human, states, exits={BACK, Stage.FAILED})


def raises(state: Job) -> Route:
    return Route(Stage.DONE, f"{1 // (state.max_tries - state.tries)}")


def leaves(state: Job) -> Route:
    return Route(Stage.FAILED if state.tries > state.max_tries else Stage.WORK, "on")


def silent(state: Job) -> Route:
    return Route(Stage.WORK, " " if state.good else "on")


def no_route(state: Job) -> Any:
    return Stage.WORK if state.give_up else Route(Stage.WORK, "on")


def changes(state: Job) -> Route:
    object.__setattr__(state, "tries", state.tries + 1)
    return Route(Stage.WORK, "on")


CALLS = [0]


def counts(state: Job) -> Route:
    CALLS[0] += 1
    return Route(Stage.WORK, f"call {CALLS[0]}")


SEEN: set[Any] = set()


def remembers(state: Job) -> Route:
    """The same twice running; another once it has seen more."""
    SEEN.add(state)
    return Route(Stage.WORK if len(SEEN) < 5 else Stage.DONE, "on")


def by_text(state: Job) -> Route:
    """A StrEnum's member equals its text, which is no stage."""
    return Route("work", "on")  # type: ignore[arg-type]


@pytest.mark.parametrize("states", [STATES, SEEDED], ids=["strategy", "seeded"])
@pytest.mark.parametrize(
    ("router", "said"),
    [
        (raises, "raises is not total: it raised ZeroDivisionError"),
        (leaves, "leaves leaves its exits: failed (on), where it may go to done, human, work"),
        (silent, "silent gives no reason for work"),
        (no_route, "no_route returned <Stage.WORK: 'work'> and no Route"),
        (changes, "changes is not pure: it changed tries"),
        (counts, "counts is not deterministic: work (call"),
        (remembers, "remembers is not deterministic: first work (on), later done (on)"),
        (by_text, "by_text leaves its exits"),
    ],
)
def test_each_law_is_found_broken(router: Any, said: str, states: Any) -> None:
    SEEN.clear()
    with pytest.raises(RouterBroken) as error:
        check_router(router, states, exits=EXITS)
    assert said in str(error.value)


def test_the_state_that_shows_it_is_small_and_is_code() -> None:
    with pytest.raises(RouterBroken) as error:
        check_router(leaves, states_of(Job, task_id="j"), exits=EXITS)
    code = str(error.value).partition("shown by\n\n")[2]
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["state"] == error.value.state == Job(task_id="j", tries=1, max_tries=0)


def test_no_states_prove_nothing() -> None:
    with pytest.raises(ValueError, match="no states"):
        check_router(after_check, [], exits=EXITS)


def test_what_a_router_reads_depends_on_the_way_that_it_takes() -> None:
    assert reads(after_check, replace(START, good=True)) == {"good"}
    assert reads(after_check, START) == {"good", "tries", "max_tries"}


def test_a_property_counts_as_the_fields_that_it_reads() -> None:
    from tests.workflows.repairing import task

    assert reads(lambda state: state.attempts, task()) == {"plan", "former_plans", "repairs"}


def test_reading_is_held_to_what_is_declared() -> None:
    check_reads(after_check, STATES, {"good", "tries", "max_tries"})
    check_reads(refuse, SEEDED, {"give_up", "tries", "max_tries"})
    with pytest.raises(RouterBroken, match="after_check reads max_tries, which is not declared"):
        check_reads(after_check, STATES, {"good", "tries"})


@dataclass(frozen=True, kw_only=True)
class Bounded(GraphState):
    stage: Stage = Stage.WORK
    level: Annotated[int, range(2, 4)] = 2
    word: Annotated[str, ["a", "b"]] = "a"
    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


@pytest.mark.parametrize("cls", [Job, TaskState, Bounded])
def test_states_from_annotations_fit_their_class_and_can_be_saved(cls: Any) -> None:
    made = list(Seeded(Source(cls, {}), count=60))
    assert all(misfit(cls, state) is None and encode(state) for state in made)
    assert len({state.stage for state in made}) > 2


def test_the_same_seed_makes_the_same_states() -> None:
    assert list(Seeded(Source(TaskState, {}), 20, 7)) == list(Seeded(Source(TaskState, {}), 20, 7))
    assert list(Seeded(Source(TaskState, {}), 20, 7)) != list(Seeded(Source(TaskState, {}), 20, 8))


def test_bounds_come_from_annotated_and_what_the_class_refuses_is_left_out() -> None:
    made = list(Seeded(Source(Bounded, {}), count=200))
    assert {state.level for state in made} == {2, 3}
    assert {state.word for state in made} == {"a", "b"}
    assert all(state.low <= state.high for state in made)


def test_overrides_are_values_to_choose_from_or_the_value() -> None:
    made = list(Seeded(Source(Job, {"tries": range(3), "task_id": "t", "log": [("a",), ()], "max_tries": {1, 2}})))
    assert {state.tries for state in made} == {0, 1, 2}
    assert {state.task_id for state in made} == {"t"}
    assert {state.log for state in made} == {("a",), ()}
    assert {state.max_tries for state in made} == {1, 2}
    check_router(after_check, states_of(Job, tries=st.integers(7, 9)), exits=EXITS)


@pytest.mark.parametrize(
    ("overrides", "said"), [({"trys": 1}, "Job has no field 'trys', did you mean 'tries'?")], ids=str
)
def test_an_override_of_no_field_is_refused(overrides: Any, said: str) -> None:
    with pytest.raises(ExplorationError) as error:
        states_of(Job, **overrides)
    assert said in str(error.value)


def test_a_class_that_refuses_everything_is_said() -> None:
    with pytest.raises(ExplorationError, match="Bounded refuses what its annotations allow"):
        list(Seeded(Source(Bounded, {"low": 5, "high": 1})))


def test_a_machine_shrinks_a_bad_run_to_the_least() -> None:
    machine = graph_machine(GRAPH, OUTCOMES, [never(Stage.HUMAN)], start=START)
    from hypothesis.stateful import run_state_machine_as_test

    with pytest.raises(LawBroken) as error:
        run_state_machine_as_test(machine, settings=_quick())
    path = error.value.report.violations[0].path
    shortest = explore(GRAPH, START, OUTCOMES, laws=[never(Stage.HUMAN)]).violations[0].path
    assert [one.taken for one in path] == [one.taken for one in shortest]


def test_a_machine_of_a_good_graph_finds_nothing() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(graph_machine(GRAPH, {**OUTCOMES, Stage.HUMAN: answers}), settings=_quick())
    with pytest.raises(ExplorationError, match="TaskState needs more than a task_id"):
        graph_machine(REPAIR, {stage: [{}] for stage in REPAIR.nodes})


def _quick() -> Any:
    from hypothesis import HealthCheck, settings

    return settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))


WITHOUT = """
import sys
sys.modules["hypothesis"] = None  # as if it were not installed
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "hypothesis" else find(name, *rest)
from graph_agent.testing.machine import graph_machine
from graph_agent.testing.outcomes import ExplorationError
from graph_agent.testing.routers import check_router
from graph_agent.testing.states import states_of
from tests.testing.graphs import GRAPH, OUTCOMES, START, Job, Stage, after_check
states = states_of(Job, count=50)
assert len(list(states)) == 50
check_router(after_check, states, exits=GRAPH.nodes[Stage.CHECK])
try:
    graph_machine(GRAPH, OUTCOMES, start=START)
except ExplorationError as error:
    print(error)
"""


def test_all_but_the_machine_works_without_hypothesis() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "graph_machine needs hypothesis: install it, or use explore\n"
