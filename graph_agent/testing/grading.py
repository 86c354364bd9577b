"""How good a check of a router is: it is run on each one-slip mutant, and those that it lets pass are told.

    >>> from examples import after_check, check_it
    >>> grade(after_check, check_it).raise_on_survivors().score
    1.0

The rule: the check must pass on the router itself, and a mutant that it can't tell from the router is either a case
that is missing in the check, or is listed as equivalent with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.graph import Node, Pause
from graph_agent.testing.mutants import RanAway, RouterMutant, Subject, mutate_router

TIMES_MORE, LEAST = 20, 10_000  # steps that a mutant may make: so many times what the router makes, and no fewer than
_NONE: Mapping[str, str] = MappingProxyType({})


class GradeError(GraphAgentError):
    """The check can't grade anything: it does not pass on the router itself, or is no plain function."""


class Survived(AssertionError):
    """Mutants survive a check, or its list of equivalent ones is out of date. `grade` has the rest."""

    def __init__(self, grade: Grade) -> None:
        super().__init__(str(grade))
        self.grade = grade


@dataclass(frozen=True)
class Graded:
    """What became of one mutant. `why` is what the check raised, or the reason for which it is listed."""

    mutant: RouterMutant
    fate: Literal["killed", "survived", "equivalent"]
    why: str = ""


@dataclass(frozen=True)
class Grade:
    """What became of each mutant of a router, and what is out of date in the list of equivalent ones."""

    name: str
    graded: tuple[Graded, ...]
    stale: tuple[str, ...] = ()

    @property
    def killed(self) -> tuple[Graded, ...]:
        return tuple(one for one in self.graded if one.fate == "killed")

    @property
    def survivors(self) -> tuple[Graded, ...]:
        return tuple(one for one in self.graded if one.fate == "survived")

    @property
    def equivalent(self) -> tuple[Graded, ...]:
        return tuple(one for one in self.graded if one.fate == "equivalent")

    @property
    def score(self) -> float:
        """The share of the mutants that are killed, of those that can be."""
        wanted = len(self.killed) + len(self.survivors)
        return len(self.killed) / wanted if wanted else 1.0

    @property
    def ok(self) -> bool:
        return not self.survivors and not self.stale

    def raise_on_survivors(self) -> Grade:
        """Returns itself when none survived and the list is up to date; else raises `Survived` with the differences."""
        if not self.ok:
            raise Survived(self)
        return self

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        counts = f"{len(self.graded)} mutants, {len(self.killed)} killed, {len(self.survivors)} survived"
        listed = f", {len(self.equivalent)} equivalent" if self.equivalent else ""
        yield f"{self.name}: {counts}{listed} ({self.score:.0%})"
        for one in self.survivors:
            yield f"\nSURVIVED {one.mutant.description}\n{one.mutant.diff}"
        yield from (f"\nSTALE {text}" for text in self.stale)
        if self.survivors:
            yield "\nAdd the case that tells it from the router; where there is none, list it as equivalent, and why"


def grade(
    route: Callable[[Any], Any],
    check: Callable[[Callable[[Any], Any]], object],
    *,
    also: Iterable[Callable[..., Any]] = (),
    equivalent: Mapping[str, str] = _NONE,
    exits: Collection[Any] | Node | Pause | None = None,
) -> Grade:
    """Run `check(mutant)` for each mutant of `route`, and of the functions in `also` that it calls.

    The check rejects by raising, or by returning False. `equivalent` is description -> why no check can tell that
    mutant from the router. A mutant that makes many times the router's steps is taken to go on for ever, and is killed:
    steps are counted in the mutant, so no clock and no thread decides. Raises `GradeError` when the check does not
    pass on the router itself, `MutationError` for a function that has no mutants.
    """
    helpers = tuple(also)
    name = getattr(route, "__name__", repr(route))
    limit = _limit(name, Subject(route, helpers).unchanged(), check, route)
    mutants = mutate_router(route, also=helpers, exits=exits)
    return graded(name, mutants, lambda mutant: _killed(mutant, check, limit), equivalent)


def graded(
    name: str,
    mutants: Iterable[RouterMutant],
    killed: Callable[[RouterMutant], str],
    equivalent: Mapping[str, str] = _NONE,
) -> Grade:
    """A grade, by a function that says how a mutant is killed, "" for one that survives."""
    found: list[Graded] = []
    stale: list[str] = []
    for mutant in mutants:
        how, listed = killed(mutant), mutant.description in equivalent
        if listed and not how:
            found.append(Graded(mutant, "equivalent", equivalent[mutant.description]))
        else:
            found.append(Graded(mutant, "killed" if how else "survived", how))
        if listed and how:
            stale.append(f"{mutant.description}: it is listed as equivalent, and is killed: {how}")
    there = {one.mutant.description for one in found}
    for description in equivalent:
        if description not in there:
            stale.append(f"{description}: no mutant is described so{nearest(description, there)}")
    return Grade(name, tuple(found), tuple(stale))


def _limit(name: str, copies: list[Any], check: Callable[[Any], object], route: Any) -> int:
    """How many steps a mutant may make, by how many copies of the router make."""
    most = 0
    for copy, steps in copies:
        how = _rejected(check, copy)
        if how and (really := _rejected(check, route)):
            raise GradeError(f"the check does not pass on {name} itself: {really}. Mend it before mutants are tried")
        if how:
            raise GradeError(
                f"the check passes on {name}, and not on a copy of it: {how}. Check what the function that is handed "
                "over returns, and not which function it is"
            )
        most = max(most, steps.taken)
    return max(LEAST, TIMES_MORE * most)


def _killed(mutant: RouterMutant, check: Callable[[Any], object], limit: int) -> str:
    mutant.steps.limit = limit
    return _rejected(check, mutant.route)


def _rejected(check: Callable[[Any], object], route: Callable[[Any], Any]) -> str:
    """How the check rejects a router, or ""."""
    try:
        answer = check(route)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except RanAway as error:
        return f"it goes on for ever: {error}"
    except BaseException as error:  # noqa: BLE001  # what a check says no with: pytest's failures are no Exceptions
        return f"{type(error).__name__}: {error}".strip().splitlines()[0]
    if inspect.isawaitable(answer):
        getattr(answer, "close", lambda: None)()
        raise GradeError("the check is asynchronous, so it has checked nothing: give one that calls asyncio.run itself")
    return "the check returns False" if answer is False else ""
