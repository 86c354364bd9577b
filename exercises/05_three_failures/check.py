"""The graph is run with models that are never right, under several limits; then the learner's script and answer."""

from exercises.course import NotYet
from graph_agent import (
    AnswerError,
    Context,
    FakeLLM,
    NodeError,
    PatchError,
    RouteError,
    StepLimitReached,
    answer,
    run_graph,
)

BUILDS_ON = ("04_route_after_verify",)

FACTS = {
    "the field that grows": ("retries", "Which field of the state is different after each round, and is a number?"),
    "the stage that owns it": ("repair", "Look at the table for the `owns` in which that field stands."),
    "the stage whose route compares it": ("verify", "Look for `>=`: after which stage is that route taken?"),
    "the field that it is compared with": ("max_retries", "It stands on the other side of the `>=`."),
    "how many stages that do work may write that one": (0, "Count the `Node`s, and not the `Pause`, that own it."),
}


def check(learner):
    for limit in (2, 0, 1, 5):
        check_it_stops(learner, limit)
    check_script(learner)
    check_facts(dict(learner.WHY_NOT_FOR_EVER))
    check_answer(learner)


def check_it_stops(learner, limit):
    state = learner.Mending(task_id="check", max_retries=limit)
    final = run(learner, state, FakeLLM(lambda request: "0"))
    if final.stage.value != "human":
        raise NotYet(f"A model that is always wrong brought the run to {final.stage.value}: {final.route_reason}")
    if (len(final.verdicts), final.retries) != (limit + 1, limit):
        raise NotYet(
            f"With max_retries={limit} and a model that is always wrong, there should be {limit + 1} verifications and "
            f"{limit} retries. There were {len(final.verdicts)} and {final.retries}. Who counts, how often a round?"
        )
    if limit == 2 and "retries" in learner.GRAPH.shared:
        raise NotYet("`retries` stands in `shared`. One stage counts: let it be the only owner.")


def check_script(learner):
    script = tuple(learner.SCRIPT)
    if not script:
        raise NotYet("SCRIPT is empty: the model needs an answer to give.")
    final = run(learner, learner.Mending(task_id="check"), model_of(script))
    failed = [verdict for verdict in final.verdicts if verdict != "pass"]
    if final.stage.value == "done":
        raise NotYet(
            f"The counting is right: each run stops now. With your SCRIPT the test failed {len(failed)} "
            "times, and then it passed. Let it fail three times, to see it."
        )
    if len(set(failed)) < 3:
        raise NotYet("With your SCRIPT the test failed three times, but not in three ways: the trace shows which.")


def check_facts(said):
    for what, (fact, where) in FACTS.items():
        if said.get(what) != fact:
            raise NotYet(f"WHY_NOT_FOR_EVER: {what!r} is not {said.get(what)!r}. {where}")


def check_answer(learner):
    stopped = run(learner, learner.Mending(task_id="check"), model_of(learner.SCRIPT))
    try:
        answered = answer(learner.GRAPH, stopped, dict(learner.ANSWER))
    except (AnswerError, PatchError) as error:
        raise NotYet(f"ANSWER was refused: {error}") from None
    final = run(learner, answered, FakeLLM(lambda request: learner.RIGHT))
    if final.stage.value != "done":
        raise NotYet(
            f"After your ANSWER the run went back to verify and to {final.stage.value} again: {final.route_reason}. "
            "Which fields may HUMAN write? One of them is the limit. Two retries are spent; allow a third one."
        )
    if final.retries != 3:
        raise NotYet(f"The run came to done after {final.retries} retries. Three were allowed, and needed.")


def model_of(script):
    answers = iter(script)
    return FakeLLM(lambda request: next(answers, script[-1]))


def run(learner, state, model):
    try:
        return run_graph(learner.GRAPH, state, Context(llm=model), max_steps=40)
    except StepLimitReached as fuse:
        raise NotYet(
            f"After 40 steps it still goes on: {len(fuse.state.verdicts)} verifications, and `retries` is "
            f"{fuse.state.retries}. The route looks at the budget, as it should. But nobody counts: the stage that "
            "tries again should return one more retry, and own the field."
        ) from None
    except NodeError as error:
        raise NotYet(f"A node failed: {error}. Is an answer of SCRIPT no Python expression?") from None
    except (PatchError, RouteError) as error:
        raise NotYet(f"The runtime stopped it: {error}") from None
