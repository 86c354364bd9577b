"""Look whether this machine has what the agents need, and with --model whether a model really answers.

Everything is tried and not guessed: a file is written where runs are kept, bubblewrap is started, the model is asked
twice, once for a word and once for JSON. Each line says what to do. Exit codes: 0 what is needed works, 1 it doesn't.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.kept import add_place_options
from graph_agent.cli.models import add_model_options, choice_of, key_for, model_of, without_query
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.runfolder import runs_folder
from graph_agent.llm.ask import AskError, ask
from graph_agent.llm.chat import ChatError, ChatLLM
from graph_agent.protocols import LLMError, Request
from graph_agent.runtime.state import described
from graph_agent.tools.command import bubblewrap
from graph_agent.tools.workbench import has_module

State: TypeAlias = Literal["ok", "missing", "failed"]
PATIENCE = 60.0  # seconds for one question to a model, which may have to be loaded first

_WAYS = {
    "connection": "start the server, or mend the URL",
    "timeout": "the server took the call and gave no answer: is the model still being loaded? Try again",
    "unauthorized": "put the key into GRAPH_AGENT_LLM_KEY",
    "not_found": "mend --model-name, or the path of the URL: the server says what it does not know",
    "rate_limited": "wait, or ask your provider for more",
    "redirect": "give the URL that it points to",
    "bad_reply": "what answers there is no OpenAI-compatible server: mend the URL",
    "empty": "the model answered nothing: try another one",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`necessary`: without it no run can be made. `do` is "" where there is nothing to do."""

    what: str
    state: State
    found: str
    do: str = ""
    necessary: bool = False


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What a model is asked for, to see whether it keeps to a schema."""

    colour: str = described("the colour of a clear sky by day, one word")
    number: int = described("the number of days in a week")


def add_options(parser: argparse.ArgumentParser) -> None:
    add_model_options(parser, default="offline")
    add_place_options(parser)


def run(options: argparse.Namespace) -> int:
    found = []
    for finding in _findings(options):
        found.append(finding)
        if not options.json:
            print(visible(_line(finding)), flush=True)
    wrong = [one for one in found if one.necessary and one.state != "ok"]
    if options.json:
        print_json({"ok": not wrong, "findings": [asdict(one) for one in found]})
    return FAILED if wrong else DONE


def _line(one: Finding) -> str:
    text = f"{one.state:8} {one.what}: {one.found}"
    return f"{text}\n         {one.do}" if one.do else text


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    yield _python()
    yield _writable(runs_folder(options.run_dir))
    yield _git()
    yield _bubblewrap()
    yield _pytest()
    yield from _model(options)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(what="Python", state="ok", found=f"{version}, {sys.executable or 'no path'}", necessary=True)


def _writable(folder: Path) -> Finding:
    """Written, read back and removed, as a run does it."""
    probe, content = folder / f".doctor-{secrets.token_hex(4)}", secrets.token_hex(8)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text(content, encoding="utf-8")
        same = probe.read_text(encoding="utf-8") == content
        probe.unlink()
    except OSError as error:
        do = "give another folder with --run-dir, or in GRAPH_AGENT_HOME"
        return Finding(what="runs", state="failed", found=f"{folder}: {error.strerror}", do=do, necessary=True)
    said = f"{folder} can be written" if same else f"{folder} gives back something else than was written"
    return Finding(what="runs", state="ok" if same else "failed", found=said, necessary=True)


def _git() -> Finding:
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


def _bubblewrap() -> Finding:
    path, why = bubblewrap()
    if path:
        return Finding(what="bubblewrap", state="ok", found=f"{path} starts: test commands run sealed off")
    do = "install bubblewrap (Linux), or know that test commands run with your rights: confinement, not a sandbox"
    missing = "not installed" in why
    return Finding(what="bubblewrap", state="missing" if missing else "failed", found=why, do=do)


def _pytest() -> Finding:
    python = sys.executable or "python3"
    if has_module(python, "pytest"):
        return Finding(what="pytest", state="ok", found=f"{python} has it")
    do = "tests run by unittest; a workspace's own environment is looked at too"
    return Finding(what="pytest", state="missing", found=f"{python} has it not", do=do)


def _model(options: argparse.Namespace) -> Iterator[Finding]:
    """Asked for a word, then for JSON by a schema."""
    choice = choice_of(options)
    if not choice.is_server:
        name = "offline: rules, no model is asked" if choice.offline else choice.model
        model_of(choice)  # a recording is read here
        yield Finding(what="model", state="ok", found=name)
        return
    where = f"{choice.name or 'no model'} at {without_query(choice.model)}"
    if not choice.name:
        raise UsageError("a server has many models: say which with --model-name or GRAPH_AGENT_LLM_MODEL")
    llm = ChatLLM(choice.model, choice.name, key_for(choice.model), retries=0, total_timeout=PATIENCE)
    try:
        reply = llm.complete(Request(instructions="Answer with the one word: ready", max_tokens=1000))
    except LLMError as error:
        yield Finding(what="model", state="failed", found=f"{where}: {error}", do=_way(error), necessary=True)
        return
    said = " ".join(reply.text.split())[:60]
    tokens = f"{reply.tokens_in} tokens in, {reply.tokens_out} out"
    yield Finding(what="model", state="ok", found=f"{where} answers: {said!r} ({tokens})", necessary=True)
    yield _json_mode(llm, where)


def _json_mode(llm: ChatLLM, where: str) -> Finding:
    question = Request(instructions="Answer both questions, as JSON.", temperature=0.0, max_tokens=1000)
    do = "use a larger model, or a server that knows response_format: plans and edits are asked for as JSON"
    try:
        answer = ask(llm, question, Probe, corrections=1)
    except AskError as error:
        return Finding(what="JSON", state="failed", found=f"{where}: {error.message}", do=do, necessary=True)
    except LLMError as error:
        return Finding(what="JSON", state="failed", found=f"{where}: {error}", do=_way(error), necessary=True)
    said = f"colour {answer.colour!r}, number {answer.number}"
    return Finding(what="JSON", state="ok", found=f"it keeps to a schema: {said}", necessary=True)


def _way(error: LLMError) -> str:
    kind = error.kind if isinstance(error, ChatError) else ""
    proxy = " (a proxy is set in the environment)" if kind == "connection" and os.environ.get("https_proxy") else ""
    return _WAYS.get(kind, "see what the server said") + proxy
