"""From the words of a command line to the command and its options.

Only the command that is asked for is imported. The rule: a word that means nothing is refused, with the nearest that
does; options are not abbreviated, so that a script goes on to mean what it meant.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from typing import Any, NoReturn

from graph_agent import __version__
from graph_agent.cli.exits import UsageError
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.textual import is_unicode

COMMANDS = {
    "repair": "turn a failing test into a verified patch",
    "demo": "watch the repair graph on a scripted model and pretended tools",
    "graph": "draw a graph from its own table",
    "permissions": "print who may read, call, write and lead to what",
}


def parsed(words: list[str], as_json: bool) -> argparse.Namespace:
    """The options; `command` is the module that runs them, `words` what was typed. Raises `UsageError`."""
    unreadable = next((word for word in words if not is_unicode(word)), None)
    if unreadable is not None:
        raise UsageError(
            f"{unreadable!r} is no text in UTF-8: give it another name, or reach it by a link that has one"
        )
    wanted = next((word for word in words if not word.startswith("-")), "")
    if wanted and wanted not in COMMANDS:
        raise UsageError(
            f"there is no command {wanted!r}{nearest(wanted, COMMANDS)}: give one of {', '.join(COMMANDS)}"
        )
    parser = _Parser(prog="graph_agent", description="A graph runtime for agents, and agents on it.", quiet=as_json)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    added = {name: _added(commands, name, summary, name == wanted, as_json) for name, summary in COMMANDS.items()}
    options, unknown = parser.parse_known_args(words)
    if unknown:
        known = set(re.findall(r"--[a-z][\w-]*", added[wanted].format_help()))
        first = unknown[0].partition("=")[0]
        close = nearest(first, known) if first.startswith("-") else ""
        raise UsageError(f"{wanted} does not know {unknown[0]!r}{close}; {_see(added[wanted].prog)}")
    options.words = words
    return options


class _Parser(argparse.ArgumentParser):
    """Says what is wrong by an exception, so that one place prints it."""

    def __init__(self, *, quiet: bool, **rest: Any) -> None:
        super().__init__(allow_abbrev=False, **rest)
        self._quiet = quiet

    def error(self, message: str) -> NoReturn:
        if not self._quiet:
            self.print_usage(sys.stderr)
        raise UsageError(f"{message}; {_see(self.prog)}")


def _added(commands: Any, name: str, summary: str, wanted: bool, quiet: bool) -> argparse.ArgumentParser:
    if not wanted:
        unused: argparse.ArgumentParser = commands.add_parser(name, help=summary, quiet=quiet)
        return unused
    module: Any = import_module(f"graph_agent.cli.{name}")
    raw = argparse.RawDescriptionHelpFormatter
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=module.__doc__, formatter_class=raw, quiet=quiet
    )
    module.add_options(command)
    command.set_defaults(command=module)
    return command


def _see(prog: str) -> str:
    return f"see python3 -m {prog} --help"
