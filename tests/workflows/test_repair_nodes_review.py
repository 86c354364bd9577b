"""REVIEW can stop a run, and can pass none."""

from __future__ import annotations

from graph_agent import FakeLLM, FakeTools, Reply, ToolError
from graph_agent.workflows.repair.state import Review, Stage
from tests.workflows.repairing import GREEN, RIGHT, diff_of, edited, failed_once, one_step, verification, with_policy

REVIEWED = failed_once(Stage.REVIEW, review=True, verifications=(verification(GREEN),))
DIFF = diff_of(edited(RIGHT))


def diffing() -> FakeTools:
    return FakeTools({"diff": DIFF})


def test_without_a_blocker_the_verified_patch_is_done() -> None:
    llm = FakeLLM([Review(blockers=(), comments=("a name could be shorter",))])
    after = one_step(REVIEWED, llm=llm, tools=diffing())
    assert after.stage is Stage.DONE
    assert after.reviews[-1].comments == ("a name could be shorter",)


def test_a_blocker_stops_the_run() -> None:
    after = one_step(REVIEWED, llm=FakeLLM([Review(blockers=("it breaks the count",))]), tools=diffing())
    assert after.stage is Stage.HUMAN
    assert "it breaks the count" in after.route_reason


def test_the_reviewer_sees_the_diff_and_the_evidence_and_neither_plan_nor_transcript() -> None:
    llm = FakeLLM([Review(blockers=())])
    one_step(REVIEWED, llm=llm, tools=diffing(), policy=with_policy(rules=("no global state",)))
    (request,) = llm.requests
    assert set(request.context) == {"request", "diff", "evidence", "project_rules"}
    assert request.context["diff"] == DIFF
    assert request.context["project_rules"] == ("no global state",)
    assert "the discount is a percentage" not in repr(request), "the plan's hypothesis is not for the reviewer"
    assert "O2" not in repr(request)


def test_what_is_no_review_is_no_approval() -> None:
    llm = FakeLLM(["Looks good to me!", "LGTM"])
    after = one_step(REVIEWED, llm=llm, tools=diffing())
    assert after.stage is Stage.HUMAN
    assert "no valid review" in after.route_reason
    assert after.reviews == ()
    llm.assert_consumed()


def test_a_refused_review_stops_the_run() -> None:
    after = one_step(REVIEWED, llm=FakeLLM([Reply(text="", finish="refused")]), tools=diffing())
    assert after.stage is Stage.HUMAN


def test_a_patch_that_cannot_be_shown_is_not_reviewed() -> None:
    llm = FakeLLM([])
    after = one_step(REVIEWED, llm=llm, tools=FakeTools({"diff": [ToolError("too_large", "The diff is too large.")]}))
    assert after.stage is Stage.HUMAN
    assert "The diff is too large" in after.route_reason
    assert llm.requests == []


def test_praise_after_a_blocked_review_of_earlier_does_not_hide_it() -> None:
    """A second visit that finds nothing to say must not finish on what the first one said."""
    earlier = failed_once(
        Stage.REVIEW, review=True, verifications=(verification(GREEN),), reviews=(Review(blockers=()),)
    )
    after = one_step(earlier, llm=FakeLLM(["no JSON", "none either"]), tools=diffing())
    assert after.stage is Stage.HUMAN
