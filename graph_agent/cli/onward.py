"""How a run goes on from where it stands: commands of this program, as a person types them.

The rule: the likeliest stands last, so that the last line on the screen is the one to run.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from graph_agent.cli.bench import Setup
from graph_agent.cli.fields import written_answer
from graph_agent.cli.kept import command_line
from graph_agent.cli.models import without_query
from graph_agent.runtime.answer import pause_id, question
from graph_agent.runtime.graph import Node
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState

NO_HELD_OUT = "no held-out tests: a patch that passes may still be wrong; read it"


@dataclass(frozen=True, kw_only=True)
class Way:
    """A command, and in a few words what it does."""

    words: str
    command: str


def ways_on(
    options: argparse.Namespace, setup: Setup, name: str, state: TaskState, *, applied: bool, brief: bool = False
) -> list[Way]:
    """`applied`: the patch is in the workspace already; `brief`: of several answers the likeliest alone."""
    if state.stage is Stage.DONE:
        patch = Way(words="bring the patch to the workspace", command=command_line(options, "apply", name))
        why = Way(words="see how it came about", command=command_line(options, "why", name))
        return [why] if applied else [patch]
    if state.stage is Stage.FAILED:
        return [_anew(setup, "begin anew and say what is wanted", "--request", "TEXT")]
    if state.stage is Stage.HUMAN:
        answers = list(_answers(options, name, state, setup))
        if brief and len(answers) > 1:
            answers = [Way(words="see every answer", command=command_line(options, "show", name)), answers[-1]]
        return [*_others(options, setup, name, state), *answers]
    return [Way(words="go on", command=command_line(options, "resume", name, *_more(options)))]


def model_failed(state: TaskState) -> bool:
    """Whether the run waits because a model could not be asked."""
    if state.stage is not Stage.HUMAN or state.came_from is None:
        return False
    entry = GRAPH.nodes[state.came_from]
    return isinstance(entry, Node) and entry.model and state.route_reason.startswith(f"{state.came_from} failed: ")


def _others(options: argparse.Namespace, setup: Setup, name: str, state: TaskState) -> Iterator[Way]:
    """What no answer can do: a policy stays as it is, so other tests need another run."""
    if state.came_from is Stage.INTAKE:
        yield _anew(setup, "begin anew and allow other files", "--allow", "GLOB")
        words = (*_answer(name, state), "request=TEXT")
        yield Way(words="ask for something else", command=command_line(options, *words))
    elif state.came_from is Stage.DIAGNOSE:
        yield _anew(setup, "begin anew with the command whose tests fail, or more time", "--test", "CMD")
    elif (
        setup.model.offline and state.came_from in (Stage.PLAN, Stage.REPAIR) and (state.blocked or not state.plan_now)
    ):
        to_plan = '{"pause":"' + pause_id(state) + '","to":"plan"}'
        words = (*_answer(name, state), f"decisions={to_plan}", "--model", "URL", "--model-name", "NAME")
        yield Way(words="have a model plan, which may see more", command=command_line(options, *words))


def _answers(options: argparse.Namespace, name: str, state: TaskState, setup: Setup) -> Iterator[Way]:
    """The answers that the pause offers: its first is the likeliest."""
    offers = question(GRAPH, state).offers
    more = _more(options)
    for words, patch in reversed(tuple(offers.items())):
        given = written_answer(GRAPH, patch)
        yield Way(words=words, command=command_line(options, *_answer(name, state), *given, *more))
    if not offers:
        owned = ", ".join(sorted(GRAPH.nodes[state.stage].owns))
        yield Way(words=f"answer ({owned})", command=command_line(options, *_answer(name, state), "FIELD=VALUE"))
    if model_failed(state):
        asked = more if "--model" in more else (*setup.model.words, *more)
        words = "ask the model again, once it can be reached, or another one"
        yield Way(words=words, command=command_line(options, "resume", name, *asked))


def _answer(name: str, state: TaskState) -> tuple[str, ...]:
    return "answer", name, "--pause", pause_id(state)


def _more(options: argparse.Namespace) -> tuple[str, ...]:
    """What was said of this going on, to be said of the next: another model than the run began with, and --apply."""
    if options.command_name not in ("repair", "resume", "answer"):
        return ()
    words: list[str] = []
    for name in () if options.command_name == "repair" else ("model", "model_name", "record"):
        if (value := getattr(options, name)) is not None:
            words += [f"--{name.replace('_', '-')}", without_query(value) if name == "model" else value]
    return (*words, *(("--apply",) if options.apply else ()))


def _anew(setup: Setup, words: str, *more: str) -> Way:
    return Way(words=words, command=shlex.join(["python3", "-m", "graph_agent", "repair", setup.source, *more]))
