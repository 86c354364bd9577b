"""What happens at each stage."""

from graph_agent.workflows.repair.nodes.diagnose import diagnose, intake
from graph_agent.workflows.repair.nodes.execute import execute
from graph_agent.workflows.repair.nodes.look import look
from graph_agent.workflows.repair.nodes.plan import plan, repair
from graph_agent.workflows.repair.nodes.review import review
from graph_agent.workflows.repair.nodes.verify import verify

__all__ = ["diagnose", "execute", "intake", "look", "plan", "repair", "review", "verify"]
