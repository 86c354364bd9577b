"""One run of a task of an evaluation, in the process that this module is run in; `eval` starts it.

It sets a run up as `repair` and `research` do, keeps it like theirs, and looks at its end. The rule: what is measured
is the shipped graph under the shipped defaults; a task sets only what it says.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graph_agent.cli import exits, parsed
from graph_agent.cli.eval_node import run_node
from graph_agent.cli.models import ModelChoice, choice_of, model_of
from graph_agent.evals.forms import OFFLINE, SCRIPT, RepairTask, ResearchTask, StubTool
from graph_agent.evals.holds import missed, missed_changes
from graph_agent.evals.ran import BROKEN, FUSE, Passed, Ran
from graph_agent.evals.script import ScriptedLLM, read_script
from graph_agent.evals.task import Task, read_task
from graph_agent.protocols import Context, GraphAgentError
from graph_agent.runtime.codec import encode
from graph_agent.runtime.errors import JournalError, RunError, StepLimitReached
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import stage_name
from graph_agent.runtime.journal import Run
from graph_agent.runtime.jsontext import dumps
from graph_agent.runtime.run import run_graph
from graph_agent.tools.process import end_all
from graph_agent.tools.sourced import Sourced


@dataclass
class Counted:
    """What a run cost, from its events."""

    events: list[Event] = field(default_factory=list)

    def figures(self, state: Any) -> dict[str, Any]:
        return {
            "steps": state.steps,
            "turns": state.spent_turns,
            "calls": sum(event.model_calls for event in self.events),
            "tokens": sum(event.tokens_in + event.tokens_out for event in self.events),
        }

    @property
    def stages(self) -> set[str]:
        return {name for event in self.events for name in (event.stage, event.to) if name}


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="graph_agent.cli.eval_run")
    for name in ("task", "out", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("repeat", type=int)
    parser.add_argument("--model")
    parser.add_argument("--model-name")
    options = parser.parse_args(words)
    exits.terminate_politely()
    random.seed(options.repeat)
    try:
        ran = _ran(read_task(options.task), options)
    except (KeyboardInterrupt, exits.Terminated) as told:
        return getattr(told, "code", exits.INTERRUPTED)
    finally:
        end_all()
    options.out.write_text(dumps(encode(ran)), encoding="utf-8")
    return 0


def _ran(task: Task, options: argparse.Namespace) -> Ran:
    """A task that can't be set up is a result too: it says what its author must mend."""
    blank = Ran(
        task=task.name, workflow=task.said.workflow, tier=task.said.tier, repeat=options.repeat, outcome=BROKEN,
        run=options.folder.name,
    )  # fmt: skip
    try:
        if isinstance(task.said, RepairTask):
            return _repair(blank, task, task.said, options)
        if isinstance(task.said, ResearchTask):
            return _research(blank, task, task.said, options)
        return run_node(blank, task, lambda offline: model_for(task, options, offline), by_default=_by_default(options))
    except (GraphAgentError, OSError) as error:
        return replace(blank, reason=str(error), missed=(f"{BROKEN}: it can't be set up: {error}",))


def model_for(task: Task, options: argparse.Namespace, offline: Callable[[], Any]) -> Any:
    """The model that was asked for, else the task's own."""
    own = task.said.model
    if _by_default(options):
        if own == OFFLINE:
            return offline()
        kind, _, path = own.partition(":")
        place = task.place(path)
        if own.startswith(SCRIPT):
            return ScriptedLLM(read_script(place), offline())
        return model_of(ModelChoice(model=f"{kind}:{place}"))
    return model_of(choice_of(argparse.Namespace(model=options.model, model_name=options.model_name, record=None)))


def _named(task: Task, options: argparse.Namespace, asked: ModelChoice) -> ModelChoice:
    """Who answers, as the run's header says it."""
    kind, _, path = task.said.model.partition(":")
    return ModelChoice(model=f"{kind}:{task.place(path)}") if path and _by_default(options) else asked


def _by_default(options: argparse.Namespace) -> bool:
    return options.model in (None, OFFLINE)


def _words(options: argparse.Namespace) -> list[str]:
    """A run's own options for its model: budgets and formats follow from it."""
    if options.model is None:
        return []
    return ["--model", options.model, *(["--model-name", options.model_name] if options.model_name else [])]


def _given(**options: Any) -> list[str]:
    """Options as a person types them, without those that were not given."""
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            if one not in (None, ""):
                words += [f"--{name}", str(one)]
    return words


def _repair(blank: Ran, task: Task, said: RepairTask, options: argparse.Namespace) -> Ran:
    from graph_agent.cli.bench import about_of
    from graph_agent.cli.options import setup_of, state_of
    from graph_agent.cli.repair_desk import RepairDesk
    from graph_agent.cli.runfolder import RunFolder
    from graph_agent.llm.offline import MutationLLM
    from graph_agent.workflows.repair.graph import GRAPH

    given, source = said.input, Path(os.path.realpath(task.place(said.input.workspace)))
    holdout = str(task.place(given.holdout)) if given.holdout else "none"
    words = ["repair", str(source), *_words(options), *_given(holdout=holdout, request=given.request)]
    words += ["--test", shlex.join([sys.executable, "-m", "unittest", "discover"])]
    words += _given(check=given.check, allow=given.allow, retries=given.retries, turns=given.turns)
    words += _given(timeout=given.timeout, isolation=given.isolation)
    asked = parsed(words, as_json=True)
    llm = model_for(task, options, MutationLLM)
    folder = RunFolder(_made(options.folder), source)
    folder.fill()
    setup = setup_of(asked, source)
    setup = replace(setup, model=_named(task, options, setup.model))
    desk = RepairDesk(options=asked, setup=setup, folder=folder)
    counted = Counted()
    with Run.create(folder.folder, GRAPH, state_of(asked, setup, folder.name), about=about_of(setup)) as run:
        ctx = desk.context(run, llm)
        fuse = _went(run, ctx, counted, desk.most_steps(run.state))
        state = run.state
    wrong = [*fuse, *missed(said.holds, stages=counted.stages, state=_data(state), by_default=_by_default(options))]
    wrong += missed_changes(said.holds, _differing(folder.original, folder.workspace))
    visible, held_out = _visible(state), _held_out(task, said, desk, state)
    if said.holds.held_out and held_out != "pass":
        wrong.append(f"the held-out tests: {held_out}")
    return replace(
        _ended(blank, state, wrong, bool(fuse)), **counted.figures(state), replans=state.retries, visible=visible,
        held_out=held_out,
    )  # fmt: skip


def _research(blank: Ran, task: Task, said: ResearchTask, options: argparse.Namespace) -> Ran:
    from graph_agent.cli.research_setup import (
        about_research,
        most_research_steps,
        research_setup,
        research_state,
    )
    from graph_agent.workflows.research.graph import DOCUMENT_TOOLS, research_graph
    from graph_agent.workflows.research.offline import ExtractiveLLM
    from graph_agent.workflows.research.policy import cards_of

    given = said.input
    words = ["research", given.question, "--docs", str(task.place(given.documents)), *_words(options)]
    words += _given(judges=given.judges, rounds=given.rounds, replans=given.replans, turns=given.turns)
    asked = parsed(words, as_json=True)
    llm = model_for(task, options, ExtractiveLLM)
    setup, documents = research_setup(asked)
    tools = documents.toolbox()
    for one in given.tools:
        tools.add(stub(one), name=one.name, description=one.description)
    policy = replace(setup.policy, tools=cards_of(tools.specs()))
    named = _named(task, options, setup.model)
    setup = replace(setup, policy=policy, policy_hash=policy.fingerprint, model=named)
    graph = research_graph((*DOCUMENT_TOOLS, *(one.name for one in given.tools)))
    counted, folder = Counted(), _made(options.folder)
    with Run.create(folder, graph, research_state(asked, folder.name), about=about_research(setup)) as run:
        ctx = Context(llm=llm, tools=tools, policy=policy)
        fuse = _went(run, ctx, counted, most_research_steps(run.state))
        state = run.state
    wrong = [*fuse, *missed(said.holds, stages=counted.stages, state=_data(state), by_default=_by_default(options))]
    return replace(_ended(blank, state, wrong, bool(fuse)), **counted.figures(state), replans=state.replans)


def stub(tool: StubTool) -> Callable[..., Sourced]:
    def gives(query: str = "") -> Sourced:
        return Sourced(text=tool.text, source=tool.source, span=tool.span, caveat=tool.caveat)

    return gives


def _went(run: Run[Any], ctx: Context, counted: Counted, most_steps: int) -> list[str]:
    """Run it to where it stops; what stopped it otherwise, in a sentence."""
    try:
        run_graph(run.graph, run.state, ctx, journal=run, on_event=counted.events.append, max_steps=most_steps)
    except StepLimitReached as error:
        return [f"{FUSE}: {error}"]
    except (RunError, JournalError) as error:
        return [f"{stage_name(run.state.stage)} failed: {error}"]
    return []


def _ended(blank: Ran, state: Any, wrong: list[str], fuse: bool) -> Ran:
    outcome = FUSE if fuse and wrong[0].startswith(FUSE) else stage_name(state.stage)
    return replace(blank, outcome=outcome, reason=state.route_reason, missed=tuple(wrong))


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True)
    return folder


def _data(state: Any) -> dict[str, Any]:
    data: Any = encode(state)
    return dict(data)


def _differing(original: Path, workspace: Path) -> list[str]:
    def there(root: Path) -> dict[str, bytes]:
        files = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}

    before, after = there(original), there(workspace)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _visible(state: Any) -> Passed:
    """What the checks say that the run itself could see, its held-out tests left aside."""
    latest = state.verification
    if latest is None:
        return "unknown"
    verdicts = Counter(check.verdict.value for check in latest.checks)
    if verdicts["fail"] or latest.findings:
        return "fail"
    return "pass" if set(verdicts) == {"pass"} else "unknown"


def _held_out(task: Task, said: RepairTask, desk: Any, state: Any) -> Passed:
    """Tests that the run never saw, on what it leaves; else what its own held-out tests say."""
    from graph_agent.cli.bench import bench_of
    from graph_agent.verify.report import judge_tests

    if said.holds.held_out:
        setup = replace(desk.setup, holdout=str(task.place(said.holds.held_out)))
        held = bench_of(setup, desk.folder).run_holdout()
        verdict, counts, _ = judge_tests(held.result.exit_code, held.result.output, timed_out=held.result.timed_out)
        seen = [check.counts.total for check in state.verification.checks if check.counts] if state.verification else []
        ran = held.replaced or (counts is not None and counts.total > max(seen, default=0))
        return _word(verdict.value) if ran else "unknown"
    if not said.input.holdout:
        return ""
    return _word(state.verification.holdout if state.verification is not None else "")


def _word(told: str) -> Passed:
    return "pass" if told == "pass" else "fail" if told == "fail" else "unknown"


if __name__ == "__main__":
    sys.exit(main())
