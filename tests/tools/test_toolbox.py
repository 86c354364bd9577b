import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest

from graph_agent.protocols import ContextError, ToolDenied, ToolError, ToolResult
from graph_agent.tools.toolbox import FunctionTool, Toolbox, ToolboxError


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@dataclass(frozen=True)
class Edit:
    old: str
    new: str = ""


def read_file(path: str, start: int = 1, lines: int | None = None) -> str:
    """Read a text file,
    or some lines of it.

    More about it.
    """
    return f"{path}:{start}:{lines}"


def edit_file(path: Path, edits: tuple[Edit, ...], size: Size = Size.SMALL, mode: Literal["a", "b"] = "a") -> Any:
    """Edit a file."""
    return path, edits, size, mode


def fail(kind: str) -> None:
    """Fail."""
    raise ToolError(kind, "It cannot be done.")


def broken() -> None:
    """Fail in a way that nobody foresaw."""
    raise ZeroDivisionError


async def later(path: str) -> str:
    """Read later."""
    await asyncio.sleep(0)
    if path == "bad":
        raise ToolError("not_found", "Not there.")
    return path


BOX = Toolbox([read_file, fail, broken, later]).add(edit_file, effect="write")


def test_a_call_gives_the_value_and_by_which_rule_it_was_let_through():
    assert BOX.call("read_file", path="a") == ToolResult(
        tool="read_file", value="a:1:None", verdict="allowed: read tool"
    )
    assert BOX.call("edit_file", path=Path("a"), edits=()).verdict == "allowed: write tool"


def test_the_schema_is_read_off_the_signature():
    schema = next(tool.schema for tool in BOX.specs() if tool.name == "edit_file")
    assert schema["required"] == ["path", "edits"] and schema["additionalProperties"] is False
    assert schema["properties"]["edits"]["items"]["required"] == ["old"]
    assert schema["properties"]["size"] == {"type": "string", "enum": ["small", "large"]}


def test_the_description_is_the_first_paragraph_of_the_docstring():
    assert BOX.specs()[0].description == "Read a text file, or some lines of it."


def test_tools_are_listed_as_they_were_added():
    assert [tool.name for tool in BOX.specs()] == ["read_file", "fail", "broken", "later", "edit_file"]
    assert [tool.name for tool in BOX.only(("edit_file", "read_file")).specs()] == ["read_file", "edit_file"]


def test_arguments_from_json_get_their_types_and_typed_ones_pass():
    typed = (Path("a"), (Edit("x", "y"), Edit("z")), Size.LARGE, "b")
    data = {"path": "a", "edits": [{"old": "x", "new": "y"}, {"old": "z"}], "size": "large", "mode": "b"}
    assert BOX.call("edit_file", **data).value == typed
    assert BOX.call("edit_file", path=typed[0], edits=typed[1], size=typed[2], mode="b").value == typed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": 1}, "path: expected str"),
        ({"path": "a", "start": "1"}, "start: expected int"),
        ({"path": "a", "start": True}, "start: expected int"),
        ({"path": "a", "lines": 1.5}, "lines: expected int | None"),
        ({"path": "a", "strat": 1}, "no argument 'strat', did you mean 'start'? It takes: path, start, lines."),
        ({}, "needs path"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_the_call(arguments, said):
    result = BOX.call("read_file", **arguments)
    assert not result.ok and result.value is None
    assert (result.error.kind, result.verdict) == ("bad_arguments", "refused: bad arguments")
    assert said in str(result.error)


def test_a_misfit_within_an_argument_has_its_path():
    result = BOX.call("edit_file", path="a", edits=[{"old": "x"}, {"odl": "x"}])
    assert "edits[1].odl" in str(result.error) and "did you mean 'old'?" in str(result.error)


def test_what_a_tool_cannot_do_is_the_error_of_its_result():
    result = BOX.call("fail", kind="ambiguous")
    assert (result.error.kind, result.verdict) == ("ambiguous", "allowed: read tool")


@pytest.mark.parametrize("kind", ["outside_workspace", "protected", "not_allowed", "bad_path"])
def test_a_rule_that_said_no_is_the_verdict(kind):
    assert BOX.call("fail", kind=kind).verdict == f"refused: {kind.replace('_', ' ')}"


def test_a_bug_of_a_tool_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        BOX.call("broken")


def test_a_tool_that_is_not_held_is_denied_with_the_nearest_name():
    with pytest.raises(ToolDenied, match="did you mean 'read_file'"):
        BOX.call("reed_file", path="a")
    with pytest.raises(ToolDenied, match="there are read_file"):
        BOX.only({"read_file"}).call("edit_file", path="a", edits=())
    with pytest.raises(ToolDenied, match="there are none"):
        BOX.only(()).call("edit_file")


def test_narrowing_to_a_tool_that_is_not_held_is_an_error_of_the_context():
    with pytest.raises(ContextError, match="did you mean 'read_file'"):
        BOX.only(["readfile"])
    with pytest.raises(ContextError):
        BOX.only(["read_file"]).only(["edit_file"])


def test_a_narrowed_box_does_not_grow_with_the_whole():
    whole = Toolbox([read_file])
    narrow = whole.only(["read_file"])
    whole.add(edit_file)
    assert len(whole.specs()) == 2 and len(narrow.specs()) == 1


def test_a_coroutine_function_gives_an_awaitable_of_a_result():
    async def ask():
        return [
            await BOX.call("later", path="a"),
            await BOX.call("later", path="bad"),
            await BOX.call("later", path=1),
            await BOX.call("later"),
        ]

    good, bad, misfit, missing = asyncio.run(ask())
    assert good == ToolResult(tool="later", value="a", verdict="allowed: read tool")
    assert bad.error.kind == "not_found"
    assert misfit.verdict == missing.verdict == "refused: bad arguments"


class Shout:
    """A tool of somebody's own, with an argument named as the parameters of `call` are."""

    name = "shout"
    description = "Say it loud."
    effect = "execute"
    metered = False
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "self": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }

    def __call__(this, name, **more):
        return name.upper()


def test_a_tool_of_ones_own_is_held_as_it_is_and_its_schema_is_kept():
    box = Toolbox([Shout(), read_file])
    assert box.call("shout", name="hey") == ToolResult(tool="shout", value="HEY", verdict="allowed: execute tool")
    assert box.call("shout", nam="hey").error.kind == "bad_arguments"
    assert box.call("shout").error.kind == "bad_arguments"
    assert not box.specs()[0].metered


class Counter:
    """Counts."""

    def __init__(self):
        self.count = 0

    def add(self, by: int = 1) -> int:
        """Count on."""
        self.count += by
        return self.count


def test_a_method_is_a_function_too():
    assert Toolbox([Counter().add]).call("add", by=2).value == 2


def no_annotation(path):
    """Read."""


def any_type(path: Any) -> None:
    """Read."""


def a_list(paths: list[str]) -> None:
    """Read."""


def open_ended(**more: str) -> None:
    """Read."""


def by_position(path: str, /) -> None:
    """Read."""


def odd_default(start: int = None) -> None:  # noqa: RUF013
    """Read."""


def unknown_type(path: "Nowhere") -> None:  # noqa: F821
    """Read."""


def no_docstring(path: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_annotation, "'path' has no annotation"),
        (any_type, "'path'"),
        (a_list, "'paths': list"),
        (open_ended, "write out each parameter"),
        (by_position, "write out each parameter"),
        (odd_default, "its default: expected int, got None"),
        (unknown_type, "'Nowhere'"),
        (no_docstring, "write a docstring"),
        (lambda: None, "give name="),
        (3, "cannot be a tool"),
    ],
)
def test_what_a_model_could_not_call_is_refused_when_it_is_added(function, said):
    with pytest.raises(ToolboxError) as caught:
        Toolbox([function])
    assert said in str(caught.value)


def test_two_tools_of_one_name_and_an_unknown_effect_are_refused():
    with pytest.raises(ToolboxError, match="already"):
        Toolbox([read_file, read_file])
    with pytest.raises(ToolboxError, match="read, write, execute"):
        Toolbox().add(read_file, effect="delete")


def greet(name: str, tool: str = "") -> str:
    """Greet."""
    return f"{name} {tool}"


def test_arguments_may_be_named_as_the_parameters_of_call_are():
    assert Toolbox([greet]).call("greet", name="a", tool="b").value == "a b"


def test_a_tool_called_by_itself_checks_its_arguments_too():
    with pytest.raises(ToolError) as caught:
        FunctionTool(read_file)(path=1)
    assert caught.value.kind == "bad_arguments"
