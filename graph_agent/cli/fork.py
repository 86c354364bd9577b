"""Begin a new run from a step of another: its state, its files and its journal up to there; the other stays as it is.

Step 0 is how it began. The last line is the command that goes on with the new run.
"""

from __future__ import annotations

import argparse
import secrets
from datetime import UTC, datetime
from shutil import rmtree

from graph_agent.cli.desk import fill_fork
from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.kept import WORKFLOWS, add_run_options, command_line, kept_run
from graph_agent.cli.printing import print_json
from graph_agent.cli.runfolder import MOST_NAME
from graph_agent.runtime.fold import at_step
from graph_agent.runtime.forks import fork
from graph_agent.runtime.reading import run_folder


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--at", type=int, required=True, metavar="N", help="the step after which the new run begins")
    parser.add_argument("--name", metavar="NAME", help="of the new run (default: made from the other's)")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    seq, raw = at_step(kept.records, kept.folder.name, options.at)
    name = options.name or _name(kept.folder.name)
    child = run_folder(kept.folder.parent / name)
    if child.name != name or child.exists():
        raise UsageError(f"--name {name!r} is taken, or is no name: give another one")
    child.mkdir(mode=0o700)
    try:
        if kept.folded.header["workflow"] in WORKFLOWS:
            fill_fork(kept, raw, child)
        fork(kept.folder, at=seq, new_id=name)
    except BaseException:
        rmtree(child, ignore_errors=True)
        raise
    on = command_line(options, "resume", name)
    if options.json:
        print_json({"run": name, "folder": str(child), "parent": kept.folder.name, "step": options.at, "next": on})
    else:
        print(f"{name} begins after step {options.at} of {kept.folder.name}; to go on:\n  {on}")
    return DONE


def _name(parent: str) -> str:
    return f"{parent[:MOST_NAME].rstrip('-.')}-fork-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
