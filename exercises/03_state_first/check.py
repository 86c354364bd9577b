"""Every stage tries to write every field; then two runs are made in one process, which must not know of each other."""

from dataclasses import fields, replace

from exercises.course import NotYet
from graph_agent import GraphState, NodeError, PatchError, RouteError, StepLimitReached, apply_patch, run_graph

BUILDS_ON = ("02_a_loop",)

OWNERS = {"plan": "plan", "code": "execute", "passed": "verify", "max_tries": "human", "request": None}
SAMPLE = {"plan": "1 + 1", "code": "1 + 1", "passed": True, "max_tries": 5, "request": "Do something else."}


def check(learner):
    check_owners(learner.GRAPH, learner.Mending)
    check_no_clock(learner.Mending)
    check_what_was_left_out(learner)


def check_owners(graph, state_class):
    own = {one.name for one in fields(state_class)}
    for name in OWNERS:
        if name not in own:
            raise NotYet(f"The state has no field {name!r} any more. It is needed: see start.py.")
    here = {stage.value: stage for stage in graph.nodes}
    for name, owner in OWNERS.items():
        for stage in here.values():
            allowed = is_allowed(graph, state_class, stage, name)
            if allowed and stage.value != owner:
                raise NotYet(illegal(stage, name, owner))
            if not allowed and stage.value == owner:
                raise NotYet(f"{stage.value} may not write `{name}` any more, and it has to. Give it back.")


def is_allowed(graph, state_class, stage, name):
    state = replace(state_class(task_id="check"), stage=stage)
    try:
        apply_patch(graph, state, {name: SAMPLE[name]})
    except PatchError:
        return False
    return True


def illegal(stage, name, owner):
    if name == "passed":
        return (
            f"{stage.value} returned {{'passed': True}}, and nobody stopped it: no test has run, and the run would be "
            "done. Make this patch illegal: in the table, `passed` should have one owner, the stage where the test "
            "runs. Then no field is left that has to stand in `shared`."
        )
    whose = f"it belongs to {owner}" if owner else "it is a constant of the run: no stage owns it"
    return f"{stage.value} may write `{name}`, but {whose}."


def check_no_clock(state_class):
    one, other = state_class(task_id="check"), state_class(task_id="check")
    for field in fields(state_class):
        if getattr(one, field.name) != getattr(other, field.name):
            raise NotYet(
                f"Two states that were just made, with the same task_id, are not equal: `{field.name}` differs. A "
                "state holds what decides, and what time it is decides nothing here. Equal runs should have equal "
                "states, so that you can compare them. Times belong into the record of the run. Take the field out."
            )


def check_what_was_left_out(learner):
    first = finished(learner)
    second = finished(learner)
    if first.code != learner.RIGHT:
        raise NotYet(f"The run should end with the code {learner.RIGHT!r}, but it is {first.code!r}.")
    if first != second:
        raise NotYet(
            f"The same task was run twice in one process. The first run took {first.steps} steps, the second "
            f"{second.steps}. The second knows something of the first that is in no field of the state: the global "
            "`tries`. A number that decides where the run goes must be a field, or it is lost in a crash and shared "
            "between runs."
        )
    own = {one.name for one in fields(learner.Mending)} - {one.name for one in fields(GraphState)}
    if "tries" not in own:
        raise NotYet("The state has no field `tries`: how many plans were made decides where the run goes.")
    if first.tries != 2:
        raise NotYet(f"The run made two plans, and `tries` is {first.tries}. Whoever makes a plan should count it.")
    counted = [stage.value for stage, entry in learner.GRAPH.nodes.items() if "tries" in entry.owns]
    if counted != ["plan"]:
        raise NotYet(f"`tries` is owned by {', '.join(counted) or 'nobody'}. It belongs to the stage that makes plans.")


def finished(learner):
    try:
        state = run_graph(learner.GRAPH, learner.Mending(task_id="check"), max_steps=50)
    except StepLimitReached:
        raise NotYet("After 50 steps the run goes on still. Does the route see that the tries are spent?") from None
    except (PatchError, RouteError, NodeError) as error:
        raise NotYet(f"The run was stopped by the runtime: {error}") from error
    if state.stage.value != "done":
        raise NotYet(f"The second plan is right, but the run ended at {state.stage.value}: {state.route_reason}")
    return state
