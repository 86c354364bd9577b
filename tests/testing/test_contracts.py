"""Contract suites: our own parts keep them, and one bad part of each kind is caught by the clause that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from graph_agent import (
    ChatLLM,
    Context,
    FakeLLM,
    FakeTools,
    GraphState,
    LLMError,
    MutationLLM,
    Node,
    RecordingLLM,
    ReplayLLM,
    Reply,
    Request,
    Toolbox,
    ToolError,
)
from graph_agent.testing.contracts import (
    QUESTION,
    ContractBroken,
    check_codec,
    check_llm,
    check_node,
    check_tool,
    check_toolbox,
)
from graph_agent.tools.toolbox import FunctionTool
from graph_agent.tools.workbench import Bench, workbench
from graph_agent.workflows.repair.state import TaskState
from tests.llm.chat_server import serve
from tests.testing.graphs import START, Job, Stage

TOOLS = FakeTools({"hammer": "ok", "saw": "ok"})


def node(run: Callable[[Any, Any], Any], **more: Any) -> Node:
    table: dict[str, Any] = {"owns": {"tries"}, "reads": {"tries"}, "tools": ("hammer",), "to": Stage.CHECK}
    return Node(run, **{**table, **more})


def good(state: Job, ctx: Any) -> Any:
    return {"tries": state.tries + 1 if ctx.tools.call("hammer").ok else state.tries}


async def later(state: Job, ctx: Any) -> Any:
    return {"tries": state.tries + 1}


def context() -> Context:
    return Context(llm=FakeLLM(["yes"]), tools=TOOLS)


def test_a_good_node_gives_its_patch() -> None:
    assert check_node(node(good), START, context) == {"tries": 1}
    assert check_node(node(later), START, context) == {"tries": 1}
    assert check_node(node(lambda state, ctx: None), START, context()) == {}
    assert check_node(node(lambda state, ctx: {"tries": state.max_tries}, reads=None), START, context) == {"tries": 2}


CALLS = [0]


def counting(state: Job, ctx: Any) -> Any:
    CALLS[0] += 1
    return {"tries": CALLS[0]}


def meddling(state: Job, ctx: Any) -> Any:
    START.__dict__["log"] = ("x", *START.log)
    return {}


@pytest.mark.parametrize(
    ("run", "clause", "said"),
    [
        (lambda state, ctx: {"tries": state.max_tries}, "reads", "it looks at max_tries"),
        (lambda state, ctx: {"tries": len(str(replace(state)))}, "reads", "it looks at "),
        (lambda state, ctx: {"good": True}, "owns", "it wrote good, and owns tries"),
        (lambda state, ctx: {"tries": "1"}, "types", "tries: expected int, got '1' (str)"),
        (lambda state, ctx: [1], "patch", "it returned [1]"),
        (lambda state, ctx: ctx.tools.call("saw") and {}, "denied", "saw"),
        (lambda state, ctx: ctx.llm.complete(QUESTION) and {}, "denied", "may not ask a model"),
        (counting, "deterministic", "the same state gave {'tries': 1}, then {'tries': 2}"),
        (meddling, "pure", "it changed log"),
    ],
)
def test_each_clause_of_a_node(run: Any, clause: str, said: str) -> None:
    CALLS[0] = 0
    with pytest.raises(ContractBroken) as error:
        check_node(node(run), START, context)
    START.__dict__["log"] = ()
    assert error.value.clause == clause
    assert said in str(error.value)


def test_what_a_node_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        check_node(node(lambda state, ctx: 1 // state.tries), START, context)


def test_the_nodes_of_the_repair_keep_to_their_table() -> None:
    from graph_agent import run_graph
    from graph_agent.cli.demo import simulated_repair
    from graph_agent.workflows.repair.graph import GRAPH as REPAIR

    checked: set[str] = set()
    nodes = dict(REPAIR.nodes)

    def held(stage: Any, entry: Node) -> Any:
        def run(state: Any, ctx: Any) -> Any:
            checked.add(stage.value)
            whole = Context(
                llm=ctx.llm if entry.model else None, tools=ctx.tools if entry.tools else None, policy=ctx.policy
            )
            return check_node(entry, state, whole)

        return replace(entry, run=run)

    table = {stage: held(stage, entry) if isinstance(entry, Node) else entry for stage, entry in nodes.items()}
    state, ctx = simulated_repair()
    final = run_graph(replace(REPAIR, nodes=table), state, ctx)
    assert final.stage.value == "done"
    assert checked == {"intake", "diagnose", "plan", "execute", "verify", "repair"}


def text(request: Request) -> str:
    return "yes"


def test_our_models_keep_the_contract(tmp_path: Path) -> None:
    check_llm(lambda: FakeLLM(text))
    check_llm(lambda: FakeLLM(["yes"]), threads=0)
    check_llm(lambda: FakeLLM([LLMError("down")]), threads=0)
    recorded = tmp_path / "recorded.jsonl"
    check_llm(lambda: RecordingLLM(FakeLLM(text), recorded), threads=1)
    check_llm(lambda: ReplayLLM(recorded), threads=0)
    check_llm(MutationLLM)


def test_the_model_behind_a_server_keeps_the_contract() -> None:
    from tests.llm.chat_server import says

    with serve(*[says("yes") for _ in range(9)]) as server:
        check_llm(lambda: ChatLLM(server.url, "small"))


class Says:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def complete(self, request: Request, /) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer == "meddle":
            request.context["question"] = "Other?"  # type: ignore[index]
            return Reply(text="x")
        return self.answer


@pytest.mark.parametrize(
    ("answer", "clause"),
    [
        ("yes", "reply"),
        (Reply(text=b"x"), "reply"),  # type: ignore[arg-type]
        (Reply(text="x", finish="done"), "finish"),  # type: ignore[arg-type]
        (Reply(text="x", tokens_in=-1), "tokens"),
        (Reply(text="x", tokens_out=True), "tokens"),
        (ValueError("no"), "errors"),
        ("meddle", "request"),
    ],
    ids=str,
)
def test_each_clause_of_a_model(answer: Any, clause: str) -> None:
    with pytest.raises(ContractBroken) as error:
        check_llm(lambda: Says(answer), Request(instructions="x", context={"question": "Which?"}), threads=0)
    assert error.value.clause == clause


def test_a_model_that_several_threads_break_is_found() -> None:
    class Once:
        def __init__(self) -> None:
            self.asked = 0

        def complete(self, request: Request, /) -> Any:
            self.asked += 1
            return Reply(text="x") if self.asked == 1 else None

    with pytest.raises(ContractBroken, match="threads: it returned None and no Reply"):
        check_llm(Once)


def nail(length: int) -> str:
    """Drive a nail."""
    if length > 9:
        raise ToolError("too_long", "The nail is too long.")
    return "driven"


def test_our_tools_keep_the_contract() -> None:
    assert check_tool(FunctionTool(nail), {"length": 3}).value == "driven"
    assert not check_tool(FunctionTool(nail), {"length": 10}).ok
    check_toolbox(lambda: Toolbox([nail, FunctionTool(nail, name="other")]))
    check_toolbox(lambda: FakeTools({"hammer": "ok", "saw": "ok"}))


def test_the_tools_of_the_bench_keep_the_contract(tmp_path: Path) -> None:
    def bench() -> Toolbox:
        commands = (("true",),)
        return workbench(
            Bench(
                root=tmp_path,
                baseline=tmp_path,
                writable=("**/*.py",),
                protected=(),
                commands=commands,
                tests=commands,
                timeout=9,
            )
        )

    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    check_toolbox(bench)
    given: dict[str, dict[str, Any]] = {
        "read_file": {"path": "a.py"},
        "search": {"text": "x"},
        "edit_file": {"path": "a.py", "edits": [{"old": "1", "new": "2"}]},
        "restore_file": {"path": "a.py"},
        "run_command": {"argv": ["true"]},
        "trace_tests": {"argv": ["true"]},
    }
    for tool in bench().specs():
        check_tool(tool, given.get(tool.name, {}))


class Bad:
    name, description, effect, metered = "bad", "Does it badly.", "read", True
    schema: Any = {"type": "object", "properties": {"length": {"type": "integer"}}, "additionalProperties": False}

    def __call__(self, **arguments: Any) -> Any:
        return arguments


def changed(**more: Any) -> Any:
    return type("Changed", (Bad,), more)()


@pytest.mark.parametrize(
    ("tool", "clause"),
    [
        (changed(description=""), "declares"),
        (changed(effect="destroy"), "declares"),
        (changed(metered=1), "declares"),
        (changed(schema={"type": "object", "properties": {}}), "schema"),
        (changed(__call__=lambda self, **arguments: 1 // 0), "call"),
    ],
    ids=["no description", "effect", "metered", "schema", "raises"],
)
def test_each_clause_of_a_tool(tool: Any, clause: str) -> None:
    with pytest.raises(ContractBroken) as error:
        check_tool(tool, {"length": 3})
    assert error.value.clause == clause


class Loose(Toolbox):
    """It narrows to nothing in particular and answers to any name."""

    def only(self, names: Any, /) -> Any:
        return self

    def call(self, name: str, /, **arguments: Any) -> Any:
        return None


def test_each_clause_of_a_toolbox() -> None:
    with pytest.raises(ContractBroken, match="only"):
        check_toolbox(lambda: Loose([nail, FunctionTool(nail, name="other")]))
    with pytest.raises(ContractBroken, match="only: it gave"):
        check_toolbox(lambda: Loose([nail]))


@pytest.mark.parametrize("state", [Job, TaskState])
def test_our_states_come_back_from_json(state: Any) -> None:
    check_codec(state, examples=50)


@dataclass(frozen=True, kw_only=True)
class Rounding(GraphState):
    stage: Stage = Stage.WORK
    level: float = 0.0

    def __post_init__(self) -> None:
        """Another value each time that it is made."""
        object.__setattr__(self, "level", self.level + 1)


def test_a_state_that_does_not_come_back_is_caught() -> None:
    with pytest.raises(ContractBroken, match="round trip"):
        check_codec(Rounding, task_id="t")
