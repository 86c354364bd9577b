"""A small repair in memory, for tests of single nodes: a shop of one function, a test of it, and what tools say.

`one_step` runs a single node through the real runtime, so what a node may write and call is held to the graph. The one
rule: nothing here decides anything; each test says itself what the tools and the model answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graph_agent import Context, FakeLLM, FakeTools, StepLimitReached, ToolResult, run_graph
from graph_agent.llm.edits import Edit
from graph_agent.runtime.events import Event
from graph_agent.tools.command import CommandResult
from graph_agent.tools.files import FileInfo, FileText, Found, sha256
from graph_agent.tools.linetrace import Trace
from graph_agent.tools.textedit import Version, file_diff
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.nodes.verify import check_of
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Change, Observation, Plan, Repair, Stage, TaskState, Verification

CODE = """\
def total(prices, discount):
    return sum(prices) - discount


def count(prices):
    return len(prices)
"""
TEST = """\
from shop import total


def test_ten_percent_off():
    assert total([100, 100], 10) == 180
"""
FILES = {"shop.py": CODE, "tests/test_shop.py": TEST}
TESTS = Command(argv=("python3", "-m", "pytest", "-q"))
LINT = Command(argv=("lint", "."), kind="check")
POLICY = EvaluationPolicy(allowed_root="/runs", commands=(TESTS,))

RIGHT = Edit(path="shop.py", old="sum(prices) - discount", new="sum(prices) * (100 - discount) / 100")
WRONG = Edit(path="shop.py", old="sum(prices) - discount", new="sum(prices) * discount")
RED_TEXT = "tests/test_shop.py:5: AssertionError\n1 failed, 2 passed in 0.03s\n"


def ran(output: str, exit_code: int | None = 0, **more: Any) -> CommandResult:
    """How a command ended."""
    argv = more.pop("argv", TESTS.argv)
    known = {"timed_out": False, "seconds": 0.1, "dropped": 0, "isolation": "bubblewrap"}
    return CommandResult(argv=argv, output=output, exit_code=exit_code, **{**known, **more})


RED = ran(RED_TEXT, 1)
GREEN = ran("3 passed in 0.03s\n")
HUNG = ran("", None, timed_out=True)


def info(path: str, text: str) -> FileInfo:
    return FileInfo(path=path, sha256=sha256(text.encode()), size=len(text))


def infos(files: dict[str, str]) -> tuple[FileInfo, ...]:
    return tuple(info(path, text) for path, text in sorted(files.items()))


def diff_of(now: dict[str, str], first: dict[str, str] | None = None) -> str:
    """What the tool `diff` would say of a workspace that holds `now`."""
    old = FILES if first is None else first
    pairs = ((path, old.get(path), now.get(path)) for path in sorted({*old, *now}))
    return "".join(file_diff(path, _version(a), _version(b)) for path, a, b in pairs if a != b)


def _version(text: str | None) -> Version | None:
    return None if text is None else Version(raw=text.encode())


def edited(*edits: Edit, files: dict[str, str] | None = None) -> dict[str, str]:
    """The files after edits, each of text that stands there once."""
    now = dict(files or FILES)
    for edit in edits:
        assert now[edit.path].count(edit.old) == 1
        now[edit.path] = now[edit.path].replace(edit.old, edit.new)
    return now


def plan_of(*edits: Edit, **more: Any) -> Plan:
    known: dict[str, Any] = {
        "hypothesis": "the discount is a percentage",
        "steps": ("multiply",),
        "files_to_change": tuple(dict.fromkeys(edit.path for edit in edits)),
        "cites": ("O2",),
        "edits": edits,
    }
    return Plan(**{**known, **more})


def repair_of(*edits: Edit, **more: Any) -> Repair:
    known: dict[str, Any] = {"decision": "repair", "why": "another cause", "cites": ("V1",), "plan": plan_of(*edits)}
    return Repair(**{**known, **more})


def task(stage: Stage = Stage.INTAKE, **fields: Any) -> TaskState:
    known: dict[str, Any] = {"task_id": "t", "request": "Make the tests pass.", "workspace": "/runs/t/workspace"}
    return TaskState(**{**known, "stage": stage, **fields})


def seen(result: CommandResult = RED, command: Command = TESTS) -> tuple[Observation, ...]:
    """What DIAGNOSE leaves behind."""
    check = check_of(command, ToolResult(tool="run_command", value=result))
    return (
        Observation(id="O1", source="diff", text="nothing differs from the baseline"),
        Observation(id="O2", source=f"run_command {command.text}", text=result.output, check=check),
        Observation(id="O3", source="read_file", text=TEST, path="tests/test_shop.py", sha256="1" * 64),
        Observation(id="O4", source="read_file", text=CODE, path="shop.py", sha256="2" * 64),
    )


def diagnosed(stage: Stage, **fields: Any) -> TaskState:
    """A state with a baseline and the evidence of a failing test."""
    return task(stage, **{"baseline": infos(FILES), "observations": seen(), **fields})


def verification(result: CommandResult = RED, **more: Any) -> Verification:
    check = check_of(TESTS, ToolResult(tool="run_command", value=result), seen()[1].check)
    known: dict[str, Any] = {"id": "V1", "attempt": 0, "checks": (check,), "findings": (), "policy": POLICY.fingerprint}
    return Verification(**{**known, **more})


def changed(*edits: Edit, attempt: int = 0) -> Change:
    path = edits[0].path
    after = sha256(edited(*edits)[path].encode())
    return Change(path=path, before=sha256(FILES[path].encode()), after=after, attempt=attempt)


def failed_once(stage: Stage = Stage.REPAIR, **fields: Any) -> TaskState:
    """After the plan's wrong edit was carried out and verified."""
    known = {"plan": plan_of(WRONG), "changes": (changed(WRONG),), "verifications": (verification(),)}
    return diagnosed(stage, **{**known, **fields})


def looking(**answers: Any) -> FakeTools:
    """Tools for DIAGNOSE; an answer may be replaced by name."""
    known: dict[str, Any] = {
        "diff": "",
        "run_command": RED,
        "trace_tests": Trace(
            failing={"shop.py": (2,)},
            traceback={"tests/test_shop.py": (5,)},
            tests=(("test_ten_percent_off", "failed"),),
        ),
        "read_file": lambda path: file_text(path),
        "search": Found(hits=()),
    }
    return FakeTools({**known, **answers}, effects={"run_command": "execute", "trace_tests": "execute"})


def file_text(path: str, files: dict[str, str] | None = None) -> FileText:
    text = (files or FILES)[path]
    return FileText(path=path, text=text, sha256=sha256(text.encode()))


def verifying(now: dict[str, str], *runs: CommandResult, **answers: Any) -> FakeTools:
    """Tools for VERIFY: the files as they are now, and how each command ends."""
    known: dict[str, Any] = {
        "list_files": lambda: infos(now),
        "diff": lambda: diff_of(now),
        "run_command": list(runs),
        "run_holdout": [],
    }
    return FakeTools({**known, **answers}, effects={"run_command": "execute", "run_holdout": "execute"})


def one_step(
    state: TaskState,
    *,
    llm: FakeLLM | None = None,
    tools: Any = None,
    policy: EvaluationPolicy = POLICY,
    events: list[Event] | None = None,
) -> TaskState:
    """The state after the one node at which it stands."""
    ctx = Context(llm=llm, tools=tools, policy=policy)
    told = (lambda _: None) if events is None else events.append
    try:
        return run_graph(GRAPH, state, ctx, max_steps=1, on_event=told)
    except StepLimitReached as stopped:
        return stopped.state


def with_policy(**fields: Any) -> EvaluationPolicy:
    return replace(POLICY, **fields)
