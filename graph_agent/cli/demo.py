"""Watch the repair graph run on a scripted model and pretended tools: no disk, no network, no test is run.

The graph, the nodes, the routes, the policy and the guard are the real ones; only what the model answers and what the
tools return is written down below. The first correction is wrong, so the loop goes round once.
"""

from __future__ import annotations

import argparse

from graph_agent.cli.exits import DONE, WAITING, UsageError
from graph_agent.llm.edits import Edit
from graph_agent.llm.fake import FakeLLM
from graph_agent.protocols import Context
from graph_agent.runtime.events import Event
from graph_agent.runtime.run import run_graph
from graph_agent.tools.command import CommandResult
from graph_agent.tools.difftext import Version, file_diff
from graph_agent.tools.fake import FakeTools
from graph_agent.tools.files import FileInfo, FileText, sha256
from graph_agent.tools.linetrace import Trace
from graph_agent.tools.search import Found
from graph_agent.tools.textedit import TextEdit, edited
from graph_agent.tools.workspace import Changed
from graph_agent.view.steps import steps_table
from graph_agent.workflows.repair.graph import GRAPH
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Plan, Repair, Stage, TaskState

CODE = '''\
def total(prices, discount):
    """The sum of the prices less a discount in percent."""
    return sum(prices) - discount
'''
TEST = """\
from shop import total

def test_ten_percent_off():
    assert total([100, 100], 10) == 180
"""
WRONG = Edit(path="shop.py", old="sum(prices) - discount", new="sum(prices) * discount")
RIGHT = Edit(path="shop.py", old="sum(prices) - discount", new="sum(prices) * (100 - discount) / 100")
TESTS = Command(argv=("python3", "-m", "pytest", "-q"))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--width", type=int, default=120, metavar="N", help="columns of the table, at least 40 (120)")


def run(options: argparse.Namespace) -> int:
    """Run it, then print what each step changed and why the next could start."""
    if options.width < 40:
        raise UsageError(f"--width {options.width}: give 40 columns or more")
    events: list[Event] = []
    state, ctx = simulated_repair()
    with ctx.llm:
        final = run_graph(GRAPH, state, ctx, on_event=events.append)
    print(steps_table(events, before=state, width=options.width))
    print(f"\n{final.stage}: {final.route_reason}")
    return DONE if final.stage is Stage.DONE else WAITING


def simulated_repair() -> tuple[TaskState, Context]:
    """The first state, and a context whose model is scripted and whose tools pretend."""
    state = TaskState(task_id="demo", request="Make the failing test pass.", workspace="shop")
    policy = EvaluationPolicy(allowed_root="shop", commands=(TESTS,))
    return state, Context(llm=FakeLLM([_plan(), _repair()]), tools=_Pretended().tools(), policy=policy)


def _plan() -> Plan:
    return Plan(
        hypothesis="the discount is subtracted as an amount",
        steps=("multiply by the discount",),
        files_to_change=("shop.py",),
        cites=("O2",),
        edits=(WRONG,),
        claim="a discount is a factor",
    )


def _repair() -> Repair:
    plan = Plan(
        hypothesis="the discount is a percentage, and what is left has to be paid",
        steps=("take the discount as a percentage",),
        files_to_change=("shop.py",),
        cites=("O2", "V1"),
        edits=(RIGHT,),
        claim="ten percent off 200 is 180",
    )
    return Repair(decision="repair", why="2000 is not less than 200", cites=("V1",), plan=plan)


class _Pretended:
    """A workspace of two files in memory. Its tests are not run: what they would print is looked up by the code."""

    def __init__(self) -> None:
        self._original = {"shop.py": CODE, "test_shop.py": TEST}
        self._now = dict(self._original)

    def tools(self) -> FakeTools:
        return FakeTools(
            {
                "list_files": self._list,
                "read_file": lambda path: FileText(path=path, text=self._now[path], sha256=_hash(self._now[path])),
                "search": lambda **_: Found(hits=()),
                "diff": self._diff,
                "edit_file": self._edit,
                "restore_file": self._restore,
                "run_command": lambda argv: self._tested(argv),
                "trace_tests": lambda argv: Trace(failing={"shop.py": (3,)}, traceback={"shop.py": (3,)}),
                "run_holdout": [],
            },
            effects={"edit_file": "write", "restore_file": "write", "run_command": "execute", "trace_tests": "execute"},
        )

    def _list(self) -> tuple[FileInfo, ...]:
        return tuple(FileInfo(path=p, sha256=_hash(text), size=len(text)) for p, text in sorted(self._now.items()))

    def _diff(self) -> str:
        pairs = ((path, self._original[path], text) for path, text in self._now.items())
        return "".join(file_diff(path, _version(old), _version(new)) for path, old, new in pairs)

    def _edit(self, path: str, edits: tuple[TextEdit, ...], on: str, before: str) -> Changed:
        start = self._original[path] if on == "original" else self._now[path]
        return self._put(path, edited(start, edits, path))

    def _restore(self, path: str) -> Changed:
        return self._put(path, self._original[path])

    def _put(self, path: str, text: str) -> Changed:
        changed = Changed(path=path, before=_hash(self._now[path]), after=_hash(text))
        self._now[path] = text
        return changed

    def _tested(self, argv: tuple[str, ...]) -> CommandResult:
        got = {WRONG.new: "2000", RIGHT.new: ""}
        wrong = next((value for new, value in got.items() if new in self._now["shop.py"]), "190")
        output = (
            f"test_shop.py:4: AssertionError\nassert {wrong} == 180\n1 failed in 0.01s\n"
            if wrong
            else "1 passed in 0.01s\n"
        )
        return CommandResult(
            argv=argv,
            exit_code=int(bool(wrong)),
            timed_out=False,
            seconds=0.01,
            output=output,
            dropped=0,
            isolation="none",
        )


def _hash(text: str) -> str:
    return sha256(text.encode())


def _version(text: str) -> Version:
    return Version(raw=text.encode())
