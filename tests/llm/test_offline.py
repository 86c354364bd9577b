"""`MutationLLM` answers from the request alone, never proposes an edit twice, and says when it has no more."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import MutationLLM, Request, json_schema
from graph_agent.llm.edits import Edit, apply_edits
from graph_agent.llm.offline import OfflineError
from graph_agent.runtime.codec import decode
from graph_agent.workflows.repair.state import Plan, Repair, Review

CODE = """\
def total(prices, discount):
    if len(prices) > 1:
        return sum(prices) - discount
    return 0
"""
CONTEXT: dict[str, Any] = {
    "files": {"shop.py": CODE},
    "failing_output": 'File "shop.py", line 3, in total\nAssertionError: 10 != 20',
    "lines": {"shop.py": {"failing": [2, 3], "passing": [2, 4], "traceback": [3]}},
    "observations": [{"id": "O1", "source": "diff"}, {"id": "O2", "source": "plan check"}],
}
PLAN = Request(instructions="plan", context=CONTEXT, schema=json_schema(Plan))
REPAIR = Request(
    instructions="repair", context={**CONTEXT, "verification": {"id": "V1"}, "tried": []}, schema=json_schema(Repair)
)


def with_tried(request: Request, tried: list[dict[str, Any]]) -> Request:
    return replace(request, context={**request.context, "tried": tried})


def plan_from(text: str) -> Plan:
    return decode(Plan, json.loads(text))


def repair_from(text: str) -> Repair:
    return decode(Repair, json.loads(text))


def as_tried(plan: Plan) -> dict[str, Any]:
    return {"edits": [{"path": edit.path, "old": edit.old, "new": edit.new} for edit in plan.edits]}


def all_repairs(llm: MutationLLM, request: Request = REPAIR, most: int = 2_000) -> tuple[list[Plan], Repair]:
    """Every plan proposed, each told to the model as tried, and the answer that ends it."""
    plans: list[Plan] = []
    while len(plans) < most:
        repair = repair_from(llm.complete(with_tried(request, [as_tried(plan) for plan in plans])).text)
        if repair.plan is None:
            return plans, repair
        plans.append(repair.plan)
    raise AssertionError(f"{most} proposals and no end")


def test_a_plan_is_one_edit_that_applies_and_still_parses() -> None:
    plan = plan_from(MutationLLM().complete(PLAN).text)
    (edit,) = plan.edits
    assert plan.files_to_change == ("shop.py",)
    changed = apply_edits(CODE, [edit])
    assert changed != CODE
    compile(changed, "shop.py", "exec")
    assert plan.steps
    assert plan.hypothesis


def test_it_cites_what_was_observed_and_not_what_was_wrong_with_a_plan() -> None:
    assert plan_from(MutationLLM().complete(PLAN).text).cites == ("O1",)
    assert repair_from(MutationLLM().complete(REPAIR).text).cites == ("V1",)


def test_it_claims_nothing() -> None:
    assert plan_from(MutationLLM().complete(PLAN).text).claim == ""


def test_no_edit_is_proposed_twice_and_no_program_either() -> None:
    plans, last = all_repairs(MutationLLM())
    assert len(plans) > 30
    assert len({plan.edits for plan in plans}) == len(plans)
    programs = {apply_edits(CODE, plan.edits) for plan in plans}
    assert len(programs) == len(plans)
    assert CODE not in programs
    assert last.decision == "human_review"


def test_when_nothing_is_left_a_person_is_asked() -> None:
    plans, last = all_repairs(MutationLLM())
    assert (last.decision, last.plan, last.cites) == ("human_review", None, ("V1",))
    assert last.why == f"no more candidates: each of the {len(plans)} single edits to these files was tried"


def test_a_plan_when_nothing_is_left_is_a_refusal() -> None:
    reply = MutationLLM().complete(replace(PLAN, context={"files": {"shop.py": ""}}))
    assert reply.finish == "refused"
    assert "no single edit" in reply.text


def test_what_was_tried_counts_also_when_another_instance_proposed_it() -> None:
    first = plan_from(MutationLLM().complete(PLAN).text)
    second = plan_from(MutationLLM().complete(with_tried(PLAN, [as_tried(first)])).text)
    assert first.edits != second.edits
    assert repair_from(MutationLLM().complete(with_tried(REPAIR, [as_tried(first)])).text).plan is not None


def test_the_same_question_has_the_same_answer_whatever_was_asked_before() -> None:
    llm = MutationLLM()
    first = llm.complete(REPAIR)
    llm.complete(replace(PLAN, context={"files": {"other.py": "x = 1\n"}}))
    all_repairs(llm)
    assert llm.complete(REPAIR) == first == MutationLLM().complete(REPAIR)


PROGRAM = """\
import json, sys
from graph_agent import MutationLLM, Request
asked = json.load(sys.stdin)
llm = MutationLLM()
for tried in asked["tried"]:
    request = Request(instructions="", context={**asked["context"], "tried": tried}, schema=asked["schema"])
    print(llm.complete(request).text)
"""


def test_a_new_process_proposes_the_same_in_the_same_order() -> None:
    plans, _ = all_repairs(MutationLLM())
    told = [as_tried(plan) for plan in plans]
    rounds = [told[:n] for n in range(25)]
    asked = json.dumps({"context": REPAIR.context, "schema": REPAIR.schema, "tried": rounds})
    for seed in ("1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=asked,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert done.returncode == 0, done.stderr
        assert [repair_from(line).plan for line in done.stdout.splitlines()] == plans[:25]


TWICE = "def a(x):\n    return x + 1\n\n\ndef b(x):\n    return x + 1\n"


def first_changed(known: dict[str, Any]) -> int:
    """The first line of TWICE that the first plan changes."""
    context = {**CONTEXT, "files": {"shop.py": TWICE}, "lines": {"shop.py": known}, "failing_output": ""}
    edits = plan_from(MutationLLM().complete(replace(PLAN, context=context)).text).edits
    lines = zip(TWICE.splitlines(), apply_edits(TWICE, edits).splitlines(), strict=False)
    return next(number for number, (before, after) in enumerate(lines, 1) if before != after)


@pytest.mark.parametrize("line", [2, 6])
def test_the_lines_that_failing_tests_ran_come_first(line: int) -> None:
    assert first_changed({"failing": [line], "passing": [8 - line], "traceback": []}) == line


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        (2, {"passing_tests": [1, 7]}),
        (6, {"passing_tests": [7, 1]}),
        (2, {"failing_tests": [3, 1], "failed": 3}),
        (6, {"failing_tests": [1, 3], "failed": 3}),
    ],
)
def test_the_number_of_tests_that_ran_a_line_counts(line: int, counts: dict[str, Any]) -> None:
    assert first_changed({"failing": [2, 6], "passing": [2, 6], "traceback": [], **counts}) == line


def test_all_files_are_searched() -> None:
    files = {"a.py": "def f(x):\n    return x < 1\n", "b.py": "def g(x):\n    return x < 1\n"}
    request = replace(REPAIR, context={**REPAIR.context, "files": files, "lines": {}})
    plans, _ = all_repairs(MutationLLM(), request)
    assert {plan.files_to_change for plan in plans} == {("a.py",), ("b.py",)}
    for plan in plans:
        (edit,) = plan.edits
        assert isinstance(edit, Edit)
        assert apply_edits(files[edit.path], [edit]) != files[edit.path]


def test_line_ends_and_comments_around_an_edit_stay() -> None:
    code = "# prices\r\ndef f(x):\r\n    return x < 1  # below\r\n"
    request = replace(REPAIR, context={**REPAIR.context, "files": {"shop.py": code}, "lines": {}})
    plans, _ = all_repairs(MutationLLM(), request)
    for plan in plans:
        after = apply_edits(code, plan.edits)
        assert "# prices\r\n" in after
        assert after.count("\n") == after.count("\r\n")


@pytest.mark.parametrize(
    "files",
    [{}, {"a.py": "def f(:\n"}, {"notes.txt": "x = 1"}, {"a.py": "\n\n"}],
    ids=["none", "broken", "text", "blank"],
)
def test_files_without_a_program_have_no_candidates(files: dict[str, str]) -> None:
    request = replace(REPAIR, context={**REPAIR.context, "files": files})
    assert repair_from(MutationLLM().complete(request).text).decision == "human_review"
    assert MutationLLM().complete(replace(PLAN, context={"files": files})).finish == "refused"


@pytest.mark.parametrize("schema", [None, {}, json_schema(Review), {"type": "object", "properties": {"answer": {}}}])
def test_a_question_that_is_none_of_an_edit_is_an_error(schema: Any) -> None:
    with pytest.raises(OfflineError, match="--model"):
        MutationLLM().complete(Request(instructions="Is this good?", schema=schema))


def test_threads_may_share_it() -> None:
    llm = MutationLLM()
    plans, _ = all_repairs(MutationLLM())
    rounds = [[as_tried(plan) for plan in plans[:n]] for n in range(20)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda tried: llm.complete(with_tried(REPAIR, tried)).text, rounds))
    assert [repair_from(text).plan for text in answers] == plans[:20]


def test_it_describes_itself_without_secrets() -> None:
    assert MutationLLM().describe() == {"llm": "offline", "model": "single edits"}
