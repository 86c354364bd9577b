"""PLAN takes a plan for data: held against the policy and the texts, corrected once, never stored when invalid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph_agent import FakeLLM, Reply, encode
from graph_agent.llm.edits import Edit
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import LinesRun, Observation, Plan, Stage, TaskState
from tests.workflows.repairing import (
    CODE,
    GREEN,
    POLICY,
    RIGHT,
    TESTS,
    WRONG,
    diagnosed,
    failed_once,
    one_step,
    plan_of,
    ran,
    repair_of,
    seen,
    task,
    verification,
    with_policy,
)

START = diagnosed(Stage.PLAN)


def planned(*script: Any, state: TaskState = START, policy: EvaluationPolicy = POLICY) -> tuple[TaskState, FakeLLM]:
    with FakeLLM(script) as llm:
        return one_step(state, llm=llm, policy=policy), llm


def data(**fields: Any) -> dict[str, Any]:
    return {**encode(plan_of(RIGHT)), **fields}


def test_a_valid_plan_is_carried_out_next() -> None:
    after, llm = planned(plan_of(RIGHT, claim="all is well"))
    assert (after.stage, after.spent_turns) == (Stage.EXECUTE, 1)
    assert after.plan == plan_of(RIGHT, claim="all is well")
    assert after.observations == START.observations
    assert len(llm.requests) == 1


def test_what_the_model_is_shown() -> None:
    _, llm = planned(plan_of(RIGHT))
    context = llm.requests[0].context
    assert context["request"] == START.request
    assert context["files"] == {"shop.py": CODE}
    assert list(context["other_files"]) == ["tests/test_shop.py"]
    assert "AssertionError" in context["failing_output"]
    assert [one["id"] for one in context["observations"]] == ["O1", "O2", "O3", "O4"]
    assert context["may_be_changed"] == {"files": ["shop.py"], "at_most": 3}
    assert not {"tried", "verification"} & set(context), "nothing was tried yet"
    assert "/runs" not in repr(llm.requests[0]), "no absolute path"


def test_the_model_is_shown_which_lines_the_tests_ran_and_how_many_tests_ran_each() -> None:
    run = LinesRun(path="shop.py", failing=(2,), passing=(2, 3), failing_tests=(1,), passing_tests=(7, 1))
    hidden = LinesRun(path="not_read.py", failing=(1,))
    traced = Observation(id="O5", source="trace_tests", text="", lines=(run, hidden))
    _, llm = planned(plan_of(RIGHT), state=diagnosed(Stage.PLAN, observations=(*seen(), traced)))
    assert llm.requests[0].context["lines"] == {
        "shop.py": {
            "failing": (2,),
            "passing": (2, 3),
            "traceback": (),
            "failing_tests": (1,),
            "passing_tests": (7, 1),
            "failed": 1,
        }
    }


INVALID: dict[str, tuple[Any, str]] = {
    "prose": ("I would multiply.", "JSON"),
    "a field missing": ({"hypothesis": "x"}, "steps"),
    "a field of a wrong type": (data(steps="one"), "steps"),
    "no steps": (data(steps=[]), "steps is empty"),
    "blank steps": (data(steps=["  "]), "steps is empty"),
    "no edits": (data(edits=[], files_to_change=[]), "edits is empty"),
    "no cite": (data(cites=[]), "cites names nothing"),
    "a cite of nothing": (data(cites=["O2", "O99"]), "O99"),
    "a cite of a verification that is not there": (data(cites=["V1"]), "V1"),
    "a file that was not declared": (data(files_to_change=["other.py"]), "files_to_change does not name"),
    "a protected file": (
        plan_of(Edit(path="tests/test_shop.py", old="== 180", new="== 190")),
        "tests/test_shop.py may not be changed",
    ),
    "the test settings": (plan_of(Edit(path="conftest.py", old="a", new="b")), "conftest.py may not be changed"),
    "a file outside of the allow-list": (plan_of(Edit(path="README.md", old="a", new="b")), "may not be changed"),
    "a path that climbs": (plan_of(Edit(path="../shop.py", old="a", new="b")), "was not shown"),
    "a file that was not shown": (plan_of(Edit(path="secret.py", old="a", new="b")), "was not shown"),
    "a text that is not there": (plan_of(Edit(path="shop.py", old="sum(price)", new="0")), "does not apply"),
    "a text that is there twice": (plan_of(Edit(path="shop.py", old="prices)", new="p)")), "does not apply"),
    "an edit that changes nothing": (plan_of(replace(RIGHT, new=RIGHT.old)), "shop.py"),
    "no Python after it": (plan_of(replace(RIGHT, new="sum(prices")), "would not be Python"),
}


@pytest.mark.parametrize(("answer", "fault"), INVALID.values(), ids=INVALID)
def test_an_invalid_plan_is_corrected_once_and_the_model_sees_its_fault(answer: Any, fault: str) -> None:
    after, llm = planned(answer, plan_of(RIGHT))
    assert after.stage is Stage.EXECUTE
    assert after.plan == plan_of(RIGHT)
    again = llm.requests[1].context
    assert fault in again["what_was_wrong"]
    assert again["your_last_answer"]
    added = after.observations[len(START.observations) :]
    assert [(one.id, one.source) for one in added] == [("O5", "plan check")]
    assert fault in added[0].text


@pytest.mark.parametrize(("answer", "fault"), INVALID.values(), ids=INVALID)
def test_a_plan_that_stays_invalid_goes_to_a_person_and_is_not_stored(answer: Any, fault: str) -> None:
    after, _ = planned(answer, answer)
    assert after.stage is Stage.HUMAN
    assert fault in after.route_reason
    assert after.plan is None
    assert [one.source for one in after.observations[4:]] == ["plan check"] * 2
    assert after.spent_turns == 2


@pytest.mark.parametrize(("finish", "word"), [("length", "cut"), ("refused", "refused")])
def test_a_cut_or_refused_answer_is_not_asked_again(finish: Any, word: str) -> None:
    after, llm = planned(Reply(text='{"hypothesis": "x"', finish=finish))
    assert after.stage is Stage.HUMAN
    assert word in after.route_reason
    assert len(llm.requests) == 1


def test_too_many_files_are_refused() -> None:
    files = {f"m{n}.py": "x = 1\n" for n in range(3)}
    read = tuple(
        Observation(id=f"O{n}", source="read_file", text=text, path=path)
        for n, (path, text) in enumerate(files.items(), 5)
    )
    many = plan_of(*(Edit(path=path, old="x = 1", new="x = 2") for path in files))
    after, _ = planned(
        many, many, state=diagnosed(Stage.PLAN, observations=(*seen(), *read)), policy=with_policy(max_files=2)
    )
    assert after.stage is Stage.HUMAN
    assert "change 3 files, at most 2" in after.route_reason


@pytest.mark.parametrize(
    "state",
    [
        task(Stage.PLAN),
        diagnosed(Stage.PLAN, observations=seen()[:2]),
        diagnosed(Stage.PLAN, observations=(seen()[0], *seen()[2:])),
        diagnosed(Stage.PLAN, observations=seen(GREEN)),
        diagnosed(Stage.PLAN, observations=seen(ran("no tests ran", 5))),
    ],
    ids=["nothing", "no source", "no run", "a green run", "a run of no test"],
)
def test_without_evidence_no_model_is_asked(state: TaskState) -> None:
    after, llm = planned(state=state)
    assert after.stage is Stage.HUMAN
    assert "evidence is incomplete" in after.route_reason
    assert llm.requests == []


def test_the_failing_run_of_several_is_the_one_that_is_shown() -> None:
    check = seen(ran("no tests ran", 5))[1].check
    assert check is not None
    other = Observation(id="O9", source="run_command lint", text="no tests ran", check=replace(check, command="lint"))
    _, llm = planned(plan_of(RIGHT), state=diagnosed(Stage.PLAN, observations=(other, *seen())))
    assert "AssertionError" in llm.requests[0].context["failing_output"]


def test_a_plan_that_a_person_wants_to_see_waits_for_them() -> None:
    after, _ = planned(plan_of(RIGHT), state=diagnosed(Stage.PLAN, approve=("plan",)))
    assert after.stage is Stage.HUMAN
    assert "waits for approval" in after.route_reason
    assert after.plan == plan_of(RIGHT)


FUNCTION = with_policy(formats=("function", "replace"))
FENCE = """\
The discount is a percentage.
```python
def total(prices, discount):
    return sum(prices) * (100 - discount) / 100
```
"""


def test_a_whole_function_in_a_fence_becomes_a_plan() -> None:
    after, llm = planned(FENCE, policy=FUNCTION)
    assert after.stage is Stage.EXECUTE
    assert after.plan is not None
    assert after.plan.hypothesis == "The discount is a percentage."
    assert after.plan.files_to_change == ("shop.py",)
    assert "O2" in after.plan.cites
    assert "Example" in llm.requests[0].instructions, "a weak model needs a worked example"
    assert llm.requests[0].schema is None


def test_a_whole_file_in_a_fence_becomes_a_plan() -> None:
    whole = CODE.replace(RIGHT.old, RIGHT.new)
    after, _ = planned(f"```python\n# shop.py\n{whole}```", policy=with_policy(formats=("file",)))
    assert after.stage is Stage.EXECUTE
    assert after.plan is not None
    assert [edit.path for edit in after.plan.edits] == ["shop.py"]


def test_after_an_invalid_answer_the_next_format_is_asked_for() -> None:
    after, llm = planned("No idea.", plan_of(RIGHT), policy=FUNCTION)
    assert after.plan == plan_of(RIGHT)
    assert [request.schema is None for request in llm.requests] == [True, False]
    assert llm.requests[1].context["your_last_answer"] == "No idea."


def test_a_cut_fence_is_not_read_though_it_looks_whole() -> None:
    after, llm = planned(Reply(text=FENCE, finish="length"), policy=FUNCTION)
    assert (after.stage, after.plan) == (Stage.HUMAN, None)
    assert len(llm.requests) == 1


def test_a_fence_with_a_function_that_is_not_there_is_shown_its_fault() -> None:
    after, llm = planned("```python\ndef other():\n    return 1\n```", FENCE, policy=with_policy(formats=("function",)))
    assert after.stage is Stage.EXECUTE
    assert "other" in llm.requests[1].context["what_was_wrong"]


def again(**fields: Any) -> TaskState:
    """A person sends the run back to PLAN after two attempts failed."""
    known: dict[str, Any] = {
        "repairs": (repair_of(replace(RIGHT, new="sum(prices)")),),
        "verifications": (verification(), verification(id="V2", attempt=1)),
        "retries": 1,
    }
    return failed_once(Stage.PLAN, **{**known, **fields})


def test_a_new_plan_after_failures_knows_what_was_tried_and_takes_their_place() -> None:
    after, llm = planned(plan_of(RIGHT, cites=("V2",)), state=again())
    context = llm.requests[0].context
    assert [one["edits"][0]["new"] for one in context["tried"]] == [WRONG.new, "sum(prices)"]
    assert context["verification"]["id"] == "V2"
    assert after.stage is Stage.EXECUTE
    assert after.plan_now == plan_of(RIGHT, cites=("V2",))
    assert [one.plan for one in after.attempts if one.plan] == [
        plan_of(WRONG),
        plan_of(replace(RIGHT, new="sum(prices)")),
        plan_of(RIGHT, cites=("V2",)),
    ]
    assert after.attempt == 2


def test_an_attempt_that_failed_is_not_made_again() -> None:
    same = plan_of(WRONG, hypothesis="in other words")
    after, _ = planned(same, same, state=again())
    assert after.stage is Stage.HUMAN
    assert "those of attempt 0, which was verified and failed" in after.route_reason
    assert after.plan == plan_of(WRONG), "what stood there stays"
    assert after.former_plans == ()


def test_a_claim_is_kept_and_is_no_evidence() -> None:
    after, _ = planned(plan_of(WRONG, claim="all tests pass now"))
    assert isinstance(after.plan, Plan)
    assert after.plan.claim == "all tests pass now"
    assert after.verifications == ()
    assert TESTS.text in after.observations[1].source
