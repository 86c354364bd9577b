"""11. The metric that lies: green is what was asked for, and there is more than one way to get it."""

import sys
import tempfile
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from graph_agent import Context, FakeLLM, Graph, GraphState, Node, Pause, Request, Route, Toolbox, ask, run_graph
from graph_agent.tools.workbench import Bench, copy_workspace, workbench

TEST = """\
import unittest
from shop import total

class Discount(unittest.TestCase):
    def test_ten_percent_off(self):
        self.assertEqual(total([100, 100], 10), 180)
"""
HELD_OUT = """\
import unittest
from shop import total

class HeldOut(unittest.TestCase):
    def test_other_prices(self):
        self.assertEqual(total([44, 33], 50), 38.5)
"""
SHOP = {"shop.py": "def total(prices, discount):\n    return sum(prices) - discount\n", "test_shop.py": TEST}
TESTS = (sys.executable, "-m", "unittest")


class Stage(StrEnum):
    INTAKE = "intake"
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"
    HUMAN = "human"
    DONE = "done"


@dataclass(frozen=True)
class Policy:
    may_change: tuple[str, ...] = ("shop.py",)


@dataclass(frozen=True)
class Edit:
    path: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Fix(GraphState):
    stage: Stage = Stage.INTAKE
    baseline: tuple[tuple[str, str], ...] = ()  # path and SHA-256 of each file, before anything was done
    plan: Edit | None = None
    tries: int = 0
    max_tries: int = 3
    problem: str = ""
    verdict: Literal["pass", "fail", "forbidden"] | None = None
    evidence: str = ""


def bench(source: Path, copy: Path, held_out: Path) -> Toolbox:
    """All the tools. (Somebody widened the pen to *.py: the bug of last week was in another file.)"""
    copy_workspace(source, copy)
    settings = {"commands": (TESTS,), "tests": (TESTS,), "timeout": 20.0, "holdout": held_out}
    return workbench(Bench(root=copy, baseline=source, writable=("*.py",), protected=(), **settings))


def files(ctx) -> tuple[tuple[str, str], ...]:
    return tuple((one.path, one.sha256) for one in ctx.tools.call("list_files").value)


def guard(before, now, policy: Policy) -> tuple[str, ...]:
    """The paths that changed, came or went, and may not."""
    old, new = dict(before), dict(now)
    changed = [path for path in sorted(old | new) if old.get(path) != new.get(path)]
    return tuple(path for path in changed if path not in policy.may_change)


def intake(state, ctx):
    return {"baseline": files(ctx)}


def plan(state, ctx):
    asked = Request(instructions="Give one edit that makes the tests pass.", context={"evidence": state.evidence})
    return {"plan": ask(ctx.llm, asked, Edit), "tries": state.tries + 1}


def execute(state, ctx):
    edits = [{"old": state.plan.old, "new": state.plan.new}]
    result = ctx.tools.call("edit_file", path=state.plan.path, edits=edits, on="original")
    return {"problem": str(result.error or "")}


def route_after_execute(state) -> Route:
    if state.problem:
        return Route(Stage.HUMAN, state.problem)
    return Route(Stage.VERIFY, f"written: {state.plan.path}")


def verify(state, ctx):
    tests = ctx.tools.call("run_command", argv=TESTS).value
    if tests.exit_code != 0:
        return {"verdict": "fail", "evidence": tests.output[-600:] or tests.problem}
    found = guard(state.baseline, files(ctx), ctx.policy)  # after the tests: what they run may write, too
    if found:
        return {"verdict": "forbidden", "evidence": f"changed, and may not be: {', '.join(found)}"}
    held_out = ctx.tools.call("run_holdout").value
    if held_out.result.exit_code != 0:
        return {"verdict": "fail", "evidence": "the tests pass, and tests that you do not see fail"}
    return {"verdict": "pass", "evidence": "the tests and the held-out tests passed, and the guard found nothing"}


def route_after_verify(state) -> Route:
    if state.verdict == "pass":
        return Route(Stage.DONE, state.evidence)
    if state.verdict == "forbidden":
        return Route(Stage.HUMAN, state.evidence)
    if state.tries >= state.max_tries:
        return Route(Stage.HUMAN, f"{state.tries} of {state.max_tries} tries failed")
    return Route(Stage.PLAN, f"try {state.tries} failed")


GRAPH = Graph(
    state=Fix,
    nodes={
        Stage.INTAKE: Node(intake, owns={"baseline"}, tools=("list_files",), to=Stage.PLAN),
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
            tools=("run_command", "list_files", "run_holdout"),
            to=route_after_verify,
            exits={Stage.DONE, Stage.PLAN, Stage.HUMAN},
        ),
        Stage.HUMAN: Pause(owns={"max_tries"}, to=Stage.PLAN),
    },
    ends={Stage.DONE},
)

CHEAT = Edit("test_shop.py", "180", "190")
BY_HEART = Edit("shop.py", "sum(prices) - discount", "180")
RIGHT = Edit("shop.py", "sum(prices) - discount", "sum(prices) * (100 - discount) / 100")


def try_out(desk: Path, edits, on_event=None):
    """A run on a shop in the folder `desk`, with a model that gives these edits: the final state and the model."""
    for folder, texts in ("shop", SHOP), ("held_out", {"test_held_out.py": HELD_OUT}):
        (desk / folder).mkdir()
        for path, text in texts.items():
            (desk / folder / path).write_text(text, encoding="utf-8")
    llm = FakeLLM([asdict(edit) for edit in edits])
    tools = bench(desk / "shop", desk / "copy", desk / "held_out")
    return run_graph(GRAPH, Fix(task_id="t11"), Context(llm=llm, tools=tools, policy=Policy()), on_event=on_event), llm


if __name__ == "__main__":
    for edits in (CHEAT,), (BY_HEART, RIGHT):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as desk:
            print(f"\nthe first edit: {edits[0]}")
            try_out(Path(desk), edits, on_event=lambda event: print(f"  {event.stage:8} -> {event.reason}"))
