"""The scripted model: what it says, what it remembers, and that script and calls must fit each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from threading import Barrier, Thread

import pytest

from graph_agent.llm.fake import FakeLLM, FakeLLMError
from graph_agent.protocols import LLMError, Reply, Request

ASKED = Request(instructions="Say something.", context={"n": 1})


@dataclass(frozen=True, kw_only=True)
class Plan:
    steps: tuple[str, ...]


def test_texts_replies_data_and_dataclasses_come_back_in_order() -> None:
    cut = Reply(text="half", finish="length", tokens_out=3)
    fake = FakeLLM(["text", cut, {"a": 1}, [1, "é"], Plan(steps=("look", "mend"))])
    replies = [fake.complete(ASKED) for _ in range(5)]
    assert replies[:2] == [Reply(text="text"), cut]
    assert [json.loads(reply.text) for reply in replies[2:]] == [{"a": 1}, [1, "é"], {"steps": ["look", "mend"]}]
    fake.assert_consumed()


def test_a_scripted_error_is_raised_and_the_script_goes_on() -> None:
    fake = FakeLLM([LLMError("down"), "up"])
    with pytest.raises(LLMError, match="down"):
        fake.complete(ASKED)
    assert fake.complete(ASKED).text == "up"


def test_a_function_of_the_request_answers_every_call() -> None:
    with FakeLLM(lambda request: {"n": request.context["n"] + 1}) as fake:
        assert fake.complete(ASKED).text == '{"n": 2}'
        assert fake.complete(ASKED).text == '{"n": 2}'


def test_every_request_is_kept_in_order() -> None:
    fake = FakeLLM(["a", "b"])
    other = Request(instructions="Something else.")
    fake.complete(ASKED)
    fake.complete(other)
    assert fake.requests == [ASKED, other]


def test_an_unexpected_call_names_its_number_and_what_was_asked() -> None:
    fake = FakeLLM(["only"])
    fake.complete(ASKED)
    with pytest.raises(FakeLLMError, match=r"call 2 .* the script has 1 .*Say something\."):
        fake.complete(ASKED)


def test_an_unexpected_call_that_was_swallowed_is_found_at_the_end() -> None:
    fake = FakeLLM([])
    with pytest.raises(FakeLLMError):
        fake.complete(ASKED)
    with pytest.raises(FakeLLMError, match="call 1"):
        fake.assert_consumed()


def test_leftovers_are_an_error_at_the_end_of_the_block() -> None:
    with pytest.raises(FakeLLMError, match=r"2 of 3 .* the first is number 2: .*'b'"):
        with FakeLLM(["a", "b", "c"]) as fake:
            fake.complete(ASKED)


def test_an_error_in_the_block_is_not_hidden_by_the_leftovers() -> None:
    with pytest.raises(KeyError), FakeLLM(["a"]):
        raise KeyError("the cause")


def test_code_that_copes_with_bad_models_does_not_swallow_a_script_error() -> None:
    assert not issubclass(FakeLLMError, LLMError)


@pytest.mark.parametrize("script", ["a text", Reply(text="a"), {"a": 1}, 5])
def test_a_script_that_is_no_list_is_refused(script: object) -> None:
    with pytest.raises(FakeLLMError, match="a script is a list"):
        FakeLLM(script)  # type: ignore[arg-type]


@pytest.mark.parametrize("item", [5, None, {"a": object()}, {"a": float("nan")}, Plan])
def test_a_reply_that_cannot_be_sent_is_refused_with_its_number(item: object) -> None:
    with pytest.raises(FakeLLMError, match="scripted reply 2"):
        FakeLLM(["fine", item])


def test_threads_share_one_script_and_no_reply_is_given_twice() -> None:
    fake, gate, got = FakeLLM([str(n) for n in range(200)]), Barrier(8), []

    def ask() -> None:
        gate.wait()
        got.extend(fake.complete(ASKED).text for _ in range(25))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, got)) == list(range(200))
    fake.assert_consumed()
