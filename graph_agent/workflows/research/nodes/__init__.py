"""The nodes of a research. Read them in the order of a run: plan, execute (its steps are in `step`), verify, finish."""

from __future__ import annotations

from graph_agent.workflows.research.nodes.execute import execute as execute
from graph_agent.workflows.research.nodes.finish import finalize as finalize
from graph_agent.workflows.research.nodes.finish import give_up as give_up
from graph_agent.workflows.research.nodes.look import look as look
from graph_agent.workflows.research.nodes.plan import advance as advance
from graph_agent.workflows.research.nodes.plan import plan as plan
from graph_agent.workflows.research.nodes.verify import verify as verify
