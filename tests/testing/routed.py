"""Routers of many shapes to make mutants of, and checks of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from typing import Any

from graph_agent import BACK, Node, Pause, Route
from tests.testing import graphs


class Stage(Enum):
    WORK = "work"
    CHECK = "check"
    DONE = "done"


DONE = Stage.DONE


@dataclass(frozen=True)
class Job:
    good: bool = False
    tries: int = 0
    most: int = 2
    kind: str = ""


def after_check(state: Job) -> Route:
    if state.good:
        return Route(DONE, "good")
    if spent(state):
        return Route(Stage.CHECK, f"{state.tries} of {state.most}")
    return Route(Stage.WORK, "not yet" if state.tries else "begin")


def spent(state: Job) -> bool:
    return at_least(state.tries, state.most)


def at_least(one: int, other: int) -> bool:
    return one >= other


def check_it(route: Callable[[Job], Route]) -> None:
    for state, stage in (
        (Job(good=True), DONE),
        (Job(good=True, tries=2), DONE),
        (Job(), Stage.WORK),
        (Job(tries=1), Stage.WORK),
        (Job(tries=2), Stage.CHECK),
        (Job(tries=3), Stage.CHECK),
    ):
        assert route(state).stage is stage


def by_kind(state: Job) -> Route:
    match state.kind:
        case "new" if state.tries == 0:
            return Route(Stage.WORK, "new")
        case "old":
            return Route(Stage.CHECK, "old")
        case _:
            return Route(stage=graphs.Stage.DONE, reason="old" if state.kind == "x" else "no")


def by_turns(state: Job) -> Route:
    if state.tries > 2:
        return Route(BACK if state.good else Stage.WORK, "many")
    elif state.tries > 1 and (state.good or state.kind != "new"):  # noqa: RET505
        return Route(Stage.CHECK, "some")
    else:
        return Route(BACK, "few")


def counting(state: Job) -> Route:
    left, tries = state.most, 0
    while tries < left:
        tries += 1
    return Route(Stage.WORK if tries == state.most else DONE, "counted")


def again(state: Job) -> Route:
    return again(Job(tries=state.tries - 1)) if state.tries > 0 else Route(DONE, "at the bottom")


def with_default(state: Job, most: int = 3) -> Route:
    return Route(DONE if state.tries > most else Stage.WORK, "é")


def made(limit: int) -> Callable[[Job], Route]:
    def inner(state: Job) -> Route:
        if state.tries >= limit:
            return Route(Stage.DONE, "over the limit")
        return Route(Stage.WORK, "below")

    return inner


class Router:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def route(self, state: Job) -> Route:
        return Route(DONE, "enough") if state.tries >= self.limit else Route(Stage.WORK, "below")


def loud(function: Callable[[Job], Route]) -> Callable[[Job], Route]:
    @wraps(function)
    def louder(state: Job) -> Route:
        return function(state)

    return louder


def plain(function: Any) -> Any:
    return function


@loud
def wrapped(state: Job) -> Route:
    return Route(DONE, "wrapped")


@plain
def decorated(state: Job) -> Route:
    return Route(DONE, "yes") if state.good else Route(Stage.WORK, "no")


NODE = Node(graphs.nothing, owns=set(), to=after_check, exits={Stage.DONE, Stage.WORK, Stage.CHECK})
PAUSE = Pause(owns=set(), to=by_turns, exits={BACK, Stage.WORK})
