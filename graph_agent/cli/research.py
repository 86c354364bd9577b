"""Answer a question from a folder of documents, every statement with a citation that was read back.

It plans, searches, quotes and verifies until each step meets its criteria, or ends with a partial answer that says what
is missing and why it stopped. Without a model (offline, the default) it answers in the documents' own sentences.
Exit codes: 0 answered, 1 failed, 2 usage, 3 waiting for a person, 4 the last fuse, 5 a partial answer, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from shutil import rmtree

from graph_agent.cli.exits import UsageError
from graph_agent.cli.models import add_model_options
from graph_agent.cli.printing import visible
from graph_agent.cli.research_desk import ResearchDesk
from graph_agent.cli.research_setup import about_research, research_model, research_setup, research_state
from graph_agent.cli.runfolder import new_run, runs_folder
from graph_agent.cli.session import Session
from graph_agent.runtime.journal import Run
from graph_agent.workflows.research.graph import GRAPH


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("question", metavar="QUESTION", help="what is to be found out; several questions may stand in it")
    add("--docs", required=True, metavar="DIR", help="the folder of documents: .md, .rst, .txt, .html, in any depth")
    add_model_options(parser, default="offline")
    add("--judges", type=int, choices=(1, 2), default=1, help="2: two judges, which must agree (1)")
    waits = "wait for a person's approval (repeatable)"
    add("--approve", action="append", default=[], metavar="plan|finish", help=waits)
    add("--rounds", type=int, metavar="N", help="visits of the judge (12)")
    add("--replans", type=int, metavar="N", help="plans after the first (3)")
    add("--turns", type=int, metavar="N", help="calls of the model and of tools (400)")
    add("--run-dir", metavar="DIR", help="where runs are kept (default: the user's state folder, GRAPH_AGENT_HOME)")
    add("--json", action="store_true", help="one JSON object on stdout, nothing else")
    add("--quiet", action="store_true", help="no line a step")


def run(options: argparse.Namespace) -> int:
    """What can be wrong with the options shows before a run is begun."""
    if not options.question.strip():
        raise UsageError("the question is empty: say what is to be found out")
    setup, documents = research_setup(options)
    llm = research_model(setup.model)
    for text in setup.left_out:
        print(visible(f"left out: {text}"), file=sys.stderr)
    folder = new_run(runs_folder(options.run_dir), Path(setup.documents))
    try:
        begun = Run.create(folder, GRAPH, research_state(options, folder.name), about=about_research(setup))
    except BaseException:  # Ctrl-C too: there is nothing yet to go on with
        rmtree(folder, ignore_errors=True)
        raise
    desk = ResearchDesk(options=options, setup=setup, folder=folder, documents=documents)
    return Session(options=options, desk=desk).go_on(begun, llm)
