"""What a visit was given and gave, written so that it stops no run, and read as what it was."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import (
    Context,
    FakeLLM,
    FakeTools,
    GraphAgentError,
    LLMError,
    Reply,
    Request,
    Run,
    ToolError,
    read_run,
    resume,
)
from graph_agent.protocols import Json
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.recording import MARK
from graph_agent.runtime.values import read_error, read_value, write_error, write_value
from tests.runtime.counting import Count, Finding, Stage, counting, start
from tests.runtime.samples import TYPES, same, values


@dataclass(frozen=True)
class Size:
    of: Finding
    at: tuple[int, ...] = ()


class Busy(LLMError):
    """It has a way of its own to be made."""

    def __init__(self, *, host: str, again_in: float) -> None:
        super().__init__(f"{host} is busy")
        self.host, self.again_in, self.lines = host, again_in, (1, 2)


@pytest.fixture(autouse=True)
def _recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_AGENT_RECORD", "1")


def recorded(folder: Path, work: Any, ctx: Context) -> Any:
    """The recording of the one visit of WORK."""
    with Run.create(folder, counting(work, model=True, tools=("look",)), start(task_id="run", need=1)) as run:
        assert resume(run, ctx).stage is Stage.DONE
        record: Any = read_run(folder)[0][1]
        return json.loads(run.read(record["recorded"]))


def asks(state: Count, ctx: Context) -> Any:
    for _ in range(2):
        with suppress(LLMError):
            ctx.llm.complete(Request(instructions="Go", context={"word": "a\ud800"}))
    ctx.tools.call("look", at="b\ud800", odd=float("nan"))
    return {"count": 1}


def test_what_is_no_text_is_marked_and_stops_no_run(tmp_path: Path) -> None:
    deep: Any = "c\ud800"
    for _ in range(3_000):
        deep = [deep]
    ctx = Context(
        llm=FakeLLM([Reply(text="\ud800"), LLMError("down \ud800")]), tools=FakeTools({"look": lambda **_: deep})
    )
    told = recorded(tmp_path / "run", asks, ctx)
    assert all(MARK in one["request"]["context"] for one in told["models"])
    assert MARK in told["models"][0]["reply"]
    assert told["models"][1]["error"]["message"] == r"down \ud800"
    assert [MARK in one for one in told["tools"][0]["arguments"].values()] == [True, True]
    assert MARK in told["tools"][0]["value"]


def test_a_call_that_was_denied_or_crashed_is_recorded_with_what_was_raised(tmp_path: Path) -> None:
    def work(state: Count, ctx: Context) -> Any:
        for name in ("look", "other"):
            with suppress(Exception):
                ctx.tools.call(name)
        return {"count": 1}

    told = recorded(tmp_path / "run", work, Context(llm=FakeLLM([]), tools=FakeTools({"look": ZeroDivisionError("x")})))
    assert [one["verdict"] for one in told["tools"]] == [
        "failed: ZeroDivisionError",
        "denied: not among the node's tools",
    ]
    assert [one["raised"]["type"] for one in told["tools"]] == ["ZeroDivisionError", "ToolDenied"]


@given(st.data())
def test_what_can_be_written_is_read_as_what_it_was(data: st.DataObject) -> None:
    value = data.draw(values(data.draw(TYPES)))
    try:
        written = write_value(value)
    except CodecError:  # a class that the strategy has made, which is found nowhere
        return
    assert same(read_value(json.loads(json.dumps(written))), value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, 2.5, True, "text"),
        [(), [()]],
        {"a": {"b": (1,)}, "tuple": [1], "class": "no:class"},
        {3, 1, 2},
        frozenset({"b", "a"}),
        (Size(Finding("x", 2), (1, 2)), {"at": Stage.DONE}),
    ],
    ids=repr,
)
def test_values_of_undeclared_type_come_back_as_what_they_were(value: Any) -> None:
    back = read_value(json.loads(json.dumps(write_value(value))))
    assert (type(back), back) == (type(value), value)


def test_a_set_is_written_the_same_whatever_its_order() -> None:
    words = {f"word {number}" for number in range(50)}
    assert write_value(words) == {"set": sorted(words)}


def itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@dataclass
class Open:
    """Not frozen, so it may be another by the time that it is read."""

    value: int = 0


def local() -> Any:
    @dataclass(frozen=True)
    class Hidden:
        value: int = 0

    return Hidden()


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, Open(), local(), itself(), b"raw", "\ud800", float("inf")], ids=type
)
def test_what_would_not_come_back_is_refused(value: Any) -> None:
    with pytest.raises(CodecError):
        write_value(value)


def test_a_class_is_looked_up_and_never_imported() -> None:
    assert "this" not in sys.modules
    with pytest.raises(CodecError, match="no class Zen is loaded from this: import it first"):
        read_value({"class": "this:Zen", "data": {}})
    assert "this" not in sys.modules
    for place in ("builtins:print", "sys:exit", "os:nothing.here", ""):
        with pytest.raises(CodecError, match="import it first"):
            read_value({"class": place, "data": None})
    odd = read_error({"type": "int", "message": "no", "class": "builtins:int", "llm": False, "args": [], "vars": {}})
    assert (type(odd).__name__, isinstance(odd, Exception), str(odd)) == ("int", True, "no")


def came_back(error: Exception) -> Exception:
    return read_error(json.loads(json.dumps(write_error(error))))


def test_an_error_comes_back_with_its_class_and_its_attributes() -> None:
    back = came_back(Busy(host="here", again_in=0.5))
    assert isinstance(back, Busy)
    assert (str(back), back.host, back.again_in, back.lines) == ("here is busy", "here", 0.5, (1, 2))
    for other in (KeyError("a"), FileNotFoundError(2, "gone"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")):
        assert (type(came_back(other)).__name__, str(came_back(other))) == (type(other).__name__, str(other))
    tool = came_back(ToolError("gone", "It is gone.", hint="Look.", lines=(3,)))
    assert (str(tool), vars(tool)) == (
        "It is gone. Look.",
        vars(ToolError("gone", "It is gone.", hint="Look.", lines=(3,))),
    )


@pytest.mark.parametrize("base", [LLMError, GraphAgentError, OSError])
def test_an_error_of_a_class_that_is_not_found_keeps_its_name_and_what_models_raise_is_still_that(base: Any) -> None:
    class Local(base):  # type: ignore[misc]
        pass

    back = came_back(Local(2, "no"))
    assert (type(back).__name__, str(back)) == ("Local", str(Local(2, "no")))
    assert isinstance(back, LLMError) is (base is LLMError)


def test_what_of_an_error_cannot_be_written_is_left_out() -> None:
    error = LLMError("no")
    error.response = object()  # type: ignore[attr-defined]
    error.status = 503  # type: ignore[attr-defined]
    data: dict[str, Json] = write_error(error)
    assert data["vars"] == {"status": 503}
