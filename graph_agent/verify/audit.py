"""The slow ring: what a second verification, away from the loop, says of a run, beside what the loop and a person say.

The rule: what could not be told is no agreement, and the three rates are compared on the same runs, so that none looks
better for having been asked about others. A loop that fools its own metric shows as a judged rate below its pass rate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal, TypeAlias

from graph_agent.verify.report import Verdict

Agreement: TypeAlias = Literal["agrees", "disagrees", "can't tell"]
Word: TypeAlias = Literal["accept", "reject"]
Period: TypeAlias = Literal["day", "week"]
WORDS: tuple[Word, ...] = ("accept", "reject")


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What a run says of itself (`claimed`), and what was found when it was verified again.

    `wrong`: what is not as the run left it, which no verdict outweighs. `reasons`: why `found` is what it is, and no
    pass. `notes`: what was looked at, and what could not be, though the verdict does not hang on it.
    """

    claimed: Verdict
    found: Verdict
    wrong: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Agreement:
        if self.wrong:
            return "disagrees"
        if Verdict.UNKNOWN in (self.claimed, self.found):
            return "can't tell"
        return "agrees" if self.claimed is self.found else "disagrees"

    @property
    def passes(self) -> Verdict:
        """For the re-verified rate: a result that is not what the run left has not been verified."""
        return Verdict.FAIL if self.wrong else self.found

    @property
    def what(self) -> tuple[str, ...]:
        return (*self.wrong, *self.reasons)


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run that is over: when it ended, in seconds since 1970, and whether its own loop says that it passed."""

    run: str
    ended: float
    passed: bool


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One look at a run, as it is kept: a second verification, or a person's judgement.

    `at` is when, in ISO 8601; `policy` the hash of what decided success; `word` a person's, or what the verification
    says of the result (pass, fail, unknown); `verdict` whether that agrees with the run.
    """

    kind: Literal["audit", "judged"]
    run: str
    workflow: str
    ended: float
    passed: bool
    policy: str
    at: str
    who: str
    word: Literal["pass", "fail", "unknown", "accept", "reject"]
    verdict: Literal["agrees", "disagrees", "can't tell", ""] = ""
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A period. `told`: runs on which the second verification came to a verdict; `audited` has those it could not tell.

    `passed_of_told` and `passed_of_judged` are the loop's passes among the very runs that the others looked at.
    """

    period: str
    finished: int = 0
    passed: int = 0
    audited: int = 0
    told: int = 0
    reverified: int = 0
    passed_of_told: int = 0
    judged: int = 0
    accepted: int = 0
    passed_of_judged: int = 0


def rows(finished: Iterable[Finished], entries: Sequence[Entry], by: Period) -> tuple[Row, ...]:
    """The rates by the period in which the runs ended, the oldest first; of several looks at a run the latest counts.

    A run that is gone still counts where an entry tells of it.
    """
    runs = {one.run: Finished(run=one.run, ended=one.ended, passed=one.passed) for one in entries}
    runs |= {one.run: one for one in finished}
    periods: dict[str, list[Finished]] = {}
    for one in sorted(runs.values(), key=lambda one: one.ended):
        periods.setdefault(period_of(one.ended, by), []).append(one)
    return tuple(_row(name, some, entries) for name, some in periods.items())


def total(finished: Iterable[Finished], entries: Sequence[Entry]) -> Row:
    """All periods as one."""
    runs = {one.run: Finished(run=one.run, ended=one.ended, passed=one.passed) for one in entries}
    return _row("all", (runs | {one.run: one for one in finished}).values(), entries)


def fooled(row: Row) -> tuple[str, ...]:
    """A sentence where the loop passed more than a second verification or a person did, of the same runs."""
    found = []
    if row.accepted < row.passed_of_judged:
        told = (
            f"of {row.judged} judged runs the loop passed {row.passed_of_judged} and a person accepted {row.accepted}"
        )
        found.append(f"the judged rate is lower than the pass rate: {told}: the loop fools its own metric")
    if row.reverified < row.passed_of_told:
        told = f"of {row.told} runs verified again the loop passed {row.passed_of_told}, {row.reverified} hold"
        found.append(f"the re-verified rate is lower than the pass rate: {told}")
    return tuple(found)


def turned_down(finished: Iterable[Finished], entries: Sequence[Entry]) -> tuple[str, ...]:
    """The runs that the loop passed and a person rejects, or a second verification fails: the ones to look at."""
    passed = {one.run: one.passed for one in entries} | {one.run: one.passed for one in finished}
    looks = (_latest(entries, "judged"), _latest(entries, "audit"))
    low = {run for latest in looks for run, one in latest.items() if one.word in ("reject", "fail")}
    return tuple(sorted(run for run in low if passed[run]))


def drawn(runs: Collection[str], count: int, seed: int) -> tuple[str, ...]:
    """So many of the runs, or all that there are: the same for the same seed, in whatever order they are given."""

    def lot(run: str) -> bytes:
        return sha256(f"{seed}\0{run}".encode()).digest()

    return tuple(sorted(runs, key=lot)[:count])


def judged_before(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The latest judgement of each run that has one."""
    return _latest(entries, "judged")


def period_of(seconds: float, by: Period) -> str:
    """In UTC: 2026-03-31, or 2026-W14."""
    moment = datetime.fromtimestamp(seconds, UTC)
    year, week, _ = moment.isocalendar()
    return f"{moment:%Y-%m-%d}" if by == "day" else f"{year}-W{week:02}"


def _row(period: str, runs: Collection[Finished], entries: Sequence[Entry]) -> Row:
    audits, judgements = _latest(entries, "audit"), _latest(entries, "judged")
    told = [one for one in runs if one.run in audits and audits[one.run].word != "unknown"]
    judged = [one for one in runs if one.run in judgements]

    def counted(some: Iterable[Finished], holds: Callable[[Finished], bool]) -> int:
        return sum(holds(one) for one in some)

    return Row(
        period=period,
        finished=len(runs),
        passed=counted(runs, lambda one: one.passed),
        audited=counted(runs, lambda one: one.run in audits),
        told=len(told),
        reverified=counted(told, lambda one: audits[one.run].word == "pass"),
        passed_of_told=counted(told, lambda one: one.passed),
        judged=len(judged),
        accepted=counted(judged, lambda one: judgements[one.run].word == "accept"),
        passed_of_judged=counted(judged, lambda one: one.passed),
    )


def _latest(entries: Iterable[Entry], kind: str) -> dict[str, Entry]:
    return {one.run: one for one in entries if one.kind == kind}
