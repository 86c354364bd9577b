"""EXECUTE is the only hand on the pen: it writes what the plan says, on what the plan was made for, and records it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, FakeTools, Node, Toolbox, ToolError
from graph_agent.llm.edits import Edit
from graph_agent.tools.files import sha256
from graph_agent.tools.workspace import Changed, Workspace
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.nodes import execute
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Stage, TaskState
from tests.workflows.repairing import (
    CODE,
    FILES,
    POLICY,
    RIGHT,
    WRONG,
    changed,
    diagnosed,
    edited,
    failed_once,
    infos,
    one_step,
    plan_of,
    repair_of,
    seen,
)

OTHER = Edit(path="util.py", old="x = 1", new="x = 2")
TWO = {**FILES, "util.py": "x = 1\n"}
WRITERS = ("edit_file", "restore_file")


class Place:
    """A real workspace and its pristine copy."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.root = folder / "workspace"
        for name in ("workspace", "original"):
            for path, text in files.items():
                file = folder / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text.encode())
        workspace = Workspace(
            self.root, writable=POLICY.write, protected=POLICY.protect, baseline_root=folder / "original"
        )
        self.tools = Toolbox(workspace.tools())

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()


def at_execute(**fields: Any) -> TaskState:
    return diagnosed(Stage.EXECUTE, **{"plan": plan_of(RIGHT), **fields})


def test_the_plan_is_carried_out_and_each_write_recorded(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    after = one_step(at_execute(), tools=place.tools)
    assert after.stage is Stage.VERIFY
    assert place.text("shop.py") == edited(RIGHT)["shop.py"]
    assert after.changes == (changed(RIGHT),)
    assert after.spent_turns == 1
    assert "shop.py" in after.route_reason


def test_without_a_plan_nothing_is_written() -> None:
    tools = FakeTools(dict.fromkeys(WRITERS))
    after = one_step(at_execute(plan=None), tools=tools)
    assert after.stage is Stage.HUMAN
    assert "no plan" in after.route_reason
    assert tools.calls == []


def test_at_high_risk_nothing_is_written_before_a_person_approves(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    risky = at_execute(risks=("the diff could not be read",))
    after = one_step(risky, tools=place.tools)
    assert after.stage is Stage.HUMAN
    assert "the diff could not be read" in after.route_reason
    assert place.text("shop.py") == CODE

    approved = replace(risky, approval=(risky.risks_fingerprint,))
    assert one_step(approved, tools=place.tools).stage is Stage.VERIFY
    assert place.text("shop.py") != CODE


def test_an_approval_is_void_when_another_risk_comes_up() -> None:
    first = at_execute(risks=("one",))
    later = replace(first, approval=(first.risks_fingerprint,), risks=("one", "two"))
    tools = FakeTools(dict.fromkeys(WRITERS))
    assert one_step(later, tools=tools).stage is Stage.HUMAN
    assert tools.calls == []


def test_a_plan_that_nobody_approved_is_not_carried_out() -> None:
    tools = FakeTools(dict.fromkeys(WRITERS))
    waiting = at_execute(approve=("plan",))
    assert one_step(waiting, tools=tools).stage is Stage.HUMAN
    assert tools.calls == []
    other = replace(waiting, approval=(replace(waiting, plan=plan_of(WRONG)).plan_fingerprint,))
    assert one_step(other, tools=tools).stage is Stage.HUMAN, "the approval was for another plan"


@pytest.mark.parametrize("left", [0, 1])
def test_turns_are_reserved_for_all_writes_before_the_first_one(tmp_path: Path, left: int) -> None:
    place = Place(tmp_path, TWO)
    state = at_execute(plan=plan_of(RIGHT, OTHER), baseline=infos(TWO), max_turns=10, spent_turns=10 - left)
    after = one_step(state, tools=place.tools)
    assert after.stage is Stage.HUMAN
    assert "turns are spent" in after.route_reason
    assert place.text("shop.py") == CODE, "half a plan is not carried out"
    assert (after.changes, after.spent_turns) == ((), 10 - left)


def test_the_last_turns_may_be_spent_on_the_writes(tmp_path: Path) -> None:
    place = Place(tmp_path, TWO)
    state = at_execute(plan=plan_of(RIGHT, OTHER), baseline=infos(TWO), max_turns=10, spent_turns=8)
    after = one_step(state, tools=place.tools)
    assert (after.stage, after.spent_turns) == (Stage.VERIFY, 10), "the last edit still gets verified"


def test_no_other_stage_may_write() -> None:
    for stage, entry in GRAPH.nodes.items():
        if isinstance(entry, Node):
            assert bool(set(entry.tools) & set(WRITERS)) == (stage is Stage.EXECUTE)
            assert entry.effects == (stage is Stage.EXECUTE)
    assert not GRAPH.nodes[Stage.EXECUTE].model


def test_the_second_visit_after_a_crash_finds_the_edit_in_place(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    state = at_execute()
    first = one_step(state, tools=place.tools)
    written = (place.root / "shop.py").stat()
    again = one_step(state, tools=place.tools)
    assert again.stage is Stage.VERIFY
    assert again.changes[-1].after == first.changes[-1].after
    assert (place.root / "shop.py").stat().st_ino == written.st_ino, "nothing was written"


def test_a_file_that_a_stranger_changed_is_left_alone(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    theirs = "# mine now\n" + CODE
    (place.root / "shop.py").write_bytes(theirs.encode())
    after = one_step(at_execute(), tools=place.tools)
    assert after.stage is Stage.HUMAN
    assert "changed_meanwhile" in after.route_reason
    assert place.text("shop.py") == theirs
    assert after.changes == ()


def test_an_edit_that_does_not_apply_goes_to_a_person_and_says_what_was_written(tmp_path: Path) -> None:
    place = Place(tmp_path, TWO)
    bad = plan_of(RIGHT, Edit(path="util.py", old="y = 1", new="y = 2"))
    after = one_step(at_execute(plan=bad, baseline=infos(TWO)), tools=place.tools)
    assert after.stage is Stage.HUMAN
    assert "util.py" in after.route_reason
    assert [one.path for one in after.changes] == ["shop.py"]
    assert place.text("util.py") == "x = 1\n"


def test_the_tools_refuse_a_protected_file_even_if_a_plan_got_through(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    plan = plan_of(Edit(path="tests/test_shop.py", old="== 180", new="== 190"))
    after = one_step(at_execute(plan=plan), tools=place.tools)
    assert after.stage is Stage.HUMAN
    assert "protected" in after.route_reason
    assert place.text("tests/test_shop.py") == FILES["tests/test_shop.py"]


def test_a_repair_starts_from_the_original_text(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    first = one_step(at_execute(plan=plan_of(WRONG)), tools=place.tools)
    after = one_step(replace(first, stage=Stage.EXECUTE, repairs=(repair_of(RIGHT),)), tools=place.tools)
    assert after.stage is Stage.VERIFY
    assert place.text("shop.py") == edited(RIGHT)["shop.py"]
    assert [one.attempt for one in after.changes] == [0, 1]
    assert after.changes[1].before == after.changes[0].after


def test_a_repair_may_start_from_the_current_text(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES)
    first = one_step(at_execute(plan=plan_of(WRONG)), tools=place.tools)
    more = Edit(path="shop.py", old="sum(prices) * discount", new="sum(prices) * (100 - discount) / 100")
    after = one_step(replace(first, stage=Stage.EXECUTE, repairs=(repair_of(more, base="current"),)), tools=place.tools)
    assert after.stage is Stage.VERIFY
    assert place.text("shop.py") == edited(RIGHT)["shop.py"]


def test_a_file_that_the_new_plan_leaves_alone_is_restored_first(tmp_path: Path) -> None:
    place = Place(tmp_path, TWO)
    state = at_execute(plan=plan_of(OTHER), baseline=infos(TWO))
    first = one_step(state, tools=place.tools)
    assert place.text("util.py") == "x = 2\n"
    after = one_step(replace(first, stage=Stage.EXECUTE, repairs=(repair_of(RIGHT),)), tools=place.tools)
    assert place.text("util.py") == "x = 1\n"
    assert [(one.path, one.attempt) for one in after.changes] == [("util.py", 0), ("util.py", 1), ("shop.py", 1)]
    assert after.spent_turns == first.spent_turns + 2

    third = replace(after, stage=Stage.EXECUTE, repairs=(repair_of(RIGHT), repair_of(WRONG)))
    assert [one.path for one in one_step(third, tools=place.tools).changes[3:]] == ["shop.py"], "util.py is as it was"


def test_on_the_current_text_nothing_is_restored(tmp_path: Path) -> None:
    place = Place(tmp_path, TWO)
    first = one_step(at_execute(plan=plan_of(OTHER), baseline=infos(TWO)), tools=place.tools)
    after = one_step(
        replace(first, stage=Stage.EXECUTE, repairs=(repair_of(RIGHT, base="current"),)), tools=place.tools
    )
    assert after.stage is Stage.VERIFY
    assert place.text("util.py") == "x = 2\n"


def test_a_restore_that_fails_goes_to_a_person_before_anything_is_edited() -> None:
    tools = FakeTools({"restore_file": [ToolError("io_error", "No space left.")], "edit_file": []})
    state = failed_once(Stage.EXECUTE, baseline=infos(TWO), plan=plan_of(OTHER), repairs=(repair_of(RIGHT),))
    moved = replace(state, changes=(replace(changed(WRONG), path="util.py"),))
    after = one_step(moved, tools=tools)
    assert after.stage is Stage.HUMAN
    assert "No space left" in after.route_reason
    assert [call.tool for call in tools.calls] == ["restore_file"]


def test_after_a_decision_without_a_plan_there_is_none_to_carry_out() -> None:
    tools = FakeTools(dict.fromkeys(WRITERS))
    asked = repair_of(decision="clarify", plan=None)
    after = one_step(failed_once(Stage.EXECUTE, repairs=(asked,)), tools=tools)
    assert after.stage is Stage.HUMAN
    assert tools.calls == []


def test_line_ends_and_everything_around_the_edit_stay_as_they_were(tmp_path: Path) -> None:
    crlf = {"shop.py": "\ufeff" + CODE.replace("\n", "\r\n").rstrip()}
    place = Place(tmp_path, crlf)
    plan = plan_of(replace(RIGHT, old=f"    return {RIGHT.old}", new=f"    # percent\n    return {RIGHT.new}"))
    after = one_step(at_execute(plan=plan, baseline=infos(crlf), observations=seen()), tools=place.tools)
    assert after.stage is Stage.VERIFY
    expected = (
        crlf["shop.py"].replace(RIGHT.old, RIGHT.new).replace("    return sum", "    # percent\r\n    return sum")
    )
    assert place.text("shop.py") == expected


def test_the_expected_hash_is_that_of_the_last_write() -> None:
    asked: list[dict[str, Any]] = []

    def edit(**arguments: Any) -> Changed:
        asked.append(arguments)
        return Changed(path="shop.py", before="a" * 64, after="b" * 64)

    state = failed_once(Stage.EXECUTE, repairs=(repair_of(RIGHT),))
    patch = execute(state, Context(tools=FakeTools({"edit_file": edit}), policy=POLICY))
    assert asked[0]["before"] == sha256(edited(WRONG)["shop.py"].encode())
    assert asked[0]["on"] == "original"
    assert patch["blocked"] == ""


def test_what_a_command_of_the_policy_names_may_not_be_written() -> None:
    commands = (Command(argv=("python3", "checks.py")), Command(argv=("python3", "-m", "unittest", "spec.boiler")))
    policy = EvaluationPolicy(allowed_root="x", commands=commands)
    named = {path: policy.may_write(path) for path in ("checks.py", "spec/boiler.py", "spec/other.py", "boiler.py")}
    assert named == {"checks.py": False, "spec/boiler.py": False, "spec/other.py": True, "boiler.py": True}
