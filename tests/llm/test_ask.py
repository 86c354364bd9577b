"""Asking for a dataclass: five ways to fail, one correction, and the same talk for asynchronous models."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest

from graph_agent.llm.ask import AskError, NotAccepted, NotJSON, NotSchema, Refused, Truncated, aask, ask
from graph_agent.llm.fake import FakeLLM
from graph_agent.protocols import LLMError, Reply, Request
from graph_agent.runtime.codec import json_schema


@dataclass(frozen=True, kw_only=True)
class Plan:
    steps: tuple[str, ...]
    risk: str = "low"


ASKED = Request(instructions="Plan.", context={"task": "mend"}, max_tokens=50)
GOOD = {"steps": ["look"]}


class AsyncFake:
    def __init__(self, fake: FakeLLM) -> None:
        self._fake = fake

    async def complete(self, request: Request, /) -> Reply:
        await asyncio.sleep(0)
        return self._fake.complete(request)


def test_the_answer_is_the_dataclass_and_the_schema_was_sent() -> None:
    with FakeLLM(["Here:\n```json\n" + '{"steps": ["look"]}' + "\n```"]) as fake:
        assert ask(fake, ASKED, Plan) == Plan(steps=("look",))
    assert fake.requests == [replace(ASKED, schema=json_schema(Plan))]


def test_one_correction_shows_the_model_its_answer_and_its_error() -> None:
    with FakeLLM(["no idea", GOOD]) as fake:
        assert ask(fake, ASKED, Plan) == Plan(steps=("look",))
    context = dict(fake.requests[1].context)
    assert context.pop("your_last_answer") == "no idea"
    assert "no JSON in the reply" in context.pop("what_was_wrong")
    assert context == ASKED.context
    assert fake.requests[1].instructions == ASKED.instructions


def test_only_the_latest_answer_is_shown() -> None:
    with FakeLLM(["first", "second", GOOD]) as fake:
        ask(fake, ASKED, Plan, corrections=2)
    assert fake.requests[2].context["your_last_answer"] == "second"


def test_what_is_no_json_after_the_correction_is_an_error_with_the_raw_text() -> None:
    with FakeLLM(["nothing", "again nothing"]) as fake, pytest.raises(NotJSON, match="no JSON") as caught:
        ask(fake, ASKED, Plan)
    assert (caught.value.raw, len(fake.requests)) == ("again nothing", 2)


def test_json_that_does_not_fit_says_where() -> None:
    with FakeLLM([{"steps": ["a", 5]}]) as fake, pytest.raises(NotSchema, match=r"Plan.*steps\[1\]"):
        ask(fake, ASKED, Plan, corrections=0)


def test_an_unknown_key_is_named_to_the_model() -> None:
    with FakeLLM([{"steps": [], "riks": "high"}, GOOD]) as fake:
        ask(fake, ASKED, Plan)
    assert "'risk'" in fake.requests[1].context["what_was_wrong"]


@pytest.mark.parametrize("text", ['{"steps":["a","b"', '{"steps":["a"]}'])
def test_a_cut_answer_is_truncated_even_if_it_parses_and_is_not_asked_again(text: str) -> None:
    with FakeLLM([Reply(text=text, finish="length")]) as fake, pytest.raises(Truncated) as caught:
        ask(fake, ASKED, Plan, corrections=3)
    assert (caught.value.raw, len(fake.requests)) == (text, 1)


@pytest.mark.parametrize("text", ["", "I won't.", '{"steps":[]}'])
def test_a_refusal_is_not_read_and_not_asked_again(text: str) -> None:
    with FakeLLM([Reply(text=text, finish="refused")]) as fake, pytest.raises(Refused) as caught:
        ask(fake, ASKED, Plan, corrections=3)
    assert (caught.value.raw, len(fake.requests)) == (text, 1)


def _few(plan: Plan) -> str | None:
    return None if len(plan.steps) < 2 else f"{len(plan.steps)} steps are too many, 1 is allowed"


def test_the_callers_own_rule_goes_back_to_the_model_in_its_words() -> None:
    with FakeLLM([{"steps": ["a", "b"]}, GOOD]) as fake:
        assert ask(fake, ASKED, Plan, check=_few) == Plan(steps=("look",))
    assert fake.requests[1].context["what_was_wrong"] == "2 steps are too many, 1 is allowed"


def test_what_the_rule_turns_down_twice_is_not_accepted() -> None:
    bad = {"steps": ["a", "b"]}
    with FakeLLM([bad, bad]) as fake, pytest.raises(NotAccepted, match="too many"):
        ask(fake, ASKED, Plan, check=_few)


def test_errors_of_the_model_pass_through_and_are_not_corrected() -> None:
    with FakeLLM([LLMError("down")]) as fake, pytest.raises(LLMError, match="down") as caught:
        ask(fake, ASKED, Plan)
    assert not isinstance(caught.value, AskError)


def test_a_not_json_error_of_the_model_itself_is_not_taken_for_an_answer() -> None:
    with FakeLLM([NotJSON("from within", raw="x")]) as fake, pytest.raises(NotJSON, match="from within"):
        ask(fake, ASKED, Plan)
    assert len(fake.requests) == 1


def test_an_asynchronous_model_has_the_same_talk() -> None:
    with FakeLLM(["no idea", GOOD]) as fake:
        assert asyncio.run(aask(AsyncFake(fake), ASKED, Plan)) == Plan(steps=("look",))
    assert fake.requests[1].context["your_last_answer"] == "no idea"
    with FakeLLM([Reply(text="", finish="refused")]) as fake, pytest.raises(Refused):
        asyncio.run(aask(AsyncFake(fake), ASKED, Plan))


def test_what_is_no_reply_at_all_is_a_clear_error() -> None:
    class Bare:
        def complete(self, _: Request, /) -> object:
            return "yes"

    with pytest.raises(LLMError, match=r"str, not a Reply.*aask"):
        ask(Bare(), ASKED, Plan)
