"""Check that the journal of a run is whole, that it fits the code of today, and that what it names is there.

Exit codes: 0 all is well, 1 something is not; each check is told in a line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graph_agent.cli.exits import DONE, FAILED
from graph_agent.cli.kept import WORKFLOWS, Kept, add_run_options, folder_of, kept_run
from graph_agent.cli.printing import print_json, visible
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.errors import BlobError, JournalError, RunMisfit
from graph_agent.runtime.forks import blobs_named


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)


def run(options: argparse.Namespace) -> int:
    folder = folder_of(options)
    checks = _checks(options, folder)
    if options.json:
        told = [{"check": one.name, "ok": one.ok, "found": one.found} for one in checks]
        print_json({"run": folder.name, "ok": all(one.ok for one in checks), "checks": told})
    else:
        print("\n".join(visible(f"{'ok  ' if one.ok else 'BAD '} {one.name}: {one.found}") for one in checks))
    return DONE if all(one.ok for one in checks) else FAILED


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str


def _checks(options: argparse.Namespace, folder: Path) -> list[Check]:
    try:
        kept = kept_run(options)
    except JournalError as error:
        return [Check("journal", False, f"{error}; fork or restore it from a copy")]
    return [
        Check("journal", True, f"{len(kept.records)} records in order, each with its checksum"),
        _tail(kept),
        _checked("code", lambda: _fits(kept)),
        _checked("blobs", lambda: _blobs(kept)),
    ]


def _tail(kept: Kept) -> Check:
    if kept.dropped:
        return Check("tail", True, f"not read, and dropped when the run goes on: {kept.dropped}")
    return Check("tail", True, "the last record is whole")


def _checked(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except (RunMisfit, BlobError) as error:
        return Check(name, False, str(error).replace("\n", " "))


def _fits(kept: Kept) -> str:
    if kept.folded.header["workflow"] not in WORKFLOWS:
        return "a graph of your own: Run.open checks it"
    return f"it fits {kept.workflow} as it is today, at {kept.state.stage.value}"


def _blobs(kept: Kept) -> str:
    """Raises `BlobError` for the first that is gone or altered."""
    named, blobs = blobs_named(kept.records), Blobs(kept.folder / "blobs")
    for ref in sorted(named):
        blobs.read_bytes(ref)
    return f"{len(named)} named, each there and unaltered" if named else "none is named"
