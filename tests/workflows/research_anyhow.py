"""A model that answers by chance, well formed or not: what it says is no reason for a research to break its rules."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from graph_agent import FakeLLM, LLMError, Reply
from graph_agent.workflows.research.state import Plan, ResearchState, Step
from tests.workflows.researching import TEXTS, World, call, judgement, kind_of, plan_of, research, said, step

GOALS = ("wind", "load", "huts", "stove", "the rest")
JUDGED = ("satisfied",) * 8 + ("violated", "insufficient_evidence", "perhaps")


def anyhow(seed: int) -> tuple[World, ResearchState]:
    """A run on such a model, one step at a time, so that the same seed gives the same run."""
    world = World(llm=FakeLLM(_Anyhow(seed)), changes={"workers": 1})
    return world, world.run(research(max_rounds=8, max_replans=3, max_turns=80))


class _Anyhow:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def __call__(self, request: Any) -> Any:
        if self._happens(0.06):
            return self.chance.choice(["prose", "{}", Reply(text="{", finish="length"), LLMError("down")])
        answer = {"plan": self._plan, "move": self._move, "judge": self._judged}[kind_of(request)]
        return answer(request.context)

    def _happens(self, share: float) -> bool:
        return self.chance.random() < share

    def _plan(self, _: Any) -> Plan:
        names = [f"s{number}" for number in range(self.chance.randint(1, 4))]
        return plan_of(*(self._step(name, names[:at]) for at, name in enumerate(names)))

    def _step(self, name: str, before: list[str]) -> Step:
        criteria = [f"it says {self.chance.choice('pqrstuvw')}" for _ in range(self.chance.randint(1, 4))]
        return step(
            name,
            f"Find {self.chance.choice(GOALS)} {self.chance.randint(1, 9)}",
            *criteria,
            kind=self.chance.choice(["probe", "work", "work", "close"]),
            tool="reed_text" if self._happens(0.03) else self.chance.choice(["", "read_text"]),
            args={"path": self._path()} if self._happens(0.9) else {},
            depends_on=tuple(one for one in before if self._happens(0.3)),
        )

    def _path(self) -> str:
        return self.chance.choice([*TEXTS, "gone.md"])

    def _move(self, context: Mapping[str, Any]) -> Any:
        if self._happens(0.3):
            return call(self.chance.choice(["read_text", "read_text", "find_texts", "send"]), path=self._path())
        if self._happens(0.1):
            return said(f"{self.chance.choice(['INSUFFICIENT', 'BLOCKED'])}: it is not there")
        found = context["evidence"]
        lines = [f"> {one['text']} [{one['id']}]" for one in found if self._happens(0.7)]
        if not lines or self._happens(0.1):
            ids = [*(one["id"] for one in found), "E99"]
            lines.append(f"> {self.chance.choice(list(TEXTS.values()))} [{self.chance.choice(ids)}]")
        return said(*lines, *["REFUTES: there is no hoist"] * self._happens(0.05))

    def _judged(self, context: Mapping[str, Any]) -> Any:
        return judgement(*(self.chance.choice(JUDGED) for _ in context["criteria"]))
