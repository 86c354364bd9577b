"""Run tasks with a known end, several times each, and tell what was achieved and what it cost; or what a change moved.

DIR holds tasks: folders with a task.json that says the workflow (repair, research, node), the input and what must hold
at the end. Each run has a process of its own, and one that crashes is a result. Every main figure stands beside its
counter-figure: success beside steps and turns, replans beside tokens, visible passes beside held-out passes.
Exit codes: 0 all that must hold held, or with --baseline nothing got worse; 1 else; 2 usage; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graph_agent.cli.eval_table import comparison_text, progress_line, report_text
from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.models import OFFLINE, choice_of, for_the_header, model_of, without_query
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.runfolder import runs_folder
from graph_agent.evals.compare import Comparison, compared
from graph_agent.evals.ran import Ran
from graph_agent.evals.report import BaselineError, Evaluated, data_of, saved
from graph_agent.evals.runner import Wanted, run_tasks
from graph_agent.evals.task import TaskError, read_tasks
from graph_agent.runtime.checkpoint import replace_file
from graph_agent.runtime.codec import encode

MOST_REPEATS, MOST_WORKERS = 100, 64


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("tasks", metavar="DIR", help="the folder of tasks, in any depth")
    add("--tier", type=int, action="append", choices=(1, 2, 3), help="tasks of this tier alone (repeatable)")
    add("--model", metavar="offline|URL|replay:FILE", help="who answers in every task (default: what each task says)")
    add("--model-name", metavar="NAME", help="the model to ask for at that URL (GRAPH_AGENT_LLM_MODEL)")
    add("--repeat", type=int, default=3, metavar="N", help="runs of each task (3); the number is the seed")
    add("--workers", type=int, default=1, metavar="N", help="runs at once (1); the result is the same for any number")
    add("--baseline", metavar="FILE", help="an evaluation that was saved: tell what got better and what worse")
    add("--save", metavar="FILE", help="save this evaluation, to be a baseline")
    add("--run-dir", metavar="DIR", help="where the runs are kept (default: the user's state folder, below evals)")
    add("--json", action="store_true", help="one JSON object on stdout, nothing else")
    add("--quiet", action="store_true", help="no line a run")


def run(options: argparse.Namespace) -> int:
    """What can be wrong with the options, the tasks and the baseline shows before anything is run."""
    _check_numbers(options)
    try:
        tasks = read_tasks(Path(options.tasks), options.tier or ())
    except TaskError as error:
        raise UsageError(str(error)) from error
    before, model = _baseline(options.baseline), _model(options)
    _check_writable(options.save)
    kept = _kept_in(options.run_dir)
    runs = run_tasks(
        tasks,
        lambda wanted: words_of(wanted, kept, options),
        repeat=options.repeat,
        workers=options.workers,
        tell=lambda done, of, ran: _tell(options, done, of, ran),
    )
    now = Evaluated(
        model=model,
        repeat=options.repeat,
        tasks={task.name: task.fingerprint for task in tasks},
        scripted=tuple(task.name for task in tasks if task.scripted and model == OFFLINE),
        runs=runs,
    )
    if options.save is not None:
        text = json.dumps(data_of(now), ensure_ascii=True, indent=1)
        replace_file(Path(options.save), f"{text}\n".encode(), beside=f".eval-{secrets.token_hex(4)}.tmp")
    comparison = compared(before, now) if before is not None else None
    code = FAILED if (comparison.worse if comparison is not None else now.missed) else DONE
    _say(options, now, comparison, kept, code)
    return code


def _say(options: argparse.Namespace, now: Evaluated, found: Comparison | None, kept: Path, code: int) -> None:
    if options.json:
        data: dict[str, Any] = {"status": "failed" if code else "done", "exit_code": code, "kept_in": str(kept)}
        against = {"comparison": encode(found)} if found is not None else {}
        print_json({**data, **data_of(now), **against})
        return
    print(visible(report_text(now)))
    if found is not None:
        print(visible(f"\n{comparison_text(found, str(options.baseline))}"))
    if kept.is_dir():
        print(visible(f"\nthe runs are kept in {kept}\n  python3 -m graph_agent why RUN --run-dir {kept}"))


def _tell(options: argparse.Namespace, done: int, of: int, ran: Ran) -> None:
    if not options.quiet:
        print(visible(progress_line(done, of, ran)), file=sys.stderr, flush=True)


def words_of(wanted: Wanted, kept: Path, options: argparse.Namespace) -> Sequence[str]:
    """The words of the process that makes one run."""
    folder = kept / f"{wanted.task.name.replace('/', '-')}-{wanted.repeat}"
    words = [sys.executable, "-m", "graph_agent.cli.eval_run", str(wanted.task.folder), str(wanted.out), str(folder)]
    words.append(str(wanted.repeat))
    for name in ("model", "model_name"):
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", value] if value else []
    return words


def _kept_in(given: str | None) -> Path:
    """A folder of its own for each evaluation, so that the names of its runs are those of its tasks."""
    place = Path(given).absolute() if given else runs_folder(None).parent / "evals"
    kept = place / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    try:
        kept.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise UsageError(
            f"no run can be kept in {place}: {error.strerror}; give another folder with --run-dir"
        ) from error
    return kept


def _model(options: argparse.Namespace) -> str:
    """Its name, once it is known that it can be asked for. Raises `UsageError`."""
    if options.model in (None, OFFLINE):
        if options.model_name:
            raise UsageError("--model-name is for a model that is asked: give --model URL too")
        return OFFLINE
    choice = choice_of(argparse.Namespace(model=options.model, model_name=options.model_name, record=None))
    model_of(choice)
    shown = for_the_header(choice)
    return f"{shown.name} at {without_query(shown.model)}" if shown.is_server else options.model


def _baseline(given: str | None) -> Evaluated | None:
    if given is None:
        return None
    try:
        return saved(json.loads(Path(given).read_text(encoding="utf-8")))
    except (OSError, ValueError, BaselineError) as error:
        raise UsageError(f"--baseline {given} can't be used: {error}; make one with --save") from error


def _check_writable(given: str | None) -> None:
    if given is not None:
        folder = Path(given).absolute().parent
        if not given or Path(given).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageError(f"--save {given!r} can't be written: give a file in a folder that is there")


def _check_numbers(options: argparse.Namespace) -> None:
    for name, most in (("repeat", MOST_REPEATS), ("workers", MOST_WORKERS)):
        if not 1 <= getattr(options, name) <= most:
            raise UsageError(f"--{name} {getattr(options, name)}: give a number from 1 to {most}")
