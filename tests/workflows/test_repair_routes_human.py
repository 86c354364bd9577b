"""Where HUMAN leads: a person's word first, then what they approved, else back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import BACK
from graph_agent.runtime.graph import Back
from graph_agent.workflows.repair import routes
from graph_agent.workflows.repair.state import Decision, Stage, TaskState
from tests.workflows.repairing import RIGHT, changed, diagnosed, plan_of
from tests.workflows.test_repair_routes import BLOCKED, FAIL, PASS


def at_human(*decisions: tuple[str, str], **fields: Any) -> TaskState:
    """At the pause `t:7`, with decisions as (pause, to)."""
    known: dict[str, Any] = {
        "came_from": Stage.VERIFY,
        "steps": 7,
        "plan": plan_of(RIGHT),
        "changes": (changed(RIGHT),),
        "decisions": tuple(Decision(pause=pause, to=to) for pause, to in decisions),  # type: ignore[arg-type]
    }
    return diagnosed(Stage.HUMAN, **{**known, **fields})


def approved(what: str, *decisions: tuple[str, str], **fields: Any) -> TaskState:
    """With an approval of what would be shown now."""
    state = at_human(*decisions, **fields)
    return replace(state, approval=(getattr(state, f"{what}_fingerprint"),))


PLANNED: dict[str, Any] = {"came_from": Stage.PLAN, "approve": ("plan",), "changes": ()}
PASSED: dict[str, Any] = {"verifications": (PASS,)}
FAILED: dict[str, Any] = {"verifications": (FAIL,)}
CARRIED_OUT, ACCEPTED, GOES_ON = "lets the plan be carried out", "accepts the verified patch", "lets the run go on"

AFTER_HUMAN: list[tuple[str, TaskState, Stage | Back, str]] = [
    ("nothing said", at_human(), BACK, GOES_ON),
    ("gives up", at_human(give_up=True), Stage.FAILED, "a person gave up"),
    ("gives up, whatever was decided", at_human(("t:7", "plan"), give_up=True), Stage.FAILED, "gave up"),
    ("plan", at_human(("t:7", "plan")), Stage.PLAN, "asks for a new plan"),
    ("execute", at_human(("t:7", "execute")), Stage.EXECUTE, CARRIED_OUT),
    ("verify", at_human(("t:7", "verify")), Stage.VERIFY, "asks for another verification"),
    ("back", at_human(("t:7", "back")), BACK, GOES_ON),
    ("done", at_human(("t:7", "done"), **PASSED), Stage.DONE, ACCEPTED),
    ("done, of what failed", at_human(("t:7", "done"), **FAILED), BACK, GOES_ON),
    ("done, of what was never verified", at_human(("t:7", "done")), BACK, GOES_ON),
    ("passed, and nothing said", at_human(**PASSED), BACK, GOES_ON),
    ("decided at the pause just left", at_human(("t:6", "plan")), Stage.PLAN, "asks for a new plan"),
    ("decided at an older pause", at_human(("t:5", "plan")), BACK, GOES_ON),
    ("decided at a pause to come", at_human(("t:8", "plan")), BACK, GOES_ON),
    ("decided in another run", at_human(("u:7", "plan")), BACK, GOES_ON),
    ("the latest decision counts", at_human(("t:3", "plan"), ("t:7", "verify"), ("t:7", "execute")), Stage.EXECUTE, ""),
    ("an older one last", at_human(("t:7", "plan"), ("t:3", "verify")), BACK, GOES_ON),
    ("the plan is approved", approved("plan", **PLANNED), Stage.EXECUTE, CARRIED_OUT),
    ("the repair is approved", approved("plan", **{**PLANNED, "came_from": Stage.REPAIR}), Stage.EXECUTE, CARRIED_OUT),
    ("approved, but it waited elsewhere", approved("plan", **{**PLANNED, "came_from": Stage.EXECUTE}), BACK, GOES_ON),
    ("approved, but blocked", approved("plan", **PLANNED, **BLOCKED), BACK, GOES_ON),
    ("approved, but there is no plan", approved("plan", **{**PLANNED, "plan": None}), BACK, GOES_ON),
    ("not approved", at_human(**PLANNED), BACK, GOES_ON),
    ("no approval was asked for", at_human(**{**PLANNED, "approve": ()}), BACK, GOES_ON),
    ("approval of the patch was asked for", at_human(**{**PLANNED, "approve": ("finish",)}), BACK, GOES_ON),
    ("the plan is approved, but back", approved("plan", ("t:7", "back"), **PLANNED), BACK, GOES_ON),
    ("the plan is approved, but plan anew", approved("plan", ("t:7", "plan"), **PLANNED), Stage.PLAN, "a new plan"),
    ("the patch is approved", approved("patch", **PASSED), Stage.DONE, ACCEPTED),
    ("the patch is approved, but failed", approved("patch", **FAILED), BACK, GOES_ON),
    ("the patch is approved, but never verified", approved("patch"), BACK, GOES_ON),
    ("the patch is approved, but back", approved("patch", ("t:7", "back"), **PASSED), BACK, GOES_ON),
]


@pytest.mark.parametrize(
    ("state", "stage", "reason"), [row[1:] for row in AFTER_HUMAN], ids=[row[0] for row in AFTER_HUMAN]
)
def test_after_human(state: TaskState, stage: Stage | Back, reason: str) -> None:
    route = routes.route_after_human(state)
    assert route.stage is stage
    assert reason in route.reason
