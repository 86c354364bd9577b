"""The table of a repair: which stage may read, call, own and lead to what. Start reading here.

One stage writes files, one stage decides on evidence, and no model stands in either.
"""

from __future__ import annotations

from graph_agent.runtime.graph import BACK, Graph, Look, Node, Pause
from graph_agent.workflows.repair import nodes, routes
from graph_agent.workflows.repair.state import Stage, TaskState

GRAPH = Graph(
    state=TaskState,
    nodes={
        Stage.INTAKE: Node(
            nodes.intake,
            reads={"request", "workspace", "risks", "approval"},
            owns={"baseline", "risks", "blocked"},
            tools=("list_files",),
            metered=False,
            to=routes.route_after_intake,
            exits={Stage.DIAGNOSE, Stage.HUMAN, Stage.FAILED},
        ),
        Stage.DIAGNOSE: Node(
            nodes.diagnose,
            reads={"baseline", "observations"},
            owns={"observations", "risks", "blocked"},
            tools=("run_command", "trace_tests", "read_file", "search", "diff"),
            to=routes.route_after_diagnose,
            exits={Stage.PLAN, Stage.HUMAN},
        ),
        Stage.PLAN: Node(
            nodes.plan,
            reads={"request", "observations", "verifications", "plan", "former_plans", "repairs", "changes"},
            owns={"plan", "former_plans", "observations", "blocked"},
            model=True,
            to=routes.route_after_plan,
            exits={Stage.EXECUTE, Stage.HUMAN},
        ),
        Stage.EXECUTE: Node(
            nodes.execute,
            reads={"plan", "former_plans", "repairs", "approval", "approve", "risks", "baseline", "changes"},
            owns={"changes", "blocked"},
            tools=("edit_file", "restore_file"),
            effects=True,
            on_interrupted="retry",  # an edit that was made is found in place by its hash
            to=routes.route_after_execute,
            exits={Stage.VERIFY, Stage.HUMAN},
        ),
        Stage.VERIFY: Node(
            nodes.verify,
            reads={"baseline", "observations", "former_plans", "repairs", "verifications"},
            owns={"verifications", "risks", "blocked"},
            tools=("list_files", "diff", "run_command", "run_holdout"),
            metered=False,  # what evidence costs is not the agent's spending
            to=routes.route_after_verify,
            exits={Stage.DONE, Stage.REVIEW, Stage.REPAIR, Stage.HUMAN},
        ),
        Stage.REPAIR: Node(
            nodes.repair,
            reads={"request", "observations", "verifications", "plan", "former_plans", "repairs", "changes", "retries"},
            owns={"retries", "repairs", "observations", "blocked"},
            model=True,
            to=routes.route_after_repair,
            exits={Stage.EXECUTE, Stage.HUMAN},
        ),
        Stage.REVIEW: Node(
            nodes.review,
            reads={"request", "verifications"},
            owns={"reviews", "blocked"},
            tools=("diff",),
            model=True,
            to=routes.route_after_review,
            exits={Stage.DONE, Stage.HUMAN},
        ),
        Stage.HUMAN: Pause(
            owns={"approval", "decisions", "request", "max_retries", "max_turns", "give_up"},
            ask=routes.ask_person,
            check=routes.refuse_answer,
            to=routes.route_after_human,
            exits={BACK, Stage.PLAN, Stage.EXECUTE, Stage.VERIFY, Stage.DONE, Stage.FAILED},
        ),
    },
    ends={Stage.DONE, Stage.FAILED},
    shared={"blocked", "risks", "observations"},
    on_limit=Stage.HUMAN,
    on_error=Stage.HUMAN,
    on_doubt=Stage.HUMAN,
    look=Look(nodes.look, tools=("list_files", "diff", "run_command", "run_holdout")),
)
