"""A recording: written as it happens, played back only for the very same request."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import MappingProxyType

import pytest

from graph_agent.llm.fake import FakeLLM
from graph_agent.llm.record import (
    RecordedError,
    RecordingError,
    RecordingLLM,
    ReplayLLM,
    ReplayMiss,
)
from graph_agent.protocols import LLMError, Reply, Request

ASKED = Request(instructions="Plan.", context={"files": {"a.py": "x = 1\n"}, "tried": ["é", 2]}, temperature=0)
OTHER = Request(instructions="Review.")


def record(path: Path, script: list[object], requests: list[Request]) -> None:
    model = RecordingLLM(FakeLLM(script), path)
    for request in requests:
        model.complete(request)


def test_what_was_recorded_is_played_back_whole(tmp_path: Path) -> None:
    reply = Reply(text="line\u2028 ünd \U0001f600\n", finish="length", tokens_in=3, tokens_out=4)
    record(tmp_path / "r.jsonl", [reply, "ok"], [ASKED, OTHER])
    replay = ReplayLLM(tmp_path / "r.jsonl")
    assert replay.complete(OTHER) == Reply(text="ok")
    assert replay.complete(ASKED) == reply


def test_each_line_has_key_request_and_reply_as_soon_as_the_call_returns(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    model = RecordingLLM(FakeLLM(["one", "two"]), path)
    model.complete(ASKED)
    (line,) = path.read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert entry["request"] == {
        "instructions": "Plan.",
        "context": {"files": {"a.py": "x = 1\n"}, "tried": ["é", 2]},
        "temperature": 0.0,
    }
    assert entry["reply"]["text"] == "one"


def test_the_same_request_gets_its_replies_in_order_and_then_an_error(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", ["one", "two"], [OTHER, OTHER])
    replay = ReplayLLM(tmp_path / "r.jsonl")
    assert [replay.complete(OTHER).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ReplayMiss, match=r"no further reply to this request, .* once more: 'Review\.'"):
        replay.complete(OTHER)


def test_a_recording_goes_on_where_it_stood(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", ["one"], [OTHER])
    record(tmp_path / "r.jsonl", ["two"], [OTHER])
    replay = ReplayLLM(tmp_path / "r.jsonl")
    assert [replay.complete(OTHER).text for _ in range(2)] == ["one", "two"]


def test_an_error_of_the_model_is_recorded_passed_on_and_raised_again(tmp_path: Path) -> None:
    class Busy(LLMError):
        kind = "timeout"

    with pytest.raises(Busy):
        record(tmp_path / "r.jsonl", [Busy("no answer in 3 s")], [OTHER])
    with pytest.raises(RecordedError, match="no answer in 3 s") as caught:
        ReplayLLM(tmp_path / "r.jsonl").complete(OTHER)
    assert caught.value.kind == "timeout"
    assert isinstance(caught.value, LLMError)


def test_an_asynchronous_model_is_recorded_when_its_reply_is_there(tmp_path: Path) -> None:
    class Slow:
        async def complete(self, request: Request, /) -> Reply:
            await asyncio.sleep(0)
            if request == ASKED:
                raise LLMError("down")
            return Reply(text="late")

    async def both() -> None:
        model = RecordingLLM(Slow(), tmp_path / "r.jsonl")
        assert await model.complete(OTHER) == Reply(text="late")
        with pytest.raises(LLMError):
            await model.complete(ASKED)

    asyncio.run(both())
    replay = ReplayLLM(tmp_path / "r.jsonl")
    assert replay.complete(OTHER).text == "late"
    with pytest.raises(RecordedError):
        replay.complete(ASKED)


def test_a_miss_names_the_nearest_request_and_the_fields_that_differ(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", ["far", "near"], [OTHER, ASKED])
    asked = Request(instructions="Plan.", context={"files": {"a.py": "x = 2\n"}, "tried": ["é"]}, temperature=0)
    with pytest.raises(ReplayMiss) as caught:
        ReplayLLM(tmp_path / "r.jsonl").complete(asked)
    said = str(caught.value)
    assert "on line 2" in said
    assert '-   "a.py": "x = 1' in said and '+   "a.py": "x = 2' in said
    assert "-   2" in said
    assert "instructions" not in said


def test_a_difference_deep_in_a_long_text_is_shown_where_it_is(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", ["x"], [Request(instructions="a\n" * 5000 + "one")])
    with pytest.raises(ReplayMiss, match=r'-one"\n *\+two"\n'):
        ReplayLLM(tmp_path / "r.jsonl").complete(Request(instructions="a\n" * 5000 + "two"))


def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    with pytest.raises(ReplayMiss, match="empty: record it first"):
        ReplayLLM(tmp_path / "r.jsonl").complete(OTHER)


def test_equal_requests_are_one_request_whatever_the_spelling(tmp_path: Path) -> None:
    one = Request(instructions="a", context={"b": (1, 2), "c": MappingProxyType({"d": 1})}, temperature=1)
    record(tmp_path / "r.jsonl", ["x"], [one])
    two = Request(instructions="a", context={"c": {"d": 1}, "b": [1, 2]}, temperature=1.0)
    assert ReplayLLM(tmp_path / "r.jsonl").complete(two).text == "x"


@pytest.mark.parametrize(
    "other",
    [
        Request(instructions="Plan"),
        Request(instructions="Plan.", context={"a": 1}),
        Request(instructions="Plan.", schema={}),
        Request(instructions="Plan.", max_tokens=5),
        Request(instructions="Plan.", temperature=0.0),
    ],
)
def test_every_field_makes_another_request(tmp_path: Path, other: Request) -> None:
    record(tmp_path / "r.jsonl", ["x"], [Request(instructions="Plan.")])
    with pytest.raises(ReplayMiss, match="no reply to this request"):
        ReplayLLM(tmp_path / "r.jsonl").complete(other)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"x"])
def test_a_context_that_is_no_json_is_refused_before_the_model_is_asked(tmp_path: Path, value: object) -> None:
    fake = FakeLLM(["never"])
    with pytest.raises(RecordingError, match="not JSON"):
        RecordingLLM(fake, tmp_path / "r.jsonl").complete(Request(instructions="a", context={"v": value}))
    assert fake.requests == []


def test_a_damaged_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, ["x"], [OTHER])
    path.write_text(path.read_text(encoding="utf-8") + '{"key": "a"}\n', encoding="utf-8")
    with pytest.raises(RecordingError, match=r"line 2 of r\.jsonl"):
        ReplayLLM(path)
    with pytest.raises(RecordingError, match=r"line 2 of r\.jsonl"):
        RecordingLLM(FakeLLM([]), path)


def test_a_request_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, ["x"], [OTHER])
    path.write_text(path.read_text(encoding="utf-8").replace("Review", "Reviews"), encoding="utf-8")
    with pytest.raises(RecordingError, match="changed by hand"):
        ReplayLLM(path)


def test_nothing_is_added_behind_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, ["x"], [OTHER])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with pytest.raises(RecordingError, match="has no end"):
        RecordingLLM(FakeLLM([]), path)


def test_a_place_that_cannot_be_written_is_found_before_the_first_call(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be written"):
        RecordingLLM(FakeLLM([]), tmp_path / "absent" / "r.jsonl")
    with pytest.raises(RecordingError, match="cannot be read"):
        ReplayLLM(tmp_path / "absent.jsonl")
