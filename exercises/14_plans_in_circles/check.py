"""What exercise 14 asks: a table for the fingerprint, six scripted runs for the fuses, then every run there is."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import graph_agent
from exercises.course import NotYet
from graph_agent import Context, FakeLLM, FakeTools, StepLimitReached, run_graph
from graph_agent.testing import budget_holds, every_stage_reached, explore, never, terminates

BUILDS_ON = ("04_route_after_verify",)


def check(learner: ModuleType) -> None:
    _same(learner)
    _different(learner)
    _in_another_process(learner)
    _asked_again(learner)
    reasons = [_repeats(learner), _spends_all_plans(learner), _mends_nothing(learner)]
    if len(set(reasons)) < 3:
        raise NotYet(f"three fuses and {len(set(reasons))} reasons: {reasons}. Each reason has to name its own fuse.")
    _gets_there(learner)
    _every_run(learner)


def _plan(learner: ModuleType, *goals: str, tool: str = "edit"):
    return learner.Plan(steps=tuple(learner.Step(goal=goal, tool=tool) for goal in goals))


def _same(learner: ModuleType) -> None:
    for what, one, other in (
        ("small and capital letters", ["Multiply by the discount"], ["multiply by the DISCOUNT"]),
        ("white space", ["multiply by the discount"], [" multiply  by\nthe discount"]),
        ("punctuation", ["multiply by the discount"], ["multiply by the discount!"]),
        ("full-width forms", ["step 1"], ["\uff53\uff54\uff45\uff50\u3000\uff11"]),
        ("the order of the steps", ["read the shop", "edit the total"], ["edit the total", "read the shop"]),
    ):
        if learner.fingerprint(_plan(learner, *one)) != learner.fingerprint(_plan(learner, *other)):
            raise NotYet(
                f"these two plans say the same and have two fingerprints: {one} and {other}. What differs is {what} "
                '(README, "The new idea": what a fingerprint leaves out).'
            )


def _different(learner: ModuleType) -> None:
    one = _plan(learner, "multiply by the discount")
    for what, other in (
        ("the goal", _plan(learner, "divide by the discount")),
        ("the tool", _plan(learner, "multiply by the discount", tool="run")),
        ("one step more", _plan(learner, "multiply by the discount", "run the tests")),
        ("the language", _plan(learner, "\u4e58\u4ee5\u6298\u6263")),
    ):
        if learner.fingerprint(one) == learner.fingerprint(other):
            raise NotYet(f"two plans that differ in {what} have one fingerprint: {one} and {other}")
    split = [
        learner.fingerprint(learner.Plan(steps=(learner.Step(goal=g, tool=t),))) for g, t in (("ab", "c"), ("a", "bc"))
    ]
    if split[0] == split[1]:
        raise NotYet(
            "goal 'ab' with tool 'c' has the fingerprint of goal 'a' with tool 'bc': put something between them"
        )


def _in_another_process(learner: ModuleType) -> None:
    """A run may go on in another process, so its dead ends have to be known there."""
    code = (
        "import sys; from pathlib import Path; from exercises.course import load\n"
        "m = load(Path(sys.argv[1]), sys.argv[2])\n"
        "print(m.fingerprint(m.Plan(steps=(m.Step(goal='a b'), m.Step(goal='c'), m.Step(goal='d')))))"
    )
    path, root = Path(str(learner.__file__)), str(Path(graph_agent.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path]), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-B", "-c", code, str(path.parent), path.stem]
    said = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if said.stdout.strip() != str(learner.fingerprint(_plan(learner, "a b", "c", "d"))):
        raise NotYet(
            "another process gives the same plan another fingerprint. hash() and the order of a set change from one "
            "process to the next: sort, and use hashlib."
        )


def _run(learner: ModuleType, plans, unmet, max_plans: int = 4):
    """Run the graph on scripted plans; `unmet` gives, for the text of a plan's first goal, what it leaves failing."""
    llm = FakeLLM(plans)
    tools = FakeTools({"carry_out": lambda plan: tuple(unmet[plan.steps[0].goal])})
    state = learner.Mending(task_id="check", max_plans=max_plans)
    try:
        return run_graph(learner.GRAPH, state, Context(llm=llm, tools=tools), max_steps=30), llm, tools
    except StepLimitReached as error:
        return error.state, llm, tools


def _asked_again(learner: ModuleType) -> None:
    a, b, c = (_plan(learner, goal) for goal in "ABC")
    final, llm, tools = _run(learner, [a, b, a, c], {"A": ["x"], "B": ["y"], "C": []})
    hints = [request.context["hint"] for request in llm.requests]
    if any(hints[:3]):
        raise NotYet(f"a plan that was not tried before got a hint: {hints}. A first plan can't be a dead end.")
    if len(tools.calls) < 2 or len(hints) < 3:
        raise NotYet(
            f"plan A left x unmet, plan B left y, and the third plan was never asked for: the run ended as "
            f"{final.stage} ({final.route_reason}). The first failure, and a new one, are no reason to stop."
        )
    if len(tools.calls) > 2 and tools.calls[2].arguments["plan"] == a:
        raise NotYet(
            "plan A failed, plan B failed, then A came again and was carried out a second time. In make_plan, compare "
            'the new fingerprint with state.dead_ends, and ask once more with a hint (README, "The task", 2).'
        )
    if len(hints) != 4 or not hints[3]:
        raise NotYet(f"A came again: the model has to be asked once more, with a hint; the hints were {hints}")
    if final.stage is not learner.Stage.DONE:
        raise NotYet(f"asked once more, the model gave a plan that works; the run ended at {final.stage}, not done")


def _repeats(learner: ModuleType) -> str:
    a, b = _plan(learner, "A"), _plan(learner, "B")
    again = _plan(learner, " a.")
    final, llm, tools = _run(learner, [a, b, again, a, b, a, a, a, a], {"A": ["x"], "B": ["y"], " a.": ["x"]}, 9)
    if final.stage is not learner.Stage.PARTIAL or len(tools.calls) != 2:
        raise NotYet(
            f"A and B failed, then A came twice more, hint or not: {len(tools.calls)} plans were carried out and the "
            f"run stands at {final.stage}. Fuse 1: a dead end is not tried again: route_after_plan ends as partial."
        )
    if len(llm.requests) != 4:
        raise NotYet(f"the model was asked {len(llm.requests)} times where 4 was the limit: one hint, then the fuse")
    return _reason(final)


def _spends_all_plans(learner: ModuleType) -> str:
    plans = [_plan(learner, goal) for goal in "ABCDEFGHIJ"]
    final, _, _ = _run(learner, plans, {goal: ["x" if n % 2 else "y"] for n, goal in enumerate("ABCDEFGHIJ")}, 3)
    if final.stage is not learner.Stage.PARTIAL or final.plan_no != 3:
        raise NotYet(
            f"max_plans is 3, and no plan works: plan {final.plan_no} was made and the run stands at {final.stage}. "
            "Fuse 2: route_after_try ends as partial when the plans are spent."
        )
    beyond = learner.Mending(task_id="t", plan_no=4, max_plans=3, unmet=("x",))
    if learner.route_after_try(beyond).stage is not learner.Stage.PARTIAL:
        raise NotYet("4 plans were made where 3 are allowed, and route_after_try goes on: a fuse says >=, never ==")
    return _reason(final)


def _mends_nothing(learner: ModuleType) -> str:
    plans = [_plan(learner, goal) for goal in "ABCDEF"]
    final, _, _ = _run(learner, plans, {"A": ["x"], "B": ["y", "x"], **{goal: ["x"] for goal in "CDEF"}}, 6)
    if final.stage is not learner.Stage.PARTIAL or final.plan_no != 2:
        raise NotYet(
            f"plan 1 left x unmet, plan 2 left x and y: all that failed before fails still. The run went on to plan "
            f"{final.plan_no} and stands at {final.stage}. Fuse 3: it is not converging, so end as partial."
        )
    return _reason(final)


def _gets_there(learner: ModuleType) -> None:
    plans = [_plan(learner, goal) for goal in "ABC"]
    for told, unmet in (
        ("each plan left less unmet than the one before", {"A": ["x", "y"], "B": ["y"], "C": []}),
        ("new failures are another problem", {"A": ["x"], "B": ["y"], "C": []}),
    ):
        final, _, _ = _run(learner, plans, unmet, 3)
        if final.stage is not learner.Stage.DONE:
            raise NotYet(
                f"{told}, and the last plan that was allowed left nothing: this is done. The run ended at "
                f"{final.stage}: {final.route_reason}. Success first, then the fuses, and each no wider than it is."
            )


def _every_run(learner: ModuleType) -> None:
    stage = learner.Stage
    plans = [_plan(learner, goal) for goal in "ABC"]

    def tried(state):
        marks = (learner.fingerprint(state.plan),)
        for unmet in ((), ("x",), ("y",), ("x", "y")):
            yield {"unmet": unmet, "unmet_before": state.unmet, "dead_ends": marks if unmet else ()}

    outcomes = {
        stage.PLAN: lambda state: [{"plan": plan, "plan_no": state.plan_no + 1} for plan in plans],
        stage.TRY: tried,
    }
    laws = [
        terminates(),
        every_stage_reached(),
        budget_holds("plan_no", "max_plans"),
        never(stage.DONE, when=_unmet),
    ]
    report = explore(learner.GRAPH, learner.Mending(task_id="all", max_plans=3), outcomes, laws=laws, max_states=5000)
    if not report.ok:
        story = report.violations[0].story() if report.violations else str(report)
        raise NotYet(f"of all runs there are, this one is not right:\n{story}")


def _unmet(state) -> bool:
    return bool(state.unmet)


def _reason(state) -> str:
    if not state.route_reason.strip():
        raise NotYet(f"the run ended at {state.stage} without a reason: a Route says why")
    return state.route_reason.strip()
