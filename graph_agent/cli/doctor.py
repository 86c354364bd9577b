"""Look whether this machine has what the agents need, and with --model whether a model really answers.

Everything is tried and not guessed: a file is written and locked where runs are kept, bubblewrap is started, the model
is asked for a word and for JSON. Each line says what to do. Exit codes: 0 what is needed works, 1 it doesn't.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_agent.cli.doctor_model import Finding, model_findings
from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.kept import add_place_options
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.runfolder import runs_folder
from graph_agent.runtime.errors import JournalError
from graph_agent.runtime.linefile import LineFile
from graph_agent.runtime.lock import Lock
from graph_agent.tools.command import bubblewrap
from graph_agent.tools.workbench import has_module

PATIENCE = 60.0  # seconds for a question to a model, which may have to be loaded first


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", default="offline", metavar="offline|URL|replay:FILE", help="the model that is to answer (offline)")
    add("--model-name", metavar="NAME", help="the model to ask for at that URL (GRAPH_AGENT_LLM_MODEL)")
    add("--timeout", type=float, default=PATIENCE, metavar="SECONDS", help=f"for each question to it ({PATIENCE:g})")
    parser.set_defaults(record=None)
    add_place_options(parser)


def run(options: argparse.Namespace) -> int:
    if not 0 < options.timeout < 86400:
        raise UsageError(f"--timeout {options.timeout:g}: give the seconds to wait, more than 0")
    of_the_model = model_findings(options)  # an option that is of no use ends it before anything is tried
    found = []
    for one in chain((check(options) for check in _CHECKS), of_the_model):
        found.append(one)
        if not options.json:
            print(visible(_line(one)), flush=True)
    wrong = [one for one in found if one.necessary and one.state != "ok"]
    if options.json:
        print_json({"ok": not wrong, "findings": [asdict(one) for one in found]})
    return FAILED if wrong else DONE


def _line(one: Finding) -> str:
    text = f"{one.state:8} {one.what}: {one.found}"
    return f"{text}\n         {one.do}" if one.do else text


def _python(_: argparse.Namespace) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(what="Python", state="ok", found=f"{version}, {sys.executable or 'no path'}", necessary=True)


def _writable(options: argparse.Namespace) -> Finding:
    """A line is written, seen safe, read back, and locked, as a run does it; nothing of it stays."""
    folder = runs_folder(options.run_dir)
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    line = os.urandom(16).hex().encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".doctor-", dir=folder) as probe:
            file = LineFile(Path(probe) / "line", size=None, sync=True)
            file.append(line)
            file.close()
            same = (Path(probe) / "line").read_bytes() == line
            Lock(Path(probe) / "lock").release()
    except (OSError, JournalError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else f"no lock can be taken: {error}"
        do = "give another folder with --run-dir, or in GRAPH_AGENT_HOME"
        return Finding(what="runs", state="failed", found=f"{folder}: {why}", do=do, necessary=True)
    finally:
        with suppress(OSError):  # somebody has begun a run meanwhile
            for one in made:
                one.rmdir()
    if not same:
        do = "the disk, or what is mounted there, is not sound: give another folder with --run-dir"
        return Finding(what="runs", state="failed", found=f"{folder} gives back something else", do=do, necessary=True)
    return Finding(what="runs", state="ok", found=f"{folder} can be written and locked", necessary=True)


def _git(_: argparse.Namespace) -> Finding:
    path = shutil.which("git")
    if path is None:
        do = "nothing here needs it; with it you see what `--apply` changed, and can take it back"
        return Finding(what="git", state="missing", found="it is not on the PATH", do=do)
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(what="git", state="failed", found=f"{path}: {error}", do="install it anew, or leave it")
    return Finding(what="git", state="ok", found=done.stdout.decode("utf-8", "replace").strip())


def _bubblewrap(_: argparse.Namespace) -> Finding:
    path, why = bubblewrap()
    if path:
        return Finding(what="bubblewrap", state="ok", found=f"{path} starts: test commands run sealed off")
    do = "install bubblewrap (Linux), or know that test commands run with your rights: confinement, not a sandbox"
    missing = "not installed" in why
    return Finding(what="bubblewrap", state="missing" if missing else "failed", found=why, do=do)


def _pytest(_: argparse.Namespace) -> Finding:
    python = sys.executable or "python3"
    if has_module(python, "pytest"):
        return Finding(what="pytest", state="ok", found=f"{python} has it")
    do = f"{shlex.join((python, '-m', 'pip', 'install', 'pytest'))} where tests need it; else unittest runs them"
    return Finding(what="pytest", state="missing", found=f"{python} does not have it", do=do)


_CHECKS = (_python, _writable, _git, _bubblewrap, _pytest)
