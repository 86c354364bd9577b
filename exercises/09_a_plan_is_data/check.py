"""What exercise 9 asks: replies of all kinds, and after each the number of questions and of edits that came of it."""

import json
from dataclasses import fields
from types import ModuleType

from exercises.course import NotYet
from graph_agent import Context, FakeLLM, FakeTools, NodeError, Reply, answer, run_graph

BUILDS_ON = ("04_route_after_verify", "06_rule_at_the_door")

GOOD = {"hypothesis": "it is a percentage", "path": "shop.py", "old": "- discount", "new": "* (100 - discount) / 100"}
BOSSY = GOOD | {"next": "done"}
TEST = GOOD | {"path": "test_shop.py", "old": "180", "new": "190"}
EMPTY = GOOD | {"new": GOOD["old"]}


def check(learner: ModuleType) -> None:
    _not_obeyed(learner)
    _good(learner)
    for reply, name, word in (
        ("I would change the discount. Shall I?", "no JSON at all", ""),
        ({"path": "shop.py"}, "a plan that lacks three fields", "hypothesis"),
        (GOOD | {"old": 7}, "a plan with a number for a text", "old"),
        (TEST, "a plan to change test_shop.py", "test_shop.py"),
        (EMPTY, "a plan whose edit changes nothing", ""),
    ):
        _corrected(learner, reply, name, word)
        _given_up(learner, reply, name, word)
    _cut(learner)
    _other_policy(learner)
    _goes_on(learner)


def _not_obeyed(learner: ModuleType) -> None:
    final, llm, edits = _run(learner, BOSSY, GOOD)
    if final.stage is learner.Stage.DONE and not edits:
        raise NotYet(
            'the reply held "next": "done", and the run obeyed: it ended at done, and nothing was edited. A model says '
            'what it would change; where the run goes on is decided by the route (README, "The task", 1 and 4).'
        )
    if "next" in {one.name for one in fields(learner.Plan)}:
        raise NotYet(
            "Plan still has the field `next`, so the schema still asks a model to say where the run goes on. What "
            'nobody should use nobody should ask for: take it out (README, "The task", 1).'
        )
    if learner.Stage.DONE in learner.GRAPH.nodes[learner.Stage.PLAN].exits:
        raise NotYet(
            "PLAN may still route to DONE: take it out of its exits. A way that the table does not have can't be "
            "taken, by no mistake and no model."
        )
    if final.stage is not learner.Stage.DONE or len(llm.requests) != 2:
        raise NotYet(
            f'a reply with a field too many ("next") ended at {final.stage} after {len(llm.requests)} questions; '
            "expected: sent back once, then the good plan is carried out. `ask` does that (The task, 3)."
        )


def _good(learner: ModuleType) -> None:
    for reply, name in ((GOOD, "a good plan"), (f"Here it is:\n```json\n{json.dumps(GOOD)}\n```", "one in prose")):
        final, llm, edits = _run(learner, reply)
        if final.stage is not learner.Stage.DONE or len(llm.requests) != 1:
            raise NotYet(
                f"{name} ended at {final.stage} ({final.route_reason}) after {len(llm.requests)} questions, expected "
                "done after one"
            )
        if not llm.requests[0].schema:
            raise NotYet("the question had no schema, so a model has to guess the form: `ask` sends it along.")
        wanted = {name: GOOD[name] for name in ("path", "old", "new")}
        if edits != [wanted]:
            raise NotYet(f"of {name} came the edits {edits}, expected {[wanted]}: EXECUTE carries out state.plan")


def _corrected(learner: ModuleType, reply: object, name: str, word: str) -> None:
    final, llm, edits = _run(learner, reply, GOOD)
    if any(edit["path"] == "test_shop.py" for edit in edits):
        raise NotYet(
            "the plan was to change test_shop.py, and it was carried out: a plan may fit its schema and still be "
            'forbidden. `refusal` has to say so, and `ask(..., check=...)` to call it (README, "The task", 2).'
        )
    if final.stage is not learner.Stage.DONE or len(llm.requests) != 2:
        raise NotYet(
            f"{name}, then a good one: the run ended at {final.stage} ({final.route_reason}) after "
            f"{len(llm.requests)} questions. Expected: it goes back once with what was wrong, and the second answer is "
            "carried out."
        )
    wrong = str(llm.requests[1].context.get("what_was_wrong", ""))
    if not wrong or word not in wrong:
        raise NotYet(
            f"{name} was asked for again, and the second question says this of what was wrong: {wrong!r}. It should "
            f"name {word or 'the fault'!r}: a model that isn't told repeats itself."
        )


def _given_up(learner: ModuleType, reply: object, name: str, word: str) -> None:
    final, llm, edits = _run(learner, reply)
    if len(llm.requests) > 2:
        raise NotYet(f"{name}, each time: a model was asked {len(llm.requests)} times. Correct once, then a person.")
    if edits:
        raise NotYet(f"{name}, each time: and {len(edits)} edit was made. Without a valid plan there is nothing to do.")
    if final.stage is not learner.Stage.HUMAN or final.plan is not None:
        raise NotYet(
            f"{name}, twice: the run stands at {final.stage} with the plan {final.plan}; expected HUMAN and no plan"
        )
    if not final.blocked or word not in final.blocked or final.blocked not in final.route_reason:
        raise NotYet(
            f"{name}, twice: `blocked` is {final.blocked!r} and the reason for HUMAN {final.route_reason!r}. The "
            "person has to read what was wrong: put the error's text into `blocked`, and that into the route's reason."
        )


def _cut(learner: ModuleType) -> None:
    final, llm, _ = _run(learner, Reply(text=json.dumps(GOOD), finish="length"))
    if final.stage is not learner.Stage.HUMAN or len(llm.requests) != 1:
        raise NotYet(
            f"a reply that was cut at the length limit ended at {final.stage} after {len(llm.requests)} questions. "
            "What was cut is not read, however whole it looks, and asking again would cut it again: `ask` knows that."
        )


def _other_policy(learner: ModuleType) -> None:
    final, _, edits = _run(learner, GOOD | {"path": "till.py"}, policy=learner.Policy(may_write=("till.py",)))
    if final.stage is not learner.Stage.DONE or not edits:
        raise NotYet(
            f"under a policy that allows till.py, a plan for it ended at {final.stage} ({final.route_reason}): "
            "`refusal` has to look at policy.may_write, and `plan` to hand it ctx.policy"
        )


def _goes_on(learner: ModuleType) -> None:
    stopped, _, _ = _run(learner, TEST)
    again = answer(learner.GRAPH, stopped, {"request": "Mend shop.py, not the test."})
    final, _, _ = _run(learner, GOOD, state=again)
    if final.stage is not learner.Stage.DONE:
        raise NotYet(
            f"a person put the request in better words, a good plan came, and the run ended at {final.stage} "
            f"({final.route_reason}): does something of the first try still stand in `blocked`?"
        )


def _run(learner: ModuleType, *replies: object, state=None, policy=None):
    """The final state, the model, and the edits; the last reply is given again for as long as it is asked for."""
    script = iter(replies)
    llm = FakeLLM(lambda request: next(script, replies[-1]))
    tools = FakeTools({"edit_file": None}, effects={"edit_file": "write"})
    world = Context(llm=llm, tools=tools, policy=policy or learner.Policy())
    start = state or learner.Fix(task_id="t9", request="Make the failing test pass.")
    try:
        final = run_graph(learner.GRAPH, start, world, max_steps=20)
    except NodeError as error:
        if isinstance(error.__cause__, NameError):
            raise  # not the reply's fault: a name is not imported, say
        raise NotYet(
            f"the reply {replies[0]!r} ended the whole run: {type(error.__cause__).__name__}: {error.__cause__}. What "
            "a model says may be anything, so nothing that it says is a crash: catch LLMError around `ask`, and say "
            "in `blocked` what was wrong (The task, 3)."
        ) from error
    return final, llm, [dict(call.arguments) for call in tools.calls]
