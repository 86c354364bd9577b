"""A research of many rounds, each with a plan of its own that fails: for the size of prompts as a run grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graph_agent import Toolbox
from graph_agent.tools.sourced import Sourced
from graph_agent.verify.judge import Judgement
from graph_agent.workflows.research.state import ResearchState
from tests.workflows.researching import Model, World, judgement, plan_of, research, said, step

LONG = 3_000
"""Characters of each text that a tool brings."""

WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven",
    "inlet", "jetty", "kiosk", "lodge", "marsh", "north", "orbit", "plaza",
)  # fmt: skip


def _plan(number: int) -> Any:
    """Plans that are near to no earlier one; of each the second half is accepted."""
    first, second = WORDS[number % 16], WORDS[(number // 16 + 5 * number + 3) % 16]
    names = (f"{first} {second} {number} ", f"{second * 2} {first[::-1]} {number} ")
    more = {"tool": "read_long", "args": {"number": number}}
    missed = (f"it says {first} {number}", f"it tells {second} {number}")
    steps = (
        step(f"a{number:02}", f"Find {names[0] * 9}", *missed, **more),
        step(f"b{number:02}", f"Look for {names[1] * 9}", f"it names {number}", **more),
    )
    return plan_of(*steps, rationale="x" * 80)


def _moved(context: Mapping[str, Any]) -> Any:
    """Each cites the evidence that its own call brought, which stands last."""
    last = context["evidence"][-1]["id"]
    return said(*[f"> It is a long text that says one thing, over and over. [{last}]"] * 3, claim="y" * 500)


def _judged(context: Mapping[str, Any]) -> Judgement:
    """The first step of a plan is turned down, with many words."""
    first = context["task"].startswith("Find")
    statuses = ["violated" if first else "satisfied"] * len(context["criteria"])
    return replace(judgement(*statuses, why="It does not say enough of what was asked. " * 9), concerns="many " * 99)


def _read_long(number: int) -> Sourced:
    """Read a long text."""
    text = "It is a long text that says one thing, over and over. " * (LONG // 54)
    return Sourced(text=text, source=f"text-{number:02}.md", span="1-9", summary="It is long. " * 5)


def long_run(rounds: int) -> tuple[Any, ResearchState]:
    """The world, with all that its model was asked, and the state after so many rounds."""

    tools = Toolbox().add(_read_long, name="read_long")
    world = World(llm=Model([_plan(number) for number in range(1, rounds + 1)], _moved, _judged), tools=tools)
    return world, world.run(research(max_rounds=rounds, max_replans=rounds))
