"""10. One hand on the pen: a copy is edited for real, by one node, and real tests say whether it helped."""

import sys
import tempfile
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from graph_agent import Context, FakeLLM, Graph, GraphState, Node, Pause, Request, Route, Toolbox, ask, run_graph
from graph_agent.tools.command import Commands
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
    # your turn (1): copy_workspace(source, copy), then work on the copy; of its files only shop.py may be changed
    workspace = Workspace(source, writable=("*.py",), baseline_root=source)
    commands = Commands(source, [TESTS], timeout=20)
    return Toolbox([*workspace.tools(), *commands.tools()])


def plan(state, ctx):
    asked = Request(instructions="Give one edit.", context={"request": state.request, "evidence": state.evidence})
    return {"plan": ask(ctx.llm, asked, Edit), "tries": state.tries + 1}


def execute(state, ctx):
    # your turn (2): call edit_file; what it has against the edit is the `problem`
    return {"problem": ""}


def route_after_execute(state) -> Route:
    if state.problem:
        return Route(Stage.HUMAN, state.problem)
    return Route(Stage.VERIFY, f"written: {state.plan.path}")


def verify(state, ctx):
    # your turn (3): call run_command; its exit code is the verdict, the end of its output the evidence
    return {"verdict": "pass", "evidence": "the plan sounds right"}


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
        # your turn (4): who needs which of these tools?
        Stage.EXECUTE: Node(
            execute,
            owns={"problem"},
            tools=("edit_file", "run_command"),
            to=route_after_execute,
            exits={Stage.VERIFY, Stage.HUMAN},
        ),
        Stage.VERIFY: Node(
            verify,
            owns={"verdict", "evidence"},
            tools=("edit_file", "run_command"),
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
