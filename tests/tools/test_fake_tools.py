import asyncio
import threading

import pytest

from graph_agent.protocols import ContextError, ToolCall, ToolDenied, ToolError, ToolResult, Tools
from graph_agent.tools.fake import FakeTools, FakeToolsError


def test_a_list_is_used_up_in_order():
    tools: Tools = FakeTools({"read_file": ["one", ToolError("not_found", "Gone."), "two"]})
    assert tools.call("read_file", path="a") == ToolResult(tool="read_file", value="one", verdict="allowed: read tool")
    assert tools.call("read_file", path="b").error.kind == "not_found"
    assert tools.call("read_file", path="c").value == "two"
    with pytest.raises(FakeToolsError, match=r"call 4 .* the 3 answers of read_file are used up"):
        tools.call("read_file", path="d")


def test_a_function_is_asked_and_a_constant_is_given_each_time():
    tools = FakeTools({"add": lambda a, b: a + b, "list_files": ("x",)}, effects={"add": "execute"})
    assert tools.call("add", a=1, b=2) == ToolResult(tool="add", value=3, verdict="allowed: execute tool")
    assert tools.call("list_files").value == tools.call("list_files").value == ("x",)


def test_errors_are_results_bugs_are_raised_and_results_stay_as_they_are():
    def refuse(path):
        raise ToolError("protected", f"{path} is protected.")

    given = ToolResult(tool="x", value=1, verdict="mine")
    tools = FakeTools({"edit": refuse, "read": [ZeroDivisionError(), given], "gone": ToolError("not_found", "No.")})
    assert tools.call("edit", path="a").verdict == "refused: protected"
    with pytest.raises(ZeroDivisionError):
        tools.call("read")
    assert tools.call("read") is given
    assert tools.call("gone").error.kind == "not_found"


def test_a_coroutine_function_is_awaited():
    async def read(path):
        if path == "bad":
            raise ToolError("not_found", "No.")
        return path

    async def ask():
        tools = FakeTools({"read": read})
        return await tools.call("read", path="a"), await tools.call("read", path="bad")

    good, bad = asyncio.run(ask())
    assert good.value == "a" and bad.error.kind == "not_found"


def test_all_calls_are_kept_those_of_narrowed_views_too():
    tools = FakeTools({"read": ["a", "b"], "edit": "done"}, effects={"edit": "write"})
    view = tools.only(["read"])
    view.call("read", path="x")
    tools.call("edit", old="1", new="2")
    view.call("read", path="y")
    assert (
        view.calls
        == tools.calls
        == [
            ToolCall(tool="read", arguments={"path": "x"}),
            ToolCall(tool="edit", arguments={"old": "1", "new": "2"}),
            ToolCall(tool="read", arguments={"path": "y"}),
        ]
    )
    assert [(tool.name, tool.effect) for tool in view.specs()] == [("read", "read")]
    tools.assert_consumed()


def test_a_view_denies_what_it_does_not_hold():
    view = FakeTools({"read": "a", "edit": "b"}).only(["read"])
    with pytest.raises(ToolDenied, match="there are read"):
        view.call("edit")
    with pytest.raises(ContextError, match="there are read"):
        view.only(["edit"])


def test_a_tool_that_the_script_has_not_is_an_error_with_the_nearest_name():
    tools = FakeTools({"read_file": "a"})
    with pytest.raises(FakeToolsError, match="did you mean 'read_file'"):
        tools.call("reed_file")
    with pytest.raises(ContextError, match="did you mean 'read_file'"):
        tools.only(["reed_file"])
    with pytest.raises(FakeToolsError, match="did you mean 'read_file'"):
        FakeTools({"read_file": "a"}, effects={"raed_file": "write"})


def test_leftovers_are_an_error_at_the_end():
    with pytest.raises(FakeToolsError, match="1 scripted answers of read were never asked for"):
        with FakeTools({"read": ["a", "b"], "edit": "c"}) as tools:
            tools.call("read")


def test_an_unexpected_call_that_was_swallowed_is_an_error_at_the_end():
    tools = FakeTools({"read": []})
    with pytest.raises(FakeToolsError):
        tools.call("read", path="a")
    with pytest.raises(FakeToolsError, match="'path': 'a'"):
        tools.assert_consumed()


def test_an_error_on_its_way_out_is_not_replaced_by_the_leftovers():
    with pytest.raises(ZeroDivisionError), FakeTools({"read": ["a"]}):
        raise ZeroDivisionError


def test_threads_share_a_script_without_losing_an_answer():
    tools = FakeTools({"read": list(range(200))})
    seen = []

    def work():
        for _ in range(20):
            seen.append(tools.call("read").value)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(200)) and len(tools.calls) == 200


def test_a_scripted_tool_can_be_called_by_itself():
    [tool] = FakeTools({"read": [ToolError("not_found", "No.")]}).specs()
    with pytest.raises(ToolError):
        tool(path="a")
