"""What a node may use: only what it declared, and every call counted."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from graph_agent import Context, ContextError, FakeTools, NodeError, Request, ToolDenied, run_graph
from tests.runtime.counting import Count, Echo, counting, start


def inside(look: Any, ctx: Context | None = None, **node: Any) -> Any:
    """What a function of the context gives inside a node; what it raises there is raised here."""
    found: list[Any] = []

    def run(state: Count, ctx: Context) -> dict[str, Any]:
        found.append(look(ctx))
        return {"count": 9}

    try:
        run_graph(counting(run, **node), start(), ctx or Context())
    except NodeError as error:
        raise error.error from None
    return found[0]


def test_a_node_that_declared_no_model_may_not_ask_one():
    model = Echo()
    with pytest.raises(ToolDenied, match=r"work may not ask a model: declare it with Node\(..., model=True\)"):
        inside(lambda ctx: ctx.llm.complete(Request(instructions="?")), Context(llm=model))
    assert model.asked == 0


def test_a_declared_model_that_the_context_lacks_is_said():
    with pytest.raises(ContextError, match=r"work asks a model, but the context has none: give Context\(llm=...\)"):
        inside(lambda ctx: ctx.llm, model=True)


def test_a_node_holds_the_tools_that_it_declared_and_no_other():
    tools = FakeTools({"read": "text", "write": "done"})
    held = inside(lambda ctx: [tool.name for tool in ctx.tools.specs()], Context(tools=tools), tools=("read",))
    assert held == ["read"]
    with pytest.raises(ToolDenied, match="write"):
        inside(lambda ctx: ctx.tools.call("write"), Context(tools=tools), tools=("read",))
    assert inside(lambda ctx: ctx.tools.call("read").value, Context(tools=tools), tools=("read",)) == "text"


def test_a_node_without_tools_holds_none():
    for ctx in (Context(), Context(tools=FakeTools({"read": "text"}))):
        assert inside(lambda ctx: ctx.tools.specs(), ctx) == ()
        with pytest.raises(ToolDenied, match="read"):
            inside(lambda ctx: ctx.tools.call("read"), ctx)


def test_declared_tools_that_the_context_lacks_are_said():
    with pytest.raises(ContextError, match="work uses read, but the context has no tools"):
        inside(lambda ctx: ctx.tools, tools=("read",))
    with pytest.raises(ContextError, match="reed"):
        inside(lambda ctx: ctx.tools, Context(tools=FakeTools({"read": "text"})), tools=("reed",))


def test_a_denied_tool_is_in_the_account_of_its_step():
    told: list[Any] = []

    def tries(state: Count, ctx: Context) -> dict[str, Any]:
        with pytest.raises(ToolDenied):
            ctx.tools.call("write")
        return {"count": 9}

    tools = Context(tools=FakeTools({"read": "text"}))
    run_graph(counting(tries, tools=("read",)), start(), tools, on_event=told.append)
    assert [(use.tool, use.verdict) for use in told[0].tool_uses] == [("write", "denied: not among the node's tools")]
    assert told[0].turns == 0


def test_the_key_is_the_same_on_a_retry_and_another_on_the_next_visit():
    keys: list[str] = []

    def run(state: Count, ctx: Context) -> dict[str, Any]:
        keys.append(ctx.key)
        if len(keys) == 1:
            raise OSError("try again")
        return {"count": state.count + 1}

    run_graph(counting(run, retry=1), start(task_id="job"))
    assert keys == ["job:work:1", "job:work:1", "job:work:3"]


def test_a_context_that_outlives_its_visit_keeps_the_key_of_its_visit():
    kept: list[Context] = []

    def run(state: Count, ctx: Context) -> dict[str, Any]:
        kept.append(ctx)
        return {"count": state.count + 1}

    run_graph(counting(run), start(need=3))
    assert [ctx.key for ctx in kept] == ["t:work:1", "t:work:3", "t:work:5"]


def test_the_policy_is_the_same_object_in_every_node():
    policy = object()
    assert inside(lambda ctx: ctx.policy, Context(policy=policy)) is policy


@pytest.mark.parametrize("name", ["llm", "tools", "policy", "key", "note", "reserve", "other"])
def test_a_node_can_not_change_its_context(name):
    def change(ctx: Context) -> None:
        setattr(ctx, name, None)

    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        inside(change)


def test_a_context_outside_of_a_run_can_be_used_to_call_a_node_by_hand():
    ctx = Context(llm=Echo(), key="k")
    ctx.note("goes nowhere")
    ctx.reserve(3)
    assert (ctx.llm.complete({}).text, ctx.key, ctx.tools, ctx.policy) == ("answer 1", "k", None, None)


def test_a_view_is_a_context():
    assert inside(lambda ctx: isinstance(ctx, Context)) is True
