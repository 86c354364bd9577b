"""`--model`: which model a command asks. The key is read from the environment and stands on no command line."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import UsageError
from graph_agent.llm.record import RecordingError, RecordingLLM, ReplayLLM
from graph_agent.protocols import LLMError
from graph_agent.runtime.errors import nearest


def add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default="offline",
        metavar="offline|URL|replay:FILE",
        help="offline (rules, no model; the default), the URL of an OpenAI-compatible server, or a recording",
    )
    parser.add_argument("--model-name", metavar="NAME", help="the model to ask for at that URL (GRAPH_AGENT_LLM_MODEL)")
    parser.add_argument("--record", metavar="FILE", help="add each question and answer to a file for replay:FILE")


def is_offline(options: argparse.Namespace) -> bool:
    return bool(options.model == "offline")


def model_of(options: argparse.Namespace) -> Any:
    """The model that the options name. Raises `UsageError` for one that can't be asked or recorded."""
    if is_offline(options) and (options.model_name or options.record is not None):
        raise UsageError("--model-name and --record are for a model that is asked: give --model URL too")
    try:
        llm = _named(options)
        return RecordingLLM(llm, Path(options.record)) if options.record is not None else llm
    except (LLMError, RecordingError) as error:
        raise UsageError(f"{error}; see --model and --record in python3 -m graph_agent repair --help") from error


def _named(options: argparse.Namespace) -> Any:
    model: str = options.model
    if model == "offline":
        from graph_agent.llm.offline import MutationLLM

        return MutationLLM()
    if model.startswith("replay:"):
        return ReplayLLM(Path(model.removeprefix("replay:")))
    if model.lower().startswith(("http://", "https://")):
        from graph_agent.llm.chat import ChatLLM

        name = options.model_name or os.environ.get("GRAPH_AGENT_LLM_MODEL")
        if not name:
            raise UsageError("a server has many models: say which with --model-name or GRAPH_AGENT_LLM_MODEL")
        return ChatLLM(model, name, _key(model))
    close = nearest(model, ("offline", "replay:FILE", "http://"))
    raise UsageError(f"--model {model!r} is unknown{close}: give offline, a URL that starts with http, or replay:FILE")


def _key(url: str) -> str | None:
    """GRAPH_AGENT_LLM_KEY; OPENAI_API_KEY goes to its owner's servers alone, whatever else is asked."""
    owners = re.match(r"https://([\w-]+\.)*openai\.com(:\d+)?(/|$)", url, re.IGNORECASE)
    return os.environ.get("GRAPH_AGENT_LLM_KEY") or (os.environ.get("OPENAI_API_KEY") if owners else None)
