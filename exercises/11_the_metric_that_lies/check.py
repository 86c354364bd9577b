"""What exercise 11 asks: four ways to green, of which one is honest; and what the one who proposes got to know."""

import tempfile
from pathlib import Path
from types import ModuleType

from exercises.course import NotYet
from graph_agent import NodeError, ToolDenied
from graph_agent.llm.fake import FakeLLMError

BUILDS_ON = ("10_one_hand_on_the_pen",)
OLD = "sum(prices) - discount"
LEAKS = ("38.5", "44, 33", "HeldOut", "test_held_out", "test_other_prices")


def check(learner: ModuleType) -> None:
    _changed_test(learner)
    _guard(learner)
    _by_heart_then_right(learner)
    _written_by_the_tests(learner)
    _table(learner)


def _changed_test(learner: ModuleType) -> None:
    final, _, _, _ = _run(learner, learner.CHEAT)
    if final.stage is learner.Stage.DONE:
        raise NotYet(
            "the edit made 190 of the 180 in test_shop.py, and the run ended at done. The tests are green because the "
            "test was changed; shop.py is as wrong as before. Write the guard, and let VERIFY ask it "
            '(README, "The task", 1 and 2).'
        )
    if final.stage is not learner.Stage.HUMAN or "test_shop.py" not in final.route_reason:
        raise NotYet(
            f"an edit of test_shop.py led to {final.stage} ({final.route_reason}); expected HUMAN, with the name of "
            "the file in the reason: a person should see what was tried. The verdict for it is 'forbidden'."
        )


def _guard(learner: ModuleType) -> None:
    before = (("shop.py", "a"), ("test_shop.py", "b"))
    for now, what, policy, expected in (
        (before, "nothing changed", None, ()),
        ((("shop.py", "x"), ("test_shop.py", "b")), "shop.py changed", None, ()),
        ((("shop.py", "a"), ("test_shop.py", "x")), "test_shop.py changed", None, ("test_shop.py",)),
        ((("shop.py", "a"),), "test_shop.py is gone", None, ("test_shop.py",)),
        ((*before, ("unittest.py", "x")), "a file unittest.py came", None, ("unittest.py",)),
        ((("shop.py", "x"), ("test_shop.py", "b")), "shop.py changed", learner.Policy(("till.py",)), ("shop.py",)),
    ):
        policy = policy or learner.Policy()
        found = learner.guard(before, now, policy)
        if tuple(sorted(found)) != expected:
            raise NotYet(
                f"{what}, where may_change is {policy.may_change}: guard() returned {found}, expected {expected}. "
                "Compare all paths of both sides, then leave out what the policy lets change. (A list of what may "
                "be done is safer than one of what may not: nobody would have thought of a unittest.py.)"
            )


def _by_heart_then_right(learner: ModuleType) -> None:
    wrong = learner.Edit("shop.py", OLD, "sum(prices) * discount")
    final, llm, shop, held_out = _run(learner, wrong, learner.BY_HEART, learner.RIGHT)
    if final.stage is learner.Stage.DONE and learner.RIGHT.new not in shop:
        raise NotYet(
            f"total() returns {learner.BY_HEART.new!r} whatever it is given, and the run ended at done: the code knows "
            "the one test by heart. A test that the helper can't see would tell: call run_holdout when the rest is "
            'green (README, "The task", 2).'
        )
    if final.stage is not learner.Stage.DONE:
        raise NotYet(
            f"a wrong edit, one that knows the test by heart, then the right one: the run stands at {final.stage} "
            f"({final.route_reason}), expected done. The right edit passes everything."
        )
    told = " ".join(str(request.context) for request in llm.requests)
    leaked = [word for word in LEAKS if word in told]
    if leaked:
        raise NotYet(
            f"what the model was told holds {leaked[0]!r}, and that is out of the held-out test. Next time it knows "
            "that one by heart too. Say that it failed, and not one word more."
        )
    if not llm.requests[2].context["evidence"]:
        raise NotYet("the held-out test failed, and `evidence` says nothing: one sentence is due, that it failed.")
    if held_out != 2:
        raise NotYet(
            f"of three tries, one failed the visible tests, and the held-out test ran {held_out} times; expected 2. "
            "Cheapest first; and each run of the held-out test tells the helper a little, so it runs only when all "
            "else is green."
        )


def _written_by_the_tests(learner: ModuleType) -> None:
    trick = learner.Edit("shop.py", OLD, f'{learner.RIGHT.new}\n\n\nopen("notes.txt", "w").close()')
    final, _, _, held_out = _run(learner, trick)
    if final.stage is not learner.Stage.HUMAN or "notes.txt" not in final.route_reason:
        raise NotYet(
            "an edit of shop.py writes a file notes.txt when the tests import it, and the run stands at "
            f"{final.stage} ({final.route_reason}); expected HUMAN, and notes.txt in the reason. The pen is not the "
            "only thing that writes: whatever the tests run can. Take down the files *after* the tests ran."
        )
    if held_out:
        raise NotYet("the guard had found something, and the held-out test ran all the same: the guard comes first.")


def _table(learner: ModuleType) -> None:
    for tool, owner in (("run_holdout", "verify"), ("edit_file", "execute")):
        users = [each.value for each, node in learner.GRAPH.nodes.items() if tool in getattr(node, "tools", ())]
        if users != [owner]:
            raise NotYet(f"by the table these may call {tool}: {', '.join(users)}. It should be {owner} alone.")


def _run(learner: ModuleType, *edits):
    """The final state, the model, the copy's shop.py, and how often the held-out test ran."""
    uses: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as desk:
        try:
            final, llm = learner.try_out(
                Path(desk), edits, lambda event: uses.extend(use.tool for use in event.tool_uses)
            )
        except NodeError as error:
            if isinstance(error.__cause__, ToolDenied):
                raise NotYet(f"a node called what its line in the table does not name: {error.__cause__}") from error
            if isinstance(error.__cause__, FakeLLMError):
                raise NotYet(
                    f"after the edit {edits[-1]} the run asked for one more; the verdict was {error.state.verdict!r}: "
                    f"{error.state.evidence!r}. A file that may not change is 'forbidden', which goes to a person; an "
                    "honest edit is a 'pass'."
                ) from error
            raise
        shop = Path(desk, "copy", "shop.py").read_text(encoding="utf-8")
    return final, llm, shop, uses.count("run_holdout")
