"""Judging the judge: does what verifies results let the good ones pass and stop the bad ones?

Samples are outputs that a person has labelled. They go through the layers of a run in its order: structure, evidence,
judge. The rule: a third of the samples, chosen by the hash of the id, is held back, so that what was tuned on the
others can be checked on samples that it has not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from graph_agent.protocols import GraphAgentError
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError
from graph_agent.verify.evidence import evidence_problems
from graph_agent.verify.judge import Item, Judge, in_both_orders, score_of
from graph_agent.verify.structure import structure_problems

Layer: TypeAlias = Literal["structure", "evidence", "judge"]

GOOD = "good"
KINDS = ("wrong_format", "invented_citation", "off_the_question", "empty_talk")
"""What a bad sample may be an example of. Samples may name other kinds; these are missed when there is none."""

TARGET_GOOD = 0.9
"""Share of the good that must pass. Of the bad, all must be blocked."""

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_NEARLY = 1e-9  # two of three is no less than 0.6666...


class SampleError(GraphAgentError, ValueError):
    """Samples that can't be used."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An output with what it was made for. `evidence`: the whole text of each piece by its id."""

    id: str
    task: str
    criterion: str | tuple[str, ...]
    evidence: dict[str, str] = field(default_factory=dict)
    output: str
    label: Literal["good", "bad"]
    kind: str

    @property
    def criteria(self) -> tuple[str, ...]:
        return (self.criterion,) if isinstance(self.criterion, str) else self.criterion

    @property
    def held_back(self) -> bool:
        return int(sha256(self.id.encode("utf-8")).hexdigest(), 16) % 3 == 0


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What became of a sample. `problems`: what a layer of code found, and then no judge was asked."""

    sample: Sample
    layer: Layer = "judge"
    problems: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()

    def passes(self, threshold: float) -> bool:
        """As a round of a run does: nothing violated or unknown, and enough of the criteria satisfied."""
        said = {one.status for one in self.items}
        stopped = self.problems or not self.items or said & {"violated", "unknown"}
        return not stopped and score_of(self.items) >= threshold - _NEARLY

    @property
    def undecided(self) -> bool:
        """Whether the judge did not say."""
        return any(one.status == "unknown" for one in self.items)

    @property
    def why(self) -> str:
        """What stopped it first; "" where nothing did."""
        missed = [one for one in self.items if one.status != "satisfied"]
        said = [f"{one.criterion}: {one.status}{f', {one.why}' if one.why else ''}" for one in missed]
        return next(iter([*self.problems, *said]), "")


@dataclass(frozen=True, kw_only=True)
class Row:
    """Of a kind: how many there were, how many passed, and which layer stopped the others. `unknown`: of `judge`."""

    kind: str
    count: int
    passed: int
    structure: int = 0
    evidence: int = 0
    judge: int = 0
    unknown: int = 0

    @property
    def blocked(self) -> int:
        return self.count - self.passed


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A threshold, and what it would let pass and block."""

    threshold: float
    good_passed: int
    bad_blocked: int
    meets: bool


@dataclass(frozen=True, kw_only=True)
class Knob:
    """What to turn, how many samples say so, and how."""

    name: str
    samples: tuple[str, ...]
    advice: str


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How a judge did on samples: `rows` by kind, the good first."""

    examined: tuple[Examined, ...]
    threshold: float

    @property
    def rows(self) -> tuple[Row, ...]:
        there = {one.sample.kind for one in self.bad}
        kinds = [kind for kind in KINDS if kind in there] + sorted(there - set(KINDS))
        by_kind = [(kind, [one for one in self.bad if one.sample.kind == kind]) for kind in kinds]
        return tuple(_row(kind, some, self.threshold) for kind, some in [(GOOD, self.good), *by_kind])

    @property
    def good(self) -> list[Examined]:
        return [one for one in self.examined if one.sample.label == "good"]

    @property
    def bad(self) -> list[Examined]:
        return [one for one in self.examined if one.sample.label == "bad"]

    @property
    def lost(self) -> list[Examined]:
        """Good, and blocked."""
        return [one for one in self.good if not one.passes(self.threshold)]

    @property
    def let_through(self) -> list[Examined]:
        """Bad, and passed."""
        return [one for one in self.bad if one.passes(self.threshold)]

    @property
    def tried(self) -> tuple[Tried, ...]:
        return tuple(_tried(self.good, self.bad, one) for one in sorted({*THRESHOLDS, self.threshold}))

    @property
    def met(self) -> bool:
        """Whether both targets are met. Where there is no good or no bad sample, nothing was shown."""
        return _tried(self.good, self.bad, self.threshold).meets

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """What to turn, the likeliest first; none where the targets are met."""
        return () if self.met else tuple(sorted(_knobs(self), key=lambda one: -len(one.samples)))


def examine(sample: Sample, judge: Judge) -> Examined:
    """One sample through the three layers; the first that finds something ends it."""
    if problems := structure_problems(sample.output):
        return Examined(sample=sample, layer="structure", problems=problems)
    if problems := evidence_problems(sample.output, sample.evidence):
        return Examined(sample=sample, layer="evidence", problems=problems)
    return Examined(sample=sample, items=in_both_orders(judge, sample.task, sample.criteria, sample.output))


def read_samples(texts: Mapping[str, str]) -> tuple[Sample, ...]:
    """The samples of files, by name: in each a JSON list. Raises `SampleError` with the file and place of a fault."""
    found: dict[str, tuple[str, Sample]] = {}
    for name, text in texts.items():
        try:
            read: tuple[Sample, ...] = decode(tuple[Sample, ...], jsontext.loads(text))
        except CodecError as error:
            raise SampleError(f"{name}: {error}; a file of samples is a JSON list of objects") from error
        for sample in read:
            if complaint := _complaint(sample):
                raise SampleError(f"{name}: the sample {sample.id!r} {complaint}")
            if sample.id in found:
                raise SampleError(
                    f"{name}: the id {sample.id!r} is in {found[sample.id][0]} too: an id is for one sample"
                )
            found[sample.id] = name, sample
    return tuple(sample for _, sample in found.values())


def split(samples: Iterable[Sample]) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Those to tune on, and those that are held back."""
    every = tuple(samples)
    return tuple(one for one in every if not one.held_back), tuple(one for one in every if one.held_back)


def _complaint(sample: Sample) -> str:
    if not sample.id.strip():
        return "has an empty id"
    if (sample.label == "good") != (sample.kind == GOOD):
        kinds = ", ".join(KINDS)
        return f"is {sample.label} and of the kind {sample.kind!r}: a good one has the kind {GOOD}, a bad one {kinds}"
    if not sample.kind.strip():
        return f"has no kind: give one of {', '.join(KINDS)}, or your own"
    if not sample.criteria or not all(one.strip() for one in sample.criteria):
        return "has no criterion, or an empty one: nothing could be judged"
    return ""


def _row(kind: str, some: Sequence[Examined], threshold: float) -> Row:
    stopped = [one for one in some if not one.passes(threshold)]
    by_layer: dict[str, Any] = dict(Counter(one.layer for one in stopped))
    unknown = sum(one.undecided for one in stopped)
    return Row(kind=kind, count=len(some), passed=len(some) - len(stopped), unknown=unknown, **by_layer)


def _tried(good: Sequence[Examined], bad: Sequence[Examined], threshold: float) -> Tried:
    passed = sum(one.passes(threshold) for one in good)
    blocked = sum(not one.passes(threshold) for one in bad)
    meets = bool(good and bad) and passed >= TARGET_GOOD * len(good) - _NEARLY and blocked == len(bad)
    return Tried(threshold=threshold, good_passed=passed, bad_blocked=blocked, meets=meets)


def _knobs(found: Calibration) -> Iterable[Knob]:
    """By what stopped the good, where too many of them are lost; and by what let the bad pass."""
    if not (found.good and found.bad):
        yield Knob(name="too few samples", samples=(), advice="add samples: at least one good and one bad are needed")
    if len(found.lost) > (1 - TARGET_GOOD) * len(found.good) + _NEARLY:
        yield from _too_strict(found)
    if found.let_through:
        yield _knob(
            "judge too lenient",
            found.let_through,
            "the criteria let pass what does not meet them: say in them what an answer must name, raise the threshold, "
            "or ask a second judge",
        )


def _too_strict(found: Calibration) -> Iterable[Knob]:
    lost = found.lost
    by_code = [one for one in lost if one.problems]
    silent = [one for one in lost if one.undecided]
    faulted = [one for one in lost if not one.undecided and any(item.status == "violated" for item in one.items)]
    rest = [one for one in lost if one not in by_code and one not in silent and one not in faulted]
    if by_code:
        yield _knob("sample or layer of code", by_code, f"mend the sample, or the rule that says: {by_code[0].why}")
    if silent:
        yield _knob("judge does not answer", silent, f"no knob helps before it does: {silent[0].why}")
    if faulted:
        yield _knob(
            "prompt too strict",
            faulted,
            f"faults are found in good outputs: try the other wording, or a judge that reads better: {faulted[0].why}",
        )
    if rest:
        missed = Counter(item.criterion for one in rest for item in one.items if item.status != "satisfied")
        yield _knob(
            "criterion too fine",
            rest,
            f"good outputs do not say so much: ask for less in {missed.most_common(1)[0][0]!r}, or lower the threshold",
        )


def _knob(name: str, some: Iterable[Examined], advice: str) -> Knob:
    return Knob(name=name, samples=tuple(one.sample.id for one in some), advice=advice)
