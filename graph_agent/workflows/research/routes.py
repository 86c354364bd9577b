"""The routes of a research: every decision on where to go next, each a pure function of the facts that nodes left.

- Evidence first: DONE is reached by an answer whose every round passed the judge and whose citations were read back.
- Budget before hope: what is spent is looked at before another try, and rounds and replans only grow, so runs end.
- What can't be told goes to a person; what can't be done ends as a partial answer that says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from graph_agent.runtime.graph import BACK, Question, Route
from graph_agent.workflows.research.state import Decision, ResearchState, Stage, Verdict

MORE_ROUNDS, MORE_REPLANS, MORE_TURNS = 6, 2, 20


def route_after_plan(state: ResearchState) -> Route:
    if not state.goal.strip():
        return Route(Stage.FAILED, "the goal is empty: there is nothing to find out")
    if state.blocked:
        return Route(Stage.GIVE_UP, state.blocked)
    if state.plan is None:
        return Route(Stage.HUMAN, "there is no plan")
    if state.plan.unclear:
        return Route(Stage.HUMAN, f"the goal is unclear: {state.plan.unclear}")
    if not state.layer:
        return Route(Stage.HUMAN, "the plan has no steps")
    if not _plan_approved(state):
        return Route(Stage.APPROVE, f"plan {state.plan_no} waits for approval: {_steps(state)}")
    return _enter_layer(state, f"plan {state.plan_no}: {_steps(state)}")


def route_after_execute(state: ResearchState) -> Route:
    here = state.latest_results
    return Route(Stage.VERIFY, f"{len(here)} of {len(state.layer)} steps have a result, {len(state.evidence)} evidence")


def route_after_verify(state: ResearchState) -> Route:
    verdict = state.verdict
    if verdict is None or not state.holds:
        return Route(Stage.FINALIZE, _counted(state, "the verdict is missing or malformed, so nothing new counts"))
    passed = verdict.status == "PASS"
    if passed and state.is_last:
        return Route(Stage.FINALIZE, _counted(state, verdict.reason))
    if state.rounds >= state.max_rounds:
        return Route(Stage.FINALIZE, _counted(state, f"the rounds are spent; {verdict.reason}"))
    if state.replans >= state.max_replans and verdict.scope == "global":
        return Route(Stage.FINALIZE, _counted(state, f"the replans are spent; {verdict.reason}"))
    if not_converging(state, verdict):
        why = f"not converging, the new plan fails as the one before; {verdict.reason}"
        return Route(Stage.GIVE_UP, _counted(state, why))
    if verdict.status == "BLOCKED" or verdict.disputed or _unknown_twice(state):
        return Route(Stage.HUMAN, _counted(state, verdict.reason))
    if passed and verdict.refuted:
        return Route(Stage.PLAN, _counted(state, f"what the plan rests on is refuted: {verdict.refuted}"))
    if passed:
        return Route(Stage.ADVANCE, _counted(state, verdict.reason))
    if verdict.scope == "global":
        return Route(Stage.PLAN, _counted(state, f"the plan has failed; {verdict.reason}"))
    return Route(Stage.EXECUTE, _counted(state, verdict.reason))


def route_after_advance(state: ResearchState) -> Route:
    return _enter_layer(state, f"layer {state.cursor + 1} of {len(state.plan.layers) if state.plan else 0}")


def route_after_finalize(state: ResearchState) -> Route:
    if state.answer is None:
        return Route(Stage.HUMAN, "no answer was written")
    if "finish" in state.approve and state.answer.fingerprint not in state.approval:
        return Route(Stage.HUMAN, f"the {state.answer.status} answer waits for approval")
    if state.is_complete and state.answer.status == "complete":
        return Route(Stage.DONE, f"answered, with {len(state.answer.sources)} sources read back")
    return Route(Stage.PARTIAL, state.answer.why or "not all that was asked is answered")


def route_after_give_up(state: ResearchState) -> Route:
    return Route(Stage.PARTIAL, (state.answer.why if state.answer else "") or "given up")


def route_after_approve(state: ResearchState) -> Route:
    if state.give_up:
        return Route(Stage.GIVE_UP, "a person gave up")
    if decision_of(state) == "plan" or _goal_changed(state):
        return Route(Stage.PLAN, "a person wants it planned anew")
    return Route(Stage.EXECUTE, "a person approves")


def route_after_human(state: ResearchState) -> Route:
    """By a person's word where they gave one, else by what they changed."""
    decided = decision_of(state)
    if state.give_up:
        return Route(Stage.GIVE_UP, "a person gave up")
    if decided == "plan" or _goal_changed(state):
        return Route(Stage.PLAN, "a person wants it planned anew")
    if decided == "execute":
        return Route(Stage.EXECUTE, "a person wants the steps tried again")
    if decided == "finalize":
        return Route(Stage.FINALIZE, "a person wants the answer as far as it goes")
    if state.fresh_notes and state.came_from is Stage.PLAN:
        return Route(Stage.PLAN, "a person added what was missing")
    if state.fresh_notes and state.came_from in (Stage.VERIFY, Stage.FINALIZE) and state.layer:
        return Route(Stage.EXECUTE, "a person added what was missing")
    return Route(BACK, "a person lets the run go on")


def not_converging(state: ResearchState, verdict: Verdict) -> bool:
    """After a replan: what fails now, as a whole again, is at least all that failed then. Other failures are news."""
    former = set(state.dead_ends[-1].failed) if state.dead_ends else set()
    return verdict.scope == "global" and bool(former) and former <= set(verdict.failed)


def needs_approval(state: ResearchState) -> str:
    """What the layer at the cursor must be approved for; "" for nothing."""
    asking = [step for step in state.layer if step.id in state.asks]
    if not asking or state.layer_fingerprint in state.approval:
        return ""
    return f"the layer uses {', '.join(dict.fromkeys(step.tool for step in asking))}, which does more than read"


def ask_person(state: ResearchState) -> Question:
    """Why the run stands here, with what an approval would be for."""
    shown = {
        "why": state.route_reason,
        "plan": (state.plan_fingerprint, state.plan),
        "results": (state.results_fingerprint, state.latest_results),
        "answer": state.answer,
    }
    asked = f"{state.route_reason}. Go on, and how?"
    return Question(asked, choices={"approval": _wanted(state)}, shown=shown, offers=offers_of(state))


def offers_of(state: ResearchState) -> dict[str, dict[str, Any]]:
    """The answers that make sense where the run stands and that would be taken, the likeliest first."""
    return {words: patch for words, patch in _answers(state) if _would_do(state, patch)}


def _answers(state: ResearchState) -> Iterator[tuple[str, dict[str, Any]]]:
    more: dict[str, Any] = {}
    if state.rounds >= state.max_rounds:
        more["max_rounds"] = state.rounds + MORE_ROUNDS
    if _turns_spent(state):
        more["max_turns"] = state.spent_turns + MORE_TURNS
    allowing = f"allow more ({', '.join(f'{name} {value}' for name, value in more.items())})"
    if wanted := _wanted(state):
        words = f"approve the {' and the '.join(one.split()[0] for one in wanted)}"
        yield words, {"approval": wanted}
        if more and state.stage is Stage.APPROVE:
            yield f"{words} and {allowing}", {"approval": wanted, **more}
    if more:
        yield f"{allowing} and go on", more
    yield "go on as it is", {}
    replans = {"max_replans": state.replans + MORE_REPLANS} if state.replans >= state.max_replans else {}
    yield "have it planned anew", {**_decision(state, "plan"), **more, **replans}
    yield "have the steps tried again", {**_decision(state, "execute"), **more}
    yield "take the answer as far as it goes", _decision(state, "finalize")
    yield "give up", {"give_up": True}


def _decision(state: ResearchState, to: Literal["back", "plan", "execute", "finalize"]) -> dict[str, Any]:
    return {"decisions": (Decision(pause=f"{state.task_id}:{state.steps}", to=to),)}


def _would_do(state: ResearchState, patch: dict[str, Any]) -> bool:
    grown = {name: (*getattr(state, name), *value) for name, value in patch.items() if isinstance(value, tuple)}
    return refuse_answer(replace(state, **(patch | grown))) is None


def refuse_answer(state: ResearchState) -> str | None:
    """Why an answer won't do, seen on the state that it would make. It holds for both pauses."""
    if state.give_up:
        return None
    if not state.goal.strip():
        return "goal is empty: say what is to be found out, or give up"
    if not all(map(str.strip, state.fresh_notes)):
        return "a note is empty: say in it what is to be known, or leave notes out"
    if state.max_rounds < state.rounds or state.max_replans < state.replans:
        return f"{state.rounds} rounds and {state.replans} replans are spent: no limit can be below that"
    state = replace(state, steps=state.steps + 1)  # as the router will see it
    at_approve = state.stage is Stage.APPROVE
    route = route_after_approve(state) if at_approve else route_after_human(state)
    target = state.came_from if route.stage is BACK else route.stage
    decided = decision_of(state)
    refused = None
    if decided != "plan" and not _goal_changed(state):
        refused = _refused_at_approve(state, decided) if at_approve else _refused_at_human(state, decided, target)
    return refused or _beyond_the_budget(state, target)


def _refused_at_approve(state: ResearchState, decided: str) -> str | None:
    if decided == "finalize":
        return "nothing is finished here: approve, have it planned anew, or give up, which keeps what stands"
    return f"it waits for approval of {_waiting(state)}: {_ways(state)}" if _waiting(state) else None


def _refused_at_human(state: ResearchState, decided: str, target: Any) -> str | None:
    if decided in ("execute", "finalize") and not state.layer:
        return "there is no plan to carry out or to finish: let it be planned, or give up"
    if target is Stage.EXECUTE and not _plan_approved(state):
        return "nobody has approved this plan: have it planned anew, or give up"
    if target is Stage.EXECUTE and needs_approval(state):
        return f"{needs_approval(state)}: have it planned anew, or give up"
    unclear = state.plan is not None and state.plan.unclear
    if target is Stage.PLAN and unclear and not state.fresh_notes:
        return "the goal is still unclear: change goal, add what is asked for to notes, or give up"
    if target is Stage.FINALIZE and _waiting(state):
        return f"it waits for approval of {_waiting(state)}: {_ways(state)}"
    blocked = state.verdict is not None and state.verdict.status == "BLOCKED"
    if target is Stage.VERIFY and blocked:
        return "information from outside is needed: add it to notes, take the answer as far as it goes, or give up"
    return None


def _beyond_the_budget(state: ResearchState, target: Any) -> str | None:
    """What an answer must raise as well, so that the run does not go beyond it."""
    works = target in (Stage.PLAN, Stage.EXECUTE)
    if (works or target in (Stage.VERIFY, Stage.ADVANCE)) and state.rounds >= state.max_rounds:
        return f"{state.rounds} of {state.max_rounds} rounds are spent: raise max_rounds too"
    if target is Stage.PLAN and state.has_failed and state.replans >= state.max_replans:
        return f"{state.replans} of {state.max_replans} replans are spent: raise max_replans too"
    if works and _turns_spent(state):
        return f"{state.spent_turns} of {state.max_turns} turns are spent: raise max_turns too, or give up"
    return None


def decision_of(state: ResearchState) -> str:
    """What a person decided at the pause just left; "" for nothing. One for another pause does not count."""
    latest = state.decisions[-1] if state.decisions else None
    return latest.to if latest is not None and latest.pause == f"{state.task_id}:{state.steps - 1}" else ""


def _enter_layer(state: ResearchState, why: str) -> Route:
    needed = needs_approval(state)
    return Route(Stage.APPROVE, f"{needed}; {why}") if needed else Route(Stage.EXECUTE, why)


def _plan_approved(state: ResearchState) -> bool:
    return "plan" not in state.approve or state.plan_fingerprint in state.approval


def _wanted(state: ResearchState) -> tuple[str, ...]:
    """The fingerprints whose approval would help here, all of them needed."""
    found: tuple[str, ...] = ()
    if state.stage is Stage.APPROVE:
        plan = "" if _plan_approved(state) else state.plan_fingerprint
        found = (plan, state.layer_fingerprint if needs_approval(state) else "")
    elif state.came_from is Stage.FINALIZE and state.answer is not None:
        found = (state.answer.fingerprint,)
    elif state.came_from is Stage.VERIFY and _may_be_accepted(state):
        found = (state.results_fingerprint,)
    return tuple(filter(None, found))


def _may_be_accepted(state: ResearchState) -> bool:
    """A person may stand in for a judge, not for the layers below: they have passed."""
    verdict = state.verdict
    return verdict is not None and verdict.layer == "goal" and verdict.status == "UNKNOWN"


def _waiting(state: ResearchState) -> str:
    """What has to be approved before the run can go on; "" for nothing."""
    if state.stage is Stage.APPROVE:
        plan = "" if _plan_approved(state) else "the plan"
        return " and ".join(filter(None, (plan, "the layer's effects" if needs_approval(state) else "")))
    unapproved = state.answer is not None and state.answer.fingerprint not in state.approval
    return "the answer" if state.came_from is Stage.FINALIZE and "finish" in state.approve and unapproved else ""


def _ways(state: ResearchState) -> str:
    return f"add {', '.join(map(repr, _wanted(state)))} to approval, give another goal, or give up"


def _turns_spent(state: ResearchState) -> bool:
    return state.max_turns is not None and state.spent_turns >= state.max_turns


def _goal_changed(state: ResearchState) -> bool:
    return state.planned_goal != "" and state.goal != state.planned_goal


def _unknown_twice(state: ResearchState) -> bool:
    last = [one for one in state.verdicts if (one.plan, one.cursor) == (state.plan_no, state.cursor)][-2:]
    return len(last) == 2 and all(one.status == "UNKNOWN" for one in last)


def _steps(state: ResearchState) -> str:
    return " | ".join(", ".join(step.id for step in layer) for layer in state.plan.layers) if state.plan else "none"


def _counted(state: ResearchState, why: str) -> str:
    layers = len(state.plan.layers) if state.plan else 0
    score = f"{state.verdict.score:.2f}" if state.verdict else "none"
    return (
        f"rounds {state.rounds}/{state.max_rounds}, replans {state.replans}/{state.max_replans}, "
        f"cursor {state.cursor + 1}/{layers}, score {score}: {why}"
    )
