"""The judge that is asked over HTTP: it decides as the service does; whatever else comes is unknown and says why."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.llm.fake import FakeLLM
from graph_agent.protocols import LLMError, Reply, Request
from graph_agent.runtime.codec import json_schema
from graph_agent.verify.judge import VERSION, Item, Judgement, ModelJudge, in_both_orders
from graph_agent.verify.remote import JudgedBy, JudgeURLError, RemoteJudge, judge_url, read_answer
from graph_agent.verify.rulejudge import RuleJudge
from graph_agent.verify.service import MOST_BYTES, MOST_CRITERIA, app, make_app
from tests.llm.chat_server import Act, answer, drips, hangs_up, raw, serve, silence, success
from tests.verify.judge_server import serving

TASK = "Find out how long backups are kept."
OUTPUT = '"A backup is kept for 35 days." [E1]\n\n"Nobody may read it." [E2]'
CRITERIA = ["gives a number", 'mentions "tape"', "says what the weather is"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}/judge"


def judged(act: Act, timeout: float = 20.0) -> tuple[Item, ...]:
    with serve(act) as server:
        return RemoteJudge(f"http://127.0.0.1:{server.port}/judge", timeout=timeout).judge(TASK, CRITERIA, OUTPUT)


def said(**changed: Any) -> dict[str, Any]:
    items = [{"criterion": one, "status": "satisfied", "why": "so"} for one in CRITERIA]
    return {"items": items, "score": 1.0, "reason": "all", "version": VERSION} | changed


def assert_unknown(items: Sequence[Item], why: str) -> None:
    assert [one.criterion for one in items] == CRITERIA
    assert {one.status for one in items} == {"unknown"}
    assert why in items[0].why


def test_it_decides_as_the_judge_behind_the_service(url: str) -> None:
    local = RuleJudge().judge(TASK, CRITERIA, OUTPUT)
    assert RemoteJudge(url).judge(TASK, CRITERIA, OUTPUT) == local
    assert {one.status for one in local} == {"satisfied", "violated", "insufficient_evidence"}


def test_it_serves_wherever_a_judge_is_wanted(url: str) -> None:
    criteria = ["compares days with hours"]
    assert in_both_orders(RemoteJudge(url), TASK, criteria, OUTPUT) == in_both_orders(
        RuleJudge(), TASK, criteria, OUTPUT
    )


def test_it_sends_task_output_and_criteria_and_nothing_else() -> None:
    with serve(success(said())) as server:
        items = RemoteJudge(f"http://127.0.0.1:{server.port}/judge").judge(TASK, CRITERIA, OUTPUT)
    assert server.bodies == [{"task": TASK, "output": OUTPUT, "criterion": CRITERIA}]
    assert server.asked[0].line.startswith("POST /judge ")
    assert {one.status for one in items} == {"satisfied"}


def test_without_criteria_nothing_is_asked() -> None:
    with serve() as server:
        assert RemoteJudge(f"http://127.0.0.1:{server.port}").judge(TASK, [], OUTPUT) == ()
    assert server.asked == []


def test_a_service_that_is_not_there_is_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert_unknown(RemoteJudge(f"http://127.0.0.1:{port}").judge(TASK, CRITERIA, OUTPUT), "can't be reached")


WRONG: dict[str, tuple[Act, str]] = {
    "an error": (answer(500, '{"error": "the judge failed"}'), "answered 500: "),
    "a path that is none": (answer(404, "not here"), "answered 404: not here"),
    "a redirect": (answer(302, "", {"Location": "http://example.org/"}), "answered 302"),
    "no JSON": (answer(200, "<html>hello</html>"), "of no use: not JSON"),
    "an empty body": (answer(200, ""), "of no use"),
    "bytes that are no text": (answer(200, b"\xff\xfe\x00"), "of no use"),
    "a list": (success([]), "no object"),
    "no version": (success({"items": []}), "the version None"),
    "another version": (success(said(version="2")), "the version '2', and '1' is understood"),
    "a version that is a number": (success(said(version=1)), "the version 1"),
    "no items": (success(said(items=None)), "no items for 3 criteria"),
    "an item too few": (success(said(items=said()["items"][:2])), "2 items for 3 criteria"),
    "items in another order": (success(said(items=said()["items"][1:] + said()["items"][:1])), "another criterion"),
    "items that are none": (success(said(items=[1, None, "satisfied"])), "another criterion"),
    "a chat completion": (success({"choices": [{"message": {"content": "satisfied"}}]}), "the version None"),
    "no answer": (hangs_up, "can't be reached"),
    "no HTTP": (raw(b"satisfied\r\n\r\n"), "can't be reached"),
}


@pytest.mark.parametrize("act, why", WRONG.values(), ids=WRONG)
def test_what_is_no_whole_answer_of_this_version_is_unknown_and_says_why(act: Act, why: str) -> None:
    assert_unknown(judged(act), why)


@pytest.mark.parametrize("act", [silence, drips(0.05)], ids=["silence", "a drip"])
def test_a_service_that_is_too_slow_is_unknown_in_time(act: Act) -> None:
    started = time.monotonic()
    assert_unknown(judged(act, timeout=0.3), "gave no whole answer within 0.3 s")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("status", ["SATISFIED", "passed", "true", True, None, 1, ["satisfied"], "", "satisfied "])
def test_only_the_documented_words_decide(status: Any) -> None:
    items = said()["items"]
    items[1]["status"] = status
    first, second, third = judged(success(said(items=items)))
    assert (first.status, second.status, third.status) == ("satisfied", "unknown", "satisfied")
    assert "is none of satisfied, violated, insufficient_evidence, unknown" in second.why


def test_what_the_service_does_not_know_keeps_its_reason() -> None:
    items = [{"criterion": one, "status": "unknown", "why": "the\nmodel sleeps"} for one in CRITERIA]
    assert_unknown(judged(success(said(items=items))), "the model sleeps")


def test_a_reason_that_is_no_text_is_left_out() -> None:
    items = [{"criterion": one, "status": "satisfied", "why": {"so": 1}} for one in CRITERIA]
    assert [one.why for one in judged(success(said(items=items)))] == ["", "", ""]


def test_a_score_does_not_decide() -> None:
    items = [{"criterion": one, "status": "violated"} for one in CRITERIA]
    assert {one.status for one in judged(success(said(items=items, score=1.0)))} == {"violated"}


def test_criteria_that_do_not_fit_into_one_body_are_asked_in_several(url: str) -> None:
    long = [f'mentions "{number} {"a" * (MOST_BYTES // 5)}"' for number in range(9)]
    items = RemoteJudge(url).judge(TASK, long, OUTPUT)
    assert [one.criterion for one in items] == long
    assert {one.status for one in items} == {"violated"}


def test_more_criteria_than_a_service_takes_are_asked_in_several(url: str) -> None:
    many = [f'mentions "{number}"' for number in range(2 * MOST_CRITERIA + 1)]
    items = RemoteJudge(url).judge(TASK, many, OUTPUT)
    assert [one.criterion for one in items] == many
    assert {one.status for one in items} == {"satisfied", "violated"}


def test_an_output_that_fits_into_no_body_is_unknown_and_not_sent() -> None:
    with serve() as server:
        judge = RemoteJudge(f"http://127.0.0.1:{server.port}")
        assert_unknown(judge.judge(TASK, CRITERIA, "a" * MOST_BYTES), f"a judge service takes {MOST_BYTES}")
    assert server.asked == []


def test_a_criterion_that_is_too_long_is_unknown_and_the_others_are_judged(url: str) -> None:
    criteria = ["gives a number", "a" * MOST_BYTES]
    assert [one.status for one in RemoteJudge(url).judge(TASK, criteria, OUTPUT)] == ["satisfied", "unknown"]


def test_a_text_of_the_largest_size_in_any_language_is_judged(url: str) -> None:
    output = "\u5907\u4efd" * (MOST_BYTES // 7)
    (item,) = RemoteJudge(url).judge(TASK, ["gives a number"], output)
    assert item.status == "insufficient_evidence"


def test_half_a_surrogate_pair_is_turned_away_by_the_service_and_unknown(url: str) -> None:
    assert_unknown(RemoteJudge(url).judge(TASK, CRITERIA, "\ud800"), "answered 400: ")


@pytest.mark.parametrize(
    "given_url", ["", "judge", "ftp://host/judge", "http://", "http://u:p@host/judge", "http://h/ judge", "http://h:0/"]
)
def test_a_url_of_no_use_is_said_at_once_and_without_a_password(given_url: str) -> None:
    with pytest.raises(JudgeURLError) as caught:
        RemoteJudge(given_url)
    assert "http://localhost:8128/judge" in str(caught.value)
    assert "u:p" not in str(caught.value)


def test_a_url_without_a_path_means_judge() -> None:
    assert judge_url("http://host:1") == judge_url("http://host:1/") == "http://host:1/judge"
    assert judge_url("https://host/a/b?c=d") == "https://host/a/b?c=d"


def test_what_a_query_may_hold_stands_in_no_reason() -> None:
    with serve(answer(403, "")) as server:
        (item,) = RemoteJudge(f"http://127.0.0.1:{server.port}/j?key=zz-CANARY").judge(TASK, ["a"], OUTPUT)
    assert "answered 403" in item.why and "CANARY" not in item.why


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(said())), inner, max_size=4),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_no_answer_without_the_version_and_the_items_is_a_pass(data: Any) -> None:
    items = read_answer(CRITERIA, json.dumps(data).encode())
    assert_unknown(items, "")


@given(st.lists(JSON_VALUES, min_size=3, max_size=3))
def test_no_item_without_its_criterion_is_a_pass(items: list[Any]) -> None:
    assert_unknown(read_answer(CRITERIA, json.dumps(said(items=items)).encode()), "")


# JudgedBy


def no_judge(request: Request) -> str:
    raise AssertionError("the model is asked for a judgement")


def test_a_judgement_comes_from_the_judge_and_not_from_the_model(url: str) -> None:
    llm = JudgedBy(FakeLLM(no_judge), RemoteJudge(url))
    local = RuleJudge().judge(TASK, CRITERIA, OUTPUT)
    for prompt in (0, 1):
        items = ModelJudge(llm, prompt=prompt).judge(TASK, CRITERIA, OUTPUT)
        assert [(one.criterion, one.status) for one in items] == [(one.criterion, one.status) for one in local]
        assert [one.why for one in items] == [" ".join(one.why.split()) for one in local]


def test_whatever_else_is_asked_goes_to_the_model() -> None:
    model = FakeLLM(["one", "two", "three"])
    llm = JudgedBy(model, RuleJudge())
    requests = [
        Request(instructions="Write."),
        Request(instructions="Write.", schema={"type": "object"}),
        Request(instructions="Judge.", context={"task": "t", "criteria": [], "output": "o"}),
    ]
    assert [llm.complete(one).text for one in requests] == ["one", "two", "three"]


def test_an_asynchronous_model_is_handed_through() -> None:
    import asyncio

    class Slow:
        async def complete(self, request: Request, /) -> Reply:
            return Reply(text="later")

    async def asked() -> Reply:
        reply: Reply = await JudgedBy(Slow(), RuleJudge()).complete(Request(instructions="Write."))
        return reply

    assert asyncio.run(asked()).text == "later"


def test_a_judge_that_is_away_makes_a_run_unknown_and_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    llm = JudgedBy(FakeLLM(no_judge), RemoteJudge(f"http://127.0.0.1:{port}"))
    assert_unknown(ModelJudge(llm).judge(TASK, CRITERIA, OUTPUT), "can't be reached")


@pytest.mark.parametrize(
    "context",
    [{}, {"task": "t", "output": "o"}, {"task": "t", "output": "o", "criteria": ["a"]}, {"task": 1, "output": "o"}],
)
def test_a_judgement_without_something_to_judge_is_an_error(context: dict[str, Any]) -> None:
    request = Request(instructions="Judge.", context=context, schema=json_schema(Judgement))
    with pytest.raises(LLMError, match="without task, criteria and output"):
        JudgedBy(FakeLLM(no_judge), RuleJudge()).complete(request)


def test_a_model_can_stand_behind_the_service() -> None:
    items = [{"number": 1, "status": "satisfied", "why": "it says 35"}]
    model = FakeLLM([json.dumps({"concerns": "none", "items": items})])
    with serving(make_app(ModelJudge(model))) as port:
        (item,) = RemoteJudge(f"http://127.0.0.1:{port}").judge(TASK, ["gives a number"], OUTPUT)
    assert item == Item(criterion="gives a number", status="satisfied", why="it says 35")
