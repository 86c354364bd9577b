"""Which model a run asks: from an option to a model, and what of it may stand in a run's header.

The rule: a key is read from the environment when it is needed; neither it nor what could hold one, such as the query
of a URL, is written down.
"""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import UsageError
from graph_agent.llm.record import RecordingError, RecordingLLM, ReplayLLM
from graph_agent.protocols import LLMError
from graph_agent.runtime.errors import nearest

OFFLINE, REPLAY = "offline", "replay:"


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """`model` as `--model` takes it, the `name` to ask for there, and the file to `record` to.

    `query_cut`: the URL had a query, which is not kept.
    """

    model: str
    name: str | None = None
    record: str | None = None
    query_cut: bool = False

    @property
    def offline(self) -> bool:
        return self.model == OFFLINE

    @property
    def is_server(self) -> bool:
        return self.model.lower().startswith(("http://", "https://"))

    @property
    def words(self) -> tuple[str, ...]:
        """The options that choose it."""
        return ("--model", self.model, *(("--model-name", self.name) if self.name else ()))


def add_model_options(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    """`default`: the model that is asked without an option; None: the one that the run began with."""
    parser.add_argument(
        "--model",
        default=default,
        metavar="offline|URL|replay:FILE",
        help=f"offline (rules, no model{'; the default' if default else ''}), the URL of an OpenAI-compatible server, "
        f"or a recording{'' if default else ' (default: what the run asked before)'}",
    )
    parser.add_argument("--model-name", metavar="NAME", help="the model to ask for at that URL (GRAPH_AGENT_LLM_MODEL)")
    parser.add_argument("--record", metavar="FILE", help="add each question and answer to a file for replay:FILE")


def choice_of(options: argparse.Namespace, kept: ModelChoice | None = None) -> ModelChoice:
    """What the options say, and for what they do not say, `kept`. Raises `UsageError`."""
    if kept is not None and options.model is None:
        if kept.query_cut:
            raise UsageError(f"the URL {kept.model} had a query, which is not kept: give it again with --model URL")
        chosen = replace(kept, name=options.model_name or kept.name, record=options.record or kept.record)
    else:
        former = kept.name if kept is not None and kept.is_server else None
        chosen = ModelChoice(model=options.model, name=options.model_name or former, record=options.record)
    if chosen.is_server:
        return replace(chosen, name=chosen.name or os.environ.get("GRAPH_AGENT_LLM_MODEL"))
    if chosen.offline and (options.model_name or options.record is not None):
        raise UsageError("--model-name and --record are for a model that is asked: give --model URL too")
    return replace(chosen, name=options.model_name)


def for_the_header(choice: ModelChoice) -> ModelChoice:
    """Without secrets, and with paths that any process finds."""
    record = None if choice.record is None else str(Path(choice.record).absolute())
    model = without_query(choice.model)
    if model.startswith(REPLAY):
        model = REPLAY + str(Path(model.removeprefix(REPLAY)).absolute())
    return replace(choice, model=model, record=record, query_cut=choice.is_server and model != choice.model)


def without_query(model: str) -> str:
    """A `--model` without what could hold a key."""
    return model.partition("?")[0] if model.lower().startswith("http") else model


def model_of(choice: ModelChoice) -> Any:
    """The model itself. Raises `UsageError`."""
    try:
        llm = _named(choice)
        return RecordingLLM(llm, Path(choice.record)) if choice.record is not None else llm
    except (LLMError, RecordingError) as error:
        raise UsageError(f"{error}; see --model and --record in python3 -m graph_agent repair --help") from error


def _named(choice: ModelChoice) -> Any:
    model = choice.model
    if choice.offline:
        from graph_agent.llm.offline import MutationLLM

        return MutationLLM()
    if model.startswith(REPLAY):
        return ReplayLLM(Path(model.removeprefix(REPLAY)))
    if choice.is_server:
        from graph_agent.llm.chat import ChatLLM

        if not choice.name:
            raise UsageError("a server has many models: say which with --model-name or GRAPH_AGENT_LLM_MODEL")
        return ChatLLM(model, choice.name, key_for(model))
    close = nearest(model, ("offline", "replay:FILE", "http://"))
    raise UsageError(f"--model {model!r} is unknown{close}: give offline, a URL that starts with http, or replay:FILE")


def key_for(url: str) -> str | None:
    """GRAPH_AGENT_LLM_KEY; OPENAI_API_KEY goes to its owner's servers alone, whatever else is asked."""
    owners = re.match(r"https://([\w-]+\.)*openai\.com(:\d+)?(/|$)", url, re.IGNORECASE)
    return os.environ.get("GRAPH_AGENT_LLM_KEY") or (os.environ.get("OPENAI_API_KEY") if owners else None)
