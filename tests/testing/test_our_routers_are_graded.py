"""Each slip in a router of our graphs is seen by its table of routes: what survives is named, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graph_agent import Route
from graph_agent.testing.grading import grade
from graph_agent.workflows.repair import routes
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState
from graph_agent.workflows.research import routes as research_routes
from graph_agent.workflows.research import state as research
from graph_agent.workflows.research.graph import GRAPH as RESEARCH
from tests.workflows.test_repair_routes import AFTER_VERIFY, TABLE
from tests.workflows.test_repair_routes_human import AFTER_HUMAN
from tests.workflows.test_research_routes import ROWS as RESEARCH_ROWS

pytestmark = pytest.mark.slow

Row = tuple[Callable[[TaskState], Route], TaskState, Any, str]
ROWS: list[Row] = [
    *(row[1:] for row in TABLE),
    *((routes.route_after_verify, *row[1:]) for row in AFTER_VERIFY),
    *((routes.route_after_human, *row[1:]) for row in AFTER_HUMAN),
]
HELPERS: dict[Stage, tuple[Callable[..., Any], ...]] = {
    Stage.VERIFY: (routes._finish, routes._turns_spent, routes._retries_spent),
    Stage.REVIEW: (routes._finish, routes._passed, routes._verdict),
    Stage.HUMAN: (routes.decision_of, routes._waited_for_approval, routes._passed, routes._verdict),
}
ONE_WORD = "a decision is one word, so at most one of the two holds, and their order decides nothing"
PLAN, VERIFY = 'if decided == "plan":', 'if decided == "verify":'
EXECUTE = 'if decided == "execute" or (not decided and _waited_for_approval(state)):'
EQUIVALENT: dict[Stage, dict[str, str]] = {
    Stage.HUMAN: {
        f"route_after_human: `{PLAN}` and `{EXECUTE}` change places": ONE_WORD,
        f"route_after_human: `{EXECUTE}` and `{VERIFY}` change places": ONE_WORD,
    }
}


@pytest.mark.parametrize("stage", GRAPH.nodes)
def test_every_slip_in_our_routers_is_seen_by_their_tables(stage: Stage) -> None:
    router: Any = GRAPH.nodes[stage].to
    rows = [row[1:] for row in ROWS if row[0] is router]

    def check(route: Callable[[TaskState], Route]) -> None:
        for state, target, reason in rows:
            answer = route(state)
            assert answer.stage is target
            assert reason in answer.reason

    graded = grade(router, check, also=HELPERS.get(stage, ()), equivalent=EQUIVALENT.get(stage, {}))
    assert len(graded.graded) > 30
    graded.raise_on_survivors()


def test_each_function_of_the_routes_that_decides_is_graded() -> None:
    """But for what is asked of a person, and what is refused from one: these lead nowhere."""
    named = {entry.to.__name__ for entry in GRAPH.nodes.values() if callable(entry.to)}
    named |= {helper.__name__ for helpers in HELPERS.values() for helper in helpers}
    there = {name for name, value in vars(routes).items() if getattr(value, "__module__", "") == routes.__name__}
    offering = {"offers_of", "_answers", "_decision", "_would_do"}
    assert there - named == {"ask_person", "refuse_answer"} | offering


RESEARCH_HELPERS: dict[research.Stage, tuple[Callable[..., Any], ...]] = {
    research.Stage.PLAN: (research_routes._plan_approved, research_routes._enter_layer, research_routes.needs_approval),
    research.Stage.VERIFY: (research_routes.not_converging, research_routes._unknown_twice),
    research.Stage.ADVANCE: (research_routes._enter_layer, research_routes.needs_approval),
    research.Stage.APPROVE: (research_routes.decision_of, research_routes._goal_changed),
    research.Stage.HUMAN: (research_routes.decision_of, research_routes._goal_changed),
}
NONE_HOLDS = "a state without a verdict holds none: what is looked at first is for the type checker"
NO_PASS = "what is blocked, disputed or unknown has not passed"
ONLY_REFUTED = "what passed is of global scope only when it is refuted, which was looked at before"
TWO_AT_MOST = "the list has two items at most"
ONE_PLACE = "a run came from one stage, so at most one of the two holds"
BLOCKED_IF = 'if verdict.status == "BLOCKED" or verdict.disputed or _unknown_twice(state):'
FROM_PLAN = "if state.fresh_notes and state.came_from is Stage.PLAN:"
FROM_OTHERS = "if state.fresh_notes and state.came_from in (Stage.VERIFY, Stage.FINALIZE) and state.layer:"
UNKNOWN_IF = 'return len(last) == 2 and all(one.status == "UNKNOWN" for one in last)'
FINALIZE = 'if decided == "finalize":'
RESEARCH_EQUIVALENT: dict[research.Stage, dict[str, str]] = {
    research.Stage.VERIFY: {
        "route_after_verify: `if verdict is None or not state.holds:` becomes `if not state.holds:`": NONE_HOLDS,
        f"route_after_verify: `{BLOCKED_IF}` and `if passed and verdict.refuted:` change places": NO_PASS,
        'route_after_verify: `if passed:` and `if verdict.scope == "global":` change places': ONLY_REFUTED,
        f"_unknown_twice: `{UNKNOWN_IF}` becomes `{UNKNOWN_IF.replace('==', '>=', 1)}`": TWO_AT_MOST,
    },
    research.Stage.HUMAN: {
        f'route_after_human: `if decided == "execute":` and `{FINALIZE}` change places': ONE_WORD,
        f"route_after_human: `{FROM_PLAN}` and `{FROM_OTHERS}` change places": ONE_PLACE,
    },
}


@pytest.mark.parametrize("stage", [stage for stage, entry in RESEARCH.nodes.items() if callable(entry.to)])
def test_every_slip_in_the_routers_of_the_research_is_seen_by_their_table(stage: research.Stage) -> None:
    router: Any = RESEARCH.nodes[stage].to
    rows = [row[2:] for row in RESEARCH_ROWS if row[0] is router]

    def check(route: Callable[[research.ResearchState], Route]) -> None:
        for state, target, reason in rows:
            answer = route(state)
            assert answer.stage is target
            assert reason in answer.reason

    equivalent = RESEARCH_EQUIVALENT.get(stage, {})
    graded = grade(router, check, also=RESEARCH_HELPERS.get(stage, ()), equivalent=equivalent)
    assert graded.graded
    graded.raise_on_survivors()
