"""The routes of a repair: every decision on where to go next, each a pure function of the facts that nodes left.

- Evidence first: DONE is reached on a PASS alone.
- Budget before hope: limits are looked at before another try is; what is spent only grows, so every run ends.
- Doubt goes to a person: only an empty request and a person's own word end at FAILED.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from graph_agent.runtime.graph import BACK, Question, Route
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.state import Decision, Stage, TaskState

MORE_RETRIES, MORE_TURNS = 2, 8  # what is offered where a budget is spent: two rounds of repair and execute, with room


def route_after_intake(state: TaskState) -> Route:
    if not state.request.strip():
        return Route(Stage.FAILED, "the request is empty: there is nothing to do")
    if state.blocked:
        return Route(Stage.HUMAN, state.blocked)
    return Route(Stage.DIAGNOSE, f"{len(state.baseline)} files taken down")


def route_after_diagnose(state: TaskState) -> Route:
    if state.blocked:
        return Route(Stage.HUMAN, state.blocked)
    seen = [one.check.reason for one in state.observations if one.check and one.check.verdict is not Verdict.PASS]
    return Route(Stage.PLAN, f"{len(state.observations)} observations, {seen[0] if seen else 'nothing ran'}")


def route_after_plan(state: TaskState) -> Route:
    if state.blocked:
        return Route(Stage.HUMAN, state.blocked)
    if state.plan is None:
        return Route(Stage.HUMAN, "there is no plan")
    if not state.plan_approved:
        return Route(Stage.HUMAN, f"the plan waits for approval: {state.plan.hypothesis}")
    return Route(Stage.EXECUTE, f"a valid plan: {state.plan.hypothesis}")


def route_after_execute(state: TaskState) -> Route:
    if state.blocked:
        return Route(Stage.HUMAN, state.blocked)
    written = [one.path for one in state.changes if one.attempt == state.attempt]
    return Route(Stage.VERIFY, f"written: {', '.join(written)}")


def route_after_verify(state: TaskState) -> Route:
    verification = state.verification
    if verification is None:
        return Route(Stage.HUMAN, "nothing was verified")
    if verification.verdict is Verdict.PASS and state.review:
        return Route(Stage.REVIEW, f"{verification.id} passed, a review was asked for")
    if verification.verdict is Verdict.PASS:
        return _finish(state, f"{verification.id} passed: {verification.reason}")
    why = f"{verification.id} is {verification.verdict.value}, {verification.reason}"
    spent = _turns_spent(state) or _retries_spent(state)
    if spent:
        return Route(Stage.HUMAN, f"{spent}; {why}")
    if verification.permission_problem:
        return Route(Stage.HUMAN, f"no edit can mend this: {verification.permission_problem}")
    if verification.verdict is Verdict.UNKNOWN:
        return Route(Stage.HUMAN, f"it can't be told whether this works; {why}")
    return Route(Stage.REPAIR, why)


def route_after_repair(state: TaskState) -> Route:
    if state.blocked:
        return Route(Stage.HUMAN, state.blocked)
    latest = state.repair
    if latest is None:
        return Route(Stage.HUMAN, "there is no repair")
    if latest.decision != "repair" or latest.plan is None:
        return Route(Stage.HUMAN, f"{latest.decision}: {latest.why}")
    if not state.plan_approved:
        return Route(Stage.HUMAN, f"the new plan waits for approval: {latest.why}")
    return Route(Stage.EXECUTE, f"retry {state.retries} of {state.max_retries}: {latest.why}")


def route_after_review(state: TaskState) -> Route:
    if state.blocked:
        return Route(Stage.HUMAN, state.blocked)
    if not state.reviews:
        return Route(Stage.HUMAN, "there is no review")
    if not _passed(state):
        return Route(Stage.HUMAN, "what was reviewed has not passed verification")
    if state.reviews[-1].blockers:
        return Route(Stage.HUMAN, f"the reviewer objects: {state.reviews[-1].blockers[0]}")
    return _finish(state, "verified, and the reviewer has no objection")


def route_after_human(state: TaskState) -> Route:
    """By a person's word where they gave one, else by what they changed."""
    decided = decision_of(state)
    if state.give_up:
        return Route(Stage.FAILED, "a person gave up")
    if decided == "plan":
        return Route(Stage.PLAN, "a person asks for a new plan")
    if decided == "execute" or (not decided and _waited_for_approval(state)):
        return Route(Stage.EXECUTE, "a person lets the plan be carried out")
    if decided == "verify":
        return Route(Stage.VERIFY, "a person asks for another verification")
    accepted = decided == "done" or (not decided and state.patch_fingerprint in state.approval)
    if accepted and _passed(state):
        return Route(Stage.DONE, "a person accepts the verified patch")
    return Route(BACK, "a person lets the run go on")


def ask_person(state: TaskState) -> Question:
    """Why the run stands at HUMAN, with what an approval would be for."""
    shown = {
        "why": state.route_reason,
        "risks": (state.risks_fingerprint, *state.risks),
        "plan": (state.plan_fingerprint, state.plan_now),
        "patch": (state.patch_fingerprint, state.verification),
    }
    may_be_approved = (state.risks_fingerprint, state.plan_fingerprint, state.patch_fingerprint)
    asked = f"{state.route_reason}. Go on, and how?"
    return Question(asked, choices={"approval": may_be_approved}, shown=shown, offers=offers_of(state))


def offers_of(state: TaskState) -> dict[str, dict[str, Any]]:
    """The answers that make sense where the run stands and that would be taken, the likeliest first."""
    return {words: patch for words, patch in _answers(state) if _would_do(state, patch)}


def _answers(state: TaskState) -> Iterator[tuple[str, dict[str, Any]]]:
    if state.risk == "high":
        yield "accept the risk and go on", {"approval": (state.risks_fingerprint,)}
    if not state.plan_approved:
        yield "approve the plan", {"approval": (state.plan_fingerprint,)}
    if _passed(state) and not state.patch_approved:
        yield "approve the patch", {"approval": (state.patch_fingerprint,)}
    if _passed(state):
        yield "accept the verified patch", _decision(state, "done")
    more: dict[str, Any] = {}
    if _retries_spent(state):
        more["max_retries"] = state.retries + MORE_RETRIES
    if _turns_spent(state):
        more["max_turns"] = state.spent_turns + MORE_TURNS
    if more:
        yield f"allow more ({', '.join(f'{name} {value}' for name, value in more.items())}) and go on", more
    yield "go on as it is", {}
    yield "have a new plan made", _decision(state, "plan") | more
    if state.plan_approved and state.risk == "low":  # else EXECUTE would send it back here
        yield "carry out the plan", _decision(state, "execute") | more
    yield "verify again", _decision(state, "verify")
    yield "give up", {"give_up": True}


def _decision(state: TaskState, to: Literal["back", "plan", "execute", "verify", "done"]) -> dict[str, Any]:
    return {"decisions": (Decision(pause=f"{state.task_id}:{state.steps}", to=to),)}


def _would_do(state: TaskState, patch: dict[str, Any]) -> bool:
    """Whether the answer is taken and leads away from here."""
    grown = {name: (*getattr(state, name), *value) for name, value in patch.items() if isinstance(value, tuple)}
    then = replace(state, **(patch | grown))
    route = route_after_human(then)
    return refuse_answer(then) is None and (route.stage is not BACK or state.came_from is not None)


def refuse_answer(state: TaskState) -> str | None:
    """Why an answer won't do, seen on the state that it would make."""
    if state.give_up:
        return None
    decided = decision_of(state)
    if decided == "done" and not _passed(state):
        return "nothing passed verification, so nothing can be accepted as done"
    if decided == "execute" and state.plan_now is None:
        return "there is no plan to carry out"
    if decided in ("plan", "verify") and not state.observations:
        return "nothing was looked at yet, so nothing can be planned on or verified: let the run go on instead"
    if state.max_retries < state.retries:
        return f"max_retries={state.max_retries} is below the {state.retries} that are spent"
    spends = {Stage.DIAGNOSE, Stage.PLAN, Stage.EXECUTE, Stage.REPAIR, Stage.REVIEW}
    route = route_after_human(state)
    target = state.came_from if route.stage is BACK else route.stage
    # back to VERIFY after a failure is for a repair, so a limit that is spent would only lead here again
    again = target is Stage.VERIFY and decided != "verify" and _verdict(state) is Verdict.FAIL
    other = "decide on 'verify' to run the same verification again" if again else "give up"
    turns, retries = _turns_spent(state), _retries_spent(state)
    if turns and (again or target in spends):
        return f"{turns}: raise max_turns, or {other}"
    if retries and (again or target is Stage.REPAIR):
        return f"{retries}: raise max_retries, or {other}"
    return None


def decision_of(state: TaskState) -> str:
    """What a person decided at this pause, or the one just left; "" for nothing. An older decision does not count."""
    here = {f"{state.task_id}:{state.steps - 1}", f"{state.task_id}:{state.steps}"}
    latest = state.decisions[-1] if state.decisions else None
    return latest.to if latest is not None and latest.pause in here else ""


def _finish(state: TaskState, why: str) -> Route:
    if not state.patch_approved:
        return Route(Stage.HUMAN, f"the patch waits for approval; {why}")
    return Route(Stage.DONE, why)


def _turns_spent(state: TaskState) -> str:
    spent = state.max_turns is not None and state.spent_turns >= state.max_turns
    return f"{state.spent_turns} of {state.max_turns} turns are spent" if spent else ""


def _retries_spent(state: TaskState) -> str:
    spent = state.retries >= state.max_retries
    return f"{state.retries} of {state.max_retries} retries are spent" if spent else ""


def _waited_for_approval(state: TaskState) -> bool:
    asked = "plan" in state.approve and state.came_from in (Stage.PLAN, Stage.REPAIR)
    return asked and not state.blocked and state.plan_now is not None and state.plan_approved


def _passed(state: TaskState) -> bool:
    return _verdict(state) is Verdict.PASS


def _verdict(state: TaskState) -> Verdict | None:
    return state.verification.verdict if state.verification else None
