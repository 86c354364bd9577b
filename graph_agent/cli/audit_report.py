"""What an audit tells: a line for each run, then the three rates side by side over time, and what does not fit.

The rule: no rate without its counts, and beside each rate the loop's own on the very same runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graph_agent.cli.audit_asking import EXAMPLE
from graph_agent.cli.auditlog import FILE
from graph_agent.cli.exits import DONE, FAILED, WAITING
from graph_agent.verify.audit import Audited, Entry, Finished, Period, Row, fooled, rows, total, turned_down
from graph_agent.verify.report import Verdict
from graph_agent.view.steps import table

MOST_NAMED = 10
_RATES = ("finished", "passed", "re-verified", "of these passed", "judged good", "of these passed")
_SAID = {Verdict.PASS: "a pass", Verdict.FAIL: "no pass", Verdict.UNKNOWN: "no verdict"}


@dataclass(frozen=True, kw_only=True)
class Looked:
    run: str
    audited: Audited


@dataclass(frozen=True, kw_only=True)
class Report:
    """`wait`: those of the sample that no person has judged. `finished` and `entries`: what the rates are made of."""

    folder: Path
    looked: tuple[Looked, ...]
    not_over: int
    sample: tuple[str, ...]
    seed: int
    wait: tuple[str, ...]
    by: Period
    finished: tuple[Finished, ...]
    entries: tuple[Entry, ...]

    @property
    def code(self) -> int:
        if any(one.audited.verdict == "disagrees" for one in self.looked):
            return FAILED
        return WAITING if self.wait else DONE

    @cached_property
    def whole(self) -> Row:
        return total(self.finished, self.entries)

    @property
    def warnings(self) -> list[str]:
        low = turned_down(self.finished, self.entries)
        more = f" and {len(low) - MOST_NAMED} more" if len(low) > MOST_NAMED else ""
        named = [f"passed by the loop, and turned down: {', '.join(low[:MOST_NAMED])}{more}"] if low else []
        return [*fooled(self.whole), *named]


def line_of(run: str, audited: Audited) -> str:
    """What was found of one run."""
    told = "".join(f"\n  {text}" for text in audited.what)
    notes = f"\n  ({'; '.join(audited.notes)})" if audited.notes else ""
    says, found = _SAID[audited.claimed], _SAID[audited.found]
    return f"{run}: {audited.verdict} (the run says: {says}; found: {found}){told}{notes}"


def text_of(report: Report) -> str:
    """All that comes after the lines of the runs."""
    if not (report.looked or report.entries):
        there = f": {report.not_over} are not over" if report.not_over else ""
        return f"there is no finished run in {report.folder}{there}"
    counts = ", ".join(f"{count} {name}" for name, count in _counts(report).items())
    lines = ["", f"runs verified again: {len(report.looked)}, of which {counts}"]
    if report.not_over:
        lines.append(f"not over, and not counted: {report.not_over}")
    cells = [_cells(one) for one in (*rows(report.finished, report.entries, report.by), report.whole)]
    width = shutil.get_terminal_size((120, 24)).columns
    header = (f"{report.by} (UTC)", *_RATES)
    shown = table(header, cells, width=width, right=set(range(1, len(header)))).rstrip()
    warnings = [f"LOOK: {text}" for text in report.warnings]
    return "\n".join([*lines, "", shown, *warnings, f"kept in {report.folder / FILE}"])


def how_to_judge(wait: Collection[str]) -> str:
    named = "".join(f"\n  {run}" for run in wait)
    how = f"on a terminal, or with --answers FILE, a line for each: {EXAMPLE}"
    return (
        f"graph_agent: {len(wait)} of the sample wait for a person's judgement:{named}\n"
        f"give it {how}\nwhat it takes to judge them is printed with --json"
    )


def data_of(report: Report, shown: Callable[[str], str]) -> dict[str, Any]:
    """As JSON. `shown` gives what a person needs to judge a run."""
    status = {FAILED: "disagrees", WAITING: "waiting"}.get(report.code, "done")
    return {
        "status": status,
        "exit_code": report.code,
        "folder": str(report.folder),
        "kept_in": str(report.folder / FILE),
        "audited": [_run_data(one) for one in report.looked],
        "counts": _counts(report),
        "not_over": report.not_over,
        "sample": {
            "seed": report.seed,
            "runs": list(report.sample),
            "wait": [{"run": run, "to_judge": shown(run)} for run in report.wait],
        },
        "by": report.by,
        "rates": [asdict(one) for one in rows(report.finished, report.entries, report.by)],
        "all": asdict(report.whole),
        "warnings": report.warnings,
    }


def _counts(report: Report) -> dict[str, int]:
    said = [one.audited.verdict for one in report.looked]
    return {name: said.count(name) for name in ("agrees", "disagrees", "can't tell")}


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.period,
        str(row.finished),
        _share(row.passed, row.finished),
        _share(row.reverified, row.told),
        _share(row.passed_of_told, row.told),
        _share(row.accepted, row.judged),
        _share(row.passed_of_judged, row.judged),
    )


def _share(some: int, count: int) -> str:
    return f"{100 * some // count}% ({some}/{count})" if count else "-"  # rounded down: 89.9% is no 90%


def _run_data(one: Looked) -> dict[str, Any]:
    audited = one.audited
    return {
        "run": one.run,
        "verdict": audited.verdict,
        "claimed": audited.claimed.value,
        "found": audited.found.value,
        "what": list(audited.what),
        "notes": list(audited.notes),
    }
