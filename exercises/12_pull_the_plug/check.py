"""What exercise 12 asks: real processes that end in the middle, and what the world looks like after a resume."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import graph_agent
from exercises.course import NotYet
from graph_agent import Graph, GraphState, InDoubt, Node, Run, RunBusy, RunMisfit

BUILDS_ON = ("03_state_first",)
DIED = 9


def check(learner: ModuleType) -> None:
    for at in (_undisturbed, _killed_before_the_letter, _killed_after_the_payment, _over, _old_version):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as desk:
            at(learner, Path(desk))


def _undisturbed(learner: ModuleType, desk: Path) -> None:
    final = _work(learner, desk)
    if final.stage is not learner.Stage.DONE:
        raise NotYet(f"with no plug pulled, work() returned a state at {final.stage}: it has to return the final one")
    if _lines(desk, "bank.txt") != ["r1:pay:2 2000"]:
        raise NotYet(f"with no plug pulled, bank.txt is {_lines(desk, 'bank.txt')}, expected ['r1:pay:2 2000']")


def _killed_before_the_letter(learner: ModuleType, desk: Path) -> None:
    _kill(learner, desk, "thank")
    _work(learner, desk)
    read, paid = _lines(desk, "orders.txt"), _lines(desk, "bank.txt")
    if len(read) != 1 or len(paid) != 1:
        raise NotYet(
            f"after a kill before the letter, the orders were read {len(read)} times and {len(paid)} payments were "
            "made, where one of each was needed: the finished steps ran again. work() begins anew each time; give the "
            'run a folder (README, "The task", 1).'
        )


def _killed_after_the_payment(learner: ModuleType, desk: Path) -> None:
    if not learner.GRAPH.nodes[learner.Stage.PAY].effects:
        raise NotYet(
            "the node PAY changes the world and its line in the table does not say so: add effects=True, and "
            'on_interrupted=... (README, "The task", 2).'
        )
    _kill(learner, desk, "paid")
    try:
        _work(learner, desk)
    except InDoubt as error:
        raise NotYet(
            f"the process died after it had paid, and the resume stopped: {error}. It asked for a person, which is the "
            'careful default. Here the bank can be asked, so on_interrupted="retry" will do.'
        ) from error
    paid = _lines(desk, "bank.txt")
    if len(paid) != 1:
        raise NotYet(
            f"the process died after it had paid, and the resume paid again: {paid}. The two lines have the same key; "
            'ask the bank whether it knows ctx.key before you pay (README, "The task", 2).'
        )


def _over(learner: ModuleType, desk: Path) -> None:
    first, second = _work(learner, desk), _work(learner, desk)
    if first != second or len(_lines(desk, "orders.txt")) != 1:
        raise NotYet(
            "work() was called once more after the run was over, and did something: open the run, don't make one"
        )


def _old_version(learner: ModuleType, desk: Path) -> None:
    Run.create(desk / "run", OLD, OldRefund(task_id="r1", stage=OldStage.PAY, steps=1, euros=19.99)).close()
    try:
        final = _work(learner, desk)
    except RunMisfit as error:
        raise NotYet(
            f"a run that version 1 of this program left behind can't be opened: {error}. Nothing of it was changed. "
            'Write that migration and name it in the table (README, "The task", 3).'
        ) from error
    if _lines(desk, "orders.txt"):
        raise NotYet(
            'in desk / "run" lies a run of version 1 that has read its orders, and work() read them again. Keep the '
            "run in that very folder, and let a migration leave the stage where it is."
        )
    if final.cents != 1999 or _lines(desk, "bank.txt") != ["r1:pay:2 1999"]:
        raise NotYet(
            f"a run of version 1 owed 19.99 euros; migrated, {_lines(desk, 'bank.txt')} was paid, expected 1999 cents. "
            "A float times 100 is not always whole: look at 19.99 * 100 in a Python prompt, then use round()."
        )


class OldStage(StrEnum):
    READ = "read"
    PAY = "pay"
    THANK = "thank"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class OldRefund(GraphState):
    stage: OldStage = OldStage.READ
    euros: float = 0.0
    paid: bool = False


def _nothing(state, ctx):
    return None


OLD = Graph(
    state=OldRefund,
    nodes={
        OldStage.READ: Node(_nothing, owns={"euros"}, to=OldStage.PAY),
        OldStage.PAY: Node(_nothing, owns={"paid"}, to=OldStage.THANK),
        OldStage.THANK: Node(_nothing, owns=(), to=OldStage.DONE),
    },
    ends={OldStage.DONE},
)


def _work(learner: ModuleType, desk: Path) -> GraphState:
    try:
        final = learner.work(desk)
    except RunBusy as error:
        raise NotYet(f"{error}. The run was not given back: open it in a `with` statement.") from error
    if not isinstance(final, GraphState):
        raise NotYet(f"work() returned {final!r}: it has to return the state in which the run stopped")
    return final


def _kill(learner: ModuleType, desk: Path, where: str) -> None:
    """Start the learner's file as a process that ends itself there."""
    root = str(Path(graph_agent.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-B", str(learner.__file__), str(desk), where]
    ended = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if ended.returncode != DIED:
        said = ended.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise NotYet(
            f"`exercise.py DESK {where}` was to end itself at plug({where!r}), exit code {DIED}; it ended with "
            f"{ended.returncode} and said: {said[0]}. Leave plug() and its two calls where they were."
        )


def _lines(desk: Path, name: str) -> list[str]:
    path = desk / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
