"""The table of a run's steps."""

from __future__ import annotations

from graph_agent.llm.fake import FakeLLM
from graph_agent.protocols import Context
from graph_agent.runtime.events import Event
from graph_agent.runtime.graph import Graph, Node
from graph_agent.runtime.run import run_graph
from graph_agent.tools.fake import FakeTools
from graph_agent.view.steps import steps_table
from tests.view.samples import ESSAY, Essay, Stage


def essay_run(state: Essay, graph: Graph[Essay] = ESSAY) -> list[Event]:
    events: list[Event] = []
    run_graph(graph, state, Context(llm=FakeLLM([]), tools=FakeTools({"spell": lambda: ""})), on_event=events.append)
    return events


def test_a_run_as_a_table() -> None:
    state = Essay(task_id="e", topic="tides")
    assert steps_table(essay_run(state), before=state).splitlines() == [
        "step  node    changed  turns  next    why",
        "----  ------  -------  -----  ------  ---------------------------",
        "   1  draft   drafts       0  review  draft is followed by review",
        "   2  review  score        0  draft   10 letters are too few",
        "   3  draft   drafts       0  review  draft is followed by review",
        "   4  review  score        0  done    long enough",
    ]


def test_without_the_first_state_the_first_row_names_all_that_was_returned() -> None:
    rows = steps_table(essay_run(Essay(task_id="e"))).splitlines()
    assert "  drafts, note  " in rows[2] and "  drafts        " in rows[4]


def test_a_step_that_failed_changed_nothing_and_shows_where_it_went() -> None:
    def broken(state: Essay, ctx: Context) -> None:
        raise ValueError("no \x1b[31mink\x1b[0m\nleft")

    nodes = {**ESSAY.nodes, Stage.DRAFT: Node(broken, owns={"drafts"}, to=Stage.REVIEW)}
    graph = Graph(state=Essay, nodes=nodes, ends=ESSAY.ends, on_error=Stage.HUMAN, shared={"note"})
    text = steps_table(essay_run(Essay(task_id="e"), graph))
    assert "   1  draft  -            0  human  " in text
    assert "\x1b" not in text and len(text.splitlines()) == 3


def test_a_run_of_no_steps_is_a_table_of_no_rows() -> None:
    assert len(steps_table([]).splitlines()) == 2


def test_a_long_reason_goes_on_below_and_the_width_is_kept() -> None:
    events = essay_run(Essay(task_id="e"))
    assert all(len(line) <= 50 for line in steps_table(events, width=50).splitlines())
    assert steps_table(events, width=50).splitlines()[5:7] == [
        "   2  review  score          0  draft   10 letters",
        "                                        are too",
    ]
