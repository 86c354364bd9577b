"""What a table must be: one bad table a problem, and all problems of a table at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from graph_agent import BACK, Graph, GraphError, GraphState, Node, Pause, Route, appended, check_graph, described
from tests.runtime.counting import counting


class Stage(StrEnum):
    A = "a"
    B = "b"
    C = "c"
    DONE = "done"


@dataclass(frozen=True)
class Item:
    name: str
    line: int = 0

    @property
    def shout(self) -> str:
        return self.name.upper()


@dataclass(frozen=True, kw_only=True)
class State(GraphState):
    stage: Stage = Stage.A
    one: int = 0
    two: str = ""
    many: tuple[str, ...] = appended()


def run(state: Any, ctx: Any) -> None:
    return None


def route(state: Any) -> Route:
    return Route(Stage.DONE, "")


def table(**changes: Any) -> dict[str, Any]:
    """A good table, with some of it changed: `a=` and so on are entries, the rest is the graph's."""
    entries = {
        Stage.A: Node(run, owns={"one"}, to=Stage.B),
        Stage.B: Node(run, owns={"two"}, to=route, exits={Stage.A, Stage.C}),
        Stage.C: Pause(owns={"many", "max_turns"}, to=route, exits={BACK, Stage.DONE}),
    }
    for stage in Stage:
        if stage.value in changes:
            entries[stage] = changes.pop(stage.value)
    nodes = {stage: entry for stage, entry in entries.items() if entry is not None}
    return {"state": State, "nodes": nodes, "ends": {Stage.DONE}, **changes}


def node(**changes: Any) -> Node:
    return Node(**{"run": run, "owns": {"one"}, "to": Stage.B, **changes})


def pause(**changes: Any) -> Pause:
    return Pause(**{"owns": {"many"}, "to": route, "exits": {BACK, Stage.DONE}, **changes})


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field owned": (
        table(a=node(owns={"onne"})),
        "a owns 'onne', which State does not have, did you mean 'one'?",
    ),
    "unknown field read": (
        table(a=node(reads={"tow"})),
        "a reads 'tow', which State does not have, did you mean 'two'?",
    ),
    "unknown field shared": (table(shared={"there"}), "the graph shares 'there', which State does not have"),
    "two owners": (table(b=node(to=Stage.C)), "one is owned by a and b: give it one owner, or name it in shared"),
    "a field of the runtime owned": (
        table(a=node(owns={"one", "steps"})),
        "a owns steps, which only the runtime writes",
    ),
    "a node with its own budget": (
        table(a=node(owns={"one", "max_turns"}), shared={"max_turns"}),
        "a node may not set its own budget",
    ),
    "owns is a string": (table(a=node(owns="one")), "a has owns='one', a string: write owns={'one'}"),
    "reads is a string": (table(a=node(reads="one")), "a has reads='one', a string"),
    "shared is a string": (table(shared="one"), "shared='one' is a string"),
    "tools is a string": (
        table(a=node(tools="read_file")),
        "a has tools='read_file', a string: write tools=('read_file',)",
    ),
    "to is a text that a stage has": (table(a=node(to="b")), "a leads to 'b': give a stage or a router"),
    "to is no stage": (table(a=node(to=StrEnum("Else", {"B": "b"}).B)), "which is no member of Stage"),
    "to is a stage and exits are given": (
        table(a=node(exits={Stage.B})),
        "a leads to a fixed stage and lists exits too",
    ),
    "a router without exits": (table(b=node(owns={"two"}, to=route)), "b has a router without exits"),
    "a router with empty exits": (table(b=node(owns={"two"}, to=route, exits=())), "b has a router without exits"),
    "an exit that is no stage": (
        table(b=node(owns={"two"}, to=route, exits={Stage.A, Stage.C, "cc"})),
        "b has the exit 'cc'",
    ),
    "a node that goes back": (
        table(b=node(owns={"two"}, to=route, exits={Stage.C, BACK})),
        "b has BACK among its exits",
    ),
    "run that can't be called": (table(a=node(run=None)), "a runs None, which can't be called"),
    "negative retry": (table(a=node(retry=-1)), "a has retry=-1: give the number of extra attempts, 0 or more"),
    "fractional retry": (table(a=node(retry=1.5)), "a has retry=1.5"),
    "retry that is a truth": (table(a=node(retry=True)), "a has retry=True"),
    "retry that is nothing": (table(a=node(retry=None)), "a has retry=None"),
    "retry that is a text": (table(a=node(retry="2")), "a has retry='2'"),
    "on_interrupted of another word": (table(a=node(on_interrupted="again")), "give 'retry', 'ask' or 'fail'"),
    "an entry that is neither": (table(a=run), "give a Node or a Pause"),
    "a stage without a node": (table(c=None, b=node(owns={"two"})), "c has no node and is no end"),
    "a stage of another enum": (
        table() | {"nodes": {**table()["nodes"], "d": node()}},
        "nodes has 'd', which is no member of Stage",
    ),
    "an end of another enum": (table(ends={Stage.DONE, "over"}), "ends has 'over', which is no member of Stage"),
    "an end with a node": (table(ends={Stage.DONE, Stage.C}), "c is an end and has a node too"),
    "no end": (table(ends=()), "ends is empty"),
    "unreachable": (
        table(b=node(owns={"two"}, to=route, exits={Stage.A, Stage.DONE})),
        "c is unreachable: no path leads to it from a",
    ),
    "no way to an end": (table(c=pause(exits={Stage.C})), "c has no way to an end"),
    "on_limit that is no stage": (table(on_limit="halt"), "on_limit is 'halt', which is neither a node nor an end"),
    "on_limit by its text": (table(on_limit="c"), "on_limit is 'c', which is neither"),
    "on_limit that could spend": (
        table(on_limit=Stage.A, a=node(model=True)),
        "on_limit is a, which could spend again",
    ),
    "on_error that is no stage": (table(on_error=7), "on_error is 7, which is neither"),
    "on_error by its text": (table(on_error="c"), "on_error is 'c', which is neither"),
}


@pytest.mark.parametrize(("bad", "said"), BAD.values(), ids=BAD)
def test_a_bad_table_is_refused_when_it_is_built(bad, said):
    with pytest.raises(GraphError) as refused:
        Graph(**bad)
    assert any(said in problem for problem in refused.value.problems), refused.value
    assert said in str(refused.value)


def test_the_table_that_the_others_are_made_from_is_good():
    graph = Graph(**table())
    assert check_graph(graph) == ()
    assert (graph.start, graph.stages) == (Stage.A, Stage)


def test_all_problems_are_told_at_once_and_numbered():
    entries = {"a": node(owns={"onne"}, retry=-1), "b": node(reads={"tow"}, to=Stage.A)}
    with pytest.raises(GraphError) as refused:
        Graph(**table(**entries, on_limit="halt"))
    said = str(refused.value)
    for text in ("'onne'", "retry=-1", "'tow'", "on_limit is 'halt'", "c is unreachable", "no way to an end"):
        assert text in said
    assert said.startswith(f"the graph of State has {len(refused.value.problems)} problems:\n  1. ")


def made(**annotations: Any) -> type[GraphState]:
    """A state with other fields: name=(type, default)."""
    body = {name: default for name, (_, default) in annotations.items() if default is not ...}
    body["__annotations__"] = {"stage": Stage, **{name: tp for name, (tp, _) in annotations.items()}}
    body["stage"] = Stage.A
    return dataclass(frozen=True, kw_only=True)(type("Made", (GraphState,), body))


STATES: dict[str, tuple[Callable[[], Any], str]] = {
    "a list": (lambda: made(x=(list[int], ...)), "field x of Made can't be part of a state"),
    "a dict": (lambda: made(x=(dict[str, int], ...)), "can be edited in place"),
    "a dict within": (lambda: made(x=(tuple[dict[str, int], ...], ...)), "can be edited in place"),
    "anything": (lambda: made(x=(Any, ...)), "field x of Made can't be part of a state"),
    "a set": (lambda: made(x=(set[str], ...)), "field x of Made can't be part of a state"),
    "a default of another type": (lambda: made(x=(int, "1")), "the default of Made.x does not fit"),
    "a truth as a number": (lambda: made(x=(int, True)), "the default of Made.x does not fit"),
    "appended to one value": (lambda: made(x=(str, appended())), "is appended() and has the type str: use tuple"),
    "appended to a fixed tuple": (lambda: made(x=(tuple[int, int], appended())), "use tuple[T, ...]"),
    "a key that the items do not have": (
        lambda: made(x=(tuple[Item, ...], appended(key="nme"))),
        "field x of Made is appended(key='nme'), but Item has no 'nme', did you mean 'name'?",
    ),
    "a key that one kind of item does not have": (
        lambda: made(x=(tuple[Item | None, ...], appended(key="name"))), "but None has no 'name'"
    ),
    "a key of items that are numbers": (
        lambda: made(x=(tuple[int, ...], appended(key="name"))), "but int has no 'name'"
    ),
    "no dataclass": (lambda: type("Made", (GraphState,), {}), "is no frozen dataclass"),
    "no GraphState": (lambda: Item, "give a frozen dataclass derived from GraphState"),
    "no class": (lambda: "State", "give a frozen dataclass derived from GraphState"),
    "no default for the stage": (
        lambda: dataclass(frozen=True, kw_only=True)(
            type("Made", (GraphState,), {"__annotations__": {"x": int}, "x": 0})
        ),
        "Made.stage has no default",
    ),
    "slots": (
        lambda: dataclass(frozen=True, kw_only=True, slots=True)(
            type("Made", (GraphState,), {"__annotations__": {"stage": Stage}, "stage": Stage.A})
        ),
        "Made has slots",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("state", "said"), STATES.values(), ids=STATES)
def test_a_state_that_can_not_be_saved_or_shared_is_refused(state, said):
    nodes = {Stage.A: Node(run, owns=set(), to=Stage.DONE)}
    with pytest.raises(GraphError) as refused:
        Graph(state=state(), nodes=nodes, ends={Stage.DONE, Stage.B, Stage.C})
    assert said in str(refused.value)


@pytest.mark.parametrize("key", ["name", "shout", Item.shout.fget, None])
def test_a_key_may_be_a_field_a_property_or_a_function(key):
    state = made(x=(tuple[Item, ...], appended(key=key)))
    nodes = {
        stage: node(owns={"x"}, to=to) for stage, to in ((Stage.A, Stage.B), (Stage.B, Stage.C), (Stage.C, Stage.DONE))
    }
    assert check_graph(Graph(state=state, nodes=nodes, ends={Stage.DONE}, shared={"x"})) == ()


def test_a_field_with_a_default_factory_is_as_good_as_one_with_a_default():
    state = made(x=(tuple[int, ...], field(default_factory=tuple)), y=(int, described("how many", default=3)))
    nodes = {Stage.A: node(owns={"x"}, to=Stage.DONE, model=True)}
    assert Graph(state=state, nodes=nodes, ends={Stage.DONE, Stage.B, Stage.C}, on_limit=Stage.B, on_error=Stage.C)


def test_the_edges_name_every_path_with_its_kind_in_the_order_of_the_table():
    entries = {"a": node(model=True), "b": node(owns={"two"}, to=route, exits={Stage.A, Stage.C})}
    graph = Graph(**table(**entries, on_limit=Stage.C, on_error=Stage.C))
    assert graph.edges == (
        (Stage.A, Stage.B, "route"),
        (Stage.A, Stage.C, "limit"),
        (Stage.A, Stage.C, "error"),
        (Stage.B, Stage.A, "route"),
        (Stage.B, Stage.C, "route"),
        (Stage.B, Stage.C, "error"),
        (Stage.C, Stage.DONE, "route"),
        (Stage.C, Stage.A, "back"),
        (Stage.C, Stage.B, "back"),
    )


def test_a_table_can_not_be_changed_once_it_is_built():
    nodes = table()["nodes"]
    graph = Graph(**(table() | {"nodes": nodes}))
    nodes.clear()
    assert set(graph.nodes) == {Stage.A, Stage.B, Stage.C}
    with pytest.raises(TypeError):
        graph.nodes[Stage.A] = node()


def test_where_a_run_does_not_stop_and_where_it_waits():
    graph = counting()
    assert {stage.value for stage in graph.runs_on} == {"work", "check"}
    assert {stage.value for stage in graph.pauses} == {"human"}


@pytest.mark.parametrize(
    ("changes", "wanted"), [({}, "retry"), ({"effects": True}, "ask"), ({"on_interrupted": "fail"}, "fail")]
)
def test_what_a_resume_does_about_an_interrupted_node_follows_from_its_effects(changes, wanted):
    assert node(**changes).on_interrupted == wanted
