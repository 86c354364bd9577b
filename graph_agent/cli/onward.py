"""How a repair goes on from where it stands: commands of this program, as a person types them.

The rule: the likeliest stands last, so that the last line on the screen is the one to run.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from graph_agent.cli.bench import Setup
from graph_agent.cli.kept import command_line
from graph_agent.cli.printing import Way
from graph_agent.cli.ways import answer_words, answers, said_again
from graph_agent.runtime.answer import pause_id
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.state import Stage, TaskState

NO_HELD_OUT = "no held-out tests: a patch that passes may still be wrong; read it"


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
        offered = answers(options, GRAPH, name, state, setup.model, brief=brief)
        return [*_others(options, setup, name, state), *offered]
    return [Way(words="go on", command=command_line(options, "resume", name, *said_again(options)))]


def _others(options: argparse.Namespace, setup: Setup, name: str, state: TaskState) -> Iterator[Way]:
    """What no answer can do: a policy stays as it is, so other tests need another run."""
    if state.came_from is Stage.INTAKE:
        yield _anew(setup, "begin anew and allow other files", "--allow", "GLOB")
        words = (*answer_words(name, state), "request=TEXT")
        yield Way(words="ask for something else", command=command_line(options, *words))
    elif state.came_from is Stage.DIAGNOSE:
        yield _anew(setup, "begin anew with the command whose tests fail, or more time", "--test", "CMD")
    elif (
        setup.model.offline and state.came_from in (Stage.PLAN, Stage.REPAIR) and (state.blocked or not state.plan_now)
    ):
        to_plan = '{"pause":"' + pause_id(state) + '","to":"plan"}'
        words = (*answer_words(name, state), f"decisions={to_plan}", "--model", "URL", "--model-name", "NAME")
        yield Way(words="have a model plan, which may see more", command=command_line(options, *words))


def _anew(setup: Setup, words: str, *more: str) -> Way:
    return Way(words=words, command=shlex.join(["python3", "-m", "graph_agent", "repair", setup.source, *more]))
