"""From the options of `repair` to what the run is set up with: the policy, the model by name, and the first state."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Literal

from graph_agent.cli.bench import Setup, hash_of_tests
from graph_agent.cli.exits import UsageError
from graph_agent.cli.models import ModelChoice, choice_of, for_the_header
from graph_agent.llm.edits import EditFormat
from graph_agent.protocols import ToolError
from graph_agent.runtime.errors import nearest
from graph_agent.tools.command import parse_command
from graph_agent.tools.paths import PatternError, checked_patterns
from graph_agent.tools.workbench import has_module, interpreter_of, is_left_behind
from graph_agent.workflows.repair.policy import PROTECTED, SOURCES, Command, EvaluationPolicy, default_tests
from graph_agent.workflows.repair.state import TaskState

OFFLINE_RETRIES = 300
RETRIES = 2
OFFLINE_READS, READS = 40, 3
LOOK = 4  # turns of DIAGNOSE besides the sources
MOST = 1_000_000
APPROVALS: tuple[Literal["plan", "finish"], ...] = ("plan", "finish")
STEPS_A_RETRY, OTHER_STEPS = 3, 20  # repair, execute, verify; the rest of the way once, with room


def setup_of(options: argparse.Namespace, source: Path) -> Setup:
    """Raises `UsageError` for an option that no run could use."""
    _check_numbers(options)
    model, holdout = choice_of(options), holdout_of(options, source)
    if options.review and model.offline:
        raise UsageError("--review needs a model, and the offline one can't judge: give --model URL")
    policy = EvaluationPolicy(
        allowed_root=str(source),
        commands=(*_tests(options, source), *(command_of(text, "check", source) for text in options.check)),
        write=_patterns("--allow", options.allow, source) if options.allow else SOURCES,
        protect=(*PROTECTED, *_patterns("--protect", options.protect, source)),
        holdout=holdout is not None,
        max_reads=OFFLINE_READS if model.offline else READS,
        look_timeout=2 * options.timeout + 30,
        formats=_formats(options, model),
        rules=_rules(options),
        audit=tuple(command_of(text, "audit", source) for text in options.audit),
    )
    return Setup(
        source=str(source),
        policy=policy,
        policy_hash=policy.fingerprint,
        model=for_the_header(model),
        holdout=None if holdout is None else str(holdout),
        holdout_hash=hash_of_tests(holdout),
        timeout=options.timeout,
        isolation=options.isolation,
    )


def state_of(options: argparse.Namespace, setup: Setup, run: str) -> TaskState:
    """The first state; turns that were not given follow from the retries."""
    offline = setup.model.offline
    retries = options.retries if options.retries is not None else (OFFLINE_RETRIES if offline else RETRIES)
    enough = 60 + 4 * retries if offline else LOOK + READS + 2 * (retries + 1)
    return TaskState(
        task_id=run,
        request=options.request,
        workspace=setup.source,
        max_retries=retries,
        max_turns=options.turns if options.turns is not None else enough,
        review=options.review,
        approve=approvals_of(options.approve),
    )


def approvals_of(given: list[str]) -> tuple[Literal["plan", "finish"], ...]:
    """What waits for a person, from an option that is repeated or a list with commas."""
    words = [word for text in given for word in text.split(",")]
    for word in words:
        if word not in ("plan", "finish"):
            raise UsageError(
                f"--approve {word!r}{nearest(word, ('plan', 'finish'))}: give plan, finish, or plan,finish"
            )
    return tuple(name for name in APPROVALS if name in words)


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


def command_of(text: str, option: Literal["test", "check", "audit"], source: Path) -> Command:
    """What `--test`, `--check` or `--audit` names, for a copy of the workspace `source`. Raises `UsageError`."""
    try:
        program, *words = parse_command(text)
    except ToolError as error:
        raise UsageError(f"--{option} {text!r}: {error}") from error
    there = source / program
    if Path(program).parts[1:] and is_left_behind(source / Path(program).parts[0]) and there.is_file():
        program = str(there)  # the workspace's own environment is not copied
    return Command(argv=(program, *words), kind="test" if option == "test" else "check")


def _tests(options: argparse.Namespace, source: Path) -> tuple[Command, ...]:
    if options.test:
        return tuple(command_of(text, "test", source) for text in options.test)
    python = interpreter_of(source)
    folders = [source / name for name in ("tests", "test") if (source / name).is_dir()]
    paths = {f"{folder.name}/{entry.name}" for folder in folders for entry in folder.iterdir()}
    return (default_tests(python, has_module(python, "pytest"), paths),)


def _patterns(option: str, given: list[str], source: Path) -> tuple[str, ...]:
    """The name of a folder stands for all that is in it."""
    patterns = [f"{one.rstrip('/')}/**" if (source / one).is_dir() else one for one in given]
    try:
        return checked_patterns(patterns)
    except PatternError as error:
        raise UsageError(f"{option}: {error}") from error


def _formats(options: argparse.Namespace, model: ModelChoice) -> tuple[EditFormat, ...]:
    """What a model is likely to manage comes first."""
    given: EditFormat = options.edit_format
    if options.edit_format != "auto":
        if model.offline:
            raise UsageError("--edit-format is for a model that writes: give --model URL too, or leave it out")
        return (given,)
    return ("replace",) if model.offline else ("function", "replace")


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
    check_limits(options)
    if not 0 < options.timeout < 86_400:
        raise UsageError(f"--timeout {options.timeout}: give seconds, more than 0 and less than a day")


def check_limits(options: argparse.Namespace) -> None:
    for name in ("retries", "turns"):
        value = getattr(options, name)
        if value is not None and not 0 <= value <= MOST:
            raise UsageError(f"--{name} {value}: give a number from 0 to {MOST}")
