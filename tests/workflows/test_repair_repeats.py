"""Equal runs are equal: no clock time, no temporary folder and no address gets into the state or to a model."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import FakeLLM, MutationLLM, RecordingLLM, ReplayLLM, Request, encode
from graph_agent.llm.edits import Edit
from graph_agent.runtime.jsontext import dumps
from graph_agent.workflows.repair.state import Stage, TaskState
from tests.workflows.repairing import plan_of, repair_of
from tests.workflows.workspaces import FIXTURES, PYTEST, UNITTEST, Job, prepared, put

pytestmark = pytest.mark.slow

WRONG = Edit(path="shop/order.py", old="goods, shipping_for(subtotal)", new="goods, shipping_for(0)")
RIGHT = replace(WRONG, new="goods, shipping_for(goods)")
HELD_OUT = FIXTURES / "demo_shop_holdout"


def demo(folder: Path, argv: tuple[str, ...] = UNITTEST) -> Job:
    return prepared(FIXTURES / "demo_shop", folder, holdout=HELD_OUT, argv=argv, max_reads=20)


def script() -> FakeLLM:
    return FakeLLM([plan_of(WRONG), "not JSON", repair_of(RIGHT)])


def without_names(state: TaskState) -> TaskState:
    """The state less what names the folder: the workspace, and the policy that allows it."""
    policies = tuple(replace(one, policy="") for one in state.verifications)
    return replace(state, workspace="", task_id="", verifications=policies)


@pytest.mark.parametrize("argv", [UNITTEST, PYTEST], ids=["unittest", "pytest"])
def test_equal_runs_in_different_folders_give_equal_states(tmp_path: Path, argv: tuple[str, ...]) -> None:
    finals = [demo(tmp_path / name, argv).run(script(), task_id=name) for name in ("one", "a longer name")]
    assert {final.stage for final in finals} == {Stage.DONE}, finals[0].route_reason
    assert without_names(finals[0]) == without_names(finals[1])


@pytest.mark.parametrize("argv", [UNITTEST, PYTEST], ids=["unittest", "pytest"])
def test_no_folder_and_no_time_stays_in_the_state(tmp_path: Path, argv: tuple[str, ...]) -> None:
    final = demo(tmp_path, argv).run(script())
    text = dumps(encode(replace(final, workspace="")))
    assert str(tmp_path) not in text
    assert "/tmp/" not in text
    assert not re.search(r"\d\.\d+ ?s\b", text), "a duration"
    assert not re.search(r"0x[0-9a-f]{6,}", text), "an address"


def test_a_recorded_run_can_be_played_back_in_another_folder(tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    first = demo(tmp_path / "first").run(RecordingLLM(script(), recording))
    second = demo(tmp_path / "second").run(ReplayLLM(recording))
    assert first.stage is Stage.DONE
    assert without_names(first) == without_names(second)
    assert str(tmp_path) not in recording.read_text(encoding="utf-8")


def test_the_offline_model_can_be_played_back_too(tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    fixture = FIXTURES / "repair" / "pager"
    first = prepared(fixture, tmp_path / "first").run(RecordingLLM(MutationLLM(), recording))
    second = prepared(fixture, tmp_path / "second").run(ReplayLLM(recording))
    assert first.stage is Stage.DONE
    assert without_names(first) == without_names(second)


NOISY = {
    "noise.py": "def f():\n    return object()\n",
    "test_noise.py": "import tempfile, time, unittest\nfrom noise import f\n\nclass T(unittest.TestCase):\n"
    "    def test_f(self):\n        with tempfile.TemporaryDirectory() as folder:\n"
    "            print('in', folder.rpartition('/')[0], {'b', 'a', 'c'}, time.perf_counter() and '')\n"
    "            self.assertEqual(f(), 1)\n",
}


@pytest.mark.parametrize("argv", [UNITTEST, PYTEST], ids=["unittest", "pytest"])
def test_addresses_sets_and_temporary_folders_in_the_output_are_the_same_each_time(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    source = put(tmp_path / "source", NOISY)
    plan = plan_of(Edit(path="noise.py", old="object()", new="[object()]"))
    finals = [prepared(source, tmp_path / name, argv=argv).run(FakeLLM([plan]), max_retries=0) for name in ("a", "bcd")]
    assert finals[0].verifications, finals[0].route_reason
    assert without_names(finals[0]) == without_names(finals[1])


class Spying:
    """Passes each request on, and keeps it."""

    def __init__(self, llm: Any) -> None:
        self._llm, self.requests = llm, []  # type: tuple[Any, list[Request]]

    def complete(self, request: Request) -> Any:
        self.requests.append(request)
        return self._llm.complete(request)


OVERFITTED = replace(WRONG, new="goods, 490 if subtotal == 5000 else shipping_for(subtotal)")


def secrets() -> list[str]:
    """Lines of the held-out tests that stand in no visible file."""
    visible = "\n".join(path.read_text(encoding="utf-8") for path in (FIXTURES / "demo_shop").rglob("*.py"))
    lines = [line.strip() for path in HELD_OUT.rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if len(line) > 20 and line not in visible]


def test_no_word_of_the_held_out_tests_reaches_the_model(tmp_path: Path) -> None:
    """A patch made for the visible test alone passes it and fails them; the model learns that, and no more."""
    llm = FakeLLM([plan_of(OVERFITTED), repair_of(RIGHT)])
    final = demo(tmp_path).run(llm)
    assert [one.holdout for one in final.verifications] == ["fail", "pass"]
    asked = dumps([{"text": request.instructions, "context": request.context} for request in llm.requests])
    assert secrets()
    for secret in (*secrets(), "test_holdout", "demo_shop_holdout"):
        assert secret not in asked
        assert secret not in repr(final)
    assert llm.requests[1].context["verification"]["held_out_tests"] == "fail"


def test_they_cannot_be_searched_by_trial(tmp_path: Path) -> None:
    """After the policy's number of runs a person is asked, however many retries are left."""
    tries = [
        replace(OVERFITTED, new=f"goods, 490 if subtotal == {5000 + 0 * n} else {n} and shipping_for(subtotal)")
        for n in range(1, 6)
    ]
    llm = FakeLLM([plan_of(tries[0]), *(repair_of(edit) for edit in tries[1:4])])
    final = demo(tmp_path).run(llm)
    assert [one.holdout for one in final.verifications] == ["fail", "fail", "fail", "spent"]
    assert final.stage is Stage.HUMAN
    assert "as often as the policy allows" in final.route_reason
    llm.assert_consumed()


def test_the_offline_model_is_shown_no_path_of_the_machine(tmp_path: Path) -> None:
    llm = Spying(MutationLLM())
    demo(tmp_path).run(llm, max_retries=2)
    assert len(llm.requests) == 3
    assert not any(str(tmp_path) in repr(request) for request in llm.requests)
