"""The table of a research: which stage may read, call, own and lead to what. Start reading here.

No stage that writes a result judges it, a model that plans does not see its old plan, and no model stands where the
answer is put together.
"""

from __future__ import annotations

from collections.abc import Iterable

from graph_agent.runtime.graph import BACK, Graph, Look, Node, Pause
from graph_agent.workflows.research import nodes, routes
from graph_agent.workflows.research.state import ResearchState, Stage

DOCUMENT_TOOLS = ("list_documents", "search_documents", "read_document")


def research_graph(tools: Iterable[str] = DOCUMENT_TOOLS, *, effects: bool = False) -> Graph[ResearchState]:
    """The graph whose steps may call these tools: the documents', and any that the caller's context holds.

    `effects`: some of them do more than read; a layer that was interrupted is then put before a person on resume.
    """
    names = tuple(tools)
    look_at = tuple(name for name in names if name == "read_document")
    finishing = {"goal", "plan", "plan_no", "blocked", "cursor", "results", "evidence", "verdicts", "rounds",
                 "max_rounds"}  # fmt: skip
    asked = {"approval", "decisions", "goal", "notes", "max_rounds", "max_replans", "max_turns", "give_up"}
    return Graph(
        state=ResearchState,
        nodes={
            Stage.PLAN: Node(
                nodes.plan,
                reads={"goal", "planned_goal", "plan", "plan_no", "replans", "fingerprints", "results", "verdicts",
                       "evidence", "reasons", "rounds", "max_rounds", "notes", "cursor"},
                owns={"plan", "plan_no", "planned_goal", "asks", "replans", "fingerprints", "blocked", "cursor"},
                model=True,
                to=routes.route_after_plan,
                exits={Stage.EXECUTE, Stage.APPROVE, Stage.GIVE_UP, Stage.HUMAN, Stage.FAILED},
            ),
            Stage.EXECUTE: Node(
                nodes.execute,
                reads={"goal", "plan", "plan_no", "cursor", "results", "evidence", "verdicts", "rounds", "notes",
                       "approval", "asks"},
                owns={"results", "evidence"},
                tools=names,
                model=True,
                effects=effects,
                to=routes.route_after_execute,
                exits={Stage.VERIFY},
            ),
            Stage.VERIFY: Node(
                nodes.verify,
                reads={"plan", "plan_no", "cursor", "results", "evidence", "verdicts", "rounds", "approval"},
                owns={"verdicts", "rounds", "reasons"},
                model=True,
                metered=False,  # what evidence costs is not the agent's spending; rounds bound it
                to=routes.route_after_verify,
                exits={Stage.FINALIZE, Stage.GIVE_UP, Stage.HUMAN, Stage.PLAN, Stage.ADVANCE, Stage.EXECUTE},
            ),
            Stage.ADVANCE: Node(
                nodes.advance,
                reads={"cursor"},
                owns={"cursor"},
                to=routes.route_after_advance,
                exits={Stage.EXECUTE, Stage.APPROVE},
            ),
            Stage.FINALIZE: Node(
                nodes.finalize,
                reads=finishing,
                owns={"answer"},
                to=routes.route_after_finalize,
                exits={Stage.DONE, Stage.PARTIAL, Stage.HUMAN},
            ),
            Stage.GIVE_UP: Node(
                nodes.give_up,
                reads=finishing,
                owns={"answer"},
                to=routes.route_after_give_up,
                exits={Stage.PARTIAL},
            ),
            Stage.APPROVE: Pause(
                owns=asked,
                ask=routes.ask_person,
                check=routes.refuse_answer,
                to=routes.route_after_approve,
                exits={Stage.EXECUTE, Stage.PLAN, Stage.GIVE_UP},
            ),
            Stage.HUMAN: Pause(
                owns=asked,
                ask=routes.ask_person,
                check=routes.refuse_answer,
                to=routes.route_after_human,
                exits={BACK, Stage.PLAN, Stage.EXECUTE, Stage.FINALIZE, Stage.GIVE_UP},
            ),
        },
        ends={Stage.DONE, Stage.PARTIAL, Stage.FAILED},
        shared={"cursor", "answer"},
        on_limit=Stage.GIVE_UP,
        on_error=Stage.HUMAN,
        on_doubt=Stage.HUMAN,
        look=Look(nodes.look, tools=look_at),
    )  # fmt: skip


GRAPH = research_graph()
