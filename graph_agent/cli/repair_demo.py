"""A simulated repair: what its model answers and its tools return. The first correction is wrong: one more round."""

from __future__ import annotations

from typing import Any

from graph_agent.llm.edits import Edit
from graph_agent.llm.fake import FakeLLM
from graph_agent.protocols import Context
from graph_agent.tools.command import CommandResult
from graph_agent.tools.fake import FakeTools
from graph_agent.tools.files import FileInfo, FileText, Found, sha256
from graph_agent.tools.linetrace import Trace
from graph_agent.tools.textedit import TextEdit, Version, edited, file_diff
from graph_agent.tools.workspace import Changed
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Plan, Repair, TaskState

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


def simulated_repair() -> tuple[TaskState, Context]:
    state = TaskState(task_id="demo", request="Make the failing test pass.", workspace="shop")
    policy = EvaluationPolicy(allowed_root="shop", commands=(TESTS,))
    return state, Context(llm=FakeLLM([FIRST, REPAIR]), tools=_Pretended().tools(), policy=policy)


def _plan(hypothesis: str, step: str, edit: Edit, claim: str, *cites: str) -> Plan:
    files = ("shop.py",)
    return Plan(hypothesis=hypothesis, steps=(step,), files_to_change=files, cites=cites, edits=(edit,), claim=claim)


FIRST = _plan(
    "the discount is subtracted as an amount", "multiply by the discount", WRONG, "a discount is a factor", "O2"
)
SECOND = _plan(
    "the discount is a percentage, and what is left has to be paid",
    "take the discount as a percentage",
    RIGHT,
    "ten percent off 200 is 180",
    *("O2", "V1"),
)
REPAIR = Repair(decision="repair", why="2000 is not less than 200", cites=("V1",), plan=SECOND)


class _Pretended:
    """A workspace of two files in memory: what its tests would print is looked up by the code."""

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
                "run_command": self._tested,
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

    def _restore(self, path: str, before: str) -> Changed:
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
        code = int(bool(wrong))
        rest: dict[str, Any] = {"timed_out": False, "seconds": 0.01, "dropped": 0, "isolation": "none"}
        return CommandResult(argv=argv, exit_code=code, output=output, **rest)


def _hash(text: str) -> str:
    return sha256(text.encode())


def _version(text: str) -> Version:
    return Version(raw=text.encode())
