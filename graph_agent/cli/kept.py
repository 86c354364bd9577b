"""A run that is kept, found by its name: what the commands that read, answer and go on have in common.

The rule: a run is named, never given as a path; looking at one takes no lock and changes nothing.
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import UsageError
from graph_agent.cli.graph import graph_of
from graph_agent.cli.runfolder import runs_folder
from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.compat import fitted
from graph_agent.runtime.errors import RunAbsent, nearest
from graph_agent.runtime.fold import Folded
from graph_agent.runtime.graph import Graph
from graph_agent.runtime.reading import FILE, read_run
from graph_agent.runtime.records import Record

WORKFLOWS = {
    "TaskState": "repair",
    "ResearchState": "research",
}  # the state's class, as a header names it, to the name of the graph


class SetupError(GraphAgentError):
    """What a run was set up with is gone, or is not what it was."""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run's name, as `runs` lists them; last: the newest")
    add_place_options(parser)


def add_place_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run-dir", metavar="DIR", help="where runs are kept (default: the user's state folder)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A run as its journal has it. `dropped`: what was torn off its end, "" for nothing."""

    folder: Path
    records: tuple[Record, ...]
    folded: Folded
    dropped: str

    @property
    def about(self) -> dict[str, Any]:
        about: Any = self.folded.header["about"]
        return dict(about)

    @property
    def graph(self) -> Graph[Any]:
        """The graph that it runs on. Raises `UsageError` for a workflow that this command line does not know."""
        return graph_of(self.workflow)

    @property
    def workflow(self) -> str:
        name = str(self.folded.header["workflow"])
        if name not in WORKFLOWS:
            raise UsageError(f"{self.folder.name} is a run of {name}, a graph of your own: go on with it in Python")
        return WORKFLOWS[name]

    @property
    def state(self) -> Any:
        """Where it stands, typed. Raises `UsageError`, `RunMisfit`."""
        return fitted(self.graph, self.folded, self.folder.name).state


def kept_run(options: argparse.Namespace) -> Kept:
    """The run that the options name. Raises `UsageError`, `RunAbsent`, `JournalCorrupt`."""
    folder = folder_of(options)
    records, folded, dropped = read_run(folder)
    return Kept(folder=folder, records=records, folded=folded, dropped=dropped)


def folder_of(options: argparse.Namespace) -> Path:
    """The folder of the run that is named. Raises `UsageError` for a path, `RunAbsent`."""
    runs, name = runs_folder(options.run_dir), str(options.run)
    if name == "last":
        newest = newest_first(runs)
        if not newest:
            raise RunAbsent(f"there is no run in {runs}: give the folder where yours are with --run-dir")
        return newest[0]
    if not name or Path(name).name != name:
        raise UsageError(f"{name!r} is no name of a run but a path: give the name, and its folder with --run-dir")
    folder = runs / name
    if not (folder / FILE).is_file():
        known = [one.name for one in newest_first(runs)]
        raise RunAbsent(f"there is no run {name!r} in {runs}{nearest(name, known)}: `runs` lists them")
    return folder


def newest_first(runs: Path) -> list[Path]:
    """The folders of all runs, by when they began."""
    found = [folder for folder in runs.iterdir() if (folder / FILE).is_file()] if runs.is_dir() else []
    return sorted(found, key=lambda folder: (_began(folder), folder.name), reverse=True)


def command_line(options: argparse.Namespace, *words: str) -> str:
    """A command of this program on the same place, as a person types it."""
    place = ("--run-dir", options.run_dir) if options.run_dir is not None else ()
    return shlex.join(["python3", "-m", "graph_agent", *words, *place])


def _began(folder: Path) -> float:
    try:
        with (folder / FILE).open("rb") as file:
            first = file.readline()
    except OSError:  # who reads the whole of it says why
        return 0.0
    at = first.rfind(b'"time":')
    number = first[at + len(b'"time":') :].partition(b",")[0] if at >= 0 else b""
    try:
        return float(number)
    except ValueError:
        return 0.0
