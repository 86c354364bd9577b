"""The answers are compared with a real run, so they can't be out of date."""

from itertools import zip_longest

from exercises.course import NotYet
from graph_agent import run_graph
from graph_agent.cli.demo import simulated_repair
from graph_agent.workflows.repair.graph import GRAPH

BUILDS_ON = ()


def check(learner):
    events = []
    state, ctx = simulated_repair()
    run_graph(GRAPH, state, ctx, on_event=events.append)
    check_path(tuple(learner.PATH), events)
    check_model(learner.MODEL_WAS_ASKED_AT, events)
    check_decision(learner.DONE_WAS_DECIDED_AFTER, events)


def check_path(guess, events):
    way = (events[0].stage, *(event.to for event in events))
    for number, (guessed, stage) in enumerate(zip_longest(guess, way)):
        if guessed == stage:
            continue
        if number == 0:
            raise NotYet(f"PATH begins with {guessed!r}, and the run with {stage!r}.")
        if stage is None:
            raise NotYet(f"PATH goes on to {guessed!r}, but the run is over at {way[-1]!r}.")
        event = events[number - 1]
        guessed_on = f"goes on to {guessed!r}" if guessed else "ends"
        raise NotYet(
            f"Up to step {number} your guess is right. Then PATH {guessed_on}, and the run went from "
            f"{event.stage} to {event.to!r}. The reason that stands in the trace: {event.reason!r}.\n"
            f"Run the file and read step {number}: what had happened in the steps before it?"
        )


def check_model(said, events):
    asked = tuple(event.stage for event in events if event.model_calls)
    said = (said,) if isinstance(said, str) else tuple(said)
    for stage in said:
        if stage not in asked:
            raise NotYet(f"MODEL_WAS_ASKED_AT has {stage!r}: no model was asked there. Run the file, look for `asked`.")
    if set(said) != set(asked):
        raise NotYet(
            f"MODEL_WAS_ASKED_AT has {len(set(said))} of the {len(asked)} stages at which a model was asked. "
            "Run the file: the trace says `(the model was asked here)` under each."
        )


def check_decision(said, events):
    decided = events[-1].stage
    if said != decided:
        raise NotYet(
            f"DONE_WAS_DECIDED_AFTER is {said!r}. Look at the last line of the trace: the run came to 'done' from "
            "another stage, and the reason there speaks of evidence, not of an opinion."
        )
