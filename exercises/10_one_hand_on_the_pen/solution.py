"""10. One hand on the pen: a copy is edited for real, by one node, and real tests say whether it helped."""

import sys
import tempfile
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from graph_agent import Context, FakeLLM, Graph, GraphState, Node, Pause, Request, Route, Toolbox, ask, run_graph
from graph_agent.tools.command import Commands
from graph_agent.tools.workbench import copy_workspace
from graph_agent.tools.workspace import Workspace

TEST = """\
import unittest
from shop import total

class Discount(unittest.TestCase):
    def test_ten_percent_off(self):
        self.assertEqual(total([100, 100], 10), 180)
"""
SHOP = {"shop.py": "def total(prices, discount):\n    return sum(prices) - discount\n", "test_shop.py": TEST}
TESTS = (sys.executable, "-m", "unittest")


class Stage(StrEnum):
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True)
class Edit:
    path: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Fix(GraphState):
    stage: Stage = Stage.PLAN
    request: str = "Make the failing test pass."
    plan: Edit | None = None
    tries: int = 0
    max_tries: int = 2
    problem: str = ""  # why nothing could be written
    verdict: Literal["pass", "fail", "unknown"] | None = None
    evidence: str = ""


def bench(source: Path, copy: Path) -> Toolbox:
    """The helper's tools."""
    copy_workspace(source, copy)
    workspace = Workspace(copy, writable=("shop.py",), baseline_root=source)
    commands = Commands(copy, [TESTS], timeout=20)
    return Toolbox([*workspace.tools(), *commands.tools()])


def plan(state, ctx):
    asked = Request(instructions="Give one edit.", context={"request": state.request, "evidence": state.evidence})
    return {"plan": ask(ctx.llm, asked, Edit), "tries": state.tries + 1}


def execute(state, ctx):
    edit = state.plan
    edits = [{"old": edit.old, "new": edit.new}]
    result = ctx.tools.call("edit_file", path=edit.path, edits=edits, on="original")
    return {"problem": str(result.error or "")}


def route_after_execute(state) -> Route:
    if state.problem:
        return Route(Stage.HUMAN, state.problem)
    return Route(Stage.VERIFY, f"written: {state.plan.path}")


def verify(state, ctx):
    result = ctx.tools.call("run_command", argv=TESTS)
    if not result.ok:
        return {"verdict": "unknown", "evidence": str(result.error)}
    ended = result.value
    if ended.exit_code is None:
        return {"verdict": "unknown", "evidence": ended.problem or "stopped at its time limit"}
    return {"verdict": "pass" if ended.exit_code == 0 else "fail", "evidence": ended.output[-600:]}


def route_after_verify(state) -> Route:
    if state.verdict == "pass":
        return Route(Stage.DONE, f"try {state.tries} passed the tests")
    if state.verdict == "unknown":
        return Route(Stage.HUMAN, f"the tests could not run: {state.evidence}")
    if state.tries >= state.max_tries:
        return Route(Stage.HUMAN, f"{state.tries} of {state.max_tries} tries failed")
    return Route(Stage.PLAN, f"try {state.tries} failed the tests")


GRAPH = Graph(
    state=Fix,
    nodes={
        Stage.PLAN: Node(plan, owns={"plan", "tries"}, model=True, to=Stage.EXECUTE),
        Stage.EXECUTE: Node(
            execute,
            owns={"problem"},
            tools=("edit_file",),
            to=route_after_execute,
            exits={Stage.VERIFY, Stage.HUMAN},
        ),
        Stage.VERIFY: Node(
            verify,
            owns={"verdict", "evidence"},
            tools=("run_command",),
            to=route_after_verify,
            exits={Stage.DONE, Stage.PLAN, Stage.HUMAN},
        ),
        Stage.HUMAN: Pause(owns={"max_tries"}, to=Stage.PLAN),
    },
    ends={Stage.DONE},
)

WRONG = Edit("shop.py", "sum(prices) - discount", "sum(prices) * discount")
RIGHT = Edit("shop.py", "sum(prices) - discount", "sum(prices) * (100 - discount) / 100")


def main(desk: Path) -> None:
    source, copy = desk / "shop", desk / "copy"
    source.mkdir()
    for path, text in SHOP.items():
        (source / path).write_text(text, encoding="utf-8")
    world = Context(llm=FakeLLM([asdict(WRONG), asdict(RIGHT)]), tools=bench(source, copy))
    run_graph(GRAPH, Fix(task_id="t10"), world, on_event=lambda event: print(f"{event.stage:8} -> {event.reason}"))
    for file in (source / "shop.py", copy / "shop.py"):
        print(f"\n{file.parent.name}: {file.read_text(encoding='utf-8') if file.exists() else 'is not there'}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        main(Path(folder))
