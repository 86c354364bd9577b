"""A first run: an agent mends a tiny shop. Guess its way, then look.

The shop is one function that adds up prices and takes a discount off, and one test that fails. Nothing here is real
but the rules: the model's answers are written down in advance, and no file is touched.
"""

from graph_agent import run_graph, trace_line
from graph_agent.cli.demo import simulated_repair
from graph_agent.workflows.repair.graph import GRAPH

# The first correction is wrong. The tests say so, and the run goes round once more.
PATH = ("intake", "diagnose", "plan", "execute", "verify", "repair", "execute", "verify", "done")

# Two questions to a model in the whole run.
MODEL_WAS_ASKED_AT = ("plan", "repair")

# Where the tests run. No model is asked there.
DONE_WAS_DECIDED_AFTER = "verify"


def run_it():
    """Run the repair, and return its events: one for each step, in order."""
    state, ctx = simulated_repair()
    events = []
    run_graph(GRAPH, state, ctx, on_event=events.append)
    return events


def main():
    print("You guess:", " -> ".join(PATH))
    print("\nstep  from -> to  | turns | why")
    for event in run_it():
        print(trace_line(event))
        if event.model_calls:
            print("       (the model was asked here)")


if __name__ == "__main__":
    main()
