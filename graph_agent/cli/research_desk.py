"""The desk of a research: a folder of documents to read, and an answer with its sources."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent.cli.desk import Told
from graph_agent.cli.exits import UsageError
from graph_agent.cli.kept import Kept, SetupError, command_line
from graph_agent.cli.models import choice_of
from graph_agent.cli.outcome import Outcome
from graph_agent.cli.printing import Way, way_data, way_lines
from graph_agent.cli.research_setup import (
    ResearchSetup,
    check_research_limits,
    documents_in,
    kept_research,
    most_research_steps,
    research_model,
)
from graph_agent.cli.ways import answers, said_again
from graph_agent.protocols import Context
from graph_agent.runtime.checkpoint import replace_file
from graph_agent.runtime.events import Event
from graph_agent.runtime.journal import Run
from graph_agent.tools.documents import Documents
from graph_agent.view.rounds import round_line
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.state import Answer, ResearchState, Stage

MOST_TOLD = 300  # characters of a plan's line


@dataclass(kw_only=True)
class ResearchDesk:
    options: argparse.Namespace
    setup: ResearchSetup
    folder: Path
    documents: Documents | None = None
    graph = GRAPH

    @classmethod
    def of(cls, options: argparse.Namespace, kept: Kept, *, to_go_on: bool) -> ResearchDesk:
        setup = kept_research(kept)
        if to_go_on and not Path(setup.documents).is_dir():
            what = f"{setup.documents} is gone, the documents of the run {kept.folder.name}"
            raise SetupError(f"{what}: put them back, or begin a new run")
        return cls(options=options, setup=setup, folder=kept.folder)

    @staticmethod
    def fill_fork(_: Kept, __: Mapping[str, Any], ___: Path) -> None:
        """Nothing stands beside the journal but its blobs, which the fork brings."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def policy(self) -> Any:
        return self.setup.policy

    def model(self, _: ResearchState) -> Any:
        return research_model(choice_of(self.options, self.setup.model))

    def context(self, _: Run[ResearchState], llm: Any) -> Context:
        documents = self.documents or documents_in(Path(self.setup.documents))
        return Context(llm=llm, tools=documents.toolbox(), policy=self.setup.policy)

    def limits(self) -> dict[str, int]:
        check_research_limits(self.options)
        if self.options.retries is not None:
            raise UsageError("--retries is for a repair: a research has --rounds, --replans and --turns")
        named = {name: getattr(self.options, name) for name in ("rounds", "replans", "turns")}
        return {f"max_{name}": value for name, value in named.items() if value is not None}

    def most_steps(self, state: ResearchState) -> int:
        return most_research_steps(state)

    def begin(self) -> None:
        """The answer is written anew when there is one."""

    def line(self, event: Event) -> str:
        return round_line(event)

    def settle(self, outcome: Outcome, ctx: Context | None) -> None:
        """The answer as a text of its own beside the journal."""
        answer = outcome.state.answer
        if ctx is None or answer is None:
            return
        try:
            replace_file(self.answer_file, f"{answer_text(answer)}\n".encode(), beside=".answer.tmp")
        except OSError as error:
            print(f"graph_agent: {self.answer_file} can't be kept: {error.strerror}", file=sys.stderr)

    @property
    def answer_file(self) -> Path:
        return self.folder / "answer.md"

    def ways(self, outcome: Outcome, *, brief: bool) -> list[Way]:
        options, state = self.options, outcome.state
        if outcome.waits:
            return answers(options, GRAPH, self.name, state, self.setup.model, brief=brief)
        if state.stage is Stage.DONE:
            return [Way(words="see how it came about", command=command_line(options, "why", self.name))]
        if outcome.over:
            return [*self._anew(state), Way(words="see why", command=command_line(options, "why", self.name))]
        return [Way(words="go on", command=command_line(options, "resume", self.name, *said_again(options)))]

    def _anew(self, state: ResearchState) -> list[Way]:
        words = ["python3", "-m", "graph_agent", "research", state.goal or "QUESTION", "--docs", self.setup.documents]
        if state.max_turns is not None and state.spent_turns >= state.max_turns:
            model = () if self.setup.model.offline else self.setup.model.words
            words += [*model, "--turns", str(2 * max(state.spent_turns, 1))]
            return [Way(words="begin anew with more turns", command=shlex.join(words))]
        if self.setup.model.offline and state.stage is Stage.PARTIAL:
            named = ("--model", "URL", "--model-name", "NAME")
            return [Way(words="ask a model, which may understand more", command=shlex.join([*words, *named]))]
        return []

    def blocks(self, outcome: Outcome) -> list[str]:
        answer = outcome.state.answer
        return [answer_text(answer)] if answer is not None else []

    def ending(self, outcome: Outcome, ways: list[Way]) -> str:
        state = outcome.state
        at = f" at {state.came_from.value}" if outcome.waits and state.came_from else ""
        limit = "" if state.max_turns is None else f" of {state.max_turns}"
        lines = [
            f"{outcome.title}{at}: {outcome.reason}",
            f"{state.steps} steps, {state.spent_turns}{limit} turns, {_spent(state)}",
            f"the run is kept in {self.folder}",
            *(plan_lines(state) if outcome.waits else ()),
        ]
        return "\n  ".join([*lines, *way_lines(ways)])

    def data(self, outcome: Outcome, ways: list[Way]) -> dict[str, Any]:
        state, answer = outcome.state, outcome.state.answer
        return {
            "status": outcome.status,
            "exit_code": outcome.code,
            "stage": state.stage.value,
            "reason": outcome.reason,
            "run": self.name,
            "folder": str(self.folder),
            "steps": state.steps,
            "turns": state.spent_turns,
            "rounds": state.rounds,
            "replans": state.replans,
            "answer": None if answer is None else _answer_data(answer),
            "left_out": list(self.setup.left_out),
            "policy": self.setup.policy_hash,
            "next": way_data(ways),
        }

    def told(self, state: ResearchState) -> Told:
        lines = plan_lines(state) if state.stage in (Stage.APPROVE, Stage.HUMAN) else []
        return Told(spent=f", {_spent(state)}", lines=lines)


def answer_text(answer: Answer) -> str:
    """An answer as it is read: the text, its sources, what to be careful of, and what is missing."""
    blocks = [answer.text or "Nothing of what was asked could be answered from the documents."]
    blocks += _listed("Sources", (f"[{one.id}] {one.place}" for one in answer.sources))
    blocks += _listed("Be careful", answer.caveats)
    if answer.status == "partial":
        blocks += _listed("Missing", answer.missing)
        blocks.append(f"This answer is partial. It ended because: {answer.why}")
        blocks.append(f"What would help: {answer.would_help}")
    return "\n\n".join(blocks)


def _listed(title: str, lines: Any) -> list[str]:
    found = [f"- {line}" for line in lines]
    return ["\n".join([f"{title}:", *found])] if found else []


def _answer_data(answer: Answer) -> dict[str, Any]:
    sources = [{"id": one.id, "place": one.place, "caveat": one.caveat} for one in answer.sources]
    named = {name: getattr(answer, name) for name in ("status", "text", "why", "would_help")}
    return {**named, "sources": sources, "caveats": list(answer.caveats), "missing": list(answer.missing)}


def _spent(state: ResearchState) -> str:
    return f"{state.rounds} of {state.max_rounds} rounds, {state.replans} of {state.max_replans} replans"


def plan_lines(state: ResearchState) -> list[str]:
    """The plan that a person may be asked about, a line a step."""
    if state.plan is None:
        return []
    lines = [f"plan {state.plan_no}:"]
    for number, layer in enumerate(state.plan.layers):
        for step in layer:
            here = ">" if number == state.cursor else " "
            tool = f" [{step.tool}]" if step.tool else ""
            line = f" {here} {step.id} ({step.kind}){tool}: {step.goal}; done when {' | '.join(step.done_when)}"
            lines.append(line if len(line) <= MOST_TOLD else f"{line[: MOST_TOLD - 3]}...")
    return lines
