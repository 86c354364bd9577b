"""What a research was set up with, and what follows from it: the same in any process, at any time.

A `ResearchSetup` stands in the header of a run's journal. The rule: what decides success is what the run began with;
a policy that is another by now is refused, and no option brings a new one.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graph_agent.cli.exits import UsageError
from graph_agent.cli.kept import Kept, SetupError
from graph_agent.cli.models import ModelChoice, choice_of, for_the_header, model_of
from graph_agent.cli.options import MOST, approvals_of
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.jsontext import dumps, is_unicode
from graph_agent.tools.documents import Documents, DocumentsError
from graph_agent.workflows.research.offline import ExtractiveLLM
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import ResearchState, digest

TURNS = 400
"""Calls of the model and of tools: twelve rounds of three steps with five calls each, planned four times, with room."""

STEPS_A_ROUND, OTHER_STEPS = 4, 20


@dataclass(frozen=True, kw_only=True)
class ResearchSetup:
    """The settings of a research, without secrets. `left_out`: files below `documents` that are not read, and why."""

    command: Literal["research"] = "research"
    documents: str
    policy: ResearchPolicy
    policy_hash: str
    model: ModelChoice
    left_out: tuple[str, ...] = ()


def research_setup(options: argparse.Namespace) -> tuple[ResearchSetup, Documents]:
    """Raises `UsageError` for an option that no run could use."""
    check_research_limits(options)
    choice, folder = choice_of(options), _folder(options.docs)
    documents = documents_in(folder)
    policy = ResearchPolicy(
        tools=cards_of(documents.toolbox().specs()), sources=versions_of(documents), judges=options.judges
    )
    setup = ResearchSetup(
        documents=str(folder), policy=policy, policy_hash=policy.fingerprint, model=for_the_header(choice),
        left_out=documents.left_out,
    )  # fmt: skip
    return setup, documents


def research_state(options: argparse.Namespace, run: str) -> ResearchState:
    """The first state."""
    return ResearchState(
        task_id=run,
        goal=options.question,
        approve=approvals_of(options.approve),
        max_rounds=options.rounds if options.rounds is not None else ResearchState.max_rounds,
        max_replans=options.replans if options.replans is not None else ResearchState.max_replans,
        max_turns=options.turns if options.turns is not None else TURNS,
    )


def most_research_steps(state: ResearchState) -> int:
    """The last fuse: more visits than a run with these rounds can need."""
    return OTHER_STEPS + STEPS_A_ROUND * state.max_rounds


def kept_research(kept: Kept) -> ResearchSetup:
    """The setup of a stored run. Raises `SetupError`."""
    about, name = kept.about, kept.folder.name
    try:
        setup: ResearchSetup = decode(ResearchSetup, about, "about")
    except CodecError as error:
        text = f"the run {name} does not say what it was set up with ({error}): go on with it where it was begun"
        raise SetupError(text) from error
    if ResearchPolicy.hash_of(dumps(about["policy"])) != setup.policy_hash:
        raise SetupError(f"the policy of the run {name} is not the one that it began with: begin a new run")
    return setup


def about_research(setup: ResearchSetup) -> dict[str, Any]:
    """As a header keeps it."""
    about: Any = encode(setup)
    return dict(about)


def documents_in(folder: Path) -> Documents:
    """Raises `UsageError`."""
    try:
        return Documents(folder)
    except DocumentsError as error:
        raise UsageError(f"--docs {folder}: {error}") from error


def versions_of(documents: Documents) -> str:
    """One fingerprint of the names and bytes of all documents."""
    return digest([[one.path, one.version] for one in documents])


def research_model(choice: ModelChoice) -> Any:
    """The model itself. Raises `UsageError`."""
    offline: Callable[[], Any] = ExtractiveLLM
    return offline() if choice.offline else model_of(choice)


def check_research_limits(options: argparse.Namespace) -> None:
    for name in ("rounds", "replans", "turns"):
        value, least = getattr(options, name), int(name == "rounds")  # without a round nothing could be answered
        if value is not None and not least <= value <= MOST:
            raise UsageError(f"--{name} {value}: give a number from {least} to {MOST}")


def _folder(given: str) -> Path:
    path = Path(given)
    try:
        usable = bool(given) and path.is_dir()
        there = usable or path.exists()
    except OSError as error:
        raise UsageError(
            f"--docs {given!r} can't be looked at: {error.strerror}; give a folder of documents"
        ) from error
    if not usable:
        raise UsageError(f"--docs {given!r} is {'no folder' if there else 'not there'}: give a folder of documents")
    real = os.path.realpath(path)
    if not is_unicode(real):
        raise UsageError(f"{real!r} is no text in UTF-8: give the folder another name")
    return Path(real)
