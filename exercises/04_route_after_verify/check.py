"""First a table, which is how one thinks of a rule; then every state, which is how one is sure."""

from itertools import product

from exercises.course import NotYet
from graph_agent.testing import RouterBroken, check_router

BUILDS_ON = ("03_state_first",)

FORBIDDEN = "the tests need a file that may not be read"
TABLE = (  # the facts, where it must go, and why
    ({"verdict": "fail", "retries": 2}, "human", "the budget is spent, and the rule hopes once more."),
    ({"verdict": "fail", "retries": 3}, "human", "there are more retries than allowed: compare with >=, not with ==."),
    ({"verdict": "fail", "spent_turns": 12}, "human", "the turns are spent, and a repair would need one more."),
    ({"verdict": "fail", "forbidden": FORBIDDEN}, "human", "no edit can mend this, so a repair only costs."),
    ({"verdict": "fail"}, "repair", "the tests failed and there is a budget: this is what repairs are for."),
    ({"verdict": "fail", "retries": 1}, "repair", "one of two retries is left: it may be used."),
    ({"verdict": "pass"}, "done", "the tests passed."),
    ({"verdict": "pass", "retries": 2}, "done", "the last retry passed: a budget takes nothing back."),
    ({"verdict": "pass", "spent_turns": 12}, "done", "the last turn went into an edit that passed."),
    ({"verdict": "unknown"}, "human", "the tests could not run, so what should be mended?"),
    ({"verdict": None}, "human", "nothing was verified: there is no ground to go on, in no direction."),
    ({"verdict": None, "retries": 2}, "human", "nothing was verified."),
)


def check(learner):
    route, state_class, stages = learner.route_after_verify, learner.Verified, learner.Stage
    for facts, where, why in TABLE:
        state = state_class(task_id="check", max_turns=12, **facts)
        went = route(state)
        if getattr(went, "stage", None) is not stages(where):
            raise NotYet(
                f"{shown(facts)}: your rule says {told(went)}. It should go to {where}:\n{why}\n"
                "Each fact that is not named here has its default; max_turns is 12."
            )
    states = list(every_state(state_class))
    check_laws(route, states, stages)
    check_every_state(route, states)


def every_state(state_class):
    verdicts, numbers = ("pass", "fail", "unknown", None), range(4)
    for verdict, forbidden, retries, limit, spent, turns in product(
        verdicts, ("", FORBIDDEN), numbers, range(3), numbers, (None, 0, 2, 3)
    ):
        facts = {"verdict": verdict, "forbidden": forbidden, "retries": retries, "max_retries": limit}
        yield state_class(task_id="check", spent_turns=spent, max_turns=turns, **facts)


def check_laws(route, states, stages):
    try:
        check_router(route, states, exits={stages.DONE, stages.HUMAN, stages.REPAIR})
    except RouterBroken as broken:
        what = str(broken).split("\nIt is shown by")[0]
        raise NotYet(f"The table is right. Then {len(states)} states were tried, and {what}.") from None


def check_every_state(route, states):
    for state in states:
        went = route(state)
        expected = reference(state)
        if went.stage.value != expected:
            facts = {
                name: getattr(state, name)
                for name in ("verdict", "forbidden", "retries", "max_retries", "spent_turns", "max_turns")
            }
            raise NotYet(
                f"The table is right. Of all {len(states)} states this one goes wrong:\n{shown(facts)}: "
                f"your rule says {told(went)}. It should go to {expected}."
            )
        over_budget = expected == "human" and state.verdict == "fail" and not state.forbidden
        if over_budget and not any(letter.isdigit() for letter in went.reason):
            raise NotYet(
                f"A person gets to read {went.reason!r}. Put the numbers into the reason, as it was in start.py: "
                "how many are spent, of how many."
            )


def reference(state):
    """The rule itself, said in another way: by what allows each stage."""
    if state.verdict == "pass":
        return "done"
    turns_left = state.max_turns is None or state.spent_turns < state.max_turns
    may_repair = state.retries < state.max_retries and turns_left and not state.forbidden
    return "repair" if state.verdict == "fail" and may_repair else "human"


def shown(facts):
    return ", ".join(f"{name}={value!r}" for name, value in facts.items())


def told(route):
    stage, reason = getattr(route, "stage", None), getattr(route, "reason", "")
    return f"{getattr(stage, 'value', stage)} ({reason})" if stage is not None else repr(route)
