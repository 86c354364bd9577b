"""From the options of `repair` to the model, the policy, the tools and the first state."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any, Literal

from graph_agent.cli.exits import UsageError
from graph_agent.cli.runfolder import RunFolder
from graph_agent.llm.edits import EditFormat
from graph_agent.llm.record import RecordingError, RecordingLLM, ReplayLLM
from graph_agent.protocols import LLMError, ToolError
from graph_agent.runtime.errors import nearest
from graph_agent.tools.command import parse_command
from graph_agent.tools.paths import PatternError, checked_patterns
from graph_agent.tools.workbench import Bench, has_module, interpreter_of, is_left_behind
from graph_agent.workflows.repair.policy import PROTECTED, SOURCES, Command, EvaluationPolicy, default_tests
from graph_agent.workflows.repair.state import TaskState


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


OFFLINE_RETRIES = 300
RETRIES = 2
OFFLINE_READS, READS = 40, 3
LOOK = 4  # turns of DIAGNOSE besides the sources
MOST = 1_000_000
STEPS_A_RETRY, OTHER_STEPS = 3, 20  # repair, execute, verify; the rest of the way once, with room


def policy_of(options: argparse.Namespace, source: Path) -> EvaluationPolicy:
    """Raises `UsageError` for an option that no run could use."""
    _check_numbers(options)
    return EvaluationPolicy(
        allowed_root=str(source),
        commands=(*_tests(options, source), *(_command(text, "check", source) for text in options.check)),
        write=_patterns("--allow", options.allow, source) if options.allow else SOURCES,
        protect=(*PROTECTED, *_patterns("--protect", options.protect, source)),
        holdout=holdout_of(options, source) is not None,
        max_reads=OFFLINE_READS if is_offline(options) else READS,
        look_timeout=2 * options.timeout + 30,
        formats=_formats(options),
        rules=_rules(options),
    )


def bench_of(options: argparse.Namespace, policy: EvaluationPolicy, folder: RunFolder) -> Bench:
    return Bench(
        root=folder.workspace,
        baseline=folder.original,
        writable=policy.write,
        protected=policy.protect,
        commands=tuple(command.argv for command in policy.commands),
        tests=tuple(command.argv for command in policy.tests),
        timeout=options.timeout,
        isolation=options.isolation,
        holdout=holdout_of(options, folder.source),
    )


def state_of(options: argparse.Namespace, folder: RunFolder) -> TaskState:
    """The first state; turns that were not given follow from the retries."""
    offline = is_offline(options)
    retries = options.retries if options.retries is not None else (OFFLINE_RETRIES if offline else RETRIES)
    enough = 60 + 4 * retries if offline else LOOK + READS + 2 * (retries + 1)
    return TaskState(
        task_id=folder.folder.name,
        request=options.request,
        workspace=str(folder.source),
        max_retries=retries,
        max_turns=options.turns if options.turns is not None else enough,
        review=options.review,
    )


def most_steps(state: TaskState) -> int:
    """The last fuse: more visits than a run with these retries can need."""
    return OTHER_STEPS + STEPS_A_RETRY * state.max_retries


def holdout_of(options: argparse.Namespace, source: Path) -> Path | None:
    """The folder given, else the workspace's neighbour."""
    if options.holdout == "none":
        return None
    if options.holdout is None:
        neighbour = source.parent / f"{source.name}_holdout"
        return neighbour if neighbour.is_dir() else None
    given = Path(os.path.realpath(options.holdout))
    if not options.holdout or not given.is_dir() or not any(given.iterdir()):
        raise UsageError(f"--holdout {options.holdout!r} is no folder that holds tests: give one that does, or none")
    if given.is_relative_to(source):
        raise UsageError(f"--holdout {options.holdout} lies in the workspace, where a model sees it: move it outside")
    return given


def _tests(options: argparse.Namespace, source: Path) -> tuple[Command, ...]:
    if options.test:
        return tuple(_command(text, "test", source) for text in options.test)
    python = interpreter_of(source)
    folders = [source / name for name in ("tests", "test") if (source / name).is_dir()]
    paths = {f"{folder.name}/{entry.name}" for folder in folders for entry in folder.iterdir()}
    return (default_tests(python, has_module(python, "pytest"), paths),)


def _command(text: str, kind: Literal["test", "check"], source: Path) -> Command:
    try:
        program, *words = parse_command(text)
    except ToolError as error:
        raise UsageError(f"--{kind} {text!r}: {error}") from error
    there = source / program
    if Path(program).parts[1:] and is_left_behind(source / Path(program).parts[0]) and there.is_file():
        program = str(there)  # the workspace's own environment is not copied
    return Command(argv=(program, *words), kind=kind)


def _patterns(option: str, given: list[str], source: Path) -> tuple[str, ...]:
    """The name of a folder stands for all that is in it."""
    patterns = [f"{one.rstrip('/')}/**" if (source / one).is_dir() else one for one in given]
    try:
        return checked_patterns(patterns)
    except PatternError as error:
        raise UsageError(f"{option}: {error}") from error


def _formats(options: argparse.Namespace) -> tuple[EditFormat, ...]:
    """What a model is likely to manage comes first."""
    given: EditFormat = options.edit_format
    if options.edit_format != "auto":
        if is_offline(options):
            raise UsageError("--edit-format is for a model that writes: give --model URL too, or leave it out")
        return (given,)
    return ("replace",) if is_offline(options) else ("function", "replace")


def _rules(options: argparse.Namespace) -> tuple[str, ...]:
    if options.rules is None:
        return ()
    if not options.review:
        raise UsageError("--rules are for the review: give --review too")
    try:
        return (Path(options.rules).read_text(encoding="utf-8"),)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--rules {options.rules} can't be read: {error}") from error


def _check_numbers(options: argparse.Namespace) -> None:
    for name in ("retries", "turns"):
        value = getattr(options, name)
        if value is not None and not 0 <= value <= MOST:
            raise UsageError(f"--{name} {value}: give a number from 0 to {MOST}")
    if not 0 < options.timeout < 86_400:
        raise UsageError(f"--timeout {options.timeout}: give seconds, more than 0 and less than a day")
