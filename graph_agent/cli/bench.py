"""What a repair was set up with, and the bench of tools that follows from it: the same in any process, at any time.

A `Setup` stands in the header of a run's journal. The rule: what decides success is what the run began with; a policy
or held-out tests that are others by now are refused, and no option brings new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from graph_agent.cli.kept import Kept, SetupError
from graph_agent.cli.models import ModelChoice
from graph_agent.cli.runfolder import RunFolder
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.jsontext import dumps
from graph_agent.tools.command import Isolation
from graph_agent.tools.workbench import Bench
from graph_agent.workflows.repair.policy import EvaluationPolicy


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The settings of a repair, without secrets. `left_out`: what of the workspace was not copied."""

    command: Literal["repair"] = "repair"
    source: str
    policy: EvaluationPolicy
    policy_hash: str
    model: ModelChoice
    holdout: str | None
    holdout_hash: str
    timeout: float
    isolation: Isolation
    left_out: tuple[str, ...] = ()


def about_of(setup: Setup) -> dict[str, Any]:
    """As a header keeps it."""
    about: Any = encode(setup)
    return dict(about)


def kept_setup(kept: Kept) -> Setup:
    """The setup of a stored run. Raises `SetupError`."""
    about, name = kept.about, kept.folder.name
    try:
        setup: Setup = decode(Setup, about, "about")
    except CodecError as error:
        text = f"the run {name} does not say what it was set up with ({error}): go on with it where it was begun"
        raise SetupError(text) from error
    if _hash(dumps(about["policy"]).encode()) != setup.policy_hash:  # as it is written: code of today may add to it
        raise SetupError(f"the policy of the run {name} is not the one that it began with: {_ANEW}")
    if hash_of_tests(Path(setup.holdout) if setup.holdout else None) != setup.holdout_hash:
        what = "are no longer those that the run began with"
        raise SetupError(f"the held-out tests in {setup.holdout} {what}: put them back as they were, or {_ANEW}")
    return setup


_ANEW = "begin a new run with python3 -m graph_agent repair"


def bench_of(setup: Setup, folder: RunFolder, keep: Callable[[bytes], object] | None = None) -> Bench:
    """`keep` is given the bytes of each file that is written."""
    policy = setup.policy
    return Bench(
        root=folder.workspace,
        baseline=folder.original,
        writable=policy.write,
        protected=policy.protect,
        commands=tuple(command.argv for command in policy.commands),
        tests=tuple(command.argv for command in policy.tests),
        timeout=setup.timeout,
        isolation=setup.isolation,
        holdout=Path(setup.holdout) if setup.holdout else None,
        keep=keep,
    )


def hash_of_tests(folder: Path | None) -> str:
    """One hash of the names and bytes of held-out tests; "" where there are none."""
    if folder is None or not folder.is_dir():
        return ""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    held: dict[str, Any] = {
        name: _hash(path.read_bytes()) for name, path in sorted(files.items()) if "__pycache__" not in path.parts
    }
    return _hash(repr(held).encode("utf-8", "surrogateescape"))


def _hash(raw: bytes) -> str:
    return sha256(raw).hexdigest()
