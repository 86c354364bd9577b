"""How long the prompts of a research are as it grows: characters of a call, after 1, 10 and 30 rounds.

The model is scripted, each round another plan fails and a half of it is accepted, and every text is long. No clock is
read: the numbers are the same in every run.
"""

from __future__ import annotations

import json

from graph_agent import Request
from graph_agent.runtime.codec import encode
from tests.benchmarks.timing import table
from tests.workflows.research_rounds import long_run

AFTER = (1, 10, 30)


def research() -> str:
    """A planner call and an executor call, and beside them what the state holds by then."""
    world, _ = long_run(max(AFTER) + 1)
    plans, moves = world.llm.asked("plan"), world.llm.asked("move")
    states = [event.before for event in world.events if event.stage == "plan"]
    rows = [
        (
            str(rounds),
            *(str(number) for number in (_size(plans[rounds]), _size(moves[2 * rounds]), _held(states[rounds]))),
        )
        for rounds in AFTER
    ]
    return table(("after rounds", "planner call", "executor call", "the state"), rows)


def _size(request: Request) -> int:
    return len(request.instructions) + len(json.dumps(dict(request.context), ensure_ascii=False))


def _held(state: object) -> int:
    return len(json.dumps(encode(state), ensure_ascii=False))
