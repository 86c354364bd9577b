"""What a research keeps: plans that failed, evidence, results, verdicts, the answer; each frozen.

The rule: a verdict's score, status and scope are worked out from the items that are recorded in it, so no node and no
model can write one down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, TypeAlias
from unicodedata import normalize

from graph_agent.llm.moves import Argument
from graph_agent.runtime.codec import encode
from graph_agent.runtime.dag import layers
from graph_agent.runtime.jsontext import dumps
from graph_agent.runtime.state import described
from graph_agent.verify.judge import Status

Layer: TypeAlias = Literal["structure", "evidence", "goal"]
Kind: TypeAlias = Literal["probe", "work", "close"]
KINDS: tuple[Kind, ...] = ("probe", "work", "close")
RETRIES = 2
"""Local retries of a step within a plan."""
PASSING = 0.8
"""Score at which a round passes when nothing is violated: one criterion in five may lack evidence, and is said."""
FAILING = 0.5
"""Score below which a violation is no slip of a step any more, but a fault of the plan."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a plan."""

    id: str = described("a short name, such as s1")
    kind: Kind = described(
        "probe: find out what there is; work: find what is asked; close: write the answer from the rest"
    )
    goal: str = described("what the step finds out, in one sentence")
    done_when: tuple[str, ...] = described("1 to 6 sentences that a third party can check")
    tool: str = described('the tool that is called first; "" for none', default="")
    args: tuple[Argument, ...] = described("its arguments", default=())
    depends_on: tuple[str, ...] = described("the ids of the steps whose results it needs", default=())


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a model means to do. `rationale` is not kept in the state."""

    steps: tuple[Step, ...] = described("2 to 6 steps")
    rationale: str = described("why so, in at most 80 characters", default="")
    unclear: str = described(
        "a question to the person where the goal can't be planned for without an answer; else empty", default=""
    )

    @property
    def layers(self) -> tuple[tuple[Step, ...], ...]:
        """What runs at once: probes first, then work, then close, each by what depends on what."""
        return _layers_of(self.steps)


@lru_cache(maxsize=256)
def _layers_of(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], ...]:
    by_id = {step.id: step for step in steps}
    found: list[tuple[Step, ...]] = []
    for kind in KINDS:
        names = [step.id for step in steps if step.kind == kind]
        needs = [(name, [one for one in by_id[name].depends_on if one in names]) for name in names]
        found += [tuple(by_id[name] for name in layer) for layer in layers(needs)] if needs else []
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class DeadEnd:
    """A plan that failed as a whole: what was tried for which goal, why it failed, which criteria were not met."""

    fingerprint: str
    tried: str
    why: str
    failed: tuple[str, ...] = ()
    goal: str = ""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a tool call brought, or a person. `text` refers to all of it; `digest` is its beginning.

    `by` is the tool, or "person"; `plan` and `step` say what for; `empty`: there was nothing, and `digest` says so.
    """

    id: str
    by: str
    text: str
    digest: str
    plan: int = 0
    step: str = ""
    source: str = ""
    span: str = ""
    heading: str = ""
    version: str = ""
    summary: str = ""
    caveat: str = ""
    empty: bool = False

    @property
    def place(self) -> str:
        return ":".join(filter(None, (self.source or self.by, self.span)))


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a step of a plan came to at an attempt (from 0). `claim` and `gist` are no evidence.

    One of these may stand instead of statements: `insufficient` (nothing was found, and why), `needs` (which
    information from outside), `failed` (why it could not be carried out). `refutes`: what the plan rests on is not so.
    `kept`: it was accepted under an earlier plan, and is judged again under this one.
    """

    plan: int
    step: str
    attempt: int
    goal: str
    text: str = ""
    claim: str = ""
    gist: str = ""
    insufficient: str = ""
    needs: str = ""
    failed: str = ""
    refutes: str = ""
    kept: bool = False


@dataclass(frozen=True, kw_only=True)
class Item:
    """What was decided on one criterion of one step's result."""

    step: str
    attempt: int
    criterion: str
    status: Status
    why: str = ""

    @property
    def unmet(self) -> bool:
        return self.status in ("violated", "insufficient_evidence")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One visit of VERIFY on the layer at `cursor`. `layer` is the lowest of the checks' layers that a result failed.

    `spent`: steps whose retries are spent, or that twice found nothing. `needs`: information from outside is needed.
    `disputed`: criteria on which two judges differ. `by_person`: a person accepted the results in a judge's place.
    """

    round: int
    plan: int
    cursor: int
    layer: Layer
    items: tuple[Item, ...]
    refuted: str = ""
    needs: str = ""
    disputed: tuple[str, ...] = ()
    spent: tuple[str, ...] = ()
    by_person: bool = False

    @property
    def score(self) -> float:
        """0 for a fault of structure, 0.2 for one of evidence, else satisfied / all."""
        if self.layer != "goal":
            return 0.0 if self.layer == "structure" else 0.2
        return sum(one.status == "satisfied" for one in self.items) / len(self.items) if self.items else 0.0

    @property
    def status(self) -> Literal["PASS", "PARTIAL", "FAIL", "UNKNOWN", "BLOCKED"]:
        said = {one.status for one in self.items}
        if self.needs:
            return "BLOCKED"
        if self.layer != "goal" or not self.items or "violated" in said:
            return "FAIL"
        if "unknown" in said or self.disputed:
            return "UNKNOWN"
        return "PASS" if self.score >= PASSING else "PARTIAL"

    @property
    def scope(self) -> Literal["local", "global"]:
        """Whether the plan has failed, or a step that may be tried again."""
        if self.refuted:
            return "global"
        if self.status in ("PASS", "UNKNOWN", "BLOCKED"):
            return "local"
        violated = any(one.status == "violated" for one in self.items)
        return "global" if self.spent or (self.layer == "goal" and violated and self.score < FAILING) else "local"

    @property
    def failed(self) -> tuple[str, ...]:
        """The criteria that are not met, normalised."""
        return tuple(sorted({normal(one.criterion) for one in self.items if one.unmet}))

    @property
    def reason(self) -> str:
        """The first thing that stands against a pass."""
        if self.needs:
            return f"information from outside is needed: {self.needs}"
        if self.disputed:
            return f"the judges disagree on: {self.disputed[0]}"
        order: tuple[Status, ...] = ("violated", "unknown", "insufficient_evidence")
        worst = sorted((one for one in self.items if one.status in order), key=lambda one: order.index(one.status))
        if self.status == "PASS":
            return f"{self.score:.0%} of the criteria met{', a person accepts them' if self.by_person else ''}"
        said = f"{worst[0].step} {worst[0].status}: {worst[0].criterion}" if worst else "nothing was judged"
        return f"{said} ({worst[0].why})" if worst and worst[0].why else said


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a cited piece of evidence is from."""

    id: str
    place: str
    caveat: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the run ends with. `status` is what its own checks say; `why` names what ended the run."""

    status: Literal["complete", "partial"]
    text: str
    sources: tuple[Source, ...] = ()
    caveats: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    why: str = ""
    would_help: str = ""

    @property
    def fingerprint(self) -> str:
        return f"answer {digest(encode(self))}"


def normal(text: str) -> str:
    """Without what does not change the meaning: case, white space, punctuation, full-width forms."""
    folded = normalize("NFKC", text).casefold()
    return " ".join("".join(char if char.isalnum() else " " for char in folded).split())


def digest(data: Any) -> str:
    """16 hex digits of the SHA-256 of JSON data."""
    return sha256(dumps(data).encode()).hexdigest()[:16]
