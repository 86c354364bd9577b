"""The table of a graph: which stage runs what, what that may read, write and call, and where it may lead.

A `Graph` is data, checked whole when it is built (`check.py`): whoever reads it knows each path that a run can take.
Nothing runs here: `advance.py` makes a step, `run.py` a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from graph_agent.protocols import Context
from graph_agent.runtime.state import Append, GraphState

S = TypeVar("S", bound=GraphState)
Patch: TypeAlias = Mapping[str, Any]


class Back(Enum):
    """`BACK`: the stage from which a pause was entered."""

    BACK = "back"

    def __repr__(self) -> str:
        return "BACK"


BACK = Back.BACK


@dataclass(frozen=True, slots=True, init=False)
class Route:
    """A router's answer: where the run goes on, and a sentence on why."""

    stage: Enum
    reason: str

    def __init__(self, stage: Enum, reason: str) -> None:
        _set_stage(self, stage)  # one a step is made: twice as fast as what dataclass writes
        _set_reason(self, reason)


_set_stage: Any = Route.__dict__["stage"].__set__
_set_reason: Any = Route.__dict__["reason"].__set__


Router: TypeAlias = Callable[[Any], Route]


def stage_name(stage: object) -> str:
    """How a stage is called in messages, traces and pictures."""
    return str(stage._value_) if isinstance(stage, Enum) else repr(stage)


def _names(given: Collection[str] | None) -> Any:
    """A lone string is left as it is, for `check_graph` to complain about."""
    return given if given is None or isinstance(given, str) else frozenset(given)


@dataclass(frozen=True, eq=False)
class Node:
    """One stage that does work.

    run             `(state, ctx) -> patch`: a dict of the fields that changed, or None
    owns            the fields that it may write
    to              the stage that follows, or a router `state -> Route`
    exits           all stages that the router may name
    reads           the fields that it looks at; None: all
    tools           the names of the tools that `ctx.tools` holds
    model           whether `ctx.llm` may be asked
    metered         False: what it calls costs no turns
    effects         it changes something outside the state, so a resume may not just run it again
    retry           extra attempts after an exception; no visits, but what they spent stays spent
    on_interrupted  what a resume does when the process died inside it; default "ask" with `effects`, else "retry"
    """

    run: Callable[[Any, Context], Any]
    owns: Collection[str]
    to: Enum | Router
    exits: Collection[Enum] | None = None
    reads: Collection[str] | None = None
    tools: Collection[str] = ()
    model: bool = False
    metered: bool = True
    effects: bool = False
    retry: int = 0
    on_interrupted: Literal["retry", "ask", "fail"] | None = None

    def __post_init__(self) -> None:
        for name in ("owns", "exits", "reads"):
            object.__setattr__(self, name, _names(getattr(self, name)))
        if not isinstance(self.tools, str):
            object.__setattr__(self, "tools", tuple(self.tools))
        if self.on_interrupted is None:
            object.__setattr__(self, "on_interrupted", "ask" if self.effects else "retry")

    @property
    def spends(self) -> bool:
        return self.metered and (self.model or bool(self.tools))


@dataclass(frozen=True)
class Question:
    """What a pause asks. `choices` limits the values of a field, of an appended one its items.

    `shown` is what the answer is about. `offers` are answers that make sense here, each a patch under a few words for
    it ("allow two more retries").
    """

    text: str
    choices: Mapping[str, tuple[Hashable, ...]] = field(default_factory=dict)
    shown: Any = ()
    offers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Pause:
    """A stage at which the run waits for a person's answer. `BACK` may stand among the exits.

    `ask(state)` returns the `Question`; `check`, given the state as the answer would make it, a sentence when that
    will not do, else None.
    """

    owns: Collection[str]
    to: Enum | Router
    exits: Collection[Enum] | None = None
    ask: Callable[[Any], Question] | None = None
    check: Callable[[Any], str | None] | None = None

    def __post_init__(self) -> None:
        for name in ("owns", "exits"):
            object.__setattr__(self, name, _names(getattr(self, name)))


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a look at the world found: `facts` for the record, and the `problem` that a person has to see ("": none)."""

    facts: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Look:
    """What a resume does before it goes on: the state says what was so then, `run(state, ctx) -> Seen` what is so now.

    It writes no field and takes no turns; `tools` are those that it may call.
    """

    run: Callable[[Any, Context], Seen]
    tools: Collection[str] = ()


Of: TypeAlias = Literal["schema", "workflow"]


@dataclass(frozen=True)
class Migration:
    """Makes the raw state of one version one of the next: see `migration`, which decorates such a function."""

    of: Of
    before: int
    after: int
    change: Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """What the runtime needs to know of one stage, worked out once.

    `calls`: it may call a model or a tool; `spends`: and that costs turns. `writes` has, for each field that the stage
    owns, the check of its type and, for an appended one, how it takes new items.
    """

    member: Enum
    stage: str
    entry: Node | Pause
    run: Callable[[Any, Context], Any]
    writes: Mapping[str, tuple[Callable[[object], bool], Append | None]]
    router: Router | None
    fixed: Route | None
    exits: frozenset[Enum]
    calls: bool
    spends: bool
    metered: bool
    effects: bool
    retry: int
    tools: tuple[str, ...]
    model: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph(Generic[S]):
    """A table of nodes, checked when it is made. Raises `GraphError` with all problems at once.

    state      the state's class; the default of its `stage` is where a run starts
    nodes      stage -> `Node` or `Pause`
    ends       the stages at which a run is over
    shared     fields that more than one stage may own
    on_limit   where a run goes when its turns are spent: a pause, an end, or a node that cannot spend
    on_error   where a run goes when a node raised and has no retries left
    on_doubt   the pause where a resumed run goes when it can't be told what became of a node with effects, or when
               `look` has found a problem
    look       what a resume looks at in the world before it goes on
    schema_version, workflow_version
               of the state's fields, and of what the stages mean: numbers to be raised when an older run no longer fits
    migrations how a run of an older version is made to fit: see `migration`

    Worked out: `invariants` (the state has a `__post_init__`), `runs_on` (the steps but for the pauses) and so on.
    """

    state: type[S]
    nodes: Mapping[Any, Node | Pause]
    ends: Collection[Any]
    shared: Collection[str] = frozenset()
    on_limit: Any = None
    on_error: Any = None
    on_doubt: Any = None
    look: Look | None = None
    schema_version: int = 1
    workflow_version: int = 1
    migrations: Collection[Migration] = ()
    steps: Mapping[Any, Step] = field(init=False, repr=False)
    checks: Mapping[str, Callable[[object], bool]] = field(init=False, repr=False)
    invariants: bool = field(init=False, repr=False)
    pauses: frozenset[Any] = field(init=False, repr=False)
    runs_on: Mapping[Any, Step] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from graph_agent.runtime.check import compiled  # it needs the names above

        object.__setattr__(self, "nodes", MappingProxyType(dict(self.nodes)))
        object.__setattr__(self, "ends", frozenset(self.ends))
        object.__setattr__(self, "shared", _names(self.shared))
        checks, steps = compiled(self)
        object.__setattr__(self, "checks", MappingProxyType(checks))
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "invariants", hasattr(self.state, "__post_init__"))
        pauses = frozenset(stage for stage, entry in self.nodes.items() if isinstance(entry, Pause))
        object.__setattr__(self, "pauses", pauses)
        object.__setattr__(self, "runs_on", {stage: step for stage, step in steps.items() if stage not in pauses})

    @cached_property
    def stages(self) -> type[Enum]:
        return type(self.start)

    @cached_property
    def start(self) -> Enum:
        start: Enum = self.state.__dataclass_fields__["stage"].default
        return start

    @cached_property
    def edges(self) -> tuple[tuple[Enum, Enum, str], ...]:
        """In the table's order: (from, to, kind); kind is "route", "back", "limit", "error" or "doubt"."""
        from graph_agent.runtime.check import edges_of

        return edges_of(self)
