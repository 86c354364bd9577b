"""The form of a `task.json`: what a task may say, as dataclasses that the codec reads.

Paths start from the task's own folder. The rule: there is no field that nobody reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

OFFLINE, SCRIPT, REPLAY = "offline", "script:", "replay:"

Workflow: TypeAlias = Literal["repair", "research", "node"]
Tier: TypeAlias = Literal[1, 2, 3]
Value: TypeAlias = str | int | float | bool
Property: TypeAlias = Literal[
    "cites what it was given",
    "keeps to the schema",
    "refuses a path outside of the policy",
    "chooses an allowed route",
    "asks when evidence is thin",
    "blocks what is not borne out",
    "passes what is borne out",
]
PROPERTIES: tuple[Property, ...] = get_args(Property)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a field of the last state must be. Of a list or a text `least` and `most` bound the length."""

    equals: Value | None = None
    least: float | None = None
    most: float | None = None
    has: str | None = None


@dataclass(frozen=True, kw_only=True)
class AnswerHolds:
    """What the answer must have and must not have, word for word once white space is folded.

    `cites`: documents of which one passage each must be cited; `spares`: such that may not be; `caveat`: words that
    must stand among the caveats.
    """

    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    caveat: str = ""


@dataclass(frozen=True, kw_only=True)
class ByDefault:
    """What must hold besides where the task's own model answers, and nobody else: what makes it one of its tier."""

    passes: tuple[str, ...] = ()
    fields: dict[str, Bound] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Holds:
    """What must hold at the end. `outcome`: the stages at which the run may stand.

    passes, avoids   stages that the run must have been at, and such that it may not have been at
    fields           by path, as in "verifications" or "answer.status"
    held_out         a folder of tests whose text the run never sees, which must pass on what it leaves
    changes          the files that may differ at the end, all of which must
    """

    outcome: tuple[str, ...]
    passes: tuple[str, ...] = ()
    avoids: tuple[str, ...] = ()
    fields: dict[str, Bound] = field(default_factory=dict)
    held_out: str = ""
    changes: tuple[str, ...] = ()
    answer: AnswerHolds = AnswerHolds()
    properties: tuple[Property, ...] = ()
    by_default: ByDefault = field(default_factory=ByDefault)


@dataclass(frozen=True, kw_only=True)
class StubTool:
    """A tool that gives one text, whatever it is asked. Its description may promise something else."""

    name: str
    description: str
    text: str
    source: str = ""
    span: str = ""
    caveat: str = ""


@dataclass(frozen=True, kw_only=True)
class RepairInput:
    """As the options of `repair`. `holdout`: tests that the run itself is held to."""

    workspace: str
    request: str = "Make the failing tests pass."
    holdout: str = ""
    check: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    retries: int | None = None
    turns: int | None = None
    timeout: float = 30.0
    isolation: Literal["auto", "bubblewrap", "none"] = "auto"


@dataclass(frozen=True, kw_only=True)
class ResearchInput:
    """As the options of `research`, and tools beside the documents'."""

    question: str
    documents: str
    tools: tuple[StubTool, ...] = ()
    judges: Literal[1, 2] = 1
    rounds: int | None = None
    replans: int | None = None
    turns: int | None = None


@dataclass(frozen=True, kw_only=True)
class NodeInput:
    """`state`: a file with the state as JSON; its stage says which node. `texts`: a file with the texts it refers to.

    `write`: what a repair's policy lets it change; `documents`: what the tools of a research read.
    """

    graph: Literal["repair", "research"]
    state: str
    texts: str = ""
    write: tuple[str, ...] = ("**/*.py",)
    documents: str = ""


@dataclass(frozen=True, kw_only=True)
class Common:
    """What every task says: its tier, what makes it one of that tier, what must hold, and who answers.

    `model`: "offline", "script:FILE" or "replay:FILE"; `seconds`: after which a run counts as late.
    """

    tier: Tier
    about: str
    holds: Holds
    model: str = OFFLINE
    seconds: float = 120.0


@dataclass(frozen=True, kw_only=True)
class RepairTask(Common):
    workflow: Literal["repair"]
    input: RepairInput


@dataclass(frozen=True, kw_only=True)
class ResearchTask(Common):
    workflow: Literal["research"]
    input: ResearchInput


@dataclass(frozen=True, kw_only=True)
class NodeTask(Common):
    workflow: Literal["node"]
    input: NodeInput


Said: TypeAlias = RepairTask | ResearchTask | NodeTask
