"""A first run: an agent mends a tiny shop. Guess its way, then look.

The shop is one function that adds up prices and takes a discount off, and one test that fails. Nothing here is real
but the rules: the model's answers are written down in advance, and no file is touched.
"""

from graph_agent import run_graph, trace_line
from graph_agent.cli.demo import simulated_repair
from graph_agent.workflows.repair.graph import GRAPH

# your turn: which stages does the run go through, from the first to the last? This guess says that all goes well at
# the first try. Change it BEFORE you run this file, then run it, and correct it.
PATH = ("intake", "diagnose", "plan", "execute", "verify", "done")

# your turn: at which stages was the model asked? Look for the word "asked" in what this file prints.
MODEL_WAS_ASKED_AT = ()

# your turn: after which stage did the run go to "done"? Who works there: the model, or the tests?
DONE_WAS_DECIDED_AFTER = ""


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
