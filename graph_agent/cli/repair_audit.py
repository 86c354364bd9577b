"""The audit of repairs: the run's edits laid over its original once more, in a folder that is gone afterwards.

The rule: what is verified is made from the original and the kept bytes, never from the workspace that the run left;
that one is only compared. The rules themselves are in `workflows.repair.audit`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.cli.bench import Setup, bench_of, hash_of_tests, kept_setup
from graph_agent.cli.exits import UsageError
from graph_agent.cli.kept import Kept
from graph_agent.cli.options import command_of
from graph_agent.cli.runfolder import RunFolder
from graph_agent.protocols import Context, GraphAgentError, ToolError
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.errors import BlobError
from graph_agent.tools.files import sha256
from graph_agent.tools.paths import Root, WorkspaceError
from graph_agent.tools.workbench import Bench, copy_workspace, workbench
from graph_agent.tools.workspace import Workspace
from graph_agent.verify.audit import Audited
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.audit import checked, claimed, found, strange, verified_again, written
from graph_agent.workflows.repair.policy import Command
from graph_agent.workflows.repair.state import Check, TaskState, Verification


class NotMade(GraphAgentError):
    """The copy on which a run would be verified again can't be made."""


@dataclass
class _Looked:
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class RepairAudit:
    """Of any number of repairs, with the options of one command."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Raises `UsageError`."""
        self._checks: list[str] = options.check
        for text in self._checks:
            command_of(text, "check", Path())
        self._holdout = None if options.holdout is None else Path(options.holdout).resolve()
        if self._holdout is not None and not hash_of_tests(self._holdout):
            raise UsageError(f"--holdout {options.holdout!r} is no folder that holds tests: give one that does")

    def audited(self, kept: Kept) -> Audited:
        """Raises `UsageError`, `SetupError`, `RunMisfit`."""
        setup, state = kept_setup(kept), kept.state
        folder, looked, says = RunFolder(kept.folder, Path(setup.source)), _Looked(), claimed(state)
        if not written(state):
            return Audited(claimed=says, found=Verdict.UNKNOWN, reasons=("the run changed nothing",))
        extra = [*setup.policy.audit, *(command_of(text, "check", folder.source) for text in self._checks)]
        try:
            with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
                copy = Path(private).resolve() / "workspace"
                _fill(copy, folder, state, looked)
                bench = replace(bench_of(setup, folder), root=copy, baseline=folder.original)
                looked.wrong += _altered(folder, bench, state)
                verifications = [*self._verified(state, setup, bench, looked)]
                checks = _checks(extra, setup, bench)
        except (NotMade, ToolError, WorkspaceError) as error:
            return Audited(claimed=says, found=Verdict.UNKNOWN, wrong=tuple(looked.wrong), reasons=(str(error),))
        verdict, reasons = found(verifications, checks)
        if verdict is Verdict.PASS and says is Verdict.UNKNOWN:
            reasons = (f"all checks pass now, and the run came to no verdict: {state.route_reason}",)
        ran = f"commands on a fresh copy: {len(verifications[0].checks) + len(checks)}"
        notes = (ran, *looked.notes)
        return Audited(claimed=says, found=verdict, wrong=tuple(looked.wrong), reasons=reasons, notes=notes)

    def shown(self, kept: Kept) -> str:
        """What a person needs to judge: what was asked, and the patch. Raises as `audited`."""
        setup, state = kept_setup(kept), kept.state
        folder = RunFolder(kept.folder, Path(setup.source))
        try:
            with TemporaryDirectory(prefix="graph-agent-", ignore_cleanup_errors=True) as private:
                copy = Path(private).resolve() / "workspace"
                _fill(copy, folder, state, _Looked())
                patch = _diff(replace(bench_of(setup, folder), root=copy, baseline=folder.original))
        except (NotMade, ToolError, WorkspaceError) as error:
            patch = f"(the patch can't be shown: {error})"
        return f"asked: {state.request}\nworkspace: {setup.source}\n\n{patch or '(nothing was changed)'}"

    def _verified(self, state: TaskState, setup: Setup, bench: Bench, looked: _Looked) -> Iterator[Verification]:
        """With the run's own held-out tests; and once more with those that are given."""
        context = Context(tools=workbench(bench), policy=setup.policy)
        if setup.policy.holdout or self._holdout is None:
            yield verified_again(state, context)
            looked.notes += ["the run's held-out tests were run"] if setup.policy.holdout else ["no held-out tests"]
        if self._holdout is not None:
            tools = workbench(replace(bench, holdout=self._holdout))
            yield verified_again(state, replace(context, tools=tools, policy=replace(setup.policy, holdout=True)))
            looked.notes.append(f"the held-out tests in {self._holdout.name} were run")


def _checks(extra: list[Command], setup: Setup, bench: Bench) -> tuple[Check, ...]:
    tools = workbench(replace(bench, commands=tuple(one.argv for one in extra)))
    return checked(extra, Context(tools=tools, policy=setup.policy))


def _fill(copy: Path, folder: RunFolder, state: TaskState, looked: _Looked) -> None:
    """The original, and what the run wrote over it. Raises `NotMade`, ToolError, WorkspaceError."""
    if not folder.original.is_dir():
        raise NotMade("the original is gone: there is nothing to lay the patch over")
    before = {file.path: file.sha256 for file in state.baseline}
    if others := strange(before, _hashes(folder.original)):
        looked.wrong += [f"the original is not what the run began with: {one}" for one in others]
        raise NotMade("without its original the run can't be verified again")
    copy_workspace(folder.original, copy)
    root = Root(copy)
    for path, after in written(state).items():
        raw = _bytes(folder, path, after, looked)
        target = root.resolve(path).file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)


def _bytes(folder: RunFolder, path: str, after: str, looked: _Looked) -> bytes:
    """What the run wrote: as it was kept, else as its workspace has it where that is the same by its hash."""
    try:
        return Blobs(folder.folder / "blobs").read_bytes(after)
    except BlobError as error:
        if (folder.folder / "blobs" / after).exists():
            looked.wrong.append(f"what was kept of {path}: {error}")
        left = folder.workspace / path
        raw = left.read_bytes() if left.is_file() else b""
        if sha256(raw) == after:
            looked.notes.append(f"{path} is from the run's workspace")
            return raw
        raise NotMade(f"what the run wrote to {path} is nowhere any more: {error}") from error


def _altered(folder: RunFolder, bench: Bench, state: TaskState) -> Iterator[str]:
    """What somebody did to the workspace of the run, or to its patch, since it ended."""
    if folder.workspace.is_dir():
        made = _hashes(bench.root)
        known = {file.path for file in state.baseline} | {change.path for change in state.changes}
        others = strange({path: made[path] for path in known if path in made}, _hashes(folder.workspace))
        yield from (f"in the run's workspace {one} than what the run left" for one in others)
    if folder.patch.is_file() and folder.patch.read_bytes() != _diff(bench).encode("utf-8", "surrogateescape"):
        yield f"{folder.patch.name} is not the patch that the run made"


def _diff(bench: Bench) -> str:
    return str(workbench(bench).call("diff").value or "")


def _hashes(folder: Path) -> dict[str, str]:
    return {file.path: file.sha256 for file in Workspace(folder).list_files()}
