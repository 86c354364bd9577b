"""What happens at each stage, one file a stage. `evidence.py` and `proposing.py` hold what two of them share."""

from graph_agent.workflows.repair.nodes.diagnose import diagnose
from graph_agent.workflows.repair.nodes.execute import execute
from graph_agent.workflows.repair.nodes.intake import intake
from graph_agent.workflows.repair.nodes.plan import plan
from graph_agent.workflows.repair.nodes.repair import repair
from graph_agent.workflows.repair.nodes.review import review
from graph_agent.workflows.repair.nodes.verify import verify

__all__ = ["diagnose", "execute", "intake", "plan", "repair", "review", "verify"]
