"""Laws that every router keeps: total, deterministic, pure, within its exits, and never without a reason.

The rule: what is handed over is tried whole, and what breaks a law is told with the state, as code, that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from graph_agent.runtime.graph import BACK, Node, Pause, Route, stage_name
from graph_agent.testing.ascode import Imports, as_code
from graph_agent.testing.tracing import reads

MOST_AGAIN = 1_000  # states at which a router is asked once more at the end, in another order

Exits = Collection[Any] | Node | Pause


class RouterBroken(AssertionError):
    """A router broke a law. `state` shows it."""

    def __init__(self, text: str, state: Any) -> None:
        imports = Imports()
        code = as_code(state, imports)
        super().__init__(f"{text}\nIt is shown by\n\n{imports.text()}\nstate = {code}\n")
        self.state = state


def check_router(route: Callable[[Any], Route], states: Any, *, exits: Exits, examples: int = 300) -> None:
    """Hold a router to its laws at each state. Raises `RouterBroken`, with the smallest state that hypothesis finds.

    `states` is a hypothesis strategy, of which `examples` are tried, or any iterable; `exits` are the stages that the
    router may name (and `BACK`), or the entry of the table.
    """
    allowed = _allowed(exits)
    asked: list[tuple[Any, Route]] = []

    def at(state: Any) -> None:
        answer = _once(route, state, allowed)
        if len(asked) < MOST_AGAIN:
            asked.append((state, answer))

    each_state(states, at, examples)
    for state, answer in reversed(asked):
        again = route(state)
        if again != answer:
            raise RouterBroken(
                f"{_name(route)} is not deterministic: first {_told(answer)}, later {_told(again)}", state
            )


def check_reads(route: Callable[[Any], Any], states: Any, fields: Collection[str], *, examples: int = 300) -> None:
    """Hold a function of the state to the fields that it may look at. Raises `RouterBroken`."""
    allowed = frozenset(fields)

    def at(state: Any) -> None:
        more = reads(route, state) - allowed
        if more:
            raise RouterBroken(f"{_name(route)} reads {', '.join(sorted(more))}, which is not declared", state)

    each_state(states, at, examples)


def each_state(states: Any, check: Callable[[Any], None], examples: int) -> None:
    """Try a check at each state of an iterable, or at examples of a strategy, the smallest failure last."""
    if not hasattr(states, "example"):
        count = 0
        for count, state in enumerate(states, 1):  # noqa: B007  # how many there were
            check(state)
        if not count:
            raise ValueError("there are no states to try: give at least one")
        return
    from hypothesis import HealthCheck, given, settings

    quietly = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
    )
    law: Any = given(states)
    quietly(law(check))()


def _once(route: Callable[[Any], Route], state: Any, allowed: frozenset[Any]) -> Route:
    name = _name(route)
    before = {field: getattr(state, field) for field in type(state).__dataclass_fields__}
    try:
        answer = route(state)
        again = route(state)
    except Exception as error:
        raise RouterBroken(f"{name} is not total: it raised {type(error).__name__}: {error}", state) from error
    changed = [field for field, value in before.items() if getattr(state, field) is not value]
    if changed:
        raise RouterBroken(f"{name} is not pure: it changed {', '.join(changed)}", state)
    if type(answer) is not Route:
        raise RouterBroken(f"{name} returned {answer!r} and no Route", state)
    if again != answer:
        raise RouterBroken(f"{name} is not deterministic: {_told(answer)}, then {_told(again)}", state)
    if not any(answer.stage is one for one in allowed):
        may = ", ".join(sorted(_stage(one) for one in allowed))
        raise RouterBroken(f"{name} leaves its exits: {_told(answer)}, where it may go to {may}", state)
    if not isinstance(answer.reason, str) or not answer.reason.strip():
        raise RouterBroken(f"{name} gives no reason for {_stage(answer.stage)}", state)
    return answer


def _allowed(exits: Exits) -> frozenset[Any]:
    if isinstance(exits, Node | Pause):
        return frozenset(exits.exits or (exits.to,))
    return frozenset(exits)


def _told(route: Any) -> str:
    return f"{_stage(route.stage)} ({route.reason})" if isinstance(route, Route) else repr(route)


def _stage(stage: Any) -> str:
    return "BACK" if stage is BACK else stage_name(stage)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))
