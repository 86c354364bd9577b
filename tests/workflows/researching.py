"""A small research in memory, for tests of its nodes: a few texts, tools that read them, a model with a script.

`World` runs the real graph, so what a node may write and call is held to the table. The one rule: nothing here decides
anything; each test says itself what the plan is, what a step's moves are, and how a judge judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from graph_agent import Context, Event, FakeLLM, Request, StepLimitReached, Texts, Toolbox, ToolError, answer, run_graph
from graph_agent.llm.moves import Call, Delivery, Move, args_of
from graph_agent.tools.sourced import Sourced
from graph_agent.verify.judge import JudgedCriterion, Judgement
from graph_agent.workflows.research.graph import research_graph
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import (
    Evidence,
    Item,
    Plan,
    ResearchState,
    Result,
    Stage,
    Step,
    Verdict,
)

GOAL = "When does the hoist stop, and what may it carry?"
TEXTS = {
    "hoist.md": "The goods hoist is stopped when the wind exceeds 14 metres a second.",
    "loads.md": "The goods hoist carries 300 kilograms. Nobody may ride on it.",
    "huts.md": "The upper hut has twelve beds and a stove.",
}
WIND = f"> {TEXTS['hoist.md']}"
LOAD = "> The goods hoist carries 300 kilograms."
SAYS_WIND, SAYS_LOAD = "it gives the wind speed", "it gives the load in kilograms"


def reading(texts: Mapping[str, str] = TEXTS) -> Toolbox:
    """`read_text` and `find_texts`, which only read."""

    def read_text(path: str) -> Sourced:
        """Read a text."""
        if path not in texts:
            raise ToolError("not_found", f"there is no text {path}.")
        text = texts[path]
        return Sourced(text=text, source=path, span=f"1-{text.count(chr(10)) + 1}", version=_version(text))

    def find_texts(word: str) -> str:
        """The texts that have a word."""
        return "\n".join(path for path, text in texts.items() if word in text)

    return Toolbox([read_text, find_texts])


def writing(saved: list[str]) -> Toolbox:
    """Those, and `save`, which writes."""

    def save(text: str) -> str:
        """Save a text."""
        saved.append(text)
        return f"It is saved, as number {len(saved)}."

    return reading().add(save, effect="write")


def _version(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def step(name: str, goal: str = "", *done_when: str, args: Mapping[str, Any] | None = None, **more: Any) -> Step:
    """A step of kind "work" unless said otherwise."""
    known = {"id": name, "kind": "work", "goal": goal or f"Find {name}", "done_when": done_when or (f"it says {name}",)}
    return Step(**{**known, "args": args_of(args or {}), **more})


def plan_of(*steps: Step, **more: Any) -> Plan:
    return Plan(steps=steps, **more)


WIND_STEP = step("wind", "Find when the hoist stops", SAYS_WIND, tool="read_text", args={"path": "hoist.md"})
LOAD_STEP = step("load", "Find what the hoist may carry", SAYS_LOAD, tool="read_text", args={"path": "loads.md"})
CLOSE_STEP = step("both", "Answer both", SAYS_WIND, SAYS_LOAD, kind="close", depends_on=("wind", "load"))
PLAN = plan_of(WIND_STEP, LOAD_STEP, CLOSE_STEP)


def call(tool: str, **arguments: Any) -> Move:
    return Move(call=Call(tool=tool, args=args_of(arguments)))


def said(*lines: str, claim: str = "it meets what the step is done when") -> Move:
    return Move(result=Delivery(text="\n\n".join(lines), claim=claim))


GOOD_MOVES = {
    "wind": [said(f"{WIND} [E1]")],
    "load": [said(f"{LOAD} [E6]")],
    "both": [said(f"{WIND} [E1]", f"{LOAD} [E6]")],
}


def judgement(*statuses: str, why: str = "") -> Judgement:
    items = (JudgedCriterion(number=number, status=one, why=why) for number, one in enumerate(statuses, 1))
    return Judgement(concerns="there is none", items=tuple(items))


def all_satisfied(context: Mapping[str, Any]) -> Judgement:
    return judgement(*["satisfied"] * len(context["criteria"]))


Judging = Callable[[Mapping[str, Any]], Any]


class Model(FakeLLM):
    """Answers by what it is asked, since steps run side by side: plans in order, each step's moves in order.

    `judge` is asked with the context of a judge's prompt, `judge2` with that of the second judge.
    """

    def __init__(
        self,
        plans: Iterable[Any] = (),
        moves: Mapping[str, Iterable[Any]] | Callable[[Mapping[str, Any]], Any] | None = None,
        judge: Judging = all_satisfied,
        judge2: Judging = all_satisfied,
    ) -> None:
        self._plans = list(plans)
        self._moves = moves if callable(moves) else {name: list(some) for name, some in (moves or {}).items()}
        self._judges = judge, judge2
        super().__init__(self._said)

    def _said(self, request: Request) -> Any:
        match kind_of(request):
            case "plan":
                assert self._plans, "no further plan was expected"
                said = self._plans.pop(0)
                return said(request.context) if callable(said) else said
            case "judge":
                second = request.instructions.startswith("You are the second reader")
                return self._judges[second](request.context)
        name = request.context["step"]["id"]
        if callable(self._moves):
            return self._moves(request.context)
        assert self._moves.get(name), f"no further move of {name} was expected"
        return self._moves[name].pop(0)

    def asked(self, kind: str, step: str = "") -> list[Request]:
        """Its requests of a kind, "plan", "move" or "judge"; of moves those of one step."""
        return [
            one
            for one in self.requests
            if kind_of(one) == kind and (not step or one.context.get("step", {}).get("id") == step)
        ]


def kind_of(request: Request) -> str:
    fields = (request.schema or {})["properties"]
    return "plan" if "steps" in fields else "judge" if "concerns" in fields else "move"


@dataclass(kw_only=True)
class World:
    """A model, tools, and the texts that a run keeps."""

    llm: FakeLLM = field(default_factory=Model)
    tools: Any = field(default_factory=reading)
    changes: dict[str, Any] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)
    events: list[Event] = field(default_factory=list)

    @property
    def policy(self) -> ResearchPolicy:
        return replace(ResearchPolicy(tools=cards_of(self.tools.specs())), **self.changes)

    @property
    def graph(self) -> Any:
        specs = self.tools.specs()
        effects = any(one.effect != "read" for one in specs)
        return research_graph((one.name for one in specs), effects=effects)

    @property
    def ctx(self) -> Context:
        return Context(llm=self.llm, tools=self.tools, policy=self.policy, keep=self.texts.keep, read=self.texts.read)

    def run(self, state: ResearchState | None = None, **more: Any) -> ResearchState:
        end: ResearchState = run_graph(self.graph, state or research(), self.ctx, on_event=self.events.append, **more)
        return end

    def one(self, state: ResearchState) -> ResearchState:
        """The state after the one node at which it stands."""
        try:
            return self.run(state, max_steps=1)
        except StepLimitReached as stopped:
            after: Any = stopped.state
            return after

    def answered(self, state: ResearchState, **patch: Any) -> ResearchState:
        after: ResearchState = answer(self.graph, state, patch)
        return after

    def evidence(self, number: int, text: str, **more: Any) -> Evidence:
        """A piece whose text is kept."""
        known = {"id": f"E{number}", "by": "read_text", "source": "a.md", "span": "1-1", "digest": text[:400]}
        return Evidence(**{**known, "text": self.texts.keep(text), **more})

    @property
    def stages(self) -> list[str]:
        return [event.stage for event in self.events]

    @property
    def notes(self) -> list[str]:
        return [note for event in self.events for note in event.notes]


def research(stage: Stage = Stage.PLAN, **fields: Any) -> ResearchState:
    return ResearchState(**{"task_id": "t", "goal": GOAL, "stage": stage, **fields})


def planned(stage: Stage = Stage.EXECUTE, plan: Plan = PLAN, **fields: Any) -> ResearchState:
    """What PLAN leaves behind."""
    known = {"plan": plan, "plan_no": 1, "planned_goal": fields.get("goal", GOAL)}
    return research(stage, **{**known, **fields})


def result(name: str, text: str = "", *, plan: int = 1, attempt: int = 0, **more: Any) -> Result:
    known = {"goal": f"Find {name}", "gist": text[:120]}
    return Result(plan=plan, step=name, attempt=attempt, text=text, **{**known, **more})


def item(name: str, status: str = "satisfied", criterion: str = "", *, attempt: int = 0, why: str = "") -> Item:
    decided: Any = status
    return Item(step=name, attempt=attempt, criterion=criterion or f"it says {name}", status=decided, why=why)


def verdict(*items: Item, **more: Any) -> Verdict:
    known: dict[str, Any] = {"round": 1, "plan": 1, "cursor": 0, "layer": "goal"}
    return Verdict(**{**known, "items": items, **more})
