"""Answer a run that waits for a person, and go on with it.

FIELD=VALUE is read as the field's own type: JSON, or plain text where that is meant; for a list one bare item stands
for a list of one. `show RUN` prints the answers that make sense. An answer that is late, a second one, and one that
breaks a rule are refused, and nothing has changed. Exit codes as of repair.
"""

from __future__ import annotations

import argparse
from typing import Any

from graph_agent.cli.kept import add_run_options, kept_run
from graph_agent.cli.resume import add_ways_of_going_on
from graph_agent.cli.session import session_of
from graph_agent.protocols import Context
from graph_agent.runtime.answer import pause_id
from graph_agent.runtime.journal import Run


def add_options(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.add_argument("fields", nargs="*", metavar="FIELD=VALUE", help="what is answered; none: go on as it is")
    parser.add_argument("--pause", metavar="ID", help="the pause that is meant, as show prints it")
    add_ways_of_going_on(parser)


def run(options: argparse.Namespace) -> int:
    kept = kept_run(options)
    session, state = session_of(options, kept)
    pause = pause_id(state) if options.pause is None else str(options.pause)
    patch = session.checked_answer(state, options.fields, pause)
    llm = session.desk.model(state)

    def begin(run: Run[Any], ctx: Context) -> None:
        session.answer(run, ctx, patch, pause)

    return session.go_on(Run.open(kept.folder, session.desk.graph), llm, begin)
