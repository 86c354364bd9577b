"""A person's judgement of a run: on the terminal, or from a file of answers.

The rule: neither the run's own verdict nor the audit's is shown before the person has judged, since who knows it tends
to agree; and what is no whole answer is not recorded.
"""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from graph_agent.cli.exits import UsageError
from graph_agent.cli.printing import visible
from graph_agent.runtime.errors import nearest
from graph_agent.verify.audit import WORDS, Word

EXAMPLE = '{"run": "NAME", "verdict": "accept", "why": "..."}'


@dataclass(frozen=True, kw_only=True)
class Judgement:
    run: str
    verdict: Word
    why: str


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def asked(runs: Collection[str], shown: Callable[[str], str]) -> Iterator[Judgement]:
    """Ask about each run in turn. What is skipped, or comes after the end of the input, is left out."""
    for number, run in enumerate(runs, 1):
        _say(f"\n==== {number} of {len(runs)}: {run} ====\n{shown(run)}\n")
        try:
            judgement = _asked_about(run)
        except EOFError:
            return
        if judgement is not None:
            yield judgement


def read_answers(given: str) -> tuple[Judgement, ...]:
    """The lines of a file. Raises `UsageError` with the number of the first that is of no use."""
    try:
        lines = Path(given).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--answers {given} can't be read: {error}") from error
    found: dict[str, Judgement] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            one = _judgement(line, f"--answers {given}, line {number}")
            if one.run in found:
                raise UsageError(f"--answers {given}, line {number}: {one.run} stands there twice: leave one out")
            found[one.run] = one
    return tuple(found.values())


def who_asks(given: str | None, *, must: bool) -> str:
    """The name under which what is found is kept; "" for none. Raises `UsageError` where there must be one."""
    try:
        name = (getpass.getuser() if given is None else given).strip()
    except (OSError, KeyError, ImportError):  # a system without users
        name = ""
    if must and not name:
        raise UsageError("nobody knows who judges here: give --who NAME")
    return name


def _judgement(line: str, where: str) -> Judgement:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is no JSON ({error}): write {EXAMPLE}") from error
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise UsageError(f"{where} is no object of texts: write {EXAMPLE}")
    unknown = data.keys() - {"run", "verdict", "why"}
    if unknown or not {"run", "verdict"} <= data.keys():
        raise UsageError(f"{where} has {', '.join(sorted(data)) or 'nothing'}: write {EXAMPLE}")
    verdict = next((word for word in WORDS if word == data["verdict"]), None)
    if verdict is None:
        raise UsageError(f"{where}: {data['verdict']!r}{nearest(data['verdict'], WORDS)}: give accept or reject")
    why = data.get("why", "").strip()
    if verdict == "reject" and not why:
        raise UsageError(f"{where}: say why {data['run']} is rejected")
    return Judgement(run=data["run"], verdict=verdict, why=why)


def _asked_about(run: str) -> Judgement | None:
    """None for a run that is skipped. Raises EOFError."""
    words = {word[:length]: word for word in (*WORDS, "skip") for length in range(1, len(word) + 1)}
    said = _line("accept, reject, or skip? ").lower()
    while said not in words:
        said = _line("accept, reject, or skip? ").lower()
    verdict = next((word for word in WORDS if word == words[said]), None)
    if verdict is None:
        return None
    why = _line("why? ")
    while verdict == "reject" and not why:
        why = _line("why? ")
    return Judgement(run=run, verdict=verdict, why=why)


def _line(question: str) -> str:
    """Raises EOFError."""
    _say(question, end="")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()


def _say(text: str, end: str = "\n") -> None:
    """On stderr: stdout is for the report, which a script may read."""
    print(visible(text), file=sys.stderr, end=end, flush=True)
