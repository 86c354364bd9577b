"""Tell how a run came to what it came to.

Of a repair: for each changed file what was seen, what was planned on it, who wrote, what verified it, and why it was
tried again. Of a research: for each statement of the answer where it is from and how it was judged, and for each step
and plan what became of it.
"""

from __future__ import annotations

import argparse

from graph_agent.cli import repair_why, research_why
from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.kept import add_run_options, kept_run


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("--file", metavar="PATH", help="of a repair: this file alone")


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    if kept.workflow == "repair":
        repair_why.tell(options, kept)
    elif options.file is not None:
        raise UsageError(
            f"{kept.folder.name} is a run of {kept.workflow}: only a repair changes files, leave out --file"
        )
    else:
        research_why.tell(options, kept)
    return DONE
