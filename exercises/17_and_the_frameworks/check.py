"""What exercise 17 asks: names that are there, mean the same, and a graph read as data. LangGraph is not needed."""

from inspect import signature
from types import ModuleType

import graph_agent
from exercises.course import NotYet

BUILDS_ON = ()

MEANS = {
    "StateGraph": ({"Graph"}, "the table of a graph"),
    "START": ({"Graph.start"}, "where a run begins; Graph works it out"),
    "END": ({"Graph.ends"}, "where a run is over; here there are several, each with a name"),
    "Annotated[list, operator.add]": ({"appended"}, "a reducer: a patch adds items to the field"),
    "add_node": ({"Node"}, "one stage that does work"),
    "add_edge": ({"Node.to"}, "the one stage that follows; an argument of the node"),
    "add_conditional_edges": ({"Route", "Node.to"}, "what a rule answers: where to, and why"),
    "path_map": ({"Node.exits"}, "all stages that the rule may name; an argument of the node"),
    "compile": ({"check_graph", "Graph"}, "the table is checked; here that is done when it is made"),
    "invoke": ({"run_graph"}, "run until it stops, and return the state"),
    "stream": ({"stream"}, "the same run, an event a step"),
    "recursion_limit": (
        {"run_graph.max_steps"},
        "the last fuse: visits of one call; an argument of the function that runs",
    ),
    "retry_policy": ({"Node.retry"}, "attempts more, when a node raises"),
    "checkpointer": ({"Run", "Run.create", "Run.open"}, "what keeps a run on the disk"),
    "get_state_history": ({"read_run"}, "look at a kept run, step by step, and change nothing"),
    "interrupt": ({"Pause"}, "the run waits for a person; here that is a stage of the table"),
    "Command(resume=...)": ({"answer", "Run.answer"}, "what the person says"),
    "Command(goto=...)": (
        {None},
        "a node that says what runs next: a router does that here, so there is none on purpose",
    ),
    "Send": ({"fan_out", "afan_out"}, "the same work for many inputs at once"),
}

BY = {
    "How are two patches of one field merged?": "framework",
    "How does a run go on after a crash?": "framework",
    "How does a step get another try after an exception?": "framework",
    "Which fields belong in the state, and who may write them?": "you",
    "On what evidence is it done?": "you",
    "Where does a run end when nothing works?": "you",
    "May this payment be made a second time?": "you",
    "Which decisions are left to a model?": "you",
}


def check(learner: ModuleType) -> None:
    _names(learner.NAMES)
    _calls(learner)
    _who(learner.WHO)


def is_named(name: str) -> bool:
    """Whether graph_agent has it: a public name, or an attribute or an argument of one."""
    first, _, second = name.partition(".")
    if first not in graph_agent.__all__:
        return False
    thing = getattr(graph_agent, first)
    return not second or hasattr(thing, second) or second in signature(thing).parameters


def _names(names: dict) -> None:
    for theirs, (ours, meaning) in MEANS.items():
        said = names.get(theirs, "")
        if said == "":
            raise NotYet(f"nothing stands beside {theirs!r} yet. It is {meaning} (README, the first table).")
        if said is not None and not is_named(str(said)):
            raise NotYet(
                f"beside {theirs!r} stands {said!r}, and graph_agent has no such name: dir(graph_agent) has all"
            )
        if said not in ours:
            raise NotYet(f"beside {theirs!r} stands {said!r}, which is something else. Look for: {meaning}.")


def _calls(learner: ModuleType) -> None:
    wanted = [
        *(("add_node", name) for name in ("answer", "check", "person")),
        ("add_edge", "START", "answer"),
        ("add_edge", "answer", "check"),
        ("add_conditional_edges", "check", frozenset({"answer", "person", "END"})),
        ("add_conditional_edges", "person", frozenset({"END"})),
    ]
    calls = list(learner.calls_of(learner.GRAPH))
    for call in wanted:
        if call not in calls:
            raise NotYet(f"calls_of(GRAPH) lacks {call}; it has {calls}. graph.nodes has it all: `to`, or `exits`.")
    if more := [call for call in calls if call not in wanted]:
        raise NotYet(f"calls_of(GRAPH) has {more[0]}, which is no line of this graph")
    if len(calls) != len(wanted):
        raise NotYet("calls_of(GRAPH) says something twice")
    other = graph_agent.Graph(
        state=learner.Ticket,
        nodes={
            **learner.GRAPH.nodes,
            learner.Stage.ANSWER: graph_agent.Node(
                _nothing, owns={"drafts"}, to=_either(learner), exits={learner.Stage.CHECK, learner.Stage.SENT}
            ),
        },
        ends=learner.GRAPH.ends,
    )
    if ("add_conditional_edges", "answer", frozenset({"check", "END"})) not in list(learner.calls_of(other)):
        raise NotYet(
            "calls_of was given another graph, in which ANSWER has a router, and told of this one: read `graph`"
        )


def _nothing(state, ctx):
    return None


def _either(learner: ModuleType):
    return lambda state: graph_agent.Route(learner.Stage.CHECK, "always")


def _who(who: dict) -> None:
    for question, answer in BY.items():
        said = who.get(question, "")
        if said not in ("framework", "you"):
            raise NotYet(f'WHO has {said!r} for "{question}": say "framework" or "you"')
        if said != answer:
            why = {
                "framework": "It is the same for every graph, so whoever wrote the runtime has answered it.",
                "you": "It depends on what your graph is for, so no library can know it.",
            }[answer]
            raise NotYet(f'"{question}" is not answered by {said!r}. {why}')
