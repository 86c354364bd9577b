"""`run_graph` against an interpreter of fifteen lines, on small graphs and scripts that Hypothesis makes up.

The interpreter knows the rules and none of the machinery: plain dicts, no classes, no checks. What it says of a run
(where it stops, what the fields are, how often it visited) must be what the loop, the async loop and the stream say.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent import (
    Context,
    Graph,
    GraphState,
    Node,
    Pause,
    Reply,
    Route,
    StepLimitReached,
    appended,
    arun_graph,
    run_graph,
    stream,
)

FUSE = 12


class Stage(StrEnum):
    A = "a"
    B = "b"
    C = "c"
    ASK = "ask"
    END = "end"


NODES = (Stage.A, Stage.B, Stage.C)


@dataclass(frozen=True, kw_only=True)
class State(GraphState):
    stage: Stage = Stage.A
    a: int = 0
    b: int = 0
    c: int = 0
    log: tuple[str, ...] = appended()


@dataclass(frozen=True)
class Script:
    """What a stage does: how much it adds to its field, asks a model, fails at first, and where it goes by parity."""

    add: int
    asks: int
    fails: int
    even: Stage
    odd: Stage


@dataclass(frozen=True)
class Case:
    scripts: dict[Stage, Script]
    retry: int
    max_turns: int | None
    on_error: bool
    on_limit: bool


def scripts() -> st.SearchStrategy[Script]:
    to = st.sampled_from([*NODES, Stage.ASK, Stage.END])
    return st.builds(Script, add=st.integers(0, 3), asks=st.integers(0, 2), fails=st.integers(0, 2), even=to, odd=to)


cases = st.builds(
    Case,
    scripts=st.fixed_dictionaries({stage: scripts() for stage in NODES}),
    retry=st.integers(0, 2),
    max_turns=st.none() | st.integers(0, 6),
    on_error=st.booleans(),
    on_limit=st.booleans(),
)


def naive(case: Case) -> dict[str, Any]:
    """The run, by the rules alone."""
    s: dict[str, Any] = {"stage": "a", "a": 0, "b": 0, "c": 0, "log": (), "steps": 0, "spent_turns": 0}
    s |= {"came_from": None, "outcome": "stopped"}
    for _ in range(FUSE):
        here = s["stage"]
        if here in ("ask", "end"):
            return s
        do, left = case.scripts[Stage(here)], 99 if case.max_turns is None else case.max_turns - s["spent_turns"]
        tries = min(do.fails, case.retry) + 1  # a try asks first and fails then
        spent, limited, failed = min(tries * do.asks, left), tries * do.asks > left, do.fails > case.retry
        unbegun = do.asks > 0 and left <= 0
        if (limited and not case.on_limit) or (not limited and failed and not case.on_error):
            return {**s, "spent_turns": s["spent_turns"] + spent, "outcome": "limit" if limited else "error"}
        total = s[here] + do.add
        to = "ask" if limited or failed else do.odd.value if total % 2 else do.even.value
        if not limited and not failed:
            s |= {here: total, "log": (*s["log"], f"{here}{total}")}
        s |= {"stage": to, "steps": s["steps"] + (not unbegun), "spent_turns": s["spent_turns"] + spent}
        s["came_from"] = here if to == "ask" else None
    return s if s["stage"] in ("ask", "end") else {**s, "outcome": "fuse"}


class Model:
    def complete(self, request: Any, /) -> Reply:
        return Reply(text="yes")


def node(stage: Stage, case: Case) -> Node:
    do, tries = case.scripts[stage], [0]

    def run(state: State, ctx: Context) -> dict[str, Any]:
        for _ in range(do.asks):
            ctx.llm.complete({})
        tries[0] += 1
        if tries[0] <= do.fails or do.fails > case.retry:
            raise OSError("not yet")
        tries[0] = 0
        total = getattr(state, stage.value) + do.add
        return {stage.value: total, "log": (f"{stage.value}{total}",)}

    def route(state: State) -> Route:
        return Route(do.odd if getattr(state, stage.value) % 2 else do.even, "by parity")

    exits = set(Stage)  # wider than what the script does: the graph's own checks are tested elsewhere
    return Node(run, owns={stage.value, "log"}, to=route, exits=exits, model=do.asks > 0, retry=case.retry)


def built(case: Case) -> Graph[State]:
    return Graph(
        state=State,
        nodes={**{stage: node(stage, case) for stage in NODES}, Stage.ASK: Pause(owns=set(), to=Stage.END)},
        ends={Stage.END},
        shared={"log"},
        on_error=Stage.ASK if case.on_error else None,
        on_limit=Stage.ASK if case.on_limit else None,
    )


def outcome(run: Any) -> dict[str, Any]:
    """The fields in which a run stands when it stops, and how it stopped."""
    try:
        state, how = run(), "stopped"
    except Exception as error:
        how = {"LimitReached": "limit", "NodeError": "error", "StepLimitReached": "fuse"}[type(error).__name__]
        state = error.state  # type: ignore[attr-defined]
    names = ("stage", "a", "b", "c", "log", "steps", "spent_turns", "came_from")
    return {name: getattr(state, name) for name in names} | {"outcome": how}


def start(case: Case) -> State:
    return State(task_id="t", max_turns=case.max_turns)


def plain(case: Case) -> State:
    return run_graph(built(case), start(case), Context(llm=Model()), max_steps=FUSE)


@settings(max_examples=300, deadline=None)
@given(cases)
def test_a_run_is_what_the_naive_interpreter_says(case):
    assert outcome(lambda: plain(case)) == naive(case)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_the_asynchronous_run_is_the_plain_one(case):
    async def later() -> State:
        return await arun_graph(built(case), start(case), Context(llm=Model()), max_steps=FUSE)

    assert outcome(lambda: asyncio.run(later())) == outcome(lambda: plain(case))


@settings(max_examples=100, deadline=None)
@given(cases)
def test_the_stream_tells_the_events_of_the_plain_run_and_ends_like_it(case):
    told: list[Any] = []
    streamed: list[Any] = []

    def listened() -> State:
        return run_graph(built(case), start(case), Context(llm=Model()), on_event=told.append, max_steps=FUSE)

    def iterated() -> State:
        state = start(case)
        for event in stream(built(case), state, Context(llm=Model()), max_steps=FUSE):
            streamed.append(event)
            state = event.state
        return state

    assert outcome(listened) == outcome(iterated)
    facts = [(event.kind, event.step, event.stage, event.to, event.patch, event.turns, event.state) for event in told]
    assert facts == [(e.kind, e.step, e.stage, e.to, e.patch, e.turns, e.state) for e in streamed]


@settings(max_examples=100, deadline=None)
@given(cases, st.integers(0, FUSE))
def test_a_run_cut_anywhere_and_gone_on_with_is_the_whole_run(case, cut):
    graph, whole = built(case), outcome(lambda: plain(case))

    def in_two() -> State:
        try:
            state = run_graph(graph, start(case), Context(llm=Model()), max_steps=cut)
        except StepLimitReached as half:
            state = half.state
        return run_graph(graph, state, Context(llm=Model()), max_steps=FUSE - cut)

    assert outcome(in_two) == whole


@settings(max_examples=100, deadline=None)
@given(cases)
def test_a_run_never_spends_more_than_its_limit(case):
    final = outcome(lambda: plain(case))
    assert case.max_turns is None or final["spent_turns"] <= case.max_turns
