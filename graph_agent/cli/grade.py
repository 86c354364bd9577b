"""How good your tests of a router are: they are run on each mutant of it, which is the router with one slip.

The tests run under pytest, in a process for each mutant; a mutant that no test fails on is printed. No file is changed:
the tests' process is handed the changed source when it imports the router's module. A process that a test starts sees
the module as it is. Exit codes: 0 each mutant is killed, 1 some survive, or what is listed as equivalent is not.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.graph import named_in
from graph_agent.cli.printing import print_json
from graph_agent.mutation import MutationError
from graph_agent.testing.grading import Grade, graded
from graph_agent.testing.mutants import RouterMutant, mutate_router
from graph_agent.tools.process import CommandResult, end_all, run_process

SCRIPT = Path(__file__).parents[1] / "testing" / "substitute.py"
TIMES_LONGER, AND_SECONDS = 5, 5.0  # what tests on a mutant may take, of what they take on the router
FIRST_MINUTES = 30
MOST_OUTPUT = 100_000
NO_TESTS = 5  # an exit code of pytest


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("router", metavar="ROUTER", help="module:NAME of your router, as your tests import it")
    add("--tests", required=True, nargs="+", metavar="PATH", help="files, folders or tests, as pytest takes them")
    add("--also", action="append", default=[], metavar="NAME", help="a function of the module that it calls, too")
    add("--equivalent", metavar="module:NAME", help="a dict: the description of a mutant -> why no test can tell it")
    add("--json", action="store_true", help="one JSON object on stdout, nothing else")


def run(options: argparse.Namespace) -> int:
    if find_spec("pytest") is None:
        raise UsageError(
            f"there is no pytest for {sys.executable}: install it there, or call graph_agent.testing.grade"
        )
    for path in options.tests:
        if not Path(path.partition("::")[0]).exists():
            raise UsageError(f"there is no {path}: --tests takes files, folders and tests that are there")
    mutants = _mutants(options)
    with TemporaryDirectory(prefix="graph_agent_grade_") as folder:
        tests = _Tests(options.router.partition(":")[0], options.tests, Path(folder))
        grade = _graded(options, tests, mutants)
    if options.json:
        print_json(_data(grade))
    else:
        print(grade)
    return DONE if grade.ok else FAILED


def _mutants(options: argparse.Namespace) -> tuple[RouterMutant, ...]:
    sys.dont_write_bytecode = True  # not even beside the router
    router = named_in(options.router, "ROUTER")
    module = options.router.partition(":")[0]
    also = [named_in(f"{module}:{name}", "--also") for name in options.also]
    for function in (router, *also):
        if getattr(function, "__module__", module) != module:
            raise UsageError(f"{function.__name__} is written in {function.__module__}: name it there")
    try:
        return mutate_router(router, also=also)
    except MutationError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True)
class _Tests:
    """The tests, run in a folder of their own for each mutant, in which all that pytest keeps is put."""

    module: str
    paths: Sequence[str]
    folder: Path

    def first(self, source: str, file: str) -> float:
        """The seconds that they take on the router itself. Raises `UsageError` when they can't grade it."""
        result, stood_for = self._run("itself", source, FIRST_MINUTES * 60)
        asked = " ".join(self.paths)
        if result.exit_code == NO_TESTS:
            raise UsageError(f"there are no tests in {asked}")
        if result.exit_code != 0:
            how = "do not end" if result.timed_out else "do not pass"
            raise UsageError(f"{asked}: the tests {how} as things are, so they can't grade\n{result.output.rstrip()}")
        if not stood_for:
            raise UsageError(
                f"the tests do not import {self.module} by that name, or pytest rewrites it as a test file: have them "
                "import it, and write the router in a module of its own"
            )
        if Path(stood_for).resolve() != Path(file).resolve():
            raise UsageError(f"the tests import {self.module} from {stood_for}, and here it is {file}: make it one")
        return result.seconds

    def kill(self, number: int, mutant: RouterMutant, seconds: float) -> str:
        """How they fail on a mutant, or ""."""
        result, _ = self._run(str(number), mutant.source, seconds)
        if result.timed_out:
            return f"the tests did not end in {seconds:.0f} s"
        return _failure(result) if result.exit_code else ""

    def _run(self, name: str, source: str, seconds: float) -> tuple[CommandResult, str]:
        kept = self.folder / name
        kept.mkdir()
        changed, note = kept / "source.py", kept / "note"
        changed.write_text(source, encoding="utf-8", newline="")
        words = [*self.paths, "-x", "-q", "-rfE", "--color=no", "-o", f"cache_dir={kept / 'cache'}"]
        if find_spec("xdist"):
            words += ["-n", "0"]  # its workers would import the file
        script = SCRIPT.read_text(encoding="utf-8")
        argv = [sys.executable, "-c", script, self.module, str(changed), str(note), *words]
        limits: dict[str, Any] = {"timeout": seconds, "output_limit": MOST_OUTPUT}
        result = run_process(argv, cwd=Path.cwd(), environment=_variables(kept), **limits)
        return result, note.read_text(encoding="utf-8") if note.exists() else ""


def _variables(kept: Path) -> dict[str, str]:
    """So that nothing is written beside the tests."""
    elsewhere = {
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(kept / "hypothesis"),
        "COVERAGE_FILE": str(kept / "coverage"),
        "PYTEST_DEBUG_TEMPROOT": str(kept),
    }
    return {**os.environ, **elsewhere}


def _failure(result: CommandResult) -> str:
    lines = [line for line in result.output.splitlines() if line.strip()]
    failed = (line for line in lines if line.startswith(("FAILED ", "ERROR ")))
    return next(failed, lines[-1] if lines else f"exit code {result.exit_code}")


def _graded(options: argparse.Namespace, tests: _Tests, mutants: Sequence[RouterMutant]) -> Grade:
    name = options.router.partition(":")[2]
    equivalent: Any = {}
    if options.equivalent is not None:
        equivalent = named_in(options.equivalent, "--equivalent")
        if not isinstance(equivalent, Mapping):
            raise UsageError(f"--equivalent {options.equivalent} is {equivalent!r}: give a dict of description -> why")
    fates = dict(zip(mutants, _fates(tests, mutants), strict=True)) if mutants else {}
    return graded(name, mutants, fates.__getitem__, equivalent)


def _fates(tests: _Tests, mutants: Sequence[RouterMutant]) -> Iterator[str]:
    seconds = tests.first(mutants[0].original, mutants[0].file)
    count = os.cpu_count() or 1
    print(f"graph_agent: {len(mutants)} mutants, {seconds:.1f} s each, {count} at a time", file=sys.stderr, flush=True)
    limit = seconds * TIMES_LONGER + AND_SECONDS
    with ThreadPoolExecutor(count) as pool:
        try:
            yield from pool.map(lambda pair: tests.kill(pair[0], pair[1], limit), enumerate(mutants))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise


def _data(grade: Grade) -> dict[str, Any]:
    def told(fate: str) -> list[dict[str, Any]]:
        return [
            {"description": one.mutant.description, "line": one.mutant.line, "why": one.why, "diff": one.mutant.diff}
            for one in grade.graded
            if one.fate == fate
        ]

    return {
        "router": grade.name,
        "mutants": len(grade.graded),
        "score": grade.score,
        **{fate: told(fate) for fate in ("survived", "killed", "equivalent")},
        "stale": list(grade.stale),
    }
