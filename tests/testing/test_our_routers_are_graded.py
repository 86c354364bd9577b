"""Each slip in a router of the repair graph is seen by its table of routes: what survives is named, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graph_agent import Route
from graph_agent.testing.grading import grade
from graph_agent.workflows.repair import routes
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState
from tests.workflows.test_repair_routes import AFTER_VERIFY, TABLE
from tests.workflows.test_repair_routes_human import AFTER_HUMAN

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
