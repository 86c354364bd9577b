"""The command line: `python3 -m graph_agent COMMAND`. One file a command; a command reads options and prints, no more.

Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 the last fuse, 130 interrupted (143 by SIGTERM). The
rule: what was asked for goes to stdout, what went wrong to stderr, as a sentence with the next thing to do; with
`--json` stdout has one JSON object and nothing else, whatever happens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from graph_agent.cli.exits import FAILED, INTERRUPTED, TERMINATED, USAGE, Terminated, UsageError, terminate_politely
from graph_agent.protocols import GraphAgentError

if TYPE_CHECKING:
    import argparse

COMMANDS = ("repair", "demo", "graph", "permissions")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raises nothing that a user's mistake could cause."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a console that can't show a character shows its number
    terminate_politely()
    as_json = "--json" in words
    try:
        options = _parser(as_json).parse_args(words)
        code: int = options.command.run(options)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _say(str(error), USAGE, "usage", as_json)
    except GraphAgentError as error:
        return _say(str(error), FAILED, "failed", as_json)
    except OSError as error:
        return _closed_pipe(error) or _say(
            f"{error.strerror or error}: {error.filename or ''}", FAILED, "failed", as_json
        )
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED, "interrupted", as_json)
    except Terminated:
        return _say("terminated", TERMINATED, "interrupted", as_json)


def _parser(as_json: bool) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            if not as_json:
                self.print_usage(sys.stderr)
            raise UsageError(f"{message}; see python3 -m graph_agent {' '.join(self.prog.split()[1:])} --help")

    parser = Parser(prog="graph_agent", description="A graph runtime for agents, and two agents on it.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)
    for name in COMMANDS:
        module: ModuleType = import_module(f"graph_agent.cli.{name}")
        summary = (module.__doc__ or "").split("\n")[0]
        command: Any = commands.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_options(command)
        command.set_defaults(command=module)
    return parser


def _say(message: str, code: int, status: str, as_json: bool) -> int:
    print(f"graph_agent: {message}", file=sys.stderr)
    if as_json:
        from graph_agent.runtime.jsontext import dumps

        print(dumps({"status": status, "exit_code": code, "error": message}))
    return code


def _closed_pipe(error: OSError) -> int:
    """Whoever read our output has had enough: end without a word."""
    if not isinstance(error, BrokenPipeError):
        return 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter would complain at its exit
    return FAILED
