"""What an exploration found: how much there is, what was never taken, and each broken law as a story and as a test.

The rule: what was not explored is said, and a story has all that is needed to make the run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graph_agent.runtime.graph import stage_name
from graph_agent.testing.ascode import Imports, as_code, graph_in
from graph_agent.testing.cycles import longest_run
from graph_agent.testing.laws import Law, untaken
from graph_agent.testing.outcomes import HitsLimit
from graph_agent.testing.space import Space, Taken, Walked, edge_text

MOST_SHOWN = 100  # characters of a patch in a story


class LawBroken(AssertionError):
    """A run that breaks a law was found; the message is its story. `report` has the rest."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True)
class Violation:
    """A law that is broken, what is wrong, and a shortest run that shows it; none where no one run does.

    `law` is None for the contract itself: a node's outcome that the runtime refuses, a router that fails.
    """

    law: Law | None
    text: str
    path: tuple[Walked, ...] = ()

    @property
    def name(self) -> str:
        return "contract" if self.law is None else self.law.name

    def story(self) -> str:
        lines = [f"{self.name}: {self.text}"]
        for number, walked in enumerate(self.path, 1):
            lines += _told(number, walked)
        return "\n".join(lines)

    def test(self, space: Space) -> str:
        """The run as a test, which fails as long as the law is broken; "" where no run shows it."""
        if not self.path:
            return ""
        imports = Imports()
        graph = graph_in(space.graph, imports)
        start = as_code(self.path[0].before, imports)
        run = [as_code(_outcome(one), imports) for one in self.path]
        law = "" if self.law is None else f", laws=[{as_code(getattr(self.law, 'judge', self.law), imports)}]"
        imports.add("graph_agent.testing", "follow")
        listed = "".join(f"        {step},\n" for step in run)
        body = f"    start = {start}\n    run = [\n{listed}    ]\n    follow({graph}, start, run{law})\n"
        return f"{imports.text()}\n\ndef test_{_name(self.name)}():\n{body}"


class Broken:
    """Holds steps and spaces to laws, and to the contract, which is always one; the first of each is kept."""

    def __init__(self, laws: tuple[Law, ...]) -> None:
        self._laws = laws
        self._steps = [law for law in laws if type(law).step is not Law.step]
        self._found: dict[int, Violation] = {}

    def by_step(self, space: Space, place: int, taken: Taken, to: int | None, after: Any) -> None:
        if taken.kind == "broken":
            self._keep(None, taken.reason, space, place, (taken, to))
        for law in self._steps:
            text = law.step(space.states[place], taken, after)
            if text:
                self._keep(law, text, space, place, (taken, to))
                self._steps = [one for one in self._steps if one is not law]

    def by_whole(self, space: Space) -> None:
        for law in self._laws:
            for text, path in law.whole(space):
                self._found.setdefault(id(law), Violation(law=law, text=text, path=path))

    def on_path(self, space: Space) -> None:
        for law in self._laws:
            for text, path in law.on_path(space):
                self._found.setdefault(id(law), Violation(law=law, text=text, path=path))

    def found(self) -> tuple[Violation, ...]:
        return tuple(self._found.values())

    def _keep(self, law: Law | None, text: str, space: Space, place: int, step: tuple[Taken, int | None]) -> None:
        if id(law) not in self._found:
            self._found[id(law)] = Violation(law=law, text=text, path=space.path_to(place, step))


@dataclass(frozen=True)
class Report:
    """`states`, `transitions`, `depth` (steps to the farthest state), `longest` (steps of the longest run without a
    person, None without end); the stages and edges that were reached, and those that were not; the violations.
    """

    space: Space = field(repr=False)
    violations: tuple[Violation, ...] = ()
    max_states: int | None = None
    max_depth: int | None = None

    @property
    def states(self) -> int:
        return len(self.space.states)

    @cached_property
    def transitions(self) -> int:
        return sum(map(len, self.space.steps))

    @property
    def depth(self) -> int:
        return max(self.space.depths, default=0)

    @cached_property
    def longest(self) -> int | None:
        return longest_run(self.space)

    @property
    def complete(self) -> bool:
        """Whether all that is reachable was explored."""
        return not self.space.open

    @property
    def overflowed(self) -> bool:
        return self.max_states is not None and self.states > self.max_states and not self.complete

    @cached_property
    def stages_reached(self) -> tuple[Any, ...]:
        return tuple(stage for stage in self.space.graph.stages if stage in self.space.stages)

    @cached_property
    def stages_missed(self) -> tuple[Any, ...]:
        return tuple(stage for stage in self.space.graph.stages if stage not in self.space.stages)

    @cached_property
    def edges_taken(self) -> dict[tuple[Any, Any, str], int]:
        """(from, to, kind), as in `Graph.edges`, and by how many transitions."""
        return self.space.edges

    @cached_property
    def edges_missed(self) -> tuple[tuple[Any, Any, str], ...]:
        return tuple(untaken(self.space))

    @property
    def ok(self) -> bool:
        return not self.violations and not self.overflowed

    def raise_on_violation(self) -> Report:
        """Returns itself when no law is broken and `max_states` was enough; else raises `LawBroken` with the story."""
        if not self.ok:
            raise LawBroken(self)
        return self

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        longest = "without end" if self.longest is None else f"{self.longest} steps"
        yield f"{self.states} states, {self.transitions} transitions, depth {self.depth}, longest run {longest}"
        if self.overflowed:
            yield f"NOT ALL: more than max_states={self.max_states}; give smaller limits, a view=, or more states"
        elif not self.complete:
            yield f"not all: {len(self.space.open)} states at max_depth={self.max_depth} were not explored"
        if self.stages_missed:
            yield f"never entered: {', '.join(map(stage_name, self.stages_missed))}"
        if self.edges_missed:
            yield f"never taken: {', '.join(map(edge_text, self.edges_missed))}"
        for violation in self.violations:
            yield f"\nBROKEN {violation.story()}"
            if test := violation.test(self.space):
                yield f"\nAs a test:\n\n{test}"
        if not self.violations:
            yield "no law is broken"


def _outcome(walked: Walked) -> Any:
    """A node that was not begun had no outcome; any will do."""
    taken = walked.taken
    return HitsLimit() if taken.kind == "limit" and taken.outcome is None else taken.outcome


def _told(number: int, walked: Walked) -> Iterator[str]:
    taken = walked.taken
    to = stage_name(taken.to) if taken.to is not None else "stopped"
    how = {"limit": "out of budget", "failed": "it failed", "answered": "a person answers", "broken": "refused"}
    did = how.get(taken.kind, "")
    turns = f"{taken.turns} turn{'s' * (taken.turns != 1)}" if taken.turns else ""
    facts = ", ".join(part for part in (did, turns) if part)
    yield f"  {number}. {stage_name(taken.stage)} -> {to}{f' ({facts})' if facts else ''}: {taken.reason}"
    if taken.kind in ("finished", "answered", "broken") and taken.patch:
        for name, value in dict(taken.patch).items():
            shown = repr(value)
            yield f"       {name} = {shown if len(shown) <= MOST_SHOWN else shown[: MOST_SHOWN - 3] + '...'}"


def _name(text: str) -> str:
    words = "".join(char if char.isalnum() else "_" for char in text.lower())
    return "_".join(part for part in words.split("_") if part) or "run"
