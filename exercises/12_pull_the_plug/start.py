"""12. Pull the plug: a helper reads the orders, pays a customer back, writes a letter. It may die at any moment."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from graph_agent import Context, FakeTools, Graph, GraphState, Node, run_graph


class Stage(StrEnum):
    READ = "read"
    PAY = "pay"
    THANK = "thank"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Refund(GraphState):
    stage: Stage = Stage.READ
    cents: int = 0  # in version 1 of this class the field was `euros: float = 0.0`
    paid: bool = False


def read(state, ctx):
    return {"cents": ctx.tools.call("read_orders").value}


def pay(state, ctx):
    # your turn (2): when the bank knows ctx.key already, it is paid: ctx.tools.call("bank_knows", key=ctx.key).value
    ctx.tools.call("bank_pay", key=ctx.key, cents=state.cents)
    plug("paid")  # paid, and nobody has written down that it is
    return {"paid": True}


def thank(state, ctx):
    plug("thank")  # a letter is written; nothing in the state changes


# your turn (3): a migration for runs of version 1, and its name in `migrations`
GRAPH = Graph(
    state=Refund,
    nodes={
        Stage.READ: Node(read, owns={"cents"}, to=Stage.PAY, tools=("read_orders",)),
        # your turn (2): say that this node changes the world, and what a resume does about it
        Stage.PAY: Node(pay, owns={"paid"}, to=Stage.THANK, tools=("bank_pay", "bank_knows")),
        Stage.THANK: Node(thank, owns=(), to=Stage.DONE),
    },
    ends={Stage.DONE},
    schema_version=2,
    migrations=(),
)


def work(desk: Path) -> Refund:
    """Do the job whose papers are in the folder `desk`, or go on with it."""
    ctx = Context(tools=tools_of(desk))
    # your turn (1): keep the run in the folder desk / "run", and go on where it stands
    return run_graph(GRAPH, Refund(task_id="r1"), ctx)


def tools_of(desk: Path) -> FakeTools:
    """The world: a line in orders.txt for each reading, a line in bank.txt for each payment."""

    def add(name, line):
        with (desk / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    script = {
        "read_orders": lambda: add("orders.txt", "400 orders were read") or 2000,
        "bank_pay": lambda key, cents: add("bank.txt", f"{key} {cents}"),
        "bank_knows": lambda key: any(line.startswith(f"{key} ") for line in lines(desk / "bank.txt")),
    }
    return FakeTools(script, effects={"bank_pay": "external"})


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def plug(where: str) -> None:
    """The process ends here, at once and without a word, when it was started as `exercise.py DESK where`."""
    if sys.argv[2:] == [where]:
        os._exit(9)


def three_times() -> None:
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as desk:
        for where in ("paid", "thank", "nowhere"):
            ended = subprocess.run([sys.executable, __file__, desk, where], env=found, check=False)
            print(f"plug pulled: {where:8} exit code {ended.returncode}")
        print(f"read: {lines(Path(desk, 'orders.txt'))}\npaid: {lines(Path(desk, 'bank.txt'))}")


if __name__ == "__main__":
    work(Path(sys.argv[1])) if sys.argv[1:] else three_times()
