"""Runs that go wrong, each beside its cure: `python3 -m exercises.symptoms retries`, and so on.

Each function below builds the same small graph twice, ill and cured; the one line that differs says `cured`. The whole
state is printed after each step, because that is the first thing to do with a run that goes wrong.
"""

import sys
from dataclasses import dataclass, fields
from enum import StrEnum

from exercises.course import unheard
from graph_agent import (
    Context,
    FakeLLM,
    Graph,
    GraphState,
    Node,
    Pause,
    Request,
    Route,
    StepLimitReached,
    appended,
    run_graph,
    trace_line,
)


class Stage(StrEnum):
    WORK = "work"
    VERIFY = "verify"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Case(GraphState):
    stage: Stage = Stage.WORK
    tries: int = 0
    max_tries: int = 3
    verdict: str = ""


@dataclass(frozen=True)
class Seen:
    id: str
    text: str


def retries(cured):
    """Retries without end, each for the same reason: the route compares a number that nobody counts."""

    def work(state, ctx):
        return {"tries": state.tries + 1} if cured else {}

    return graph(Case, work, lambda state, ctx: {"verdict": "fail"}), Case(task_id="retries")


def verifier(cured):
    """A verifier that passes all: it takes exit code 0 for a pass, and no test has run."""

    def verify(state, ctx):
        exit_code, tests_run = 0, 0  # what came of a test command that found no tests
        good = exit_code == 0 and (tests_run > 0 or not cured)
        return {"verdict": "pass" if good else "unknown: no test ran"}

    return graph(Case, count, verify), Case(task_id="verifier")


def plan(cured):
    """A first plan that is a dead end at once: whoever makes a plan notes it as one, and then it is compared."""

    @dataclass(frozen=True, kw_only=True)
    class Planned(Case):
        plan: str = ""
        dead_ends: tuple[str, ...] = appended()

    def work(state, ctx):
        new = f"plan {state.tries + 1}"
        noted = state.plan if cured else new  # only a plan that was tried, and failed, is a dead end
        return {"plan": new, "tries": state.tries + 1, "dead_ends": (noted,) if noted else ()}

    def route(state):
        if state.plan in state.dead_ends:
            return Route(Stage.HUMAN, f"{state.plan} is a dead end")
        return Route(Stage.VERIFY, f"{state.plan} is new")

    return graph(Planned, work, lambda state, ctx: {"verdict": "fail"}, route), Planned(task_id="plan")


def steps(cured):
    """Steps forgotten in a long run: the state keeps the last two, because that is what fits into a prompt."""

    @dataclass(frozen=True, kw_only=True)
    class Stepping(Case):
        steps_done: tuple[str, ...] = appended() if cured else ()

    def work(state, ctx):
        done = f"step {state.tries + 1}"
        grown = (done,) if cured else (*state.steps_done, done)[-2:]
        return {"tries": state.tries + 1, "steps_done": grown}

    return graph(Stepping, work, lambda state, ctx: {"verdict": "fail"}), Stepping(task_id="steps")


def twice(cured):
    """One observation twice: it is looked at again in each round, and added without a key."""

    @dataclass(frozen=True, kw_only=True)
    class Looking(Case):
        seen: tuple[Seen, ...] = appended(key="id") if cured else appended()

    def work(state, ctx):
        return {"tries": state.tries + 1, "seen": (Seen("O1", "shop.py has 3 lines"),)}

    return graph(Looking, work, lambda state, ctx: {"verdict": "fail"}), Looking(task_id="twice")


def budget(cured):
    """A budget that never bites: max_turns is 2, but the node that asks the model is not metered."""

    def work(state, ctx):
        ctx.llm.complete(Request(instructions="Mend it."))
        return {}

    asking = Node(work, owns={"tries"}, to=Stage.VERIFY, model=True, metered=cured)
    return graph(Case, asking, lambda state, ctx: {"verdict": "fail"}), Case(task_id="budget", max_turns=2)


SYMPTOMS = {one.__name__: one for one in (retries, verifier, plan, steps, twice, budget)}


def count(state, ctx):
    return {"tries": state.tries + 1}


def graph(state, work, verify, after_work=None):
    """WORK -> VERIFY -> WORK ..., until it passes or the tries are spent."""
    own = {field.name for field in fields(state)} - {field.name for field in fields(GraphState)}
    if not isinstance(work, Node):
        exits = {Stage.VERIFY, Stage.HUMAN} if after_work else None
        work = Node(work, owns=own - {"verdict", "max_tries"}, to=after_work or Stage.VERIFY, exits=exits)
    return Graph(
        state=state,
        nodes={
            Stage.WORK: work,
            Stage.VERIFY: Node(verify, owns={"verdict"}, to=route_after_verify, exits=set(Stage) - {Stage.VERIFY}),
            Stage.HUMAN: Pause(owns={"max_tries", "max_turns"}, to=Stage.WORK),
        },
        ends={Stage.DONE},
        on_limit=Stage.HUMAN,
    )


def route_after_verify(state):
    if state.verdict == "pass":
        return Route(Stage.DONE, "it passed")
    if state.tries >= state.max_tries:
        return Route(Stage.HUMAN, f"{state.tries} of {state.max_tries} tries are spent")
    return Route(Stage.WORK, f"the verdict is {state.verdict!r}")


def show(event):
    print(trace_line(event))
    hidden = {"task_id", "stage", "route_reason", "came_from", "steps"}  # the line above has them
    shown = [field.name for field in fields(event.state) if field.name not in hidden]
    print("      " + ", ".join(f"{name}={getattr(event.state, name)!r}" for name in shown))


def main(argv):
    if len(argv) != 1 or argv[0] not in SYMPTOMS:
        print(f"Give one of these: {', '.join(SYMPTOMS)}.", file=sys.stderr)
        return 2
    try:
        show_both(SYMPTOMS[argv[0]])
        sys.stdout.flush()
    except BrokenPipeError:
        return unheard()
    return 0


def show_both(symptom):
    print(symptom.__doc__)
    for cured in (False, True):
        print("\nCURED" if cured else "\nILL")
        try:
            final = run_graph(*symptom(cured), Context(llm=FakeLLM(lambda request: "x")), on_event=show, max_steps=8)
            print(f"It stopped at {final.stage}: {final.route_reason}.")
        except StepLimitReached:
            print("8 steps, and it would go on.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
