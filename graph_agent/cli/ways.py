"""The answers that a pause offers, as commands of this program.

The rule: the likeliest stands last, so that the last line on the screen is the one to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from graph_agent.cli.fields import written_answer
from graph_agent.cli.kept import command_line
from graph_agent.cli.models import ModelChoice, without_query
from graph_agent.cli.printing import Way
from graph_agent.runtime.answer import pause_id, question
from graph_agent.runtime.graph import Graph, Node, stage_name


def answers(
    options: argparse.Namespace, graph: Graph[Any], name: str, state: Any, model: ModelChoice, *, brief: bool
) -> list[Way]:
    """The answers that the pause offers: its first is the likeliest. `brief`: that one alone, and how to see all."""
    found = list(_answers(options, graph, name, state, model))
    if not brief or len(found) < 2:
        return found
    return [Way(words="see every answer", command=command_line(options, "show", name)), found[-1]]


def _answers(
    options: argparse.Namespace, graph: Graph[Any], name: str, state: Any, model: ModelChoice
) -> Iterator[Way]:
    offers = question(graph, state).offers
    more = said_again(options)
    for words, patch in reversed(tuple(offers.items())):
        given = written_answer(graph, patch)
        yield Way(words=words, command=command_line(options, *answer_words(name, state), *given, *more))
    if not offers:
        owned = ", ".join(sorted(graph.nodes[state.stage].owns))
        command = command_line(options, *answer_words(name, state), "FIELD=VALUE")
        yield Way(words=f"answer ({owned})", command=command)
    if model_failed(graph, state):
        asked = more if "--model" in more else (*model.words, *more)
        words = "ask the model again, once it can be reached, or another one"
        yield Way(words=words, command=command_line(options, "resume", name, *asked))


def answer_words(name: str, state: Any) -> tuple[str, ...]:
    return "answer", name, "--pause", pause_id(state)


def said_again(options: argparse.Namespace) -> tuple[str, ...]:
    """What was said of this going on, to be said of the next: another model than the run began with, and --apply."""
    if options.command_name not in ("repair", "research", "resume", "answer"):
        return ()
    words: list[str] = []
    for name in () if options.command_name in ("repair", "research") else ("model", "model_name", "record"):
        if (value := getattr(options, name)) is not None:
            words += [f"--{name.replace('_', '-')}", without_query(value) if name == "model" else value]
    return (*words, *(("--apply",) if getattr(options, "apply", False) else ()))


def model_failed(graph: Graph[Any], state: Any) -> bool:
    """Whether the run waits because a model could not be asked."""
    if state.stage not in graph.pauses or state.came_from is None:
        return False
    entry = graph.nodes[state.came_from]
    failed = state.route_reason.startswith(f"{stage_name(state.came_from)} failed: ")
    return isinstance(entry, Node) and entry.model and failed
