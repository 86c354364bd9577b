"""Verify finished runs again, away from the loop that made them, and put some of them before a person.

A repair: its patch on a fresh copy, with the tests, the guard, the held-out tests whatever was spent on them, and extra
checks. A research: every citation read back, from what was kept and from the documents, and the answer's status. What
is found is kept in audits.jsonl beside the runs, so that the pass rate, the re-verified rate and the judged rate stand
side by side. Exit codes: 0 no run disagrees, 1 one does, 3 runs of the sample wait for a person's judgement.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from graph_agent.cli.audit_asking import EXAMPLE, Judgement, asked, is_terminal, read_answers, who_asks
from graph_agent.cli.audit_report import Looked, Report, data_of, how_to_judge, line_of, text_of
from graph_agent.cli.auditlog import add_to_log, read_log
from graph_agent.cli.exits import UsageError
from graph_agent.cli.kept import Kept, add_place_options, folder_of, newest_first
from graph_agent.cli.printing import print_json, visible
from graph_agent.cli.repair_audit import RepairAudit
from graph_agent.cli.research_audit import ResearchAudit
from graph_agent.cli.runfolder import runs_folder
from graph_agent.protocols import GraphAgentError
from graph_agent.runtime.errors import JournalError, nearest
from graph_agent.runtime.fold import STEPS
from graph_agent.runtime.reading import read_run
from graph_agent.verify.audit import Audited, Entry, Finished, drawn, judged_before
from graph_agent.verify.report import Verdict


class Auditor(Protocol):
    """What one workflow knows of its runs."""

    def audited(self, kept: Kept, /) -> Audited: ...
    def shown(self, kept: Kept, /) -> str: ...


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", nargs="*", metavar="RUN", help="the runs' names; last: the newest (default: all that are over)")
    add("--sample", type=int, metavar="N", help="put N runs before a person, chosen by the seed")
    add("--seed", type=int, default=0, metavar="S", help="which runs are chosen (0)")
    add("--answers", metavar="FILE", help=f"the person's judgements, a line each: {EXAMPLE}")
    add("--who", metavar="NAME", help="who judges (default: the user's name)")
    add("--check", action="append", default=[], metavar="CMD", help="for repairs: one more check (repeatable)")
    add("--holdout", metavar="DIR", help="for repairs that are named: held-out tests that their loop has not seen")
    add("--by", choices=("day", "week"), default="day", help="how the rates are put together (day)")
    add_place_options(parser)


def run(options: argparse.Namespace) -> int:
    _check(options)
    audit = _Audit(options)
    chosen, given = audit.sample(), audit.answers()
    judgements = given if options.answers is not None else asked(chosen, audit.shown) if is_terminal() else ()
    judged = {audit.keep_judgement(one) for one in judgements}  # before anything is said of the runs
    looked = [audit.look(one) for one in audit.over]
    wait = [name for name in chosen if name not in judged]
    report = audit.report(looked, chosen, wait)
    if options.json:
        print_json(data_of(report, audit.shown))
    else:
        print(visible(text_of(report)))
        if wait:
            print(visible(how_to_judge(wait)), file=sys.stderr)
    return report.code


def _check(options: argparse.Namespace) -> None:
    if options.sample is not None and options.sample < 1:
        raise UsageError(f"--sample {options.sample}: give how many runs, at least 1")
    if options.answers is not None and options.sample is None:
        raise UsageError("--answers are for a sample: give --sample N too, which says about which runs")
    if options.holdout is not None and not options.runs:
        raise UsageError("--holdout is for one project: name its runs")


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A run that is to be audited. `why_not`: why it can't be, "" when it can."""

    name: str
    kept: Kept | None = None
    why_not: str = ""

    @cached_property
    def finished(self) -> Finished | None:
        """None for a run that is damaged, or not over."""
        if self.kept is None or not _is_over(self.kept):
            return None
        steps = [one for one in self.kept.records if one["type"] in STEPS] or [self.kept.records[0]]  # compacted
        ended: Any = steps[-1]["time"]
        return Finished(run=self.name, ended=float(ended), passed=self.kept.folded.raw["stage"] == "done")


class _Audit:
    """One command: the runs, who audits them, and where it is written down."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = runs_folder(options.run_dir)
        self.who = who_asks(options.who, must=options.sample is not None)
        self.log = read_log(self.folder)
        self._auditors: dict[str, Auditor] = {"repair": RepairAudit(options), "research": ResearchAudit(options)}
        for line in self.log.unread:
            print(visible(f"graph_agent: {line}"), file=sys.stderr)
        self.all = [_read(folder) for folder in newest_first(self.folder)]
        named = dict.fromkeys(folder_of(argparse.Namespace(run=name, run_dir=options.run_dir)) for name in options.runs)
        self.over = [_read(folder) for folder in named] if named else [one for one in self.all if _counts(one)]
        self._entries = list(self.log.entries)

    @cached_property
    def _may_be_drawn(self) -> dict[str, _Run]:
        """What was judged before is drawn again only where it is named."""
        before = {} if self.options.runs else judged_before(self.log.entries)
        return {one.name: one for one in self.over if one.finished is not None and one.name not in before}

    def sample(self) -> tuple[str, ...]:
        return drawn(self._may_be_drawn, self.options.sample, self.options.seed) if self.options.sample else ()

    def answers(self) -> tuple[Judgement, ...]:
        """Those that are new. Raises `UsageError` for a run that was not drawn: nobody picks what he judges."""
        if self.options.answers is None:
            return ()
        given, chosen = read_answers(self.options.answers), self.sample()
        before = {(one.run, one.word, one.why) for one in self.log.entries if one.kind == "judged"}
        new = [one for one in given if one.run in chosen or (one.run, one.verdict, one.why) not in before]
        for one in new:
            if one.run not in chosen:
                among = f"the sample of seed {self.options.seed} is {', '.join(chosen) or 'empty'}"
                raise UsageError(f"--answers: {one.run!r} was not drawn{nearest(one.run, chosen)}: {among}")
        return tuple(new)

    def look(self, one: _Run) -> Looked:
        """Verify it again, say so, and write it down."""
        audited = self._audited(one)
        if not self.options.json:
            print(visible(line_of(one.name, audited)), flush=True)
        if one.kept is not None and one.finished is not None:
            words = {"word": audited.passes.value, "verdict": audited.verdict, "why": "; ".join(audited.what)}
            self._keep(one.kept, one.finished, kind="audit", **words)
        return Looked(run=one.name, audited=audited)

    def shown(self, name: str) -> str:
        kept = self._may_be_drawn[name].kept
        assert kept is not None
        try:
            return self._auditors[kept.workflow].shown(kept)
        except (GraphAgentError, OSError) as error:
            return f"(it can't be shown: {error})"

    def keep_judgement(self, one: Judgement) -> str:
        """The name of the run, for which it is written down."""
        judged = self._may_be_drawn[one.run]
        assert judged.kept is not None and judged.finished is not None
        self._keep(judged.kept, judged.finished, kind="judged", word=one.verdict, why=one.why)
        return one.run

    def report(self, looked: list[Looked], chosen: tuple[str, ...], wait: list[str]) -> Report:
        return Report(
            folder=self.folder,
            looked=tuple(looked),
            not_over=sum(not _counts(one) for one in self.all),
            sample=chosen,
            seed=self.options.seed,
            wait=tuple(wait),
            by=self.options.by,
            finished=tuple(one.finished for one in self.all if one.finished is not None),
            entries=tuple(self._entries),
        )

    def _audited(self, one: _Run) -> Audited:
        unknown = Audited(claimed=Verdict.UNKNOWN, found=Verdict.UNKNOWN)
        if one.kept is None or one.finished is None:
            return replace(unknown, reasons=(one.why_not,))
        try:
            return self._auditors[one.kept.workflow].audited(one.kept)
        except (GraphAgentError, OSError) as error:
            return replace(unknown, reasons=(str(error),))

    def _keep(self, kept: Kept, finished: Finished, **said: Any) -> None:
        entry = Entry(
            run=finished.run,
            workflow=str(kept.folded.header["workflow"]),
            ended=finished.ended,
            passed=finished.passed,
            policy=str(kept.about.get("policy_hash", "")),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            who=self.who,
            **said,
        )
        add_to_log(self.folder, entry)
        self._entries.append(entry)


def _read(folder: Path) -> _Run:
    try:
        records, folded, dropped = read_run(folder)
    except JournalError as error:
        return _Run(name=folder.name, why_not=f"its journal is damaged: {error}")
    kept = Kept(folder=folder, records=records, folded=folded, dropped=dropped)
    return _Run(name=folder.name, kept=kept, why_not=f"it is not over: it stands at {folded.raw['stage']}")


def _is_over(kept: Kept) -> bool:
    return bool(kept.folded.shape["stages"].get(kept.folded.raw["stage"]) == "an end")


def _counts(one: _Run) -> bool:
    """A damaged run is looked at too: else its damage would take it out of the rates without a word."""
    return one.kept is None or one.finished is not None
