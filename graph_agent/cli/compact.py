"""Shorten the journal of a run: all but the last steps are replaced by the state before them.

What a run that waits or was interrupted needs stays, as do the blobs. The steps that go can't be seen by trace and
history any more. A run that a process works on is left alone.
"""

from __future__ import annotations

import argparse

from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.kept import add_run_options, folder_of
from graph_agent.cli.printing import print_json
from graph_agent.runtime.forks import compact


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--keep", type=int, default=100, metavar="N", help="how many of the last steps stay (100)")


def run(options: argparse.Namespace) -> int:
    if options.keep < 0:
        raise UsageError(f"--keep {options.keep}: give the number of steps to keep, 0 or more")
    folder = folder_of(options)
    before, after = compact(folder, keep=options.keep)
    if options.json:
        print_json({"run": folder.name, "before": before, "after": after})
    else:
        shorter = f"{before} bytes, now {after}" if after != before else f"{before} bytes, as short as it can be"
        print(f"the journal of {folder.name} had {shorter}")
    return DONE
