"""The command line, `python3 -m graph_agent COMMAND`: one file a command.

Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 the last fuse, 5 a partial answer, 128 and the number
of a signal. The rule: what was asked for goes to stdout, what went wrong to stderr; with `--json` stdout has one JSON
object alone.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from graph_agent import __version__
from graph_agent.cli import exits
from graph_agent.cli.exits import DONE, FAILED, Terminated, UsageError
from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.jsontext import is_unicode

COMMANDS = {
    "repair": "turn a failing test into a verified patch",
    "research": "answer a question from documents, with citations that were read back",
    "resume": "go on with a run that stopped, wherever it stopped",
    "answer": "answer a run that waits for a person, and go on",
    "show": "say where a run stands, why, and what it asks",
    "trace": "list the steps of a run, a line a step",
    "why": "tell for each changed file what led to it and what verified it",
    "history": "show the state after a step, or what changed between two",
    "replay": "run one node again on what it was given, and compare",
    "fork": "begin a new run from a step of another",
    "apply": "bring the verified patch of a run to its workspace",
    "stats": "tell what runs cost, where they failed, and how to read it",
    "runs": "list all runs, the newest first",
    "audit": "verify finished runs again, and put some before a person",
    "compact": "shorten the journal of a run",
    "verify-journal": "check that the journal of a run is whole and fits",
    "doctor": "look whether this machine, and a model, have what is needed",
    "demo": "watch the repair graph on a scripted model and pretended tools",
    "graph": "draw a graph from its own table",
    "permissions": "print who may read, call, write and lead to what",
    "check": "check the table of a graph: all problems at once",
    "explore": "walk every run of a graph and hold it to laws",
    "grade": "run your tests of a router on each mutant of it",
    "eval": "run tasks with a known end, and tell what a change made better or worse",
    "calibrate": "judge the judge on samples: what it lets pass, what it blocks, what to turn",
    "serve-judge": "serve a judge over HTTP on this machine",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if argv is None:
        _speak_utf8()
    _open_streams()
    exits.terminate_politely()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would complain of it once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.PIPE_CLOSED
    return code


def _run(words: list[str]) -> int:
    as_json, options = "--json" in words, argparse.Namespace()
    try:
        options = parsed(words, as_json)
        code: int = options.command.run(options)
        return code
    except SystemExit as ended:  # argparse has printed a help
        return FAILED if ended.code else DONE
    except UsageError as error:
        return _say(str(error), exits.USAGE, "usage", as_json)
    except GraphAgentError as error:
        return _say(str(error), FAILED, "failed", as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _say(f"{error.strerror or error}{where}", FAILED, "failed", as_json)
    except (KeyboardInterrupt, Terminated) as signal:
        what, code = (
            ("terminated", signal.code) if isinstance(signal, Terminated) else ("interrupted", exits.INTERRUPTED)
        )
        on = getattr(options, "goes_on", "")
        way = f"to go on: {on}" if on else "to start again, give the same command"
        return _say(f"{what}; {way}", code, "interrupted", as_json)
    except Exception as error:
        if not as_json:
            raise  # a fault of ours
        import traceback

        traceback.print_exc()
        return _say(f"{type(error).__name__}: {error}", FAILED, "failed", as_json)


def _speak_utf8() -> None:
    """Start anew in Python's UTF-8 mode where arguments were read in a C or Latin-1 locale."""
    if sys.getfilesystemencoding() == "utf-8" or "utf8" in sys._xoptions or not sys.executable:
        return
    spoken = getattr(sys.stdout, "encoding", None) or "utf-8"  # the console's own
    variables = {"PYTHONIOENCODING": spoken, **os.environ}
    os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], variables)


def _open_streams() -> None:
    """A console that can't show a character shows its number; a closed stream swallows what is printed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _say(message: str, code: int, status: str, as_json: bool) -> int:
    print(f"graph_agent: {message}", file=sys.stderr)
    if as_json:
        from graph_agent.cli.printing import print_json

        print_json({"status": status, "exit_code": code, "error": message})
    return code


def parsed(words: list[str], as_json: bool) -> argparse.Namespace:
    """The options; `command` is the module that runs them. Raises `UsageError`."""
    unreadable = next((word for word in words if not is_unicode(word)), None)
    if unreadable is not None:
        raise UsageError(f"{unreadable!r} is no text in UTF-8: give it in UTF-8, and a file with such a name by a link")
    wanted = next((word for word in words if not word.startswith("-")), "")
    if wanted and wanted not in COMMANDS:
        raise UsageError(
            f"there is no command {wanted!r}{nearest(wanted, COMMANDS)}: give one of {', '.join(COMMANDS)}"
        )
    parser = _Parser(prog="graph_agent", description="A graph runtime for agents, and agents on it.", quiet=as_json)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", dest="command_name", required=True, metavar="COMMAND")
    added = {name: _added(commands, name, summary, name == wanted, as_json) for name, summary in COMMANDS.items()}
    options, unknown = parser.parse_known_args(words)
    if hasattr(options, "fields"):  # argparse takes a list of words up to the first option, and not after it
        options.fields += [word for word in unknown if not word.startswith("-")]
        unknown = [word for word in unknown if word.startswith("-")]
    if unknown:
        known = set(re.findall(r"--[a-z][\w-]*", added[wanted].format_help()))
        first = unknown[0].partition("=")[0]
        close = nearest(first, known) if first.startswith("-") else ""
        raise UsageError(f"{wanted} does not know {unknown[0]!r}{close}; {_see(added[wanted].prog)}")
    options.words = words
    return options


class _Parser(argparse.ArgumentParser):
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
    module: Any = import_module(f"graph_agent.cli.{name.replace('-', '_')}")
    raw = argparse.RawDescriptionHelpFormatter
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=module.__doc__, formatter_class=raw, quiet=quiet
    )
    module.add_options(command)
    command.set_defaults(command=module)
    return command


def _see(prog: str) -> str:
    return f"see python3 -m {prog} --help"
