"""What exercise 10 asks: a shop on the disk, edits that help and edits that don't, and tests that really run."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

from exercises.course import NotYet
from graph_agent import Context, FakeLLM, FakeTools, NodeError, ToolDenied, ToolError, run_graph
from graph_agent.tools.process import CommandResult

BUILDS_ON = ("07_real_files", "09_a_plan_is_data")
PENS = {"edit_file", "restore_file"}


def check(learner: ModuleType) -> None:
    wrong, right = learner.WRONG, learner.RIGHT
    _mended(learner, wrong, right)
    _table(learner)
    _what_may_be_written(learner)
    _no_such_text(learner)
    _three_verdicts(learner)


def _mended(learner: ModuleType, wrong, right) -> None:
    with _Desk() as desk:
        final, llm = desk.run(learner, wrong, right)
        if desk.now("shop", "shop.py") != learner.SHOP["shop.py"]:
            raise NotYet(
                "shop/shop.py was changed: that is the shop itself, which people use. The helper works on a copy, and "
                'a person takes the patch from there (README, "The task", 1).'
            )
        copied = desk.now("copy", "shop.py")
        if copied in (None, learner.SHOP["shop.py"]) and final.stage is learner.Stage.DONE:
            raise NotYet(
                f"the run ended at done ({final.route_reason}), and not one byte was changed: the copy's shop.py "
                f"{'is not there' if copied is None else 'is as it was'}. Nobody wrote, and nobody looked: connect "
                'the tools (README, "The task", 1 to 3).'
            )
        if final.stage is learner.Stage.HUMAN and final.problem:
            raise NotYet(
                f"the run stopped at HUMAN: {final.problem}\nEach try begins from the original file, not from what "
                'the try before it left: edit_file(..., on="original").'
            )
        if final.stage is learner.Stage.DONE and wrong.new in (copied or ""):
            raise NotYet(
                f"the first edit was {wrong.new!r}, which makes 2000 out of 180; the run ended at done with it. VERIFY "
                "has to run the tests and to read the exit code: 0 is a pass, another number a fail."
            )
        if final.stage is not learner.Stage.DONE or right.new not in (copied or ""):
            raise NotYet(
                f"a wrong edit, then the right one: the run stands at {final.stage} ({final.route_reason}), expected "
                f"done with the right edit in the copy. The evidence is: {final.evidence!r}"
            )
        told = str(llm.requests[1].context)
        if "2000" not in told or "180" not in told:
            raise NotYet(
                "the first try failed with 2000 != 180, and the question for the second doesn't say so: `evidence` is "
                "the end of what the tests printed."
            )


def _table(learner: ModuleType) -> None:
    nodes, stage = learner.GRAPH.nodes, learner.Stage
    pens = [each.value for each, node in nodes.items() if PENS & set(getattr(node, "tools", ()))]
    if pens != ["execute"]:
        raise NotYet(
            f"by the table these may write files: {', '.join(pens) or 'nobody'}. One hand on the pen: EXECUTE "
            'alone, so that whatever was changed was changed there (README, "The task", 4).'
        )
    if set(nodes[stage.EXECUTE].tools) != {"edit_file"} or set(nodes[stage.VERIFY].tools) != {"run_command"}:
        raise NotYet(
            f"EXECUTE may call {nodes[stage.EXECUTE].tools}, VERIFY {nodes[stage.VERIFY].tools}: give each the one "
            "tool that it needs. A tool that nobody calls is still one that may be called."
        )


def _what_may_be_written(learner: ModuleType) -> None:
    with _Desk() as desk:
        final, _ = desk.run(learner, learner.Edit("test_shop.py", "180", "190"))
        test = desk.now("copy", "test_shop.py")
        if test != learner.SHOP["test_shop.py"]:
            raise NotYet(
                "an edit of test_shop.py was carried out in the copy: is the tool too wide? Nothing but shop.py needs "
                'to be writable: Workspace(copy, writable=("shop.py",), ...).'
            )
        if final.stage is not learner.Stage.HUMAN or "test_shop.py" not in final.problem:
            raise NotYet(
                f"an edit of test_shop.py was refused by the tool, and the run stands at {final.stage} with the "
                f"problem {final.problem!r}. result.error says why: put its text into `problem`."
            )


def _no_such_text(learner: ModuleType) -> None:
    with _Desk() as desk:
        final, _ = desk.run(learner, learner.Edit("shop.py", "prices - discount", "prices"))
        if final.stage is not learner.Stage.HUMAN or not final.problem or final.verdict is not None:
            raise NotYet(
                f"an edit whose old text does not occur was sent on: the run stands at {final.stage} with the verdict "
                f"{final.verdict!r}. What was not written needs no test; the tool's error is the problem."
            )


def _three_verdicts(learner: ModuleType) -> None:
    def ended(**how):
        return CommandResult(argv=learner.TESTS, **how)

    for answer, name, expected in (
        (ended(exit_code=0, output="OK"), "ended with exit code 0", "pass"),
        (ended(exit_code=1, output="FAILED"), "ended with exit code 1", "fail"),
        (ended(exit_code=-9, output=""), "were ended by a signal, exit code -9", "fail"),
        (ended(problem="command not found: python"), "could not be started, exit code None", "unknown"),
        (ended(timed_out=True), "were stopped at their time limit, exit code None", "unknown"),
        (ToolError("not_allowed", "This is no command of the policy."), "were refused by the tool", "unknown"),
    ):
        patch = learner.verify(learner.Fix(task_id="t10", tries=1), Context(tools=FakeTools({"run_command": answer})))
        if patch["verdict"] != expected:
            raise NotYet(
                f"the tests {name}, and the verdict is {patch['verdict']!r}, expected {expected!r}. What could not be "
                "run is no pass, and no fail either: no edit would mend it."
            )
        if expected == "unknown" and not patch["evidence"]:
            raise NotYet(f"the tests {name}: a person is asked, and `evidence` has nothing to tell them.")


class _Desk(tempfile.TemporaryDirectory):
    """A folder with the shop in it, for one run."""

    def __init__(self) -> None:
        super().__init__(ignore_cleanup_errors=True)

    def __enter__(self) -> "_Desk":
        super().__enter__()
        return self

    def now(self, folder: str, name: str) -> str | None:
        file = Path(self.name, folder, name)
        return file.read_text(encoding="utf-8") if file.exists() else None

    def run(self, learner: ModuleType, *edits):
        source = Path(self.name, "shop")
        source.mkdir()
        for path, text in learner.SHOP.items():
            (source / path).write_text(text, encoding="utf-8")
        script = iter(edits)
        llm = FakeLLM(lambda request: asdict(next(script, edits[-1])))
        world = Context(llm=llm, tools=learner.bench(source, Path(self.name, "copy")))
        try:
            return run_graph(learner.GRAPH, learner.Fix(task_id="t10"), world), llm
        except NodeError as error:
            if isinstance(error.__cause__, ToolDenied):
                raise NotYet(f"a node called what its line in the table does not name: {error.__cause__}") from error
            raise
