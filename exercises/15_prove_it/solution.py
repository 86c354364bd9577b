"""15. Prove it: a graph that looks right, its tests are green, and one of its runs never ends."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Graph, GraphState, Node, Pause, Question, Route
from graph_agent.testing import Fails, every_stage_reached, explore, reason_given, terminates


class Stage(StrEnum):
    EDIT = "edit"
    TEST = "test"
    PERSON = "person"
    DONE = "done"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, kw_only=True)
class Mending(GraphState):
    stage: Stage = Stage.EDIT
    tries: int = 0
    verdict: str = ""  # "green", "red", or "unknown": the tests could not be run
    max_tries: int = 2
    give_up: bool = False


def edit(state, ctx):
    ctx.tools.call("edit_shop")
    return {"tries": state.tries + 1}


def run_tests(state, ctx):
    result = ctx.tools.call("run_tests")
    return {"verdict": result.value if result.ok else "unknown"}


def route_after_test(state) -> Route:
    if state.verdict == "green":
        return Route(Stage.DONE, f"green after {state.tries} tries")
    if state.verdict == "unknown":
        return Route(Stage.PERSON, "the tests could not be run: a person has to look")
    if state.tries >= state.max_tries:
        return Route(Stage.PERSON, f"{state.tries} of {state.max_tries} tries are spent")
    return Route(Stage.EDIT, f"red after {state.tries} of {state.max_tries} tries")


def route_after_person(state) -> Route:
    return Route(Stage.GIVEN_UP, "a person gives up") if state.give_up else Route(Stage.EDIT, "a person allows more")


def more_or_nothing(state) -> str | None:
    return None if state.give_up or state.max_tries > state.tries else f"{state.tries} tries are made: allow more"


EXITS_OF_TEST = {Stage.DONE, Stage.PERSON, Stage.EDIT}


def graph_with(route) -> Graph:
    """The table, with one rule left open, so that other rules can be tried in its place."""
    return Graph(
        state=Mending,
        nodes={
            Stage.EDIT: Node(edit, owns={"tries"}, to=Stage.TEST, tools=("edit_shop",)),
            Stage.TEST: Node(run_tests, owns={"verdict"}, to=route, exits=EXITS_OF_TEST, tools=("run_tests",)),
            Stage.PERSON: Pause(
                owns={"max_tries", "give_up"},
                to=route_after_person,
                exits={Stage.GIVEN_UP, Stage.EDIT},
                ask=lambda state: Question(f"{state.route_reason}. Allow more tries?"),
                check=more_or_nothing,
            ),
        },
        ends={Stage.DONE, Stage.GIVEN_UP},
        on_error=Stage.PERSON,
    )


GRAPH = graph_with(route_after_test)
START = Mending(task_id="shop")

OUTCOMES = {
    Stage.EDIT: lambda state: [{"tries": state.tries + 1}, Fails("the file is gone")],
    Stage.TEST: [{"verdict": "green"}, {"verdict": "red"}, {"verdict": "unknown"}, Fails("the disk is full")],
    Stage.PERSON: [{"give_up": True}, {"max_tries": 3}],
}


def done_means_green(before, taken, after):
    if after is not None and after.stage is Stage.DONE and after.verdict != "green":
        return f"done with the verdict {after.verdict!r}"
    return None


LAWS = [terminates(), reason_given(), every_stage_reached(), done_means_green]


if __name__ == "__main__":
    print(explore(GRAPH, START, OUTCOMES, laws=LAWS, max_states=2000))
