"""17. And the frameworks: one graph, LangGraph's names for its parts beside those of graph_agent."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Graph, GraphState, Node, Pause, Route, appended


class Stage(StrEnum):
    ANSWER = "answer"
    CHECK = "check"
    PERSON = "person"
    SENT = "sent"
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class Ticket(GraphState):
    stage: Stage = Stage.ANSWER
    drafts: tuple[str, ...] = appended()
    fits: bool = False
    close: bool = False


def nothing(state, ctx):
    """This graph is only read, not run."""


def route_after_check(state) -> Route:
    if state.fits:
        return Route(Stage.SENT, "it fits")
    return Route(Stage.PERSON, "3 drafts") if len(state.drafts) >= 3 else Route(Stage.ANSWER, "it does not fit")


def route_after_person(state) -> Route:
    return Route(Stage.CLOSED, "closed") if state.close else Route(Stage.SENT, "a person sends it")


GRAPH = Graph(
    state=Ticket,
    nodes={
        Stage.ANSWER: Node(nothing, owns={"drafts"}, to=Stage.CHECK, model=True),
        Stage.CHECK: Node(nothing, owns={"fits"}, to=route_after_check, exits={Stage.SENT, Stage.PERSON, Stage.ANSWER}),
        Stage.PERSON: Pause(owns={"close"}, to=route_after_person, exits={Stage.CLOSED, Stage.SENT}),
    },
    ends={Stage.SENT, Stage.CLOSED},
)

# LangGraph's name -> the name in graph_agent: "Graph", an attribute ("Graph.start"), an argument
# ("run_graph.max_steps"), or None where there is none on purpose
NAMES = {
    "StateGraph": "Graph",
    "START": "Graph.start",
    "END": "Graph.ends",
    "Annotated[list, operator.add]": "appended",
    "add_node": "Node",
    "add_edge": "Node.to",
    "add_conditional_edges": "Route",
    "path_map": "Node.exits",
    "compile": "check_graph",
    "invoke": "run_graph",
    "stream": "stream",
    "recursion_limit": "run_graph.max_steps",
    "retry_policy": "Node.retry",
    "checkpointer": "Run",
    "get_state_history": "read_run",
    "interrupt": "Pause",
    "Command(resume=...)": "answer",
    "Command(goto=...)": None,
    "Send": "fan_out",
}


def calls_of(graph: Graph) -> list[tuple]:
    """What a LangGraph builder would be told to make the same graph."""
    calls: list[tuple] = [("add_node", str(stage)) for stage in graph.nodes]
    calls.append(("add_edge", "START", str(graph.start)))
    for stage, entry in graph.nodes.items():
        if entry.exits is None:
            calls.append(("add_edge", str(stage), name_of(graph, entry.to)))
        else:
            targets = frozenset(name_of(graph, target) for target in entry.exits)
            calls.append(("add_conditional_edges", str(stage), targets))
    return calls


def name_of(graph: Graph, stage: Stage) -> str:
    return "END" if stage in graph.ends else str(stage)


WHO = {
    "How are two patches of one field merged?": "framework",
    "How does a run go on after a crash?": "framework",
    "How does a step get another try after an exception?": "framework",
    "Which fields belong in the state, and who may write them?": "you",
    "On what evidence is it done?": "you",
    "Where does a run end when nothing works?": "you",
    "May this payment be made a second time?": "you",
    "Which decisions are left to a model?": "you",
}


if __name__ == "__main__":
    for theirs, ours in NAMES.items():
        print(f"{theirs:32} {ours}")
    for call in calls_of(GRAPH):
        print(*call)
